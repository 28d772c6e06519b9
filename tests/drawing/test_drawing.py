"""The drawing: its coordinates as numbers, its lint, its SVG and its PNG."""

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

import ncd
from ncd.drawing import Drawing, drawn_cells, style
from ncd.drawing.data import DrawnWire, Point
from ncd.drawing.lint import lint
from tests.strategies import terms

SVG = "{http://www.w3.org/2000/svg}"
GOLDEN = Path(__file__).parents[2] / "assets" / "diagrams"
ENTRIES = list(ncd.catalogue.values())


def at_the_ends(entry: ncd.Entry) -> list[dict[str, int]]:
    """Default, and every knob at both ends, alone and together."""
    alone = [{k.name: v} for k in entry.knobs for v in (k.min, k.max)]
    together = [{k.name: getattr(k, side) for k in entry.knobs} for side in ("min", "max")]
    return [{}, *alone, *together]


def wire(drawing: Drawing, array: str, axis: str) -> DrawnWire:
    return next(w for w in drawing.wires if (w.array, w.axis) == (array, axis))


def rows(drawn: DrawnWire) -> set[float]:
    return {round(c.a.y, 2) for c in drawn.path} | {round(c.d.y, 2) for c in drawn.path}


@pytest.fixture(scope="module")
def attention() -> Drawing:
    return ncd.draw(ncd.catalogue["multi-head-attention"].build())


# --- lint ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
@pytest.mark.parametrize("labels", ["names", "sizes", "both"])
def test_lint_finds_nothing_at_the_ends_of_every_knob(entry, labels):
    for knobs in at_the_ends(entry):
        assert lint(ncd.draw(entry.build(**knobs), labels)) == [], knobs


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_lint_finds_nothing_on_random_terms(term):
    assert lint(ncd.draw(term)) == []


def test_lint_sees_two_labels_on_one_place(attention):
    first, second, *rest = attention.labels
    moved = replace(attention, labels=(first, replace(second, at=first.at), *rest))
    assert any("overlap" in fault and "labels" in fault for fault in lint(moved))


def test_lint_sees_a_label_on_a_foreign_wire(attention):
    label = attention.labels[0]
    foreign = next(w for w in attention.wires if w.array != label.array).path[0].a
    moved = replace(attention, labels=(replace(label, at=Point(foreign.x, foreign.y + 5)),))
    assert any("lies on a wire" in fault for fault in lint(moved))


def test_lint_sees_a_label_on_a_glyph(attention):
    box = next(g for g in attention.glyphs if g.node == "n1").ink[0]
    moved = replace(attention, labels=(replace(attention.labels[0], at=Point(box.x0, box.y1)),))
    assert any("lies on the glyph of n1" in fault for fault in lint(moved))


def test_lint_sees_two_glyphs_on_one_place(attention):
    one, two, *rest = attention.glyphs
    moved = replace(attention, glyphs=(one, replace(two, ink=one.ink), *rest))
    assert any("glyphs of n0" in fault and "overlap" in fault for fault in lint(moved))


def test_lint_sees_a_gap_a_loose_end_and_a_missing_wire(attention):
    whole = wire(attention, "v4", "k")
    others = tuple(w for w in attention.wires if w is not whole)
    for path, fault in (
        (whole.path[:1] + whole.path[2:], "has a gap"),
        (whole.path[2:], "begins in the open"),
        ((), "is not drawn"),
    ):
        broken = replace(attention, wires=(*others, replace(whole, path=path)))
        assert any(fault in found for found in lint(broken)), fault


def test_lint_sees_wires_that_cross_for_no_reason(attention):
    top, other = wire(attention, "v0", "y"), wire(attention, "v1", "x")
    swapped = replace(
        top,
        path=tuple(c._replace(d=Point(c.d.x, 500.0), c=Point(c.c.x, 500.0)) for c in top.path[:1]),
        taken_by="",
        made_by="",
    )
    crossing = replace(attention, wires=(swapped, replace(other, path=other.path)))
    assert any("cross" in fault for fault in lint(crossing))


