"""The SVG: what it says to those who point, listen or type, how it looks, what it weighs."""

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from PIL import Image, ImageChops

import ncd
from ncd.circuit.circuit import array_names
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.painting import commands, number
from ncd.drawing.backends.svg import _pieces, rules, write
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import sans
from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    Outline,
    Point,
    Rectangle,
    Text,
    corners,
    line,
    polygon,
)
from ncd.drawing.pipeline import drawn_cells
from ncd.installation import package_path
from ncd.language.blocks import ROLES
from tests.support.strategies import terms

WORD = re.compile(r"[^\W_]")
SVG = "{http://www.w3.org/2000/svg}"
ENTRIES = list(ncd.catalogue.values())


def drawn(name: str = "multi-head-attention", **look: bool) -> Drawing:
    return ncd.draw(ncd.catalogue[name].build(), folded=(), width=None, **look)


@pytest.fixture(scope="module")
def attention() -> Drawing:
    return drawn()


def groups(text: str, kind: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(text).iter() if kind in e.get("class", "").split()]


# --- what it says --------------------------------------------------------------------------------


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_ids_are_those_of_the_circuit_and_of_the_trace(entry):
    term = entry.build()
    drawing = drawn(entry.name)
    root = ET.fromstring(drawing.svg())
    circuit = ncd.elaborate(term)
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    arrays = {e.get("data-array") for e in root.iter() if e.get("data-array")}
    nodes = [e.get("data-node") for e in root.iter() if e.get("data-node")]
    assert arrays <= set(trace.values) == set(circuit.values)
    assert len(nodes) == len(set(nodes))
    # in one row equal layers without a repetition of their own are drawn one by one
    assert {cell.id for cell in drawn_cells(circuit)} <= set(nodes)
    assert set(nodes) <= {cell.id for cell in circuit.cells}
    axes = {e.get("data-axis") for e in root.iter() if e.get("data-axis")}
    ids = {w.array for w in drawing.wires}
    assert axes == {axis.name for id in ids for axis in circuit.values[id].array}


@pytest.mark.parametrize(("axis", "array"), [("m", "v1"), ("", "v1"), ("m", ""), ("", "")])
def test_a_part_says_only_what_it_is_of(attention, axis, array):
    """In a quiz the axis that is asked for has no name."""
    (wire, *_) = attention.wires
    one = replace(attention, wires=(replace(wire, axis=axis, array=array),))
    (part,) = groups(one.svg(), "wire")
    said = {key: part.get(f"data-{key}") for key in ("axis", "array")}
    assert said == {"axis": axis or None, "array": array or None}


def test_every_wire_op_and_block_has_words_and_can_be_reached(attention):
    buttons = [e for e in ET.fromstring(attention.svg()).iter() if e.get("role") == "button"]
    parts = (*attention.fences, *attention.wires, *attention.glyphs)
    assert [e.get("tabindex") for e in buttons] == ["0"] * len(parts)
    words = [e.find(f"{SVG}title").text for e in buttons]
    behind = sorted(
        name.removeprefix(f"{lead(e)}: ") for e, name in zip(buttons, words, strict=True)
    )
    assert behind == sorted(getattr(part, "description", "") or part.words for part in parts)
    assert "einsum, contracts k: y k h, x k h to y x h" in words
    assert "L V: learned linear map V, m to k h" in words
    assert words[len(attention.fences)] == "y: sequence axis y, size 20, of array (y m)"
    assert "k h" not in {lead(e) for e in buttons}


def lead(part: ET.Element) -> str:
    """The text that stands in a part, as axe-core reads it: what is between its tags."""
    seen = "".join(t for e in part.iter() if e.tag != f"{SVG}title" for t in (e.text, e.tail) if t)
    return " ".join(seen.split())


