"""Every op against plain torch, on its own axes and lifted over others."""

from __future__ import annotations

import ast
import itertools
import math
from dataclasses import fields

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ncd
from ncd.language.axes import Array, Type
from ncd.language.op import Op, Sample
from ncd.language.terms import Id, Then
from ncd.ops import CATALOGUE
from ncd.run.guard import compile as compiled
from tests.support.sampling import sample as drawn

SAMPLES = [sample for op in CATALOGUE for sample in op.examples()]
NAMES = [f"{sample.op!r} on {sample.dom}" for sample in SAMPLES]
LIFTED = [sample for sample in SAMPLES if not sample.alone and sample.dom]
LIFTED_NAMES = [name for name, s in zip(NAMES, SAMPLES, strict=True) if s in LIFTED]
Tensors = tuple[Tensor, ...]


def term(op: Op, dom: Type) -> Then:
    return Then(Id(dom), op)


def run(op: Op, dom: Type, *inputs: Tensor) -> Tensors:
    return ncd.trace(compiled(term(op, dom)), *inputs).outputs


def reference(sample: Sample, weights: list[Tensor], *inputs: Tensor) -> Tensors:
    """What plain torch says, with the weights of the compiled module."""
    names = {"torch": torch, "F": F, "math": math, "w": weights}
    out = eval(sample.torch, names, dict(zip("abcdefgh", inputs, strict=False)))
    return out if isinstance(out, tuple) else (out,)


def expected(sample: Sample, *inputs: Tensor) -> Tensors:
    module = compiled(term(sample.op, Type.parse(sample.dom)))
    return reference(sample, [*module.parameters()], *inputs)


def close(one: Tensors, two: Tensors) -> None:
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, check_dtype=a.is_floating_point())


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op.__name__)
def test_every_op_has_a_sample(op: type[Op]) -> None:
    assert [type(sample.op) for sample in op.examples()] == [op] * len(op.examples())
    assert op.examples()


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_an_op_is_what_torch_says(sample: Sample) -> None:
    dom = Type.parse(sample.dom)
    inputs = ncd.example_inputs(Id(dom))
    close(run(sample.op, dom, *inputs), expected(sample, *inputs))


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_the_outputs_have_the_shapes_of_the_type(sample: Sample) -> None:
    whole = term(sample.op, Type.parse(sample.dom))
    found = run(sample.op, whole.dom, *ncd.example_inputs(whole))
    sized = ncd.elaborate(whole).term.cod
    assert [tuple(x.shape) for x in found] == [array.shape for array in sized]
    whole_numbers = [array.below is not None for array in sized]
    assert [x.dtype == torch.int64 for x in found] == whole_numbers


def lifted(array: Array, extra: str, at: int) -> Array:
    return array.with_axes((*array[:at], *Array.parse(extra), *array[at:]))


PLACES = {"before": lambda a: 0, "after": len, "between": lambda a: min(1, len(a))}


@pytest.mark.parametrize("sample", LIFTED, ids=LIFTED_NAMES)
def test_lifting_commutes_with_indexing(sample: Sample) -> None:
    for extra, side in drawn(itertools.product(["b_0:3", "b_0:3x2"], PLACES), 2, sample.dom):
        indexed(sample, extra, side)


def indexed(sample: Sample, extra: str, side: str) -> None:
    """Asserts that the op on a whole array, indexed, is the op on the index: for every index."""
    dom = Type(lifted(array, extra, PLACES[side](array)) for array in Type.parse(sample.dom))
    inputs = ncd.example_inputs(Id(dom))
    whole = run(sample.op, dom, *inputs)
    cod = ncd.elaborate(term(sample.op, dom)).term.cod
    assert [tuple(x.shape) for x in whole] == [array.shape for array in cod]
    for index in itertools.product(*map(range, Array.parse(extra).shape)):
        given = [at(x, array, index) for x, array in zip(inputs, dom, strict=True)]
        found = [at(x, array, index) for x, array in zip(whole, cod, strict=True)]
        close(tuple(found), expected(sample, *given))


