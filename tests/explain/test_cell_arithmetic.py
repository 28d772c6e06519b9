"""One number at a time: what the arithmetic says it is made of gives what torch gave."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

import ncd
from ncd.explain.attention_row import AttentionRow, row
from ncd.explain.cell_arithmetic import (
    CopyArithmetic,
    FormulaArithmetic,
    NormArithmetic,
    NumberOrigin,
    Products,
    ReductionArithmetic,
    SoftmaxArithmetic,
    number_origin,
    place,
)
from ncd.language.axes import Type
from ncd.language.op import Sample, Site
from ncd.language.terms import Id, Then
from ncd.language.torch_code import Arg, Const, Method, TorchExpr, call
from ncd.ops import CATALOGUE, BatchNorm, Conv, ConvTranspose, Einsum, Elementwise, Group
from ncd.run.module import CircuitModule, Trace
from ncd.systems.catalogue_entry import Entry

CLOSE = 1e-6
SAMPLES = [sample for op in CATALOGUE for sample in op.examples()]
TOLD = {  # the ops whose arithmetic is told, and as what
    "Add": FormulaArithmetic,
    "BatchNorm": NormArithmetic,
    "CausalMask": FormulaArithmetic,
    "Conv": Products,
    "ConvTranspose": Products,
    "Einsum": Products,
    "Elementwise": FormulaArithmetic,
    "Inner": Products,
    "LayerNorm": NormArithmetic,
    "Linear": Products,
    "Map": FormulaArithmetic,
    "MaxPool": ReductionArithmetic,
    "RMSNorm": NormArithmetic,
    "Reduce": ReductionArithmetic,
    "Scale": FormulaArithmetic,
    "Softmax": SoftmaxArithmetic,
}
HANDED_ON = {"Concat", "Copy", "Cut", "Group", "Index", "Named", "Rename", "Roll", "Split", "Swap"}


def traced(term: ncd.Term, seed: int = 1) -> tuple[CircuitModule, Trace]:
    """A run in 64 bits, with weights that are not as they begin."""
    module = ncd.compile(term, seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
        inputs = ncd.example_inputs(term, seed)
        real = [x.double() if x.is_floating_point() else x for x in inputs]
        return module, ncd.trace(module, *real)


def some(x: Tensor, most: int = 12) -> list[tuple[int, ...]]:
    """A few places of a tensor, the first and the last among them."""
    numbers = {*range(0, x.numel(), max(1, x.numel() // most)), x.numel() - 1}
    return [tuple(map(int, np.unravel_index(n, x.shape))) for n in sorted(numbers)]


def agrees(found: NumberOrigin) -> bool:
    """Whether what a number is told to be made of gives the number."""
    assert found.arithmetic is not None
    value = found.arithmetic.value
    if math.isnan(value):
        return math.isnan(found.value)
    return found.value == value or abs(value - found.value) < CLOSE * max(1, abs(value))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.op!r} on {s.dom}")
def test_every_op_says_what_torch_does(sample: Sample) -> None:
    """Of every output at many places; what only hands numbers on says where they stood."""
    module, run = traced(Then(Id(Type.parse(sample.dom)), sample.op))
    (cell,) = [cell for cell in module.circuit.cells if cell.op == sample.op]
    kind = type(sample.op).__name__
    for output in cell.outputs:
        x = run.values[output.id]
        for index in some(x):
            found = number_origin(module, run.values, output.id, index)
            assert found.value == x[index].item() or math.isnan(found.value)
            if kind in HANDED_ON or str(sample.op.signature) == "i j -> j i":
                assert found.cell is None and cell in found.passed_cells
                assert float(run.values[found.id][found.index]) == found.value
            elif kind in TOLD:
                assert found.cell is cell and isinstance(found.arithmetic, TOLD[kind])
                assert agrees(found)
            else:
                assert found.arithmetic is None or agrees(found)


@dataclass(frozen=True, repr=False, eq=False)
class Squashed(Elementwise):
    """An op that calls a function of torch that nothing else here calls."""

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (call("F.softsign", Method(Arg(0), "clamp_min", (Const(-0.5),))),)


def test_a_function_that_is_not_known_is_told_where_an_op_has_no_axes_of_its_own() -> None:
    module, run = traced(Then(Id(Type.parse("y:3 x:4")), Squashed("abs")))
    (given,), (out,) = module.circuit.inputs, module.circuit.outputs
    for index in some(run.values[out.id]):
        found = number_origin(module, run.values, out.id, index).arithmetic
        assert isinstance(found, FormulaArithmetic) and found.numbers == (
            run.values[given.id][index].item(),
        )
        assert found.value == run.values[out.id][index].item()


def test_the_terms_of_a_convolution_are_where_its_window_is() -> None:
    op = Conv("c x -> d:2 x/s", "conv", kernel=3, stride=2)
    module, run = traced(Then(Id(Type.parse("c:2 x:5x4")), op))
    (given,), (out,) = module.circuit.inputs, module.circuit.outputs
    found = number_origin(module, run.values, out.id, (1, 0, 1)).arithmetic
    assert isinstance(found, Products) and found.window == 2
    assert [list(span.positions) for span in found.spans] == [[0, 1], [-1, 0, 1], [1, 2, 3]]
    x = run.values[given.id]
    for i, number in enumerate(found.numbers.tolist()):
        c, row, column = place(found.spans, i)
        assert number == (0 if row < 0 else float(x[c, row, column]))


def test_the_terms_of_a_transposed_convolution_are_inside_its_input() -> None:
    """Also at its edges, where the windows of fewer numbers reach."""
    op = ConvTranspose("c x -> d:1 y", "up", kernel=3, stride=1)
    module, run = traced(Then(Id(Type.parse("c:1 x:4")), op))
    (out,) = module.circuit.outputs
    reached = []
    for at in range(run.values[out.id].shape[-1]):
        found = number_origin(module, run.values, out.id, (0, at)).arithmetic
        assert isinstance(found, Products)
        reached.append(list(found.spans[-1].positions))
    assert reached == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3], [3]]


@pytest.mark.parametrize("kernel", [1, 2, 4])
@pytest.mark.parametrize(("stride", "gap"), [(1, 1), (2, 3), (3, 2), (4, 2), (2, 4)])
def test_a_number_of_a_transposed_convolution_is_the_sum_of_its_terms(
    kernel: int, stride: int, gap: int
) -> None:
    op = ConvTranspose("c x -> d:2 y", "up", kernel, stride, 1, True, max(stride, gap) - 1, gap)
    module, run = traced(Then(Id(Type.parse("c:2 x:4")), op))
    (out,) = module.circuit.outputs
    for at in range(run.values[out.id].shape[-1]):
        found = number_origin(module, run.values, out.id, (1, at))
        assert agrees(found) and found.value == pytest.approx(run.values[out.id][1, at].item())


def test_batch_norm_after_training_uses_what_it_kept() -> None:
    module, _ = traced(Then(Id(Type.parse("b:4 c:3")), BatchNorm("b c")))
    module.eval()
    module.get_buffer("norm.running_mean").fill_(2.0)
    with torch.no_grad():
        run = ncd.trace(module, torch.randn(4, 3, generator=torch.Generator()).double())
    found = number_origin(module, run.values, module.circuit.outputs[0].id, (1, 2))
    assert (
        isinstance(found.arithmetic, NormArithmetic)
        and found.arithmetic.uses_running_statistics
        and found.arithmetic.mean == 2.0
    )
    assert agrees(found)


def test_nothing_is_told_of_more_numbers_than_can_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, run = traced(Then(Id(Type.parse("i:9, i:9")), Einsum("i, i ->")))
    (out,) = module.circuit.outputs
    assert isinstance(number_origin(module, run.values, out.id, ()).arithmetic, Products)
    monkeypatch.setattr("ncd.explain.cell_arithmetic.MAX_NUMBERS", 8)
    assert number_origin(module, run.values, out.id, ()).arithmetic is None


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_array_of_every_system(entry: Entry) -> None:
    """To 1e-6, whichever op has made it, also in loops, scans and both sides of an equation."""
    module, run = traced(entry.build())
    for id, x in run.values.items():
        for index in some(x, 2):
            found = number_origin(module, run.values, id, index)
            assert run.values[found.id][found.index].item() == pytest.approx(found.value)
            if found.arithmetic is not None:
                assert agrees(found), (id, index, found.cell)


# --- a row of attention --------------------------------------------------------------------------


def rows(name: str, **knobs: int) -> tuple[Trace, list[tuple[AttentionRow, tuple[int, ...]]]]:
    """The row through one place of every softmax of a system."""
    module, run = traced(ncd.catalogue[name].build(**knobs))
    cells = [cell for cell in module.circuit.cells if cell.op.role == "softmax"]
    places = [tuple(min(3, n - 1) for n in run.values[c.outputs[0].id].shape) for c in cells]
    every = zip(cells, places, strict=True)
    return run, [(row(module, run.values, cell, at), at) for cell, at in every]


ATTENTIONS = [
    "scaled-dot-product-attention",
    "multi-head-attention",
    "recall",
    "visual-attention",
    "encoder-block",
    "decoder-block",
    "encoder-decoder",
    "torch-multihead-attention",
    "merged-qkv",
    "positional-embedding",
]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_row_leads_from_query_and_key_to_what_is_mixed(name: str) -> None:
    run, found = rows(name)
    assert found
    for each, at in found:
        weights = run.values[each.cell.outputs[0].id]
        assert each.share.value == pytest.approx(float(weights[at]), abs=CLOSE)
        assert each.score is not None and len(each.score.factors) == 2
        assert each.score.value == pytest.approx(
            float(each.steps[0].numbers[each.share.focus_index])
        )
        assert torch.equal(each.steps[-1].numbers, each.share.scores)
        assert len(each.mixed_values) == 3
        for mixed in each.mixed_values:
            out = run.values[mixed.cell.outputs[0].id]
            assert torch.isclose(out, torch.tensor(mixed.total.value).double()).any()
            own = next(f for f in mixed.total.factors if f.source == mixed.weights)
            powers = each.share.powers
            assert torch.allclose(own.values, powers / powers.sum())


def test_a_mask_is_a_step_and_what_it_hides_gets_nothing() -> None:
    _, ((found, _),) = rows("torch-multihead-attention", causal=1, pad=1, y=5, x=5)
    roles = [step.cell.op.role for step in found.steps]
    assert roles == ["einsum", "scale", "mask", "neutral"]
    assert found.steps[1].numbers.isfinite().all()
    hidden = found.share.scores == -math.inf
    assert hidden.tolist() == [False, False, False, False, True]
    assert (found.share.powers[hidden] == 0).all()


def test_same_is_told_of_places_not_of_numbers() -> None:
    """Two equal numbers in an array are not taken for one another."""
    module, run = traced(Then(Id(Type.parse("h:2 k:3")), Group("h k -> d")))
    run.values[module.circuit.inputs[0].id].fill_(1.0)
    found = number_origin(module, run.values, module.circuit.outputs[0].id, (4,))
    assert found.index == (1, 1) and not isinstance(found.arithmetic, CopyArithmetic)


def weights_row(term: ncd.Term, index: tuple[int, ...]) -> AttentionRow:
    """The row of the only softmax of a term."""
    module = ncd.compile(term)
    values = ncd.trace(module, *ncd.example_inputs(term)).values
    (softmax,) = (c for c in module.circuit.cells if c.op.role == "softmax")
    return row(module, values, softmax, index)


@pytest.mark.parametrize(
    ("term", "steps", "mixed"),
    [
        (Id("y:2 x:3") >> ncd.Softmax("x"), [], 0),
        (Id("y:2 x:3") >> ncd.LayerNorm("x") >> ncd.Softmax("x"), ["LayerNorm"], 0),
        (
            Einsum("y:2 k:4, x:3 k -> y x") >> ncd.Index("y x", y=1) >> ncd.Softmax("x"),
            ["Einsum"],
            0,
        ),
        (
            Id("y:2 k:4, x:3 k, x:3 d:5")
            >> Einsum("y k, x k -> y x") @ Id("x d")
            >> (ncd.Scale("k:4") >> ncd.Softmax("x")) @ Id("x d")
            >> Einsum("y x, x d -> y d"),
            ["Einsum", "Scale"],
            3,
        ),
        (  # what is added to all scores is not what they are made of
            Id("x:3, y:2 k:4, x k")
            >> Id("x") @ Einsum("y k, x k -> y x")
            >> ncd.Map("x, y x -> y x", "$1 + $2")
            >> ncd.Softmax("x"),
            ["Einsum", "Map"],
            0,
        ),
        (Id("y:2 x:3, y x") >> ncd.Softmax("x") @ Id("y x") >> ncd.Add(), [], 0),  # no mix
    ],
)
def test_a_row_goes_back_as_far_as_each_key_has_one_number(
    term: ncd.Term, steps: list[str], mixed: int
) -> None:
    index = (1,) if len(term.cod[0]) == 1 else (1, 2)
    found = weights_row(term, index)
    assert [type(step.cell.op).__name__ for step in found.steps] == steps
    assert (found.score is not None) == ("Einsum" in steps)
    assert len(found.mixed_values) == mixed
    for step in found.steps:
        assert step.numbers.shape == (3,)
    if "Einsum" in steps:
        assert found.score is not None
        total = float(found.score.terms.sum())
        assert float(found.steps[0].numbers[index[-1]]) == pytest.approx(total, abs=1e-5)
