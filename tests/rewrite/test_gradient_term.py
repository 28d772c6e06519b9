"""The gradient of a term is what torch's autograd finds, in float64."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
import torch
from hypothesis import assume, given, settings, strategies
from torch import Tensor

import ncd
from ncd import Axes, Entry, Id, Linear, Softmax, Term
from ncd.circuit.elaborate import elaborate
from ncd.language.axes import Array, Type
from ncd.language.op import Sample
from ncd.language.terms import Beside, Then
from ncd.ops import CATALOGUE
from ncd.rewrite.gradient import parameter_names
from ncd.systems.networks.dropout_layer import EVAL
from tests.support.legal_terms import legal_term
from tests.support.sampling import count, sample
from tests.support.strategies import terms

RANDOM = ("Dropout", "Opaque")  # ops without a gradient as a term
SAMPLES = [one for op in CATALOGUE if op.__name__ not in RANDOM for one in op.examples()]
ENTRIES = sample(ncd.catalogue.values(), 16, "gradient")
TWICE = (
    *("lstm", "lenet", "rotary", "layer-norm", "batch-norm", "mixture-of-experts", "swiglu"),
    *("scaled-dot-product-attention", "delta-rule", "gcn"),
)


def listed(found: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    return [*found] if isinstance(found, tuple) else [found]


def numbers(arrays: Iterable[Tensor]) -> list[Tensor]:
    """Arrays in float64 that autograd follows; whole numbers stay as they are."""
    return [x.double().requires_grad_() if x.is_floating_point() else x for x in arrays]


def assert_gradient(term: Term, *choices: str) -> None:
    """Compares the gradient by inputs and by parameters with autograd's."""
    module = ncd.compile(term).double()
    inputs = numbers(ncd.example_inputs(term))
    outputs = [y for y in listed(module(*inputs)) if y.is_floating_point()]
    seed = torch.Generator().manual_seed(1)
    pulls = [torch.randn(y.shape, dtype=y.dtype, generator=seed) for y in outputs]
    pulls = [pull * y.isfinite() for y, pull in zip(outputs, pulls, strict=True)]
    nothing = torch.zeros((), dtype=torch.float64, requires_grad=True)  # where no input counts
    finite = (y.nan_to_num(0.0, 0.0, 0.0) for y in outputs)
    total = sum(((y * pull).sum() for y, pull in zip(finite, pulls, strict=True)), nothing)
    if any(y.isnan().any() for y in outputs):
        return
    weights = dict(module.named_parameters())
    for wrt in choices or ("inputs", "parameters"):
        wanted = [x for x in inputs if x.is_floating_point()]
        if wrt == "parameters":
            wanted = [weights[name] for name in parameter_names(term)]
        if not wanted:
            continue
        back = ncd.compile(ncd.gradient(term, wrt)).double()
        state = module.state_dict()
        back.load_state_dict({name: state[name] for name in back.state_dict()})
        plain = [x.detach() for x in inputs]
        torch.testing.assert_close(
            listed(back(*plain, *pulls)),
            torch.autograd.grad(
                total, wanted, retain_graph=True, allow_unused=True, materialize_grads=True
            ),
            rtol=1e-9,
            atol=1e-9,
        )


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: f"{one.op!r} on {one.dom}")
def test_every_op(one: Sample) -> None:
    assert_gradient(ncd.elaborate(Then(Id(one.dom), one.op)).term)


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_system(entry: Entry) -> None:
    assert_gradient(small(entry))


@pytest.mark.slow
@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    assert_gradient(ncd.gradient(small(ncd.catalogue[name])), "inputs")


def small(entry: Entry) -> Term:
    """An entry with every size at its least, or about 3."""
    least = {
        k.name: k.min + max(0, min(3, k.default) - k.min + k.step - 1) // k.step * k.step
        for k in entry.knobs
    }
    settled = {"mode": EVAL} if "mode" in least else {}  # a draw at random has no fixed gradient
    return legal_term(entry, entry.with_clamped_indexes(least | settled))


