"""The order of wires at marks and caps, and the least distances around fences."""

from __future__ import annotations

import pytest

from ncd import Block, Copy, Einsum, Elementwise, Id, Linear, Repeat, Then, elaborate
from ncd.drawing.elements import style
from ncd.drawing.placement.wire_order import (
    Gaps,
    _cap_order,
    _crossings,
    _rows_at_slots,
    _tangle,
    spreads,
)
from ncd.drawing.plan.build_plan import plan
from ncd.language.op import Glyph
from ncd.language.terms import Term

RELU = Elementwise("relu")
TWO = Copy("m:4") >> Block(Linear("m -> k:3", "A"), "Upper", "linear") @ Block(
    Linear("m -> k:3", "B"), "Lower", "linear"
)


def gaps(term: Term, **titles: float) -> Gaps:
    made = plan(elaborate(term))
    return Gaps(made, {f.id: titles[f.title] for f in made.fences if f.title in titles})


# --- caps


@pytest.mark.parametrize(
    ("caps", "arrays", "order"),
    [
        (((0, 2), (1, 3)), ((0, 1), (2,), (3,)), [1, 0, 2, 3]),  # what closes last opens first
        (((0, 3), (1, 2)), ((0, 1), (2,), (3,)), [0, 1, 2, 3]),
        (((0, 2), (1, 3)), ((0, 1), (2, 3)), [0, 1, 3, 2]),  # the innermost closes first
        (((0, 1), (1, 2)), ((0,), (1,), (2,)), [0, 1, 2]),  # a spine of three
        (((1, 2),), ((0, 1), (2, 3)), [0, 1, 2, 3]),
        (((0, 2),), ((0, 1), (2, 3)), [1, 0, 2, 3]),  # what goes on lies outside
    ],
)
def test_caps_are_nested_and_what_goes_on_lies_outside(caps, arrays, order) -> None:
    through = tuple(
        (port, n)
        for n, port in enumerate(p for a in arrays for p in a if not any(p in c for c in caps))
    )
    assert _cap_order(Glyph(through=through, caps=caps), arrays, frozenset())[0] == order


@pytest.mark.parametrize("up", [False, True])
def test_a_wire_between_the_arrays_of_a_cap_goes_above_or_below_it(up: bool) -> None:
    glyph = Glyph(through=((1, 0),), caps=((0, 2),))
    order, caught = _cap_order(glyph, ((0,), (1,), (2,)), frozenset({1} if up else ()))
    assert caught == [1] and order == ([1, 0, 2] if up else [0, 2, 1])


def test_crossings_are_counted_on_the_way_inside_and_after() -> None:
    above = (0, 1, 2, 3)
    across = Glyph(through=((0, 1), (1, 0), (2, 3), (3, 2)))
    assert _tangle(across, above, (0, 1, 2, 3)) == 2  # after it
    assert _tangle(across, above, (1, 0, 3, 2)) == 2  # on the way
    assert _tangle(across, above, (1, 0, 2, 3)) == 2
    out_of_cap = Glyph(through=((3, 0),), joins=((1, 0),), caps=((0, 2),))
    assert _tangle(out_of_cap, above, above) == 1  # the joining wire leaves the cap
    assert _tangle(out_of_cap, above, (0, 2, 1, 3)) == 1  # it has crossed an end of it before
    within = Glyph(through=((2, 0),), joins=((1, 0),), caps=((0, 3),))
    assert _tangle(within, above, above) == 0  # both lie inside
    past = Glyph(through=((1, 0), (2, 1), (3, 2)), joins=((0, 2),))
    assert _tangle(past, above, above) == 2  # two wires lie between it and the one it joins


# --- distances


def test_two_fences_over_each_other_keep_their_titles_and_letters_apart() -> None:
    made = gaps(TWO, Upper=30.0, Lower=20.0)
    upper, lower = (fence.id for fence in made.plan.fences)
    apart = {(a, b): least for state in made.rooms for a, b, least in state if a[1] == "bottom"}
    wanted = style.GROUND + style.LETTERS + style.FENCE_GAP + 20.0
    assert apart[(upper, "bottom"), (lower, "top")] == wanted