def misnamed(text: str) -> list[tuple[str, str]]:
    """The parts whose names do not begin with the text that stands there."""
    buttons = [e for e in ET.fromstring(text).iter() if e.get("role") == "button"]
    named = [(lead(e), e.find(f"{SVG}title").text) for e in buttons]
    return [(seen, name) for seen, name in named if WORD.search(seen) and name.find(seen)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_part_is_called_by_what_stands_there(entry):
    """Who steers by voice says what they see; the stored diagrams are those of today."""
    assert misnamed(package_path(f"assets/diagrams/{entry.name}.svg").read_text()) == []


@pytest.mark.few(10)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_it_is_with_sizes_folded_and_filled_in_again(entry):
    for labels in ("sizes", "both"):
        assert misnamed(ncd.draw(entry.build(), labels, width=700).svg()) == []
    for _ in range(3):  # the third is a cached drawing
        knob = next((k for k in entry.knobs if k.is_size and not k.names), None)
        settings = {knob.name: knob.nearest(knob.default + _ * knob.step)} if knob else {}
        assert misnamed(ncd.draw(entry.build(**settings), width=700).svg()) == []


def test_a_wire_holds_its_names(attention):
    text = attention.svg()
    held = [g for g in groups(text, "wire") if g.find(f"{SVG}text") is not None]
    again = groups(text, "label")
    assert len(held) + len(again) == len(attention.labels)
    assert all(group.get("aria-hidden") and group.find(f"{SVG}title").text for group in again)
    for group in (*held, *again):
        assert group.find(f"{SVG}text").text == group.get("data-axis")[0]


def test_arrays_of_the_same_axes_are_told_apart(attention):
    words = {wire.description for wire in attention.wires}
    assert "axis k, size 16, of array k (x k h)" in words
    assert "axis k, size 16, of array v (x k h)" in words
    names = array_names(ncd.elaborate(ncd.catalogue["multi-head-attention"].build()))
    assert [names[f"v{n}"] for n in (7, 8, 9)] == ["scores", "scaled scores", "weights"]


def test_it_says_what_it_is_in_order(attention):
    root = ET.fromstring(attention.svg())
    assert root.find(f"{SVG}title").text == "Multi-Head Attention"
    text = root.find(f"{SVG}desc").text
    assert text.startswith("From (y m, x m) to (y m). Multi-Head Attention begins. Copy: copy of")
    inside = text.partition("Scaled Dot-Product Attention: ")[2].partition(". ")[0].split("; ")
    assert inside[0] == "einsum, contracts k: y k h, x k h to y x h, gives scores"
    assert inside[2].endswith("gives weights")
    assert text.endswith("End of Multi-Head Attention.")


def test_a_repetition_is_said_once():
    layer = ncd.Block(ncd.Linear("m:2 -> m:2", "W") >> ncd.Softmax("m"), "Layer")
    text = ncd.draw(ncd.Repeat((layer,) * 6), folded=(), width=None).description
    assert text.count("learned linear map") == 1
    assert "Repeated 6 times. Layer: " in text and text.endswith("End of what is repeated.")


def test_titles_are_escaped():
    evil = '<script>alert("x")</script>&'
    text = ncd.draw(ncd.Block(ncd.Id("m:2") >> ncd.Softmax("m"), evil)).svg()
    root = ET.fromstring(text)
    assert "<script" not in text
    assert any("alert" in (e.text or "") for e in root.iter())


def test_a_sketch_without_sizes_is_drawn_and_the_failing_op_marked():
    sketch = ncd.Linear("m -> k h", "Q") >> ncd.Softmax("k")
    marked = groups(ncd.draw(sketch, "both", mark="n1").svg(), "marked")
    assert [e.get("data-node") for e in marked] == ["n1"]
    assert marked[0].find(f"{SVG}title").text.endswith("this does not fit")


def test_a_folded_block_stands_for_its_ops():
    term = ncd.catalogue["multi-head-attention"].build()
    text = ncd.draw(term, folded=["Scaled Dot-Product Attention"]).svg()
    (box,) = (g for g in groups(text, "op") if g.get("data-fence"))
    assert box.get("data-fence") == "f5"
    assert box.get("data-node").split() == ["n4", "n5", "n6", "n7"]


def test_extras_are_written_where_they_belong(attention):
    frame = Outline(polygon(corners(0, 5, 0, 8)), "note")
    note = Annotation(
        "note", (frame, Dot(Point(0, 0), 2), Text(sans("Here"), Point(0, 0))), "Here", "n4"
    )
    band = Annotation("band", (frame,), behind=True)
    text = write(replace(attention, extras=(note, band)), fonts=False)
    root = ET.fromstring(text)
    kinds = [e.get("class") for e in root if e.tag == f"{SVG}g"]
    assert kinds.index("band") < kinds.index("wire") and kinds[-1] == "note"
    (group,) = groups(text, "note")
    assert group.get("data-of") == "n4" and group.find(f"{SVG}title").text == "Here"
    assert group.find(f"{SVG}path").get("class") == "soft"


# --- how it looks --------------------------------------------------------------------------------


def test_fonts_are_embedded_when_it_stands_alone(attention):
    alone, inline = attention.svg(), attention.svg(fonts=False)
    used = {span.face.family for text in attention.texts for span in text.label.spans}
    assert {f'font-family:"{name}"' in alone for name in used} == {True}
    assert "@font-face" not in inline
    assert "http" not in alone.replace("http://www.w3.org/2000/svg", "")


def test_its_rules_reach_no_other_element(attention):
    """All begin with the class of the root, and are the same in every drawing of a theme."""
    style_sheet = re.compile(r"<style>(.*?)</style>", re.S)
    for dark, palette in product((False, True), style.PALETTES):
        rules = style_sheet.search(drawn(dark=dark, palette=palette).svg(fonts=False))[1]
        selectors = [s for rule in rules.split("}")[:-1] for s in rule.split("{")[0].split(",")]
        assert selectors and all(re.match(r"\.circuit(\.dark)? \.", s) for s in selectors)


def test_coloured_shapes_have_a_border_or_on_paper_a_shadow(attention):
    """The shadow's id differs between light and dark, as both may stand in one document."""

    def ids(palette, dark):
        return re.findall(r' id="([^"]*)"', drawn(dark=dark, palette=palette).svg(fonts=False))

    for bordered in ("quiet", "bw"):
        assert ids(bordered, False) == ids(bordered, True) == []
    assert (ids("paper", False), ids("paper", True)) == (["ncd-shadow"], ["ncd-shadow-dark"])
    edge = style.theme(False).edge
    assert f".circuit .soft{{stroke:{edge};stroke-width:1}}" in attention.svg(fonts=False)
    paper = drawn(palette="paper").svg(fonts=False)
    assert edge not in paper and style.PAPER["einsum"][0] in paper
    assert style.QUIET["einsum"][0] in attention.svg(fonts=False)


def test_rules_and_groups_draw_what_attributes_would(attention):
    """The renderer of the PNG heeds the style sheet: a wire is a line, a name has its own face."""
    image = Image.open(io.BytesIO(attention.png(2.0))).convert("RGB")
    wire = next(w for w in attention.wires if (w.array, w.axis) == ("v0", "y"))
    x, y = wire.path[0].a
    left, top = attention.box.x0, attention.box.y0
    at = (round(2 * (x + 4 - left)), round(2 * (y - top)))
    dark = min(sum(image.getpixel((at[0], at[1] + n))) for n in (-1, 0, 1))
    assert dark < 300 < sum(image.getpixel((at[0], at[1] + 6)))
    plain = Image.open(io.BytesIO(drawn(dark=True).png(2.0))).convert("RGB")
    assert plain.size == image.size and ImageChops.difference(plain, image).getbbox()


def test_bodies_of_marks_lie_under_all_wires():
    text = drawn("residual-block").svg(fonts=False)
    body = text.index(f'fill="{style.paint_colour("convolution")}" d=')
    assert body < text.index('class="wire')


def test_numbers_are_plain():
    text = drawn("residual-block").svg(fonts=False)
    assert not re.search(r"\d\.\d{3,}|nan|inf|-0[^.\d]|\de-", text)


def test_steps_of_a_path_add_up():
    """However many relative steps there are, the end is where it should be."""
    points = [Point(n * 1.005, (n % 7) * 0.333) for n in range(200)]
    text = commands(polygon(points))
    x, y = (float(v) for v in re.match(r"M(\S+) (\S+?)l", text).groups())
    for step in re.findall(r"([lhv])([^lhvMz]*)", text):
        values = [float(v) for v in re.findall(r"-?\d*\.?\d+", step[1])]
        x += values[0] if step[0] != "v" else 0
        y += values[-1] if step[0] != "h" else 0
    assert (round(x, 2), round(y, 2)) == (0, 0)


@given(terms())
@settings(max_examples=20, deadline=None)
def test_any_drawing_is_sound_xml(term):
    drawing = ncd.draw(term)
    root = ET.fromstring(drawing.svg(fonts=False))
    box = Rectangle(*drawing.box)
    assert root.get("viewBox").split()[2:] == [number(box.width), number(box.height)]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("palette", "least"), [("quiet", 6.8), ("paper", 4.5), ("bw", 6.8)])
