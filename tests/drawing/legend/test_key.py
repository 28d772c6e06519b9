"""The key: every sign of every drawing has its entry, and every entry its sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest

import ncd
from ncd import Entry, Id, Op, Repeat, Scan, Term, draw
from ncd.drawing.elements.primitives import DrawingData
from ncd.drawing.elements.style import QUIET
from ncd.drawing.legend.legend import (
    COLOURS,
    GROUPS,
    SHAPES,
    SIGNS,
    SignPlace,
    legend_entries,
    of_mark,
    of_unit,
)
from ncd.drawing.marks.marks import MARKS
from ncd.language.op import Mark
from ncd.ops import CATALOGUE
from tests.drawing.figures.figure import Figure
from tests.drawing.figures.test_figures import FIGURES
from tests.drawing.large_systems import LARGE


def of_entry(entry: Entry) -> Iterator[DrawingData]:
    yield draw(entry.build())


def of_op(op: type[Op]) -> Iterator[DrawingData]:
    for sample in op.examples():
        yield draw(Id(sample.dom) >> sample.op if sample.dom else sample.op)


def of_figure(parts: Iterable[Callable[[], Figure]]) -> Iterator[DrawingData]:
    for make in parts:
        yield make().draw()


def of_term(make: Callable[[], Term]) -> Iterator[DrawingData]:
    yield draw(make())


# Functions, so that nothing is drawn when the tests are collected.
DRAWINGS: dict[str, Callable[[], Iterable[DrawingData]]] = {
    **{entry.name: partial(of_entry, entry) for entry in ncd.catalogue.values()},
    **{op.__name__: partial(of_op, op) for op in CATALOGUE},
    **{name: partial(of_figure, parts) for name, parts in FIGURES.items()},
    **{name: partial(of_term, make) for name, make in LARGE.items()},
}


def signs_of_glyphs(drawing: DrawingData) -> None:
    """Asserts that the key explains every glyph, fence, wire and mark of a drawing."""
    found = {each.sign.name: each.places for each in legend_entries(drawing)}
    places = {place for each in found.values() for place in each}
    ids = {place.id for place in places if place.kind in ("node", "fence")}
    for glyph in drawing.glyphs:
        assert glyph.unit
        assert glyph.node in ids, glyph.description
        of = {place.id for name in of_unit(glyph.unit) for place in found[name]}
        assert glyph.node in of or not of_unit(glyph.unit)
        for mark in glyph.unit.glyph.marks:
            assert of_mark(mark, glyph.role) in found
    assert {fence.id for fence in drawing.fences} <= ids
    assert {wire.axis for wire in drawing.wires} <= {p.id for p in places if p.kind == "axis"}


@pytest.mark.few(40)
@pytest.mark.parametrize("name", DRAWINGS)
def test_every_part_of_a_drawing_is_in_its_key(name: str) -> None:
    for drawing in DRAWINGS[name]():
        signs_of_glyphs(drawing)


@pytest.mark.parametrize("sign", SIGNS.values(), ids=lambda sign: sign.name)
def test_a_picture_shows_its_sign(sign) -> None:
    assert sign.name in {found.sign.name for found in legend_entries(sign.picture())}
    assert sign.picture(dark=True).dark


@pytest.mark.parametrize("sign", SIGNS.values(), ids=lambda sign: sign.name)
def test_an_entry_is_one_sentence_or_two(sign) -> None:
    assert sign.explanation.endswith(".") and len(sign.explanation) < 220
    assert sign.title[0].isupper()


def test_no_two_entries_have_one_name() -> None:
    names = [sign.name for group in GROUPS.values() for sign in group]
    titles = [sign.title for group in GROUPS.values() for sign in group]
    assert len(set(names)) == len(names) == len(SIGNS)
    assert len(set(titles)) == len(titles)


def test_every_mark_of_the_catalogue_is_a_sign() -> None:
    told_apart = {"bar", "box", "elementwise", "italic", "letter", "trapezoid", "word"}
    assert {*SHAPES, *told_apart} == {*MARKS}
    assert {*SHAPES.values()} <= {*SIGNS}


def test_every_colour_is_told() -> None:
    assert {*COLOURS} == {*QUIET}


# --- what is told apart --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [("3^2|2|L", "strided"), ("3|1T|L_+", "transposed"), ("2|2|Max", "pool"), ("3|1|", "window")],
)
def test_windows_are_told_apart(text: str, name: str) -> None:
    assert of_mark(Mark("trapezoid", text)) == name


def test_the_circle_of_the_residual_block_is_batch_norm() -> None:
    drawing = draw(ncd.catalogue["residual-block"].build())
    (norm,) = (found for found in legend_entries(drawing) if found.sign.name == "batchnorm")
    rings = {
        g.node
        for g in drawing.glyphs
        if g.unit and g.unit.glyph.marks[:1] and g.unit.glyph.marks[0].shape == "circle"
    }
    assert {*norm.ids("node")} == rings and len(rings) == 3


def test_a_folded_block_is_named_by_its_fence() -> None:
    drawing = draw(ncd.catalogue["residual-block"].build(), folded=("Residual Component",))
    (folded,) = (found for found in legend_entries(drawing) if found.sign.name == "folded")
    (box,) = (glyph.node for glyph in drawing.glyphs if glyph.cells)
    assert folded.places == (SignPlace("fence", box),)


def test_brackets_of_a_scan_are_no_repetition() -> None:
    step = ncd.Function("f", "k:2, m:3 -> k, k")
    names = [found.sign.name for found in legend_entries(draw(Scan(step, "t:4")))]
    assert "scan" in names and "repeat" not in names
    layers = Repeat((Id("m:3") >> ncd.Elementwise("relu"),) * 3)
    names = [found.sign.name for found in legend_entries(draw(layers))]
    assert "repeat" in names and "scan" not in names


def test_what_does_not_fit_is_in_the_key() -> None:
    drawing = draw(Id("m:3") >> ncd.Elementwise("relu"), mark="n0")
    assert [f.sign.name for f in legend_entries(drawing)][-1] == "misfit"
