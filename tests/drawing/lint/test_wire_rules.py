"""Lint of wires, crossings and dashed lines: each rule sees its fault in a sound drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ncd
from ncd import Concat, ConvTranspose, Copy, Einsum, Id, Linear, Repeat, Swap
from ncd.drawing.elements.primitives import Dot, Point, Rectangle, line, s_curve
from ncd.drawing.lint.lint import lint
from ncd.drawing.lint.wire_rules import _shared_length, min_unit_crossings
from ncd.language.terms import Term
from tests.drawing.lint.planted_faults import across, dashed, middle, rewired, sees, shown, wire

# --- wires ----------------------------------------------------------------------------------------


def test_a_wire_on_a_foreign_glyph(plain):
    glyph, foreign = plain.glyphs[0], wire(plain, "v2", "z")
    over = line(*across(plain, middle(glyph.ink[0])))
    sees(rewired(plain, foreign, (over,)), f"wire z of v2 lies on the glyph of {glyph.node}")


def test_a_wire_on_a_title(attention):
    title = next(f.title[0] for f in attention.fences if f.title)
    name, foreign = title.label.words, attention.wires[0]
    over = line(*across(attention, middle(title.box)))
    sees(rewired(attention, foreign, (over,)), f"label {name!r} lies on a wire {foreign.axis}")


def test_two_wires_that_run_as_one(plain):
    one, other = wire(plain, "v1", "x"), wire(plain, "v2", "z")
    y, start, end = one.path[0].a.y, other.path[0].a, other.path[-1].d
    assert other.path[0].a.y - y > 20
    path = (line(Point(start.x, y + 0.5), Point(end.x, y + 0.5)),)
    sees(rewired(plain, other, path), "wires x of v1 and z of v2 run as one for")


def test_wires_may_run_together_for_a_little_before_a_dot():
    assert lint(ncd.draw(Copy("m:3") >> Linear("m -> m", "W") >> ncd.Add())) == []


def test_a_wire_that_ends_on_a_foreign_wire(plain):
    one, other = wire(plain, "v1", "x"), wire(plain, "v2", "z")
    start, y = other.path[0].a, one.path[0].a.y
    path = (s_curve(start, Point(start.x + 60, y)),)
    sees(rewired(plain, other, path), "wire z of v2 ends on wire x of v1")


def test_a_wire_that_ends_on_one_of_its_op_without_a_dot():
    drawing = ncd.draw(Copy("m:3"))
    dot = next(i for glyph in drawing.glyphs for i in glyph.items if isinstance(i, Dot))
    assert lint(drawing) == []
    glyphs = tuple(replace(g, items=tuple(i for i in g.items if i != dot), ink=())
                   for g in drawing.glyphs)  # fmt: skip
    loose = tuple(replace(w, open_ends=frozenset({"begins", "ends"})) for w in drawing.wires)
    begun = replace(loose[-1], path=(s_curve(dot.center._replace(x=dot.center.x + 3),
                                          loose[-1].path[-1].d),))  # fmt: skip
    sees(replace(drawing, glyphs=glyphs, wires=(*loose[:-1], begun)), "without a dot")


def test_a_wire_that_goes_on_where_a_cap_of_its_op_ends(product):
    out, cap = wire(product, "v2", "a"), wire(product, "v0", "b").path[-1].d
    joined = (line(Point(cap.x + 8, cap.y), Point(product.box.x1 - 10, cap.y)),)
    sees(rewired(product, out, joined), "wire a of v2 goes on where the cap of n0 ends")


def test_a_hook(plain):
    one = wire(plain, "v2", "z")
    start, d = one.path[0].a, one.path[-1].d
    x = (start.x + d.x) / 2
    before, after = Point(x, d.y), Point(x + 5, d.y + 40)
    path = (line(start, before), s_curve(before, after), line(after, Point(d.x, d.y + 40)))
    sees(rewired(plain, one, path), "wire z of v2 makes a hook")


# --- crossings ------------------------------------------------------------------------------------


def test_crossings_that_no_op_asks_for(plain):
    one, other = wire(plain, "v1", "x"), wire(plain, "v2", "z")
    start, end = other.path[0].a, other.path[-1].d
    up = s_curve(start, Point(end.x, one.path[-1].d.y - 12))
    sees(rewired(plain, other, (up,)), "wires x of v1 and z of v2 cross")


def test_crossings_beyond_the_least_that_an_op_needs(turned):
    """Two wires that must not cross do so twice."""
    one, other = wire(turned, "v0", "a"), wire(turned, "v0", "d")
    start, rows = one.path[0].a, other.path[0].a.y
    half = start.x + (one.path[-1].d.x - start.x) / 3
    dip = Point(half, rows + 8)
    rest = tuple(c for c in one.path if c.a.x > half)
    path = (s_curve(start, dip), s_curve(dip, rest[0].a if rest else one.path[-1].d), *rest)
    found = lint(rewired(turned, one, path))
    assert any("where 2 would do" in fault for fault in found), found


def test_three_wires_that_cross_in_one_point(turned):
    left, right = turned.box.x0 + 10, turned.box.x1 - 10
    rows = [0.0, 21.0, 42.0, 63.0]
    paths = [(line(Point(left, y), Point(right, 63.0 - y)),) for y in rows]
    wires = tuple(replace(w, path=p) for w, p in zip(turned.wires[:4], paths, strict=True))
    sees(replace(turned, wires=wires), "three wires or more cross in one point")


@pytest.mark.parametrize(
    ("term", "need"),
    [
        (Einsum("a:2 b:3 c:4 -> a b c"), 0),
        (Einsum("a:2 b:3 c:4 -> c b a"), 3),
        (Swap("a:2 b:3", "c:4"), 2),
        (Copy("a:2 b:3"), 1),
        (Einsum("y:2 k:3, x:4 k -> y x"), 1),
        (Id("a:2 b:3 c:4") >> Linear("a c -> e:7", "W"), 1),
    ],
    ids=lambda value: str(value),
)
def test_the_least_crossings_that_an_op_needs(term: Term, need: int):
    (glyph,) = ncd.draw(term).glyphs
    assert glyph.unit is not None
    assert min_unit_crossings(glyph.unit) == need


# --- dashed lines ---------------------------------------------------------------------------------


def test_a_dashed_line_through_a_name_and_a_title(attention):
    for text in (attention.labels[0], next(f.title[0] for f in attention.fences if f.title)):
        planted = dashed(attention, *across(attention, middle(text.box)))
        sees(planted, f"a dashed line runs through label {text.label.words!r}")


def test_a_dashed_line_through_what_brackets_count():
    drawing = ncd.draw(Repeat((Linear("b:3 -> b", "W"),) * 3, "left"))
    text = next(t for fence in drawing.fences if fence.brackets for t in fence.title)
    planted = dashed(drawing, *across(drawing, middle(text.box)))
    sees(planted, f"a dashed line runs through label {text.label.words!r}")


def test_a_dashed_line_through_a_mark(plain):
    glyph = plain.glyphs[0]
    sees(dashed(plain, *across(plain, middle(glyph.ink[0]))),
         f"a dashed line runs through the glyph of {glyph.node}")  # fmt: skip


def test_a_dashed_line_across_a_wire(plain):
    one = wire(plain, "v1", "x")
    x, y = middle(plain.box).x, one.path[0].a.y
    planted = dashed(plain, Point(x - 20, y - 60), Point(x + 20, y + 60))
    sees(planted, "a dashed line crosses wire x of v1")


def test_a_dashed_line_through_a_note(plain):
    box = Rectangle(plain.box.x0, plain.box.y1 - 8, plain.box.x1, plain.box.y1 - 2)
    noted = shown(plain, "note", box)
    start, end = across(plain, middle(box))
    planted = dashed(noted, start._replace(y=box.y0 - 4), end._replace(y=box.y1 + 4))
    sees(planted, "a dashed line runs through the note 'planted'")


def test_a_dashed_line_along_the_border_of_a_fence(attention):
    fences = [fence for fence in attention.fences if not fence.brackets]
    assert len(fences) > 1
    for fence in fences:
        for y in (fence.box.y0 + 0.5, fence.box.y1 - 0.5):
            planted = dashed(attention, Point(fence.box.x0 + 9, y), Point(fence.box.x0 + 60, y))
            sees(planted, f"a dashed line runs along the border of {fence.words!r}")


def test_a_crossing_that_may_be_of_two_ops_is_of_the_one_that_needs_it():
    """The concatenation has its own three; the fourth brings i and o beside each other."""
    term = Copy("i:1 j:1 l:3") >> Concat("l, l -> o") >> ConvTranspose("i o -> p:2 q", "up", 1)
    assert lint(ncd.draw(term)) == []


@pytest.mark.parametrize(
    ("end", "far", "shared"),
    [
        ((6.0, 0.0), 0.5, 4.0),
        ((6.0, 1.0), 0.75, 0.0),  # its end is further away than that
        ((6.0, 1.0), 1.25, 4.0),
        ((2.0, 3.0), 9.0, 0.0),  # across
        ((14.0, 0.0), 0.5, 8.0),  # only beside the first
        ((-5.0, 0.0), 0.5, 2.0),
    ],
)
def test_segments_run_along_each_other_within_a_distance(
    end: tuple[float, float], far: float, shared: float
) -> None:
    points = [np.array([point]) for point in ((0.0, 0.0), (10.0, 0.0), (2.0, 0.0), end)]
    assert _shared_length(*points, np.array([far])).tolist() == pytest.approx([shared])
