"""Each rule for wires: silent just within its bound, and loud just beyond."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ncd
from ncd.drawing.elements.primitives import Dot, Point, Rectangle, s_curve
from ncd.drawing.lint import wire_rules as rules
from ncd.drawing.lint.wire_rules import crossings
from tests.drawing.lint.tiny_pictures import faults, glyph, run, wire

LEFT, RIGHT = glyph((0, 40, 20, 60)), glyph((180, 40, 200, 60), node="n2")


def dotted(x: float, y: float, node: str = "n1"):
    return glyph(node=node, items=(Dot(Point(x, y), 4.0),), hit=Rectangle(x, y, x, y))


# --- whole wires ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        (run((20, 50), (90, 50), (180, 50)), ""),
        (run((20, 50), (90, 50)) + run((90.04, 50.04), (180, 50)), ""),
        (run((20, 50), (90, 50)) + run((90.1, 50), (180, 50)), "has a gap"),
        (run((20, 50), (90, 50)) + run((90, 50.1), (180, 50)), "has a gap"),
        (run((20, 50), (90, 50)) + run((90, 49.9), (180, 50)), "has a gap"),
        (run((20, 50), (90, 50), (89.995, 50), (180, 50)), ""),
        (run((20, 50), (90, 50), (89.9, 50), (180, 50)), "runs backwards"),
        (run((20, 50), (90, 50), (90, 70), (90, 50), (180, 50)), ""),
        ((), "is not drawn"),
    ],
)
def test_a_wire_is_in_one_piece_from_left_to_right(path, fault):
    one = wire(path=path, made="n1", taken="n2")
    found = faults(rules.check_continuity, wires=(one,), glyphs=(LEFT, RIGHT))
    assert found == ([f"wire x of v {fault}"] if fault else [])


@pytest.mark.parametrize(
    ("start", "end", "fault"),
    [
        ((29, 50), (171, 50), ""),
        ((29.1, 50), (171, 50), "begins in the open, at 29, 50"),
        ((20, 69), (180, 31), ""),
        ((20, 69.1), (180, 50), "begins in the open, at 20, 69"),
        ((20, 30.9), (180, 50), "begins in the open, at 20, 31"),
        ((20, 50), (170.9, 50), "ends in the open, at 171, 50"),
    ],
)
def test_a_wire_ends_within_nine_units_of_its_mark(start, end, fault):
    one = wire(start, end, made="n1", taken="n2")
    found = faults(rules.check_continuity, wires=(one,), glyphs=(LEFT, RIGHT))
    assert found == ([f"wire x of v {fault}"] if fault else [])
    open_ = wire(start, end, made="n1", taken="n2", open_ends=frozenset({fault.split(" ")[0]}))
    assert faults(rules.check_continuity, wires=(open_,), glyphs=(LEFT, RIGHT)) == []
    free = wire(start, end, made="", taken="n7")  # ends of the circuit, and of a loop
    assert faults(rules.check_continuity, wires=(free,), glyphs=(LEFT, RIGHT)) == []


def test_a_wire_may_end_where_another_of_its_op_goes_on_or_ends():
    op = glyph((90, 0, 110, 10))
    one = wire((0, 50), (100, 50), name="v x", taken="n1")
    loose = "wire x of v ends in the open, at 100, 50"
    for other, count in (
        (wire((100, 50), (200, 50), name="w x", made="n1"), 0),
        (wire((100, 50), (200, 50), name="w x", made="n2"), 1),
        (wire((100, 50.2), (200, 50), name="w x", made="n1"), 1),
        (wire((0, 60), (100, 50), name="w x", taken="n1"), 0),  # a cap
        (wire((0, 60), (100, 50), name="w x", taken="n2"), 1),
        (wire((0, 60), (100, 51), name="w x", taken="n1"), 1),
    ):
        found = faults(rules.check_continuity, wires=(one, other), glyphs=(op,))
        assert found.count(loose) == count
    back = wire((100, 50), (200, 50), name="w x", made="n1")
    assert faults(rules.check_continuity, wires=(back,), glyphs=(op,)) == [
        "wire x of w begins in the open, at 100, 50"
    ]


@pytest.mark.parametrize(
    ("wide", "tall", "count"),
    [
        (10, 25, 0),
        (10, 25.1, 1),
        (10, -25, 0),
        (10, -25.1, 1),
        (2, 8, 0),
        (2, 8.1, 1),
        (39.9, 99.75, 0),
        (39.9, 99.9, 1),
        (40, 101, 0),  # a long bend is none
    ],
)
def test_a_bend_is_a_hook_where_it_is_short_and_steep(wide, tall, count):
    one = wire(path=(s_curve(Point(100, 100), Point(100 + wide, 100 + tall)),))
    hook = ["wire x of v makes a hook, at 100, 100"]
    assert faults(rules.check_slopes, Rectangle(0, 0, 300, 300), wires=(one,)) == hook * count
    straight = wire((100, 100), (100 + wide, 100 + tall))
    assert faults(rules.check_slopes, Rectangle(0, 0, 300, 300), wires=(straight,)) == []


@pytest.mark.parametrize(("row", "count"), [(40.7, 0), (40.8, 1), (59.3, 0)])
def test_a_wire_may_graze_a_foreign_mark_and_cross_its_own(row, count):
    op = glyph((90, 40, 110, 60), node="n1")
    said = ["wire x of v lies on the glyph of n1 (N1)"]
    for ends, own in ((("", ""), 1), (("n1", "n2"), 0), (("n2", "n1"), 0), (("n2", "n3"), 1)):
        one = wire((0, row), (200, row), made=ends[0], taken=ends[1])
        assert faults(rules.on_glyphs, wires=(one,), glyphs=(op,)) == said * (count * own)


# --- two wires ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "apart", "count"),
    [(6, 1, 0), (6.5, 1, 1), (30, 1.7, 1), (30, 1.8, 0), (90, 1, 1), (30, -1.7, 1)],
)
def test_wires_run_as_one_for_more_than_six_units(length, apart, count):
    one = wire((0, 50), (200, 50), name="v x")
    two = wire((60, 50 + apart), (60 + length, 50 + apart), name="w y")
    found = faults(rules.check_overlaps, wires=(one, two))
    said = f"wires x of v and y of w run as one for {length:.0f}, at"
    assert [fault.startswith(said) for fault in found] == [True] * count
    wide = wire((60, 50 + apart + 1.8), (60 + length, 50 + apart + 1.8), name="w y", double=True)
    assert len(faults(rules.check_overlaps, wires=(one, wide))) == count


def test_what_wires_share_is_summed_over_their_pieces_and_told_where_it_begins() -> None:
    """Where they only come near each other they share nothing."""
    one = wire((0, 50), (40, 50), (80, 50), name="v x")
    two = wire((5, 52), (35, 52), (38, 60), (60, 60), (60, 51), (75, 51), name="w y")
    assert faults(rules.check_overlaps, wires=(one, two)) == [
        "wires x of v and y of w run as one for 15, at 40"
    ]
    pieces = [(60 + 0.9 * n, 51) for n in range(11)]
    short = wire(*pieces, name="w y")
    assert faults(rules.check_overlaps, wires=(one, short)) == [
        "wires x of v and y of w run as one for 9, at 40"
    ]


@pytest.mark.parametrize(("length", "count"), [(40, 0), (40.5, 1)])
def test_wires_of_one_op_run_together_for_forty_units_before_a_dot(length, count):
    dot = dotted(75, 50)
    for own in ({"taken": "n1"}, {"made": "n1"}, {}):
        one = wire((0, 50), (200, 50), name="v x", **own)
        two = wire((60, 51), (60 + length, 51), name="w y", **own)
        found = faults(rules.check_overlaps, wires=(one, two), glyphs=(dot,))
        assert len(found) == (count if own else 1)
    far = wire((110, 51), (110 + 30, 51), name="w y", taken="n1")
    one = wire((0, 50), (200, 50), name="v x", taken="n1")
    assert len(faults(rules.check_overlaps, wires=(one, far), glyphs=(dotted(20, 50),))) == 1
    meet = wire((80, 51), (130, 51), name="w y"), wire((0, 50), (130, 51), name="v x")
    assert (
        faults(rules.check_overlaps, wires=(meet[0], wire((110, 51), (130, 51), name="v x"))) == []
    )
    assert (
        faults(rules.check_overlaps, wires=(meet[0], wire((110, 51), (129.1, 51), name="v x")))
        == []
    )
    assert (
        len(faults(rules.check_overlaps, wires=(meet[0], wire((110, 51), (129, 51), name="v x"))))
        == 1
    )


@pytest.mark.parametrize(("row", "count"), [(50, 1), (51.2, 1), (51.3, 0), (48.7, 0), (48.8, 1)])
def test_a_wire_ends_on_no_foreign_wire(row, count):
    one = wire((0, 50), (200, 50), name="v x")
    said = ["wire y of w {} on wire x of v"]
    for points, what in ((((50, 90), (100, row)), "ends"), (((100, row), (150, 90)), "begins")):
        other = wire(*points, name="w y", made="n1", taken="n2")
        found = faults(rules.ends_on, wires=(one, other))
        assert found == [said[0].format(what)] * count
        same = wire(*points, name="v x", made="n1", taken="n2")
        assert faults(rules.ends_on, wires=(one, same)) == []  # the two rows of one wire
        for name in ("v y", "w x"):
            assert len(faults(rules.ends_on, wires=(one, wire(*points, name=name)))) == count


@pytest.mark.parametrize(
    ("glyphs", "count"),
    [
        ((), 1),
        ((dotted(100, 50),), 0),
        ((dotted(101.4, 50),), 0),
        ((dotted(101.6, 50),), 1),
        ((dotted(100, 50, "n2"),), 1),
        ((glyph((103, 50, 120, 60)),), 0),
        ((glyph((103.1, 50, 120, 60)),), 1),
        ((glyph((100, 53, 120, 60)),), 0),
        ((glyph((100, 53.1, 120, 60)),), 1),
    ],
)
def test_on_a_wire_of_its_op_a_wire_ends_at_a_dot(glyphs, count):
    other = wire((50, 90), (100, 50), name="w y", taken="n1")
    said = ["wire y of w ends on wire x of v, without a dot"] * count
    for own in ({"made": "n1"}, {"taken": "n1"}):
        one = wire((0, 50), (200, 50), name="v x", **own)
        assert faults(rules.ends_on, wires=(one, other), glyphs=glyphs) == said
        for end, near in (((101, 50), True), ((101.2, 50), False)):  # beside its own end
            short = wire((0, 50), end, name="v x", **own)
            found = faults(rules.ends_on, wires=(other, short), glyphs=glyphs)
            assert [f for f in found if f.startswith("wire y")] == ([] if near else said)


# --- caps -----------------------------------------------------------------------------------------


def cap(first: str = "v x", second: str = "w y"):
    return (
        wire((0, 30), (80, 30), (100, 50), name=first, taken="n1"),
        wire((0, 70), (80, 70), (100, 50), name=second, taken="n1"),
    )


OP = glyph((60, 30, 100, 70))


@pytest.mark.parametrize(
    ("points", "count"),
    [
        (((100, 50), (200, 50)), 0),  # it joins there
        (((101, 50), (200, 50)), 1),
        (((119, 50), (200, 50)), 1),
        (((121, 50), (200, 50)), 0),
        (((110, 51.4), (200, 51.4)), 1),
        (((110, 51.6), (200, 51.6)), 0),
        (((110, 48.6), (200, 48.6)), 1),
        (((110, 48.4), (200, 48.4)), 0),
        (((110, 40), (112, 60)), 0),  # it only crosses
    ],
)
def test_no_wire_goes_on_behind_a_cap(points, count):
    other = wire(*points, name="u z", made="n1")
    found = faults(rules.caps, wires=(*cap(), other), glyphs=(OP,))
    assert found == ["wire z of u goes on where the cap of n1 ends, at 100, 50"] * count
    dot = dotted(100, 50)
    assert faults(rules.caps, wires=(*cap(), other), glyphs=(OP, dot)) == []
    assert faults(rules.caps, wires=(*cap()[:1], other), glyphs=(OP,)) == []  # it is no cap


def test_two_wires_of_one_array_do_not_end_in_one_cap():
    assert faults(rules.caps, wires=cap(), glyphs=(OP,)) == []
    assert faults(rules.caps, wires=cap("v x", "v y"), glyphs=(OP,)) == [
        "wires x and y end in one point at n1, 100, 50"
    ]


# --- crossings ------------------------------------------------------------------------------------


def cross(made: str = "", taken: str = ""):
    return (
        wire((0, 20), (200, 80), name="v x", made=made),
        wire((0, 80), (200, 20), name="w y", taken=taken),
    )


def test_wires_of_different_ops_do_not_cross():
    said = ["wires x of v and y of w cross, at 100"]
    assert faults(crossings, wires=cross()) == said
    assert faults(crossings, wires=cross("n1", "n2")) == said
    assert faults(crossings, wires=cross("n1", "n1"), glyphs=(OP,)) == []
    meeting = wire((0, 20), (100, 50), taken="n1"), wire((0, 80), (100, 50), name="w y", taken="n1")
    assert faults(crossings, wires=meeting, glyphs=(OP,)) == []


@pytest.mark.parametrize(("shift", "count"), [(0, 1), (0.44, 1), (0.46, 0), (9, 0)])
def test_no_three_wires_cross_in_one_point(shift, count):
    third = wire((0, 50 + shift), (200, 50 + shift), name="u z", made="n1")
    wires = (*cross("n1", "n1"), third)
    found = [f for f in faults(crossings, wires=wires) if "three" in f]
    assert len(found) == count


@pytest.mark.parametrize(("slope", "count"), [(0, 1), (1.0, 1), (30.0, 0)])
def test_wires_that_part_run_as_one_only_while_they_are_near(slope: float, count: int) -> None:
    one = wire((0, 50), (200, 50), name="v x")
    two = wire((60, 50), (110, 50 + slope), name="w y")
    back = wire((60, 50 + slope), (110, 50), name="w y")
    for other in (two, back):
        assert len(faults(rules.check_overlaps, wires=(one, other))) == count


def test_a_crossing_of_two_ops_is_of_the_nearer_one_that_has_none_left() -> None:
    """Both ops are known by their places only, and none may cross a wire."""
    near, far = glyph((90, 0, 110, 9)), glyph((180, 0, 200, 9), node="n2")
    one = wire((0, 20), (200, 80), name="v x", made="n1", taken="n2")
    two = wire((0, 80), (200, 20), name="w y", made="n1", taken="n2")
    unit = ncd.draw(ncd.Softmax("a:2")).glyphs[0].unit
    known = [replace(op, unit=unit) for op in (near, far)]
    assert faults(crossings, wires=(one, two), glyphs=tuple(known)) == [
        "the wires of n1 (N1) cross 1 times, where 0 would do"
    ]