def at(x: Tensor, array: Array, index: tuple[int, ...]) -> Tensor:
    """The tensor at a place along axis b_0."""
    if "b_0" not in array.names:
        return x
    dims = array.position("b_0")
    for dim, place in zip(dims, index, strict=True):
        x = x.select(dim, place).unsqueeze(dim)
    return x.squeeze(dims)


@pytest.mark.parametrize("sample", LIFTED, ids=LIFTED_NAMES)
def test_a_batch_in_front_is_each_by_itself(sample: Sample) -> None:
    dom = Type.parse(sample.dom)
    module = compiled(term(sample.op, dom))
    for batch in drawn([(3,), (2, 3)], 1, sample.dom):
        single = [ncd.example_inputs(Id(dom), seed) for seed in range(math.prod(batch))]
        stacked = [torch.stack(xs).view(*batch, *xs[0].shape) for xs in zip(*single, strict=True)]
        whole = ncd.trace(module, *stacked).outputs
        for i, inputs in enumerate(single):
            ones = [x.reshape(-1, *x.shape[len(batch) :])[i] for x in whole]
            close(tuple(ones), expected(sample, *inputs))


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_gradients_are_those_of_torch(sample: Sample) -> None:
    dom = Type.parse(sample.dom)
    module = compiled(term(sample.op, dom))
    inputs = [real(x) for x in ncd.example_inputs(Id(dom))]
    wanted = [*(x for x in inputs if x.requires_grad), *module.parameters()]
    one = gradients(ncd.trace(module, *inputs).outputs, wanted)
    two = gradients(reference(sample, [*module.parameters()], *inputs), wanted)
    close(one, two)


def real(x: Tensor) -> Tensor:
    return x.requires_grad_() if x.is_floating_point() else x


def gradients(outputs: Tensors, wanted: list[Tensor]) -> Tensors:
    """Of a sum of the outputs with weights of their own, so that no two places are alike."""
    total = torch.zeros(())
    for out in outputs:
        if out.is_floating_point() and out.requires_grad:
            weights = torch.arange(out.numel(), dtype=out.dtype).view(out.shape).cos()
            total = total + (torch.where(out.isfinite(), out, 0) * weights).sum()
    if not total.requires_grad or not wanted:
        return ()
    found = torch.autograd.grad(total, wanted, allow_unused=True)
    return tuple(
        torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_the_spelling_of_an_op_evaluates_to_the_op(sample: Sample) -> None:
    text = repr(sample.op)
    ast.parse(text, mode="eval")
    names = {op.__name__: op for op in CATALOGUE}
    assert eval(text, {"__builtins__": {}}, names) == sample.op
    given = {f.name: getattr(sample.op, f.name) for f in fields(sample.op)}
    assert type(sample.op)(**given) == sample.op


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_an_op_says_what_it_is_in_words_and_in_latex(sample: Sample) -> None:
    site = ncd.elaborate(term(sample.op, Type.parse(sample.dom))).cells[0].site
    assert sample.op.description(site)
    formula = sample.op.latex(site)
    assert formula and formula.count("{") == formula.count("}")


ONE_SIDED = [
    ("y k, x k -> y x", "b:3 y:2 k:4, x:5 k:4", "b y x"),
    ("y k, x k -> y x", "y:2 k:4, b:3 x:5 k:4", "b y x"),
    ("i, i -> ()", "i:2 c:3, d:4 i:2", "d c"),
]


@pytest.mark.parametrize(("pattern", "text", "out"), ONE_SIDED)
def test_an_axis_of_one_array_only_is_kept_as_well(pattern: str, text: str, out: str) -> None:
    dom, op = Type.parse(text), ncd.Einsum(pattern)
    assert str(term(op, dom).cod) == out
    letters = [array.names for array in dom]
    equation = f"{','.join(map(''.join, letters))}->{out.replace(' ', '')}"
    inputs = ncd.example_inputs(Id(dom))
    close(run(op, dom, *inputs), (torch.einsum(equation, *inputs),))