def test_ink_has_contrast_on_every_fill(palette, least, dark):
    ink = style.theme(dark, palette).ink
    for role in style.PALETTES[palette]:
        assert contrast(ink, style.role_colour(role, dark, palette)) >= least, role
    theme = style.theme(dark, palette)
    assert contrast(theme.error, theme.page) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_black_and_white_is_greys_that_stay_apart(dark):
    """Also of cells, highlights, callouts and marks; each step is a twentieth of the scale."""
    look = {"notes": {"Q": "It learns.", "axis h": "heads"}, "bands": True, "cells": True}
    one = drawn(palette="bw", dark=dark, mark="2.0", **look)
    found = {*re.findall(r"#[0-9a-f]{6}", one.svg(fonts=False))}
    found |= {f"#{each.lower()}" for each in re.findall(r"{HTML}{([0-9A-F]{6})}", one.tex())}
    assert len(found) > 6
    assert [each for each in found if len({each[1:3], each[3:5], each[5:]}) > 1] == []
    levels = sorted({int(style.role_colour(role, dark, "bw")[1:3], 16) for role in ROLES})
    assert len(levels) == 6
    assert min(after - before for before, after in pairwise(levels)) >= 12
    page = Image.open(io.BytesIO(one.png(1.0))).convert("RGB")
    assert {len({*colour}) for _, colour in page.getcolors(1 << 24)} == {1}


