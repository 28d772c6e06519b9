"""Estimates of plans, the costs of row breaks, and which blocks are opened: small ones by hand."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest

import ncd
from ncd import Add, Block, Copy, Einsum, Id, Linear, Rename, Repeat, Softmax, Term
from ncd.drawing import fit
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan
from ncd.drawing.elements.routing import bend_width
from ncd.drawing.fit import BlockExpander, Estimate, estimate, rows_of
from ncd.drawing.marks.marks import headroom, mark_width
from ncd.drawing.placement.axis_labels import axis_label
from ncd.drawing.plan.build_plan import plan
from ncd.drawing.plan.collapse import CollapsibleBlock
from ncd.language.axes import Axis

AXIS, ARRAY, PAD = style.AXIS_GAP, style.ARRAY_GAP, style.PAD
HEAD = Block(Linear("m:3 -> k:4", "W") >> Softmax("k"), "Head")


def planned(term: Term) -> tuple[Plan, Estimate]:
    found = plan(ncd.elaborate(term))
    return found, estimate(found, "names")


def named(*names: str) -> float:
    """The room of the widest of some names."""
    return max(axis_label(Axis(name), "names").width for name in names) + style.LABEL_GAP


def mark(term: Term) -> float:
    return mark_width(planned(term)[0].steps[0][0].glyph)


W, S = mark(Linear("m:3 -> k:4", "W")), mark(Softmax("k:4"))
E = mark(Einsum("y:2 k:3, x:4 k -> y x"))
OVER = headroom(planned(Id("y:2 m:3, y m") >> Add())[0].steps[0][0].glyph)
TITLE = style.LEADING + style.TITLE_ROOM[1] + PAD


@pytest.mark.parametrize(
    ("term", "states", "steps", "heights"),
    [
        (Id("y:2 m:3") >> Linear("m -> k:4", "W"), [named("y", "m"), named("k")], [W],
         [AXIS + ARRAY] * 2),
        (HEAD, [PAD + named("m"), named("k"), PAD], [W, S], [ARRAY + TITLE] * 3),
        (Repeat((Linear("m:3 -> m", "W"),) * 2), [2 * PAD + named("m"), named("m"), 2 * PAD],
         [W, style.STEP], [ARRAY + 2 * style.BRACKET_ROOM] * 3),
        (Einsum("y:2 k:3, x:4 k -> y x"), [named("y", "k", "x"), 0], [E + style.CAP_ROOM],
         [2 * (AXIS + ARRAY), AXIS + ARRAY]),
        (Copy("y:2 m:3") >> Id("y m") @ Softmax("m") >> Add(), [named("m"), named("m"), 0, 0],
         [bend_width(AXIS + ARRAY), S, bend_width(AXIS + ARRAY + OVER)],
         [AXIS + ARRAY, 2 * (AXIS + ARRAY), 2 * (AXIS + ARRAY) + OVER, AXIS + ARRAY + OVER]),
    ],
    ids=lambda value: str(value) if isinstance(value, Term) else "",
)  # fmt: skip
def test_a_plan_is_as_wide_as_its_names_marks_and_borders_and_as_high_as_its_wires(
    term: Term, states: list[float], steps: list[float], heights: list[float]
) -> None:
    _, found = planned(term)
    assert found.widths == pytest.approx(states)
    assert found.heights == pytest.approx(heights)
    starts = zip(pairwise(found.starts), found.widths, strict=False)
    assert [b - a - wide for (a, b), wide in starts] == pytest.approx(steps)


def test_the_room_between_two_states_has_margins() -> None:
    found = Estimate((0.0, 50.0, 90.0), (10.0, 20.0, 30.0), (5.0, 8.0, 6.0))
    assert found.width_between(1, 2) == pytest.approx(style.ROUGH * 70 + 2 * style.MARGIN)
    assert found.width_between(0, 0) == pytest.approx(style.ROUGH * 10 + 2 * style.MARGIN)
    heights = [found.height_between(*ends) for ends in ((0, 0), (0, 1), (1, 2), (2, 2))]
    assert heights == [25, 28, 28, 26]


TWO = Linear("m:3 -> m", "A") @ Linear("k:4 -> k", "B")


@pytest.mark.parametrize(
    ("term", "width", "costs"),
    [
        (Copy("y:2 m:3") >> Id("y m") @ Softmax("m") >> Add(), 300, [0, 0.2, 0.2, 0]),
        (HEAD, 300, [0, 1.08, 0]),  # a block that might stand in one row
        (HEAD, 50, [0, 0.23, 0]),
        (Repeat((Linear("m:3 -> m", "W"),) * 2), 300, [0, inf, 0]),
        (TWO >> Linear("m -> m", "C") @ Rename("k -> n"), 300, [0, 0.21, 0]),
    ],
    ids=str,
)
def test_a_break_costs_for_arrays_wires_blocks_and_names(term: Term, width: float, costs) -> None:
    found, sizes = planned(term)
    assert fit._costs(found, sizes, width) == pytest.approx(costs)


def test_a_block_that_is_broken_though_it_fits_in_a_row_is_told() -> None:
    found, sizes = planned(HEAD)
    fence = found.fences[0].id
    whole = sizes.width_between(0, 2)
    assert fit.broken_fences(found, sizes, [0, 1, 2], whole) == {fence}
    assert fit.broken_fences(found, sizes, [0, 1, 2], whole / 1.29) == {fence}
    assert fit.broken_fences(found, sizes, [0, 1, 2], whole / 1.31) == set()
    assert fit.broken_fences(found, sizes, [0, 2], whole) == set()


def test_rows_hold_their_part_of_each_block() -> None:
    tail = Linear("k -> k", "V") >> Softmax("k")
    found, _ = planned(Block(HEAD >> tail, "Whole") >> Linear("k -> m:3", "O"))
    outer, inner = (fence.id for fence in found.fences)
    rows = [
        [
            (f.id, f.first_column, f.last_column, f.goes_on, f.parent, len(f.holds))
            for f in row.fences
        ]
        for row in rows_of(found, [0, 1, 3, 5])
    ]
    assert rows == [
        [(outer, 0, 1, (False, True), "", 2), (inner, 0, 1, (False, True), outer, 2)],
        [(outer, 0, 2, (True, True), "", 3), (inner, 0, 1, (True, False), outer, 2)],
        [(outer, 0, 1, (True, False), "", 2)],
    ]
    assert [len(row.states) for row in rows_of(found, [0, 1, 3, 5])] == [2, 3, 3]
    assert rows_of(found, [0, 5]) == [found]


class Weighed(BlockExpander):
    """Blocks by their weights, of which open ones weigh 10 together at most."""

    def __init__(self, weights: dict[str, int]) -> None:
        self.weights = weights

    def fits(self, shut: frozenset[str], may: set[str]) -> bool:
        return sum(w for id, w in self.weights.items() if id not in shut) <= 10


@pytest.mark.parametrize(
    ("weights", "opened"),
    [
        ([1, 2, 3, 4], "abcd"),
        ([4, 3, 5, 2, 1], "abde"),  # c is skipped, as it does not fit
        ([11, 10, 1], "b"),
        ([11, 12], ""),
        ([10], "a"),
        ([], ""),
    ],
)
def test_blocks_are_opened_in_order_as_far_as_they_fit(weights: list[int], opened: str) -> None:
    every = dict(zip("abcde", weights, strict=False))
    shut = Weighed(every).expand(frozenset(every), list(every), set())
    assert "".join(sorted(set(every) - shut)) == opened


def test_blocks_are_grouped_by_how_many_are_around_them() -> None:
    around = {"a": "", "b": "a", "c": "", "d": "b", "e": "a"}
    every = [CollapsibleBlock(id, id, id, parent) for id, parent in around.items()]
    assert [[b.id for b in level] for level in fit._levels(every)] == [
        ["a", "c"],
        ["b", "e"],
        ["d"],
    ]
    assert fit._levels([]) == []


@pytest.mark.parametrize(
    ("term", "size"),
    [
        (Softmax("m:3"), style.NAME),
        (HEAD, style.TITLE),
        (Block(HEAD, "of $x_i$"), style.TITLE * 0.72),
        (Block(Softmax("m:3"), "  "), style.NAME),
    ],
    ids=str,
)
def test_the_smallest_text_is_a_name_a_title_or_a_script_in_it(term: Term, size: float) -> None:
    assert fit._smallest_text_size(planned(term)[0]) == pytest.approx(size, rel=0.2)