@settings(max_examples=count(25, 300), deadline=None)
@given(terms())
def test_random_terms(term: Term) -> None:
    labels = [type(cell.op).__name__ for cell in ncd.elaborate(term).cells]
    assume(not {*RANDOM} & {*labels})
    assert_gradient(term)


@pytest.mark.parametrize(
    ("dom", "inside"),
    [
        ("a:2 b:3", Id("b:2 a:3") >> ncd.Elementwise("tanh")),
        ("a:2 b:3", Id("b:2 a:3") >> Linear("a:3 -> k:2", "L")),
        ("a:2 b:3 c:4", Id("b:2 c:3 a:4") >> Softmax("a") >> Linear("c -> d:5", "L")),
        ("a:2 b:3, b:3 c:4", ncd.Einsum("b:2 a:3, a:3 d:4 -> b:2 d:4")),
        (
            "a:2 b:3",
            Id("b:2 a:3") >> ncd.Block(Id("a:2 b:3") >> ncd.LayerNorm("b"), "N", local=True),
        ),
    ],
    ids=str,
)
def test_names_that_a_local_block_swaps(dom: str, inside: Term) -> None:
    term = Id(dom) >> ncd.Block(inside, local=True)
    assert_gradient(term)
    assert_gradient(ncd.gradient(term))


@settings(max_examples=count(25, 300), deadline=None)
@given(terms(), strategies.randoms(use_true_random=False))
def test_random_terms_with_names_in_another_order(term: Term, random: Random) -> None:
    term = ncd.elaborate(term).term
    assume(not {*RANDOM} & {type(cell.op).__name__ for cell in ncd.elaborate(term).cells})
    out = next((array for array in term.cod if array.below is None and len(array) > 1), None)
    assume(out is not None)
    assert out is not None
    names = random.sample([*out.names], len(out))
    axes = [replace(axis, name=name) for axis, name in zip(out, names, strict=True)]
    inside = Id(Type((Array(axes),))) >> ncd.Elementwise("tanh")
    at = term.cod.index(out)
    above = [Id(Type((array,))) for array in term.cod[:at]]
    block: Term = ncd.Block(inside, local=True)
    assert_gradient(term >> (Beside(*above, block) if above else block))


def test_a_gradient_is_a_term_of_the_language() -> None:
    back = ncd.gradient(Axes(m=4, k=3)(Linear("m -> k", "Q") >> Softmax("k")), ["Q.weight"])
    assert (back.dom.spec, back.cod.spec) == ("m:4, k:3", "k:3 m:4")
    assert ncd.from_json(ncd.to_json(back)) == back
    assert ncd.parse(ncd.spell(back)) == back
    assert ncd.cost(back).parameters == 12
    assert "softmax" in ncd.source(back)


@pytest.mark.parametrize(
    ("term", "wrt", "message"),
    [
        (
            ncd.Dropout(0.5),
            "inputs",
            "Dropout dropout draws at random in training, so its gradient is no fixed term. "
            "Try p = 0, as in evaluation.",
        ),
        (
            ncd.Opaque("y:3 -> y:3", "aten.roll", "a, [1], [0]"),
            "inputs",
            "Opaque roll has no gradient as a term. Try a term without it, or torch.autograd.",
        ),
        (
            Linear("m:3 -> k:2", "Q"),
            ["K.weight"],
            "gradient: there is no parameter 'K.weight'. Try Q.weight.",
        ),
        (
            Softmax("x"),
            "inputs",
            "Softmax: axis x has no size. Try Axes(x=…).",
        ),
    ],
)
def test_what_has_no_gradient_says_why(term: Term, wrt: object, message: str) -> None:
    with pytest.raises(ncd.NCDError) as caught:
        ncd.gradient(term, wrt)
    assert str(caught.value) == message


def test_the_gradient_of_a_norm_is_short_enough_to_be_read() -> None:
    """Five formulas and two sums of the norm itself, two and two of its gradient."""
    term = Id("t:3 m:5") >> ncd.LayerNorm("m", affine=False)
    labels = Counter(
        cell.op.display_name.split()[0] for cell in elaborate(ncd.gradient(term)).cells
    )
    assert labels["Einsum"] == 4 and labels["Map"] == 7 and "Add" not in labels