def contrast(one: str, two: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lin = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]

    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


# --- what it weighs ------------------------------------------------------------------------------


def test_it_is_small(attention):
    assert len(attention.svg(fonts=False).encode()) <= 13_000
    assert len(attention.svg().encode()) <= 20_000


# --- notebooks -----------------------------------------------------------------------------------


def test_a_notebook_shows_a_term_and_a_drawing():
    term = ncd.catalogue["multi-head-attention"].build()
    shown = term._repr_mimebundle_(include=None, exclude=None)
    assert shown["image/svg+xml"].startswith("<svg") and "@font-face" in shown["image/svg+xml"]
    assert shown["text/plain"] == repr(term)
    drawing = ncd.draw(term)
    assert drawing._repr_mimebundle_()["text/plain"].startswith("Multi-Head Attention. From (y m")


def test_a_term_that_cannot_be_drawn_is_shown_as_text(monkeypatch):
    def refuse(term):
        raise ncd.errors.LimitError("too large")

    monkeypatch.setattr("ncd.drawing.pipeline.draw", refuse)
    term = ncd.Id("m:2")
    assert term._repr_mimebundle_() == {"text/plain": "Id('m:2')"}


def test_a_path_that_turns_back_on_itself_keeps_its_turns() -> None:
    """Only steps in one direction become one."""
    xs = (0, 9, 14, 10, 20)
    path = tuple(line(Point(a, 5), Point(b, 5)) for a, b in pairwise(xs))
    assert commands(path) == "M0 5h14h-4h10"
    upright = tuple(line(Point(5, a), Point(5, b)) for a, b in pairwise(xs))
    assert commands(upright) == "M5 0v14v-4v10"


def test_the_two_lines_of_a_double_wire_are_as_thick_as_a_wire() -> None:
    plain, double = rules(False, frozenset()), rules(True, frozenset())
    width = r"%s\{stroke-width:([\d.]+)"
    (single,) = re.findall(width % r"\.circuit \.wire path", plain)
    (outer,) = re.findall(width % r"\.double path", double)
    (inner,) = re.findall(width % r"\.double \.gap", double)
    assert float(outer) - float(inner) == pytest.approx(2 * float(single))
    assert (float(outer) + float(inner)) / 2 == pytest.approx(style.DOUBLE)
    assert ".double" not in plain


def test_a_picture_is_split_at_each_name_so_that_others_are_filled_in() -> None:
    """At the title, the description, and the words of each wire and each op, but at no text."""
    drawing = ncd.draw(ncd.Id("y:2 m:3") >> ncd.Linear("m -> k:4", "W"))
    pieces, gaps = _pieces(drawing, True)
    count = 2 + len(drawing.wires) + len(drawing.glyphs)
    assert {n for n, _ in gaps} == {*range(count)} and gaps[:2] == [(0, ""), (1, "")]
    assert sorted(map(int, pieces[1::2])) == [*range(len(gaps))]
    named = ncd.draw(ncd.Block(ncd.Softmax("m:3"), "⦃3⦄"))
    assert _pieces(named, True)[0] == []