def test_lint_sees_what_is_cut_off(attention):
    small = replace(attention, box=attention.box._replace(x1=attention.box.x1 - 60))
    assert any("is cut off" in fault for fault in lint(small))


# --- coordinates ---------------------------------------------------------------------------------


def test_the_query_axis_is_straight_until_the_last_contraction(attention):
    """Figure 21: y runs level over both products, and comes down behind the second."""
    levels = set.union(*(rows(wire(attention, v, "y")) for v in ("v0", "v4", "v7", "v8", "v9")))
    assert len(levels) == 1
    assert max(rows(wire(attention, "v10", "y"))) > levels.pop()


def test_values_run_straight_from_their_map_to_the_output(attention):
    """Nothing bends V: its features go level from where they begin to where they are taken."""
    for axis in ("k", "h"):
        assert len(rows(wire(attention, "v6", axis))) == 1


def test_the_arrays_of_a_state_stand_in_order(attention):
    """Q over K over V, and within each the order of its axes."""
    starts = [wire(attention, v, a).path[-1].a.y for v in ("v4", "v5", "v6") for a in ("k", "h")]
    assert starts == sorted(starts)


def test_wires_of_one_array_are_a_gap_apart_and_arrays_further():
    drawing = ncd.draw(ncd.Id("a:2 b:2, c:2"))
    a, b, c = (w.path[0].a.y for w in drawing.wires)
    assert b - a == style.AXIS_GAP
    assert c - b == style.ARRAY_GAP


def test_a_contraction_is_a_cap_in_which_both_wires_end(attention):
    upper, lower = wire(attention, "v4", "k"), wire(attention, "v5", "k")
    assert upper.path[-1].d == lower.path[-1].d


def test_a_diagonal_axis_ends_at_a_dot_on_the_wire_that_goes_on(attention):
    """h of the queries bends down onto h of the keys (notation, "diagonalise")."""
    end = wire(attention, "v4", "h").path[-1].d
    product = next(g for g in attention.glyphs if g.node == "n4")
    assert end in [item.center for item in product.items if hasattr(item, "center")]
    assert end.y in rows(wire(attention, "v5", "h"))


def test_every_array_boundary_has_a_dashed_line(attention):
    """One between the inputs, which goes on between q and k; one from the copy to V."""
    assert len(attention.dashes) == 2
    for dash in attention.dashes:
        assert all(a.d == b.a for a, b in zip(dash.path, dash.path[1:], strict=False))


def test_a_repetition_is_drawn_once_between_brackets():
    body = ncd.Block(ncd.Linear("m -> m:4", "L"), "", "linear")
    drawing = ncd.draw(ncd.Id("y:3 m:4") >> ncd.Repeat((body, body, body)))
    (fence,) = [f for f in drawing.fences if f.brackets]
    assert [t.label.words for t in fence.title] == ["lambda equals 1", "lambda equals 3"]
    assert len(drawing.glyphs) == 1
    assert {w.array for w in drawing.wires} == {"v0", "v1", "v3"}  # of the first body, and its end
    inner, outer = wire(drawing, "v1", "m"), wire(drawing, "v3", "m")
    assert inner.path[-1].d == outer.path[0].a


def test_images_are_drawn_from_the_last_axis_up():
    drawing = ncd.draw(ncd.Id("b:2 c:3 x:4x4"))
    assert [w.axis for w in sorted(drawing.wires, key=lambda w: w.path[0].a.y)] == ["x", "c", "b"]
    assert [w.double for w in drawing.wires if w.axis == "x"] == [True]


# --- SVG -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_ids_are_those_of_the_circuit_and_of_the_trace(entry):
    term = entry.build()
    root = ET.fromstring(ncd.draw(term).svg())
    circuit = ncd.elaborate(term)
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    arrays = {e.get("data-array") for e in root.iter() if e.get("data-array")}
    nodes = [e.get("data-node") for e in root.iter() if e.get("data-node")]
    assert arrays <= set(trace.values) == set(circuit.values)
    assert sorted(nodes) == sorted(cell.id for cell in drawn_cells(circuit))
    axes = {e.get("data-axis") for e in root.iter() if e.get("data-axis")}
    drawn = {w.array for w in ncd.draw(term).wires}
    assert axes == {axis.name for id in drawn for axis in circuit.values[id].array}


