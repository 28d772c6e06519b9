"""The key: every sign of every drawing has its entry, and every entry its sign."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ncd
from ncd import Id, Repeat, Scan, draw
from ncd.drawing.base.primitives import Picture
from ncd.drawing.base.style import ROLES
from ncd.drawing.marks import MARKS
from ncd.key import COLOURS, GROUPS, SIGNS, Place, key, of_mark
from ncd.key.sign_lookup import SHAPES, of_unit
from ncd.lang.glyph import Mark
from ncd.ops import CATALOGUE
from tests.drawing.large_systems import LARGE
from tests.figures.test_figures import FIGURES


def drawings() -> Iterator[tuple[str, Picture]]:
    for entry in ncd.catalogue.values():
        yield entry.name, draw(entry.build())
    for op in CATALOGUE:
        for sample in op.samples():
            yield op.__name__, draw(Id(sample.dom) >> sample.op if sample.dom else sample.op)
    for name, parts in FIGURES.items():
        for make in parts:
            yield name, make().draw()
    for name, make_large in LARGE.items():
        yield name, draw(make_large())


EVERY = [pytest.param(drawing, id=name) for name, drawing in drawings()]


@pytest.mark.parametrize("drawing", EVERY)
def test_no_glyph_is_without_an_entry(drawing: Picture) -> None:
    places = {place for found in key(drawing) for place in found.places}
    ids = {place.id for place in places if place.kind in ("node", "fence")}
    for glyph in drawing.glyphs:
        assert glyph.unit
        assert glyph.node in ids, glyph.words
    assert {fence.id for fence in drawing.fences} <= ids
    assert {wire.axis for wire in drawing.wires} <= {p.id for p in places if p.kind == "axis"}


@pytest.mark.parametrize("drawing", EVERY)
def test_every_mark_and_strand_is_one_of_the_signs(drawing: Picture) -> None:
    found = {each.sign.name: each.places for each in key(drawing)}
    for glyph in drawing.glyphs:
        assert glyph.unit
        of = {place.id for name in of_unit(glyph.unit) for place in found[name]}
        assert glyph.node in of or not of_unit(glyph.unit)
        for mark in glyph.unit.glyph.marks:
            assert of_mark(mark, glyph.role) in found


@pytest.mark.parametrize("sign", SIGNS.values(), ids=lambda sign: sign.name)
def test_a_picture_shows_its_sign(sign) -> None:
    assert sign.name in {found.sign.name for found in key(sign.picture())}
    assert sign.picture(dark=True).dark


@pytest.mark.parametrize("sign", SIGNS.values(), ids=lambda sign: sign.name)
def test_an_entry_is_one_sentence_or_two(sign) -> None:
    assert sign.words.endswith(".") and len(sign.words) < 220
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
    assert {*COLOURS} == {*ROLES}


# --- what is told apart --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [("3^2|2|L", "strided"), ("3|1T|L_+", "transposed"), ("2|2|Max", "pool"), ("3|1|", "window")],
)
def test_windows_are_told_apart(text: str, name: str) -> None:
    assert of_mark(Mark("trapezoid", text)) == name


def test_the_circle_of_the_residual_block_is_batch_norm() -> None:
    drawing = draw(ncd.catalogue["residual-block"].build())
    (norm,) = (found for found in key(drawing) if found.sign.name == "batchnorm")
    rings = {
        g.node
        for g in drawing.glyphs
        if g.unit and g.unit.glyph.marks[:1] and g.unit.glyph.marks[0].shape == "circle"
    }
    assert {*norm.ids("node")} == rings and len(rings) == 3


def test_a_folded_block_is_named_by_its_fence() -> None:
    drawing = draw(ncd.catalogue["residual-block"].build(), folded=("Residual Component",))
    (folded,) = (found for found in key(drawing) if found.sign.name == "folded")
    (box,) = (glyph.node for glyph in drawing.glyphs if glyph.cells)
    assert folded.places == (Place("fence", box),)


def test_brackets_of_a_scan_are_no_repetition() -> None:
    step = ncd.Function("f", "k:2, m:3 -> k, k")
    names = [found.sign.name for found in key(draw(Scan(step, "t:4")))]
    assert "scan" in names and "repeat" not in names
    layers = Repeat((Id("m:3") >> ncd.Elementwise("relu"),) * 3)
    names = [found.sign.name for found in key(draw(layers))]
    assert "repeat" in names and "scan" not in names


def test_what_does_not_fit_is_in_the_key() -> None:
    drawing = draw(Id("m:3") >> ncd.Elementwise("relu"), mark="n0")
    assert [f.sign.name for f in key(drawing)][-1] == "misfit"
