"""Strands: how wires run inside an op, as numbers."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

import ncd
from ncd import Add, Axes, Copy, Einsum, Group, Id, Linear, Swap, Wire, draw, elaborate
from ncd.drawing.elements import routing, style
from ncd.drawing.elements.primitives import Dot, Outline, Point, line
from ncd.drawing.elements.routing import cross_wires, crossing_width
from ncd.drawing.lint.lint import lint
from ncd.drawing.placement.coordinates import late
from ncd.drawing.placement.wire_order import mark_order
from ncd.drawing.plan.build_plan import plan
from tests.drawing.hard_terms import cross_attention

SIZES = Axes(a=2, b=3, c=4, d=5, e=6, f=2, h=2, i=2, j=3, k=4, l=5)
EINSUMS = (
    "j k i, k j l -> i l",
    "i j k, j k l -> i l",
    "a b, a c, b c -> a",
    "a b, b c, c d -> a d",
    "a k, b k, c k, d k -> a b c d",
    "k, k, k -> ()",
    "a b, b a -> ()",
    "a k h, b k h -> a b h",
    "a h, b h, c h -> h a b c",
    "i j k, a j b -> i k a b",
    "a b c d e -> e d c b a",
    "a, b, c, d, e -> e d c b a",
    "a b c d -> d a b c",
)


def drawn(term):
    drawing = draw(SIZES(term), folded=(), width=None)
    assert lint(drawing) == []
    return drawing


def unit(term, step=0, place=0):
    return plan(elaborate(SIZES(term))).steps[step][place]


def names(unit, moved, arrays):
    """What moves where, by the names of axes."""
    axes = {(v.id, n): axis.name for v in arrays for n, axis in enumerate(v.array)}
    return {axes[port]: axes[slot] for port, slot in moved.items()}


def spots(path, count=200):
    """Points along a path."""
    return np.array([curve.point_at(t / count) for curve in path for t in range(count)])


def ends(drawing):
    """Where the wires end that an op takes, by axis."""
    return [(w.axis, w.path[-1].d) for w in drawing.wires if w.taken_by == "n0"]


def starts(drawing):
    return [(w.axis, w.path[0].a) for w in drawing.wires if w.made_by == "n0"]


def apexes(drawing):
    """Where each contraction's arms meet."""
    first = {}
    for axis, at in ends(drawing):
        first.setdefault(axis, []).append(at)
    kept = {axis for axis, _ in starts(drawing)}
    return {axis: at for axis, at in first.items() if axis not in kept}


# --- caps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", EINSUMS)
def test_contractions_meet_apart_from_all_that_goes_on(pattern):
    drawing = drawn(Einsum(pattern))
    met = apexes(drawing)
    for axis, at in met.items():
        assert len({round(point.x, 3) for point in at}) == 1, axis  # one spine
    for (_, one), (_, two) in combinations(met.items(), 2):
        assert {tuple(p) for p in one}.isdisjoint(tuple(p) for p in two)
    for _, start in starts(drawing):
        for axis, at in met.items():
            apart = min(np.hypot(start.x - p.x, start.y - p.y) for p in at)
            assert apart > 10, (axis, apart)


@pytest.mark.parametrize("pattern", EINSUMS)
def test_wires_are_continuous_and_never_run_back(pattern):
    for wire in drawn(Einsum(pattern)).wires:
        for one, two in pairwise(wire.path):
            assert one.d == two.a
        assert all(np.diff(spots(wire.path)[:, 0]) > -1e-9)


def test_two_axes_meet_in_nested_caps_with_one_arrow_through_both():
    drawing = drawn(Einsum("i j k, j k l -> i l"))
    met = apexes(drawing)
    (j, *_), (k, *_) = met["j"], met["k"]
    assert j.x - k.x == pytest.approx(11)
    (glyph,) = drawing.glyphs
    stems = [item for item in glyph.items if isinstance(item, Outline) and not item.is_closed]
    assert len(stems) == 1
    (stem,) = stems[0].path
    assert stem.a == (k.x, k.y) and stem.d.x > j.x
    upper, lower = sorted(w.path[0].a.y for w in drawing.wires if w.axis == "j")
    assert upper < stem.a.y < lower


def test_caps_side_by_side_have_an_arrow_each():
    (glyph,) = drawn(Einsum("a b, b c, c d -> a d")).glyphs
    stems = [item for item in glyph.items if isinstance(item, Outline) and not item.is_closed]
    assert len(stems) == 2


def test_an_axis_of_three_arrays_meets_at_a_dot_on_one_spine():
    drawing = drawn(Einsum("i k, k j, k l -> i j l"))
    (glyph,) = drawing.glyphs
    (dot,) = [item for item in glyph.items if isinstance(item, Dot)]
    (met,) = apexes(drawing).values()
    assert {p.x for p in met} == {dot.center.x}
    upper, _, lower = sorted(
        w.path[0].a.y for w in drawing.wires if w.axis == "k" and w.taken_by == "n0"
    )
    assert upper < dot.center.y < lower


