"""Laws of every op beside its values: its gradient over a batch, its cost, its wires and words."""

from __future__ import annotations

import pytest
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.circuit.circuit import Cell
from ncd.language.axes import Array, Type
from ncd.language.op import Sample
from ncd.language.terms import Id, Then
from ncd.ops import CATALOGUE, Reduce
from ncd.ops.axis_places import ports
from tests.rewrite.test_gradient_term import RANDOM, assert_gradient

SAMPLES = [s for op in CATALOGUE for s in op.examples() if not s.alone and s.dom]
NAMES = [f"{s.op!r} on {s.dom}" for s in SAMPLES]
COUNTED = [s for op in CATALOGUE for s in op.examples()]
EVERY = pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)


def wider(sample: Sample) -> Type:
    """The arrays that a sample takes, all with an axis more in front."""
    return Type(a.with_axes((*Array.parse("b_0:2"), *a)) for a in Type.parse(sample.dom))


def cell_of(sample: Sample) -> Cell:
    return ncd.elaborate(Then(Id(wider(sample)), sample.op)).cells[-1]


@EVERY
def test_the_gradient_of_a_batch_is_that_of_torch(sample: Sample) -> None:
    if type(sample.op).__name__ not in RANDOM:
        assert_gradient(ncd.elaborate(Then(Id(wider(sample)), sample.op)).term)


@pytest.mark.parametrize("sample", COUNTED, ids=lambda s: f"{s.op!r} on {s.dom}")
def test_an_op_costs_what_torch_counts(sample: Sample) -> None:
    term = ncd.elaborate(Then(Id(sample.dom), sample.op)).term
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    cell = ncd.elaborate(term).cells[-1]
    assert cell.op.flops(cell.site) == counter.get_total_flops()


@EVERY
def test_wires_of_a_sign_are_those_of_the_op(sample: Sample) -> None:
    """A wire that runs through, joins or parts is one axis; no wire does two things."""
    cell = cell_of(sample)
    glyph, ins, outs = cell.op.glyph(cell.site), ports(cell.site.inputs), ports(cell.site.outputs)
    shapes_in = [axis.shape for array in cell.site.inputs for axis in array]
    shapes_out = [axis.shape for array in cell.site.outputs for axis in array]
    for i, o in (*glyph.through, *glyph.joins, *glyph.splits):
        assert shapes_in[i] == shapes_out[o]
    for i, j in glyph.caps:
        assert shapes_in[i] == shapes_in[j]
        assert i < j < len(ins)
    leaving = [o for _, o in glyph.through] + [o for _, o in glyph.splits]
    assert len(leaving) == len({*leaving})
    assert {*leaving} <= {port for port, _, _ in outs}
    going = [i for i, _ in glyph.through] + [i for i, _ in glyph.joins]
    assert len([i for i, _ in glyph.through]) == len({i for i, _ in glyph.through})
    assert {*going} <= {port for port, _, _ in ins}


@EVERY
def test_an_op_without_sizes_has_a_sign_and_words_too(sample: Sample) -> None:
    site = cell_of(sample).site
    words, formula = sample.op.description(site), sample.op.latex(site)
    assert words == words.strip() and "None" not in words + formula
    assert words[-1] != "." and "  " not in words
    assert formula.count("(") == formula.count(")")


@pytest.mark.parametrize("sample", Reduce.examples(), ids=lambda s: f"{s.op!r} on {s.dom}")
def test_the_wires_that_a_reduction_ends_are_those_that_it_reduces(sample: Sample) -> None:
    cell = cell_of(sample)
    assert isinstance(cell.op, Reduce)
    wires = {port: name for port, _, name in ports(cell.site.inputs)}
    ended = [wires[port] for mark in cell.op.glyph(cell.site).marks for port in mark.ins]
    assert ended == list(cell.op.reduced_axes)


@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "product"])
@pytest.mark.parametrize(
    ("pattern", "dom"), [("x ->", "x:2x3"), ("x y -> y", "x:2x2 y:3"), ("y ->", "y:4")]
)
def test_a_reduction_of_one_axis_or_both_sides_of_one_has_its_gradient(
    how: str, pattern: str, dom: str
) -> None:
    assert_gradient(ncd.elaborate(Then(Id(dom), Reduce(pattern, how))).term)
