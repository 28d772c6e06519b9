"""Wires copy, drop and reorder arrays: by their axes in turn, or by the numbers of inputs."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd import Axes, Id, MismatchError, ParseError, Wire, elaborate
from ncd.language.axes import Type

CASES = {  # the pattern: the input that each output is
    "q, z -> q, z, z, q": (0, 1, 1, 0),
    "q, z -> z": (1,),
    "q -> ": (),
    "m, m -> m, m": (0, 1),
    "m, m -> m, m, m": (0, 1, 0),
    "m, k, m -> m, k, m": (0, 1, 2),
    "m, m -> m": (0,),
    "m, m, k -> $3, $2": (2, 1),
    "m, m -> $2, $1": (1, 0),
    "m, m -> $2, m": (1, 1),  # outputs take inputs in turn
    "m, m -> m, $1": (0, 0),
    "m k, k m -> k m, m k": (1, 0),
}


@pytest.mark.parametrize("pattern", CASES)
def test_each_output_is_one_of_the_inputs(pattern: str) -> None:
    wire, sources = Wire(pattern), CASES[pattern]
    assert wire.sources == sources
    left = [words.strip() for words in pattern.partition("->")[0].split(",")]
    sizes = Axes(q=2, z=3, m=4, k=5)
    if not sources:
        return
    term = sizes(Id(", ".join(left)) >> wire)
    inputs = [torch.randn(array.shape) for array in elaborate(term).term.dom]
    outputs = ncd.compile(term)(*inputs)
    found = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(found) == len(sources)
    for output, i in zip(found, sources, strict=True):
        assert torch.equal(output, inputs[i])
    assert eval(repr(wire), {"Wire": Wire}) == wire


def test_places_that_follow_from_the_axes_are_not_written() -> None:
    assert Wire("m, k -> k, m", "2 1") == Wire("m, k -> k, m")
    assert repr(Wire("m, m -> m, m", "1 2")) == "Wire('m, m -> m, m')"
    assert repr(Wire("m, m -> $2, $1")) == "Wire('m, m -> m, m', '2 1')"


@pytest.mark.parametrize("word", ["0", "4", "x", "-1", "1.0", "²"])
def test_a_place_is_the_number_of_an_input(word: str) -> None:
    for make in (lambda: Wire(f"m, m, k -> ${word}"), lambda: Wire("m, m, k -> m", word)):
        with pytest.raises(ParseError) as raised:
            make()
        assert raised.value.fact == f"{word!r} is no number of an input, of which there are 3"
        assert (raised.value.cure, "Wire" in str(raised.value)) == ("$1", True)


def test_places_are_those_of_the_outputs() -> None:
    with pytest.raises(MismatchError) as raised:
        Wire("m, k -> k", "1")
    assert raised.value.fact == "the places 1 are of (m), not of (k)"
    assert raised.value.cure == "the number of an input with these axes, from 1"
    assert Wire("m, k, k -> k", "3").sources == (2,)


def test_an_output_is_among_the_inputs() -> None:
    with pytest.raises(MismatchError) as raised:
        Wire("m, k -> m, j")
    assert raised.value.fact == "(j) stands on the right but not on the left"
    assert raised.value.cure == "one of (m), (k)"


def test_each_array_keeps_its_other_axes() -> None:
    """Arrays beside each other share none: b and c may differ, and one name may have two sizes."""
    assert str(Wire("m, k -> k, m").infer_outputs(Type.parse("b m, c k"))) == "c k, b m"
    sizes = Wire("m, k -> k, k, m").infer_outputs(Type.parse("b:2 m:3, b:5 k:4"))
    assert [array.shape for array in sizes] == [(5, 4), (5, 4), (2, 3)]
    with pytest.raises(MismatchError, match="Wire"):
        Wire("m, k -> k, m").infer_outputs(Type.parse("m, m"))


def test_a_wire_is_drawn_through_once_and_copied_the_further_times() -> None:
    term = Axes(a=2, b=3, c=4)(Id("a b, c") >> Wire("a b, c -> c, a b, c"))
    (cell,) = elaborate(term).cells
    glyph = cell.op.glyph(cell.site)
    assert glyph.through == ((2, 0), (0, 1), (1, 2)) and glyph.splits == ((2, 3),)
    assert cell.description == "wires (a b, c) on as (c, a b, c)"
    assert cell.op.latex(cell.site) == r"(a, b) \mapsto (b, a, b)"
    many = elaborate(Id(", ".join(["m:2"] * 9)) >> Wire(f"{', '.join(['m'] * 9)} -> $9, $8"))
    assert many.cells[0].op.latex(many.cells[0].site) == (
        r"(a, b, c, d, e, f, g, h, a) \mapsto (a, h)"
    )