def test_what_goes_on_does_not_leave_from_a_cap():
    """``i`` once seemed to come out of the cap of ``j``."""
    drawing = drawn(Einsum("j k i, k j l -> i l"))
    (i,) = [w for w in drawing.wires if w.axis == "i" and w.taken_by == "n0"]
    top = min(w.path[0].a.y for w in drawing.wires)
    assert i.path[-1].d.y == top  # over both caps
    op = unit(Einsum("j k i, k j l -> i l"))
    assert names(op, mark_order(op)[0], op.inputs) == {"i": "j", "j": "k", "k": "i"}


def test_keys_are_transposed_as_in_the_published_figure():
    op = unit(Einsum("a k h, b k h -> a b h"))
    assert names(op, mark_order(op)[0], op.inputs) == {"k": "b", "b": "k"}
    drawing = drawn(Einsum("a k h, b k h -> a b h"))
    (dot,) = [item for g in drawing.glyphs for item in g.items if isinstance(item, Dot)]
    (apex, _) = apexes(drawing)["k"]
    assert dot.center.x < apex.x  # h falls inside the cap, onto the other h
    (on,) = [w for w in drawing.wires if w.axis == "h" and w.made_by == "n0"]
    assert dot.center.y == on.path[0].a.y


def test_diagonals_of_three_arrays_join_at_dots_apart():
    drawing = drawn(Einsum("a h, b h, c h -> h a b c"))
    dots = [item.center for g in drawing.glyphs for item in g.items if isinstance(item, Dot)]
    assert len(dots) == 2
    assert abs(dots[0].x - dots[1].x) >= 12
    assert dots[0].y == dots[1].y


# --- crossings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "places",
    [(1, 0), (2, 1, 0), (4, 3, 2, 1, 0), (3, 0, 1, 2), (3, 4, 5, 0, 1, 2), (5, 2, 4, 0, 3, 1)],
)
@pytest.mark.parametrize("gap", [21.0, 36.0])
def test_wires_cross_once_if_they_must_and_never_three_in_one_point(places, gap):
    wires = [(gap * n, 21.0 * place) for n, place in enumerate(places)]
    paths = [spots(path) for path in cross_wires(wires, 0.0, crossing_width(wires))]
    xs = np.linspace(0, crossing_width(wires), 2001)[1:-1]
    rows = np.array([np.interp(xs, path[:, 0], path[:, 1]) for path in paths])
    at = []
    for (m, one), (n, two) in combinations(enumerate(rows), 2):
        signs = np.sign(one - two)
        changes = np.flatnonzero(np.diff(signs[signs != 0]))
        assert len(changes) == (places[m] > places[n])
        at += [(m, n, xs[k], one[k]) for k in changes]
    for (a, b, x0, y0), (c, d, x1, y1) in combinations(at, 2):
        assert np.hypot(x0 - x1, y0 - y1) > 3 or not {a, b} & {c, d}, (a, b, c, d)


@pytest.mark.parametrize(
    "term",
    [
        Einsum("a b c d e -> e d c b a"),
        Swap("a b c", "d e"),
        Wire("a, b, c -> c, b, a"),
        Einsum("a, b, c, d, e -> e d c b a"),
    ],
)
def test_permutations_have_no_point_of_three(term):
    drawing = drawn(term)
    tails = {w.array + w.axis: spots(w.path) for w in drawing.wires}
    heads = [w for w in drawing.wires if w.made_by == "n0"]
    assert len(heads) * 2 == len(tails)


# --- marks ---------------------------------------------------------------------------------------


def test_a_mark_takes_neighbours():
    op = unit(Id("a b c") >> Linear("a c -> e"))
    assert names(op, mark_order(op)[0], op.inputs) == {"b": "c", "c": "b"}
    assert mark_order(op)[1] == {}
    drawing = drawn(Id("a b c") >> Linear("a c -> e"))
    (glyph,) = drawing.glyphs
    (letter,) = glyph.ink
    b = next(w for w in drawing.wires if w.axis == "b" and w.made_by == "n0")
    inside = [y for x, y in spots(b.path) if letter.x0 < x < letter.x1]
    assert all(y > letter.y1 - 6 for y in inside)


def test_wires_that_are_neighbours_stay():
    for term in (Linear("a b -> c d"), Copy("a b"), Id("a b") >> Group("a b -> f_2")):
        op = unit(term)
        assert mark_order(op) == ({}, {})


@pytest.mark.parametrize("count", [4, 5, 6])
def test_many_wires_end_level_at_a_letter(count):
    axes = " ".join("abcdef"[:count])
    drawing = drawn(Linear(f"{axes} -> k"))
    came = [w for w in drawing.wires if w.taken_by == "n0"]
    assert all(w.path[0].a.y == w.path[-1].d.y for w in came)
    assert len({w.path[-1].d.x for w in came}) == 1
    assert len({w.path[-1].d.y for w in came}) == count