def test_a_fence_stands_clear_of_the_array_above_it_and_below() -> None:
    made = gaps(Copy("m:4") >> Id("m") @ Block(RELU, "B", "linear") >> RELU @ RELU, B=30.0)
    (fence,) = made.plan.fences
    rooms = [room for state in made.rooms for room in state]
    (over,) = {least for _, b, least in rooms if b == (fence.id, "top")}
    marks = max(made.under[1].values(), default=0.0)
    assert over == style.SKY + style.GROUND + marks + style.FENCE_GAP + 30.0
    first = {least for a, _, least in rooms if a == (fence.id, "top")}
    assert first == {0.0}  # its own wire


def test_nested_fences_have_room_for_each_title() -> None:
    inner = Block(Block(RELU, "Inner", "linear"), "Outer", "linear")
    made = gaps(Copy("m:4") >> Id("m") @ inner >> RELU @ RELU, Inner=20.0, Outer=30.0)
    ids = {fence.title: fence.id for fence in made.plan.fences}
    tops = {a[0]: least for state in made.rooms for a, _, least in state if a[1] == "top"}
    assert tops == {ids["Inner"]: 0.0, ids["Outer"]: 20.0 + style.INNER}


def test_brackets_have_room_for_their_counts() -> None:
    body = Linear("m:4 -> m:4", "L")
    made = gaps(Copy("m:4") >> Id("m") @ Repeat((body, body)) >> RELU @ RELU)
    (fence,) = made.plan.fences
    (over,) = {least for state in made.rooms for _, b, least in state if b == (fence.id, "top")}
    bare = style.SKY + style.GROUND + style.FENCE_GAP
    marks = max(made.under[s].get(v.id, 0.0) for s, st in enumerate(made.plan.states) for v in st)
    assert bare + style.BRACKET_ROOM <= over <= bare + style.BRACKET_ROOM + marks


def test_a_drawing_is_cut_where_one_array_passes_and_no_fence_stands() -> None:
    chain = Id("m:4") >> RELU >> RELU
    assert gaps(chain).cuts == [0, 1, 2]
    forked = Id("m:4") >> RELU >> Copy("m") >> RELU @ RELU >> Einsum("m, m -> m") >> RELU
    made = gaps(forked)
    assert made.cuts == [s for s in range(len(made.plan.states)) if made.count(s) == 1]
    assert 0 in made.cuts and len(made.cuts) < len(made.plan.states)
    stacked = gaps(Then(Id("m:4"), RELU, TWO), Upper=30.0, Lower=20.0)
    assert set(stacked.cuts) == {0, 1}


def test_arrays_are_spread_before_a_contraction() -> None:
    made = plan(elaborate(Id("a:2 k:3, k:3 b:4") >> RELU @ Id("k b") >> Einsum("a k, k b -> a b")))
    before = [{v.id for v in state} for state in made.states]
    assert spreads(made) == [before[0], before[1], set()]
    alone = plan(elaborate(Id("a:2 k:3") >> RELU >> RELU))
    assert spreads(alone) == [set()] * 3


def test_double_wires_are_further_apart() -> None:
    (image,) = gaps(Id("c:3 x:4x4 b:2") >> RELU).items(0)
    (plain,) = gaps(Id("c:3 m:4") >> RELU).items(0)
    assert plain.offsets == (0.0, style.AXIS_GAP)
    below = style.AXIS_GAP + style.DOUBLE
    assert image.offsets == (0.0, below, below + style.AXIS_GAP)  # b, x, c
    two = gaps(Id("a:2, b:3") >> RELU @ RELU).items(0)
    assert two[0].min_gap == 0.0 and two[1].min_gap >= style.ARRAY_GAP


@pytest.mark.parametrize(
    ("blocks", "crossings"),
    [
        ([((0, 1), (0, 1)), ((2,), (2,))], 0),
        ([((2,), (2,)), ((0, 1), (0, 1))], 4),
        ([((1,), (0,)), ((0,), (1,))], 1),
        ([((1,), (1,)), ((0,), (0,))], 2),
        ([((0, 2), ()), ((1,), (0,))], 1),
    ],
)
def test_wires_cross_before_and_behind_the_marks(blocks, crossings: int) -> None:
    assert _crossings(blocks, (0, 1, 2), (0, 1, 2)) == crossings


@pytest.mark.parametrize(
    ("rows", "slots", "found"),
    [([5.0, 6.0, 7.0], [], [5, 6, 7]), ([5.0, 6.0, 7.0], [(0, 2), (2, 0)], [7, 6, 5])],
)
def test_ports_take_the_places_of_others(rows, slots, found) -> None:
    assert _rows_at_slots(rows, slots) == found
