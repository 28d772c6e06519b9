"""The drawing: its coordinates as numbers, its lint, its SVG and its PNG."""

import io
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

import ncd
from ncd.cli.check import UNCOMPARED_PARTS
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import DrawnWire
from ncd.drawing.lint.lint import lint
from ncd.installation import package_path
from tests.drawing.stored_pictures import OTHERS, difference
from tests.support.sampling import count, sample
from tests.support.strategies import terms

ENTRIES = list(ncd.catalogue.values())


def at_the_ends(entry: ncd.Entry) -> list[dict[str, int]]:
    """Default, and every knob at both ends, alone and together."""
    alone = [{k.name: v} for k in entry.knobs for v in (k.min, k.max)]
    together = [{k.name: getattr(k, side) for k in entry.knobs} for side in ("min", "max")]
    return [entry.with_clamped_indexes(entry.settings(knobs)) for knobs in ({}, *alone, *together)]


def wire(drawing: Drawing, array: str, axis: str) -> DrawnWire:
    return next(w for w in drawing.wires if (w.array, w.axis) == (array, axis))


def rows(drawn: DrawnWire) -> set[float]:
    return {round(c.a.y, 2) for c in drawn.path} | {round(c.d.y, 2) for c in drawn.path}


@pytest.fixture(scope="module")
def attention() -> Drawing:
    return ncd.draw(ncd.catalogue["multi-head-attention"].build())


# --- lint ----------------------------------------------------------------------------------------


@pytest.mark.few(34)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_lint_finds_nothing_at_the_ends_of_every_knob(entry):
    cases = product(["names", "sizes", "both"], at_the_ends(entry))
    for labels, knobs in sample(cases, 2, entry.name):
        drawing = ncd.draw(entry.build(**knobs), labels, **entry.look(knobs))
        assert lint(drawing) == [], (labels, knobs)


@settings(max_examples=count(25, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_lint_finds_nothing_on_random_terms(term):
    assert lint(ncd.draw(term)) == []


# --- coordinates ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=count(25, 60), suppress_health_check=list(HealthCheck))
@given(terms())
def test_no_wire_leaves_the_box_around_the_ends_of_its_curves(term):
    """So the box of a drawing is found from these ends alone."""
    for wire in ncd.draw(term).wires:
        for a, b, c, d in wire.path:
            for one, way, back, other in zip(a, b, c, d, strict=True):
                low, high = min(one, other) - 1e-6, max(one, other) + 1e-6
                assert low <= way <= high and low <= back <= high


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


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
def test_the_stored_diagrams_are_today_s(name):
    """``assets/diagrams`` holds what ``python -m ncd render`` writes at the defaults."""
    assert difference(name) is None


def test_the_dark_diagram_of_the_readme_is_today_s():
    """``python -m ncd render multi-head-attention --dark`` writes it, for a dark page."""
    stored = package_path("assets/diagrams/dark/multi-head-attention.svg").read_text()
    entry = ncd.catalogue["multi-head-attention"]
    fresh = ncd.draw(entry.build(), dark=True, **entry.look({})).svg()
    assert UNCOMPARED_PARTS.sub("", stored).strip() == UNCOMPARED_PARTS.sub("", fresh).strip()


def test_the_png_shows_the_whole_drawing(attention):
    image = Image.open(io.BytesIO(attention.png(2.0))).convert("L")
    box = attention.box
    assert abs(image.width - 2 * box.width) <= 2
    assert abs(image.height - 2 * box.height) <= 2
    margins = [image.crop((0, 0, image.width, 6)), image.crop((0, 0, 6, image.height))]
    assert all(margin.getextrema()[0] > 235 for margin in margins)
    assert image.getextrema()[0] < 60