# --- dots ----------------------------------------------------------------------------------------


def test_each_copy_has_dots_of_its_own():
    drawing = drawn(Wire("a b -> a b, a b, a b"))
    dots = [item.center for g in drawing.glyphs for item in g.items if isinstance(item, Dot)]
    assert len(set(dots)) == 4


def test_dots_lie_on_the_wires_that_go_on():
    drawing = drawn(Copy("a b") >> Linear("b -> b", "A") >> Add())
    for glyph in drawing.glyphs:
        for dot in (item.center for item in glyph.items if isinstance(item, Dot)):
            near = [
                np.abs(np.hypot(*(spots(w.path) - dot).T)).min()
                for w in drawing.wires
                if glyph.node in (w.made_by, w.taken_by)
            ]
            assert sum(far < 1 for far in near) >= 2


def test_the_published_shapes_are_sound():
    for name in ("multi-head-attention", "scaled-dot-product-attention"):
        assert lint(draw(ncd.catalogue[name].build(), width=None)) == []


# --- where wires meet and part -------------------------------------------------------------------


def test_a_wire_joins_another_behind_a_crossing_if_it_crosses_fewer_there():
    """The axis h falls onto the lower h once i is under both."""
    drawing = drawn(Einsum("h i j b, b h k -> j h i k"))
    (x,) = (item.center.x for item in drawing.glyphs[0].items if isinstance(item, Dot))
    turned = max(w.path[-1].a.x for w in drawing.wires if w.made_by == "n0")
    assert x > turned
    early = drawn(Einsum("y:7 b h, x:8 b h -> y x h"))
    (x,) = (item.center.x for item in early.glyphs[0].items if isinstance(item, Dot))
    assert x < min(w.path[0].a.x for w in early.wires if w.made_by == "n0")


def test_wires_that_rise_onto_others_do_so_from_the_left_the_highest_first():
    drawing = drawn(Einsum("a b c, a b d -> a b c d"))
    found = sorted(i.center for i in drawing.glyphs[0].items if isinstance(i, Dot))
    assert [p.y for p in found] == sorted(p.y for p in found)


def test_a_sum_beside_it_leaves_a_joined_wire_as_it_is():
    drawing = drawn(Einsum("a k, b k -> a k"))
    (dot,) = (i.center for i in drawing.glyphs[0].items if isinstance(i, Dot))
    assert dot.y == max(w.path[0].a.y for w in drawing.wires)


def test_copies_part_once_other_arrays_have_crossed():
    """The copies of b leave where a has gone under it; two copies beside them part at once."""
    one = unit(Wire("a h, b i, c j -> b i, c j, b i, a h"))
    assert late(one) == {2, 3}
    assert late(unit(Wire("a h, b i -> a h, b i, a h, b i"))) == set()
    drawn(Wire("a h, b i, c j -> b i, c j, b i, a h"))


def test_the_copy_that_is_level_goes_on():
    """The memory of decoder layers is one lane, from which the others rise."""
    drawing = drawn(cross_attention(3))
    rows = {p.y for w in drawing.wires if w.array == "v1" for c in w.path for p in c}
    assert len(rows) == 2


def test_caps_lie_in_each_other_though_a_later_one_opens_first():
    drawn(Einsum("d a b c, d a, d a, b d -> c d"))


def test_wires_that_cross_have_more_room_than_wires_that_bend_alike() -> None:
    assert crossing_width([(0, 0), (20, 20)]) == 0
    assert crossing_width([(0, 20), (20, 40)]) == style.BEND + style.SLOPE * 20
    assert crossing_width([(0, 20), (20, 0)]) == style.BEND + style.CROSS * 20


@pytest.mark.parametrize("down", [20.0, 6.0, 2.5, 0.5, -0.5, -2.5, -20.0])
def test_a_wire_turns_a_corner_onto_another_from_above_or_below(down: float) -> None:
    """By a quarter of a circle, which is flatter where there is little room."""
    a, b = Point(5, 10), Point(40, 10 + down)
    level, corner, upright = routing.drop(a, b, 6.0)
    by = math.copysign(min(abs(down), 6), down)
    assert (level.a, level.d, level.is_horizontal) == (a, Point(34, 10), True)
    assert (corner.a, corner.d) == (Point(34, 10), Point(40, 10 + by))
    assert (upright.a, upright.d) == (Point(40, 10 + by), b)
    middle = corner.point_at(0.5)
    out = ((middle.x - 34) / 6, (middle.y - 10 - by) / by)  # from the middle of the circle
    assert math.hypot(*out) == pytest.approx(1, abs=0.01)


def test_a_wire_that_is_level_turns_no_corner() -> None:
    assert routing.drop(Point(5, 10), Point(40, 10), 6.0) == (line(Point(5, 10), Point(40, 10)),)