def test_every_wire_and_op_has_words_and_can_be_reached(attention):
    root = ET.fromstring(attention.svg())
    buttons = [e for e in root.iter() if e.get("role") == "button"]
    assert len(buttons) == len(attention.wires) + len(attention.glyphs)
    for element in buttons:
        assert element.get("tabindex") == "0"
        assert element.find(f"{SVG}title").text == element.get("aria-label") != ""
    words = [e.get("aria-label") for e in buttons]
    assert "einsum, contracts k: y k h, x k h to y x h" in words
    assert words.index("sequence axis y, size 20, of array (y m)") == 0


def test_it_says_what_it_is(attention):
    root = ET.fromstring(attention.svg())
    assert root.find(f"{SVG}title").text == "Multi-Head Attention"
    assert root.find(f"{SVG}desc").text.startswith("From (y m, x m) to (y m). In order: copy of")


def test_fonts_are_embedded_when_it_stands_alone(attention):
    alone, inline = attention.svg(), attention.svg(fonts=False)
    used = set(re.findall(r'font-family="([^"]+)"', alone))
    assert {f'font-family:"{name}"' in alone for name in used} == {True}
    assert "@font-face" not in inline
    assert "http" not in alone.replace("http://www.w3.org/2000/svg", "")


def test_titles_are_escaped():
    evil = '<script>alert("x")</script>&'
    text = ncd.draw(ncd.Block(ncd.Id("m:2") >> ncd.Softmax("m"), evil)).svg()
    root = ET.fromstring(text)
    assert "<script" not in text
    assert any("alert" in (e.text or "") for e in root.iter())


def test_numbers_are_plain():
    text = ncd.draw(ncd.catalogue["residual-block"].build()).svg(fonts=False)
    assert not re.search(r"\d\.\d{3,}|nan|inf|-0[^.\d]|\de-", text)


def test_a_sketch_without_sizes_is_drawn_and_the_failing_op_marked():
    sketch = ncd.Linear("m -> k h", "Q") >> ncd.Softmax("k")
    text = ncd.draw(sketch, "both", mark="n1").svg()
    marked = [e for e in ET.fromstring(text).iter() if e.get("class") == "op marked"]
    assert [e.get("data-node") for e in marked] == ["n1"]
    assert marked[0].get("aria-label").endswith("this does not fit")


@pytest.mark.parametrize("dark", [False, True])
def test_ink_has_contrast_on_every_fill(dark):
    ink = style.theme(dark).ink
    for role in style.ROLES:
        assert contrast(ink, style.fill(role, dark)) >= 4.5, role
    assert contrast(style.theme(dark).error, style.theme(dark).page) >= 4.5


def contrast(one: str, two: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lin = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]

    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_stored_diagrams_are_today_s(entry):
    """``assets/diagrams`` holds what ``python -m ncd render`` writes at the defaults."""
    stored = (GOLDEN / f"{entry.name}.svg").read_text(encoding="utf-8")
    fresh = ncd.draw(entry.build()).svg()
    style_sheet = re.compile(r"<style>.*?</style>", re.S)  # compression may differ by version
    assert style_sheet.sub("", stored).strip() == style_sheet.sub("", fresh).strip()


def test_the_png_shows_the_whole_drawing(attention):
    image = Image.open(io.BytesIO(attention.png(2.0))).convert("L")
    box = attention.box
    assert abs(image.width - 2 * box.width) <= 2
    assert abs(image.height - 2 * box.height) <= 2
    margins = [image.crop((0, 0, image.width, 6)), image.crop((0, 0, 6, image.height))]
    assert all(margin.getextrema()[0] > 235 for margin in margins)
    assert image.getextrema()[0] < 60
