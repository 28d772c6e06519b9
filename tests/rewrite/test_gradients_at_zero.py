"""Gradients and second derivatives at 0 are those of torch: no pullback divides by an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

import ncd
from ncd import Cumulative, Id, Map, Reduce, Term
from ncd.formulas.formula import FUNCTIONS
from ncd.language.op import Sample
from ncd.language.terms import Then
from tests.rewrite.test_gradient_term import SAMPLES, listed

ONE = (
    *(f"{name}($1)" for name, count in sorted(FUNCTIONS.items()) if count == 1),
    *("$1 ** 0", "$1 ** 1", "$1 ** 2", "$1 ** 3", "$1 ** 0.5", "$1 ** -1", "2 ** $1", "$1 ** x"),
    *("x ** $1", "max($1, 0)", "clamp($1, 0, 1)"),
)
TWO = ("$1 * $2", "$1 ** $2", "max($1, $2)", "min($1, $2)", "where($1 > $2, $1 * $2, $2 ** 2)")


def masked(mask: Callable[[Tensor], Tensor], term: Term) -> list[Tensor]:
    """The example inputs in float64, with zeros in them."""
    return [
        (x.double() * mask(x)).requires_grad_() if x.is_floating_point() else x
        for x in ncd.example_inputs(term)
    ]


def assert_twice(term: Term, inputs: Sequence[Tensor]) -> None:
    """Compares the gradient by the inputs, and the gradient of that, with autograd's."""
    module = ncd.compile(term).double()
    outputs = [y for y in listed(module(*inputs)) if y.is_floating_point()]
    wanted = [x for x in inputs if x.is_floating_point()]
    if not wanted or not all(y.isfinite().all() for y in outputs):
        return
    seed = torch.Generator().manual_seed(1)

    def like(arrays: Sequence[Tensor]) -> list[Tensor]:
        return [torch.randn(y.shape, dtype=y.dtype, generator=seed) for y in arrays]

    pulls = [pull.requires_grad_() for pull in like(outputs)]
    back = ncd.compile(ncd.gradient(term)).double()
    state = module.state_dict()
    back.load_state_dict({name: state[name] for name in back.state_dict()})
    found = listed(back(*inputs, *pulls))
    expected = derivatives(outputs, pulls, wanted)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)
    more = like(found)
    wanted = [*wanted, *pulls]
    for own, other in zip(
        derivatives(found, more, wanted), derivatives(expected, more, wanted), strict=True
    ):
        known = ~other.isnan()  # torch itself has none of 0 ** b
        torch.testing.assert_close(own[known], other[known], rtol=1e-9, atol=1e-9)


def derivatives(
    arrays: Sequence[Tensor], pulls: Sequence[Tensor], wanted: Sequence[Tensor]
) -> list[Tensor]:
    start = torch.zeros((), dtype=torch.float64, requires_grad=True)  # where no input counts
    total = sum(((y * pull).sum() for y, pull in zip(arrays, pulls, strict=True)), start)
    return [
        *torch.autograd.grad(
            total, wanted, create_graph=True, allow_unused=True, materialize_grads=True
        )
    ]


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: repr(one.op))
def test_every_op_where_inputs_are_zero(one: Sample) -> None:
    term = ncd.elaborate(Then(Id(one.dom), one.op)).term
    assert_twice(term, masked(torch.zeros_like, term))
    assert_twice(term, masked(lambda x: torch.arange(x.numel()).reshape(x.shape) % 3 > 0, term))


@pytest.mark.parametrize("formula", ONE)
def test_every_formula_of_one_number_at_zero(formula: str) -> None:
    number = torch.tensor([0.0, 1, 0.5, 0], dtype=torch.float64, requires_grad=True)
    assert_twice(ncd.elaborate(Map("x:4 -> x:4", formula)).term, [number])


@pytest.mark.parametrize("formula", TWO)
def test_every_formula_of_two_numbers_at_zero(formula: str) -> None:
    a = torch.tensor([0.0, 1, 2, 0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([2.0, 0, 1, 0], dtype=torch.float64, requires_grad=True)
    assert_twice(ncd.elaborate(Map("x:4, x:4 -> x:4", formula)).term, [a, b])


def test_products_with_one_and_with_two_zeros() -> None:
    pull = torch.tensor([1.0, 2, 3])
    back = ncd.compile(ncd.gradient(Cumulative("x:3", "product")))
    assert back(torch.tensor([1.0, 0, 2]), pull).tolist() == [1, 8, 0]
    assert back(torch.tensor([0.0, 0, 2]), pull).tolist() == [1, 0, 0]
    back = ncd.compile(ncd.gradient(Reduce("x:3 ->", "product")))
    assert back(torch.tensor([3.0, 0, 2]), torch.tensor(2.0)).tolist() == [0, 12, 0]
