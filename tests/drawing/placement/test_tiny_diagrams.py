"""Where everything stands in diagrams of one or two ops, from the lengths of the style."""

from __future__ import annotations

from itertools import pairwise

import pytest

import ncd
from ncd import Add, Block, Copy, Einsum, Function, Id, Linear, Repeat, Softmax, Then
from ncd.drawing.elements import style as s
from ncd.drawing.elements.labels import math, wrap
from ncd.drawing.elements.primitives import Rectangle
from ncd.language.terms import Term

near = pytest.approx
W = Linear("m:3 -> m", "W")
SIGN = Id("m:3") >> Function("f", "() -> ()", "tanh")
TITLE = s.LEADING + s.TITLE_ROOM[1]  # what a title of one line takes over its wires
M = math("m").width + s.LABEL_GAP  # a name with its gap
TRIANGLE = s.PLUS_ROOM


def starts(term: Term) -> list[float]:
    """The rows of the input wires, from the first on."""
    rows = [w.path[0].a.y for w in ncd.draw(term).wires if not w.made_by]
    return [y - rows[0] for y in rows]


@pytest.mark.parametrize(
    ("term", "gap"),
    [
        (Id("a:2, b:2"), s.ARRAY_GAP),
        (Id("a:2 b:3"), s.AXIS_GAP),
        (Id("b:3 x:4x4"), s.AXIS_GAP),  # what is spatial comes first
        (Id("x:4x4 y:4x4"), s.AXIS_GAP + s.DOUBLE),
        (Id("a:2") @ Block(Softmax("m:3"), "T"), s.ARRAY_GAP + TITLE),
        (Block(Softmax("m:3"), "T") @ Id("a:2"), s.ARRAY_GAP),
        (
            Block(Softmax("m:3"), "T") @ Block(Softmax("n:3"), "U"),
            s.ARRAY_GAP + TITLE + s.FENCE_GAP,
        ),
        (Id("a:2") @ Block(Block(Softmax("m:3"), "T"), "U"), s.ARRAY_GAP + 2 * TITLE + s.PAD),
        (Block(Block(Softmax("m:3"), "T"), "U") @ Id("a:2"), s.ARRAY_GAP + s.PAD),
        (Id("a:2") @ Repeat((W,) * 3), s.ARRAY_GAP + s.BRACKET_ROOM),
        (Repeat((W,) * 3) @ Id("a:2"), s.ARRAY_GAP + s.BRACKET_ROOM),
        (Id("a:2") @ SIGN, s.ARRAY_GAP + s.HEADROOM_SIGN),
        (SIGN @ Id("a:2"), s.ARRAY_GAP),
    ],
    ids=str,
)  # fmt: skip
def test_the_gap_between_two_wires(term: Term, gap: float) -> None:
    assert abs(starts(term)[1]) == near(gap)


@pytest.mark.parametrize(
    ("term", "row"),
    [
        # the middle of what lies ten under the upper wire and twenty over the lower one
        (Id("a:2, b:3") >> Softmax("a") @ Softmax("b"), (s.DASH_BELOW + 36 - s.DASH_ABOVE) / 2),
        (Id("a:2") @ Block(Softmax("m:3"), "T"),
         (s.DASH_BELOW + 36 + TITLE - TITLE - s.DASH_TITLE) / 2),
        (Repeat((W,) * 3) @ Id("b:3"),
         (s.DASH_BELOW + s.DASH_BORDER + s.BRACKET_ROOM + 56 - s.DASH_ABOVE) / 2),
        (Id("a:2") @ Repeat((W,) * 3), (s.DASH_BELOW + 56 - s.BRACKET_ROOM - s.DASH_TITLE) / 2),
    ],
    ids=str,
)  # fmt: skip
def test_a_separator_lies_between_two_arrays_clear_of_names_titles_and_borders(term, row) -> None:
    dashes = ncd.draw(term).dashes
    rows = [c.a.y for dash in dashes for c in dash.path]
    assert rows == near([row] * len(rows)) and rows


def test_a_separator_goes_from_one_end_to_the_other_clear_of_marks() -> None:
    drawing = ncd.draw(Id("a:2, b:3") >> Softmax("a") @ Softmax("b"))
    x0, x1 = (drawing.box.x0 + s.MARGIN, drawing.box.x1 - s.MARGIN)
    left, right = (
        drawing.glyphs[0].ink[0].x0 - s.DASH_FREE,
        drawing.glyphs[0].ink[0].x1 + s.DASH_FREE,
    )
    spans = [(dash.path[0].a.x, dash.path[-1].d.x) for dash in drawing.dashes]
    assert spans == [near((x0, left)), near((right, x1))]


def test_a_block_is_as_wide_as_its_op_with_a_border_at_both_sides() -> None:
    drawing = ncd.draw(Block(Softmax("m:3"), "T"))
    (fence,), (glyph,) = drawing.fences, drawing.glyphs
    right = M + s.PAD  # the step begins behind the name and the border
    left = right + TRIANGLE
    middle = (left + right) / 2
    half, tall = s.TRIANGLE
    assert glyph.ink == (near((middle - half, -tall, middle + half, tall)),)
    high = max(s.SKY, tall + s.INK), max(s.GROUND, tall + s.INK)
    title = s.LEADING + s.TITLE_ROOM[0]
    assert fence.box == near(
        (right - s.PAD + s.FENCE_EDGE, -high[0] - title, left + s.PAD - s.FENCE_EDGE, high[1])
    )
    (text,) = fence.title
    assert text.position.x + text.label.width / 2 == near(middle)
    assert text.position.y == near(fence.box.y0 - s.TITLE_BASE + s.LEADING)
    ends = 0, left + s.PAD + M
    assert [(w.path[0].a.x, w.path[-1].d.x) for w in drawing.wires] == [
        near((ends[0], middle - half)),
        near((middle + half, ends[1])),
    ]
    assert drawing.box == near(
        (-s.MARGIN, fence.box.y0 - s.MARGIN, ends[1] + s.MARGIN, high[1] + s.MARGIN)
    )
    for text, x in zip(drawing.labels, (M / 2, left + s.PAD + M / 2), strict=True):
        assert text.position.x + text.label.width / 2 == near(x)
        assert text.position.y == near(-s.LABEL_LIFT - max(0, text.label.descent - s.LABEL_ROOM))


def test_a_block_in_a_block_has_a_border_more_at_both_sides() -> None:
    outer, inner = ncd.draw(Block(Block(Softmax("m:3"), "In"), "Out")).fences
    grown = inner.box.grown(s.INNER)
    title = s.LEADING + s.TITLE_ROOM[0]
    assert outer.box == near(
        (inner.box.x0 - s.PAD, grown.y0 - title, inner.box.x1 + s.PAD, grown.y1)
    )


def test_a_title_is_broken_within_its_block_and_its_longest_word_fits() -> None:
    words = "A title that is long enough for several lines"
    (fence,) = ncd.draw(Block(Softmax("m:3"), words)).fences
    longest = max(wrap(words, 1.0, s.TITLE), key=lambda line: line.width).width
    assert fence.box.width == near(longest + s.TITLE_WORD - 2 * s.FENCE_EDGE)
    assert all(text.label.width <= fence.box.width - s.TITLE_SIDE for text in fence.title)
    steps = {round(b.position.y - a.position.y, 6) for a, b in pairwise(fence.title)}
    assert steps == {s.LEADING} and len(fence.title) == 7
    tall = s.LEADING * 7 + s.TITLE_ROOM[0]
    assert fence.title[0].position.y == near(
        -s.TRIANGLE[1] - s.INK - tall - s.TITLE_BASE + s.LEADING
    )


@pytest.mark.parametrize("ops", [1, 2, 3])
def test_the_steps_of_a_block_share_the_room_that_its_title_needs(ops: int) -> None:
    word = "antidisestablishmentarianism" * 2
    drawing = ncd.draw(Block(Id("m:3") >> Then(*[Softmax("m")] * ops), word), width=None)
    (fence,) = drawing.fences
    (longest,) = wrap(word, 1.0, s.TITLE)
    assert fence.box.width == near(longest.width + s.TITLE_WORD - 2 * s.FENCE_EDGE)
    middles = [(g.ink[0].x0 + g.ink[0].x1) / 2 for g in drawing.glyphs]
    gaps = [b - a for a, b in pairwise((fence.box.x0, *middles, fence.box.x1))]
    assert gaps == near(gaps[::-1])  # the same from both sides


def test_brackets_stand_around_what_is_repeated_with_their_counts() -> None:
    drawing = ncd.draw(Repeat((W,) * 3))
    (fence,), (glyph,) = drawing.fences, drawing.glyphs
    ink = Rectangle.union(glyph.ink)
    x0, top, x1, bottom = fence.box
    assert (top, bottom) == near((ink.y0 - s.INK, ink.y1 + s.INK))
    inset = s.PAD + s.FENCE_EDGE
    left, right = (path[0] for path in fence.brackets)
    assert (left.a, left.d) == ((near(x0 + inset), near(top)), (near(x0 + inset), near(bottom)))
    assert (right.a, right.d) == ((near(x1 - inset), near(top)), (near(x1 - inset), near(bottom)))
    assert (left.point_at(0.5).x, right.point_at(0.5).x) == near((x0 + s.BULGE, x1 - s.BULGE))
    quarter = (bottom - top) / 4
    for bracket in (left, right):
        assert (bracket.b.y, bracket.c.y) == near((top + quarter, bottom - quarter))
        assert bracket.b.x == bracket.c.x
    start, stop = fence.title
    assert start.position == near((x0, bottom + s.BRACKET_FOOT))
    assert stop.position == near((x1 - stop.label.width, top - s.BRACKET_HEAD))


# --- dots and caps --------------------------------------------------------------------------------


def bent(by: float) -> float:
    return s.BEND + s.SLOPE * by


def test_a_copy_leaves_its_wire_at_a_dot() -> None:
    drawing = ncd.draw(Copy("m:3"))
    gap, step = s.ARRAY_GAP, s.DOT_INSET + bent(s.ARRAY_GAP)
    (glyph,) = drawing.glyphs
    assert glyph.ink == (Rectangle.from_center((M + s.DOT_INSET, 0), s.DOT),)
    source, one, two = (w.path for w in drawing.wires)
    assert source[-1].d == near((M + step, 0)) and one[0].a == near((M + step, 0))
    assert two[0].a == near((M + s.DOT_INSET, 0)) and two[0].d == near((M + step, gap))
    assert two[-1].d == near((2 * M + step, gap))


def test_a_sum_joins_at_a_dot_under_its_sign() -> None:
    drawing = ncd.draw(Id("m:3, m:3") >> Add())
    step = bent(s.ARRAY_GAP) + s.DOT_INSET
    dot = M + step - s.DOT_INSET
    (glyph,) = drawing.glyphs
    assert glyph.ink[0] == near(Rectangle.from_center((dot, 0), s.DOT))
    assert (glyph.ink[1].x0 + glyph.ink[1].x1) / 2 == near(dot)
    assert glyph.items[1].position.y == near(-s.PLUS_LIFT)
    lower = drawing.wires[1].path
    assert (lower[0].a, lower[0].d, lower[-1].d) == (near((0, 36)), near((M, 36)), near((dot, 0)))


@pytest.mark.parametrize(
    ("pattern", "rows"), [("a:2, a:2 ->", (0, 36)), ("a:2 b:3, b c:4 -> a c", (21, 57))]
)
def test_the_arms_of_a_cap_meet_halfway_and_an_arrow_leaves(pattern, rows) -> None:
    drawing = ncd.draw(Einsum(pattern))
    apex = s.END + s.CAP_LEAD + s.CAP_RADIUS[1], sum(rows) / 2
    arms = [w.path for w in drawing.wires if tuple(w.path[-1].d) == near(apex)]
    assert [path[0].a.y for path in arms] == list(rows)
    turn = apex[0] - s.CAP_RADIUS[1]
    assert [tuple(path[0].d) for path in arms] == [near((turn, y)) for y in rows]
    stem, head = drawing.glyphs[0].items
    tip = apex[0] + s.CAP_STEM
    assert (stem.path[0].a, stem.path[0].d) == (near(apex), near((tip - s.ARROW, apex[1])))
    assert head.path[0].a == near((tip, apex[1]))


def test_wires_that_change_places_have_room_for_their_bend() -> None:
    drawing = ncd.draw(Einsum("a:2 b:3 -> b a"))
    ends = {(w.array, w.axis): w.path for w in drawing.wires}
    step = s.BEND + s.CROSS * s.AXIS_GAP
    for axis, before, behind in (("a", 0, 21), ("b", 21, 0)):
        bend = ends["v0", axis][-1]
        assert (bend.a, bend.d) == (near((s.END, before)), near((s.END + step, behind)))


# --- bands ----------------------------------------------------------------------------------------


def test_columns_stand_behind_names_and_ops() -> None:
    drawing = ncd.draw(Id("4 3") >> Function("G", "3 -> 2", "tanh"), bands=True)
    label, other = math("4").width, math("4").width
    gap = 2 * s.BAND_SIDE + s.BAND_GAP
    bands = {
        extra.words + str(n): extra.box
        for n, extra in enumerate(drawing.extras)
        if extra.kind == "band"
    }
    first, last, op = bands.values()
    middle = (label + gap) / 2
    assert first == near(
        (
            middle - label / 2 - s.BAND_SIDE,
            -s.BAND_TOP,
            middle + label / 2 + s.BAND_SIDE,
            s.AXIS_GAP + s.BAND_FOOT,
        )
    )
    right = label + gap
    left = last.x0 + s.BAND_SIDE + other / 2 - (other + gap) / 2
    over, under = s.BAND_HIGH
    assert op == near((right + s.BAND_GAP / 2, -over, left - s.BAND_GAP / 2, s.AXIS_GAP + under))
    assert first.width == near(label + 2 * s.BAND_SIDE) and last.width == near(
        other + 2 * s.BAND_SIDE
    )
    begins = {round(w.path[0].a.x, 6) for w in drawing.wires if not w.made_by}
    assert begins == {-s.BAND_OUT}
    lifts = [extra.box for extra in drawing.extras if extra.kind == "path"]
    high, low, short = s.LIFT
    wires = [w for w in drawing.wires if w.axis == "4"]
    assert lifts == [
        near((w.path[0].a.x + short, -high, w.path[-1].d.x - short, low)) for w in wires
    ]


def test_the_panel_around_everything_holds_its_columns() -> None:
    drawing = ncd.draw(Block(Id("4 3") >> Function("G", "3 -> 2", "tanh"), "Rows"), bands=True)
    (panel,) = drawing.fences
    over, under = s.BAND_HIGH
    title = s.LEADING + s.TITLE_ROOM[0]
    bands = Rectangle.union([extra.box for extra in drawing.extras if extra.kind == "band"])
    assert panel.box.y1 == near(s.AXIS_GAP + under + s.BAND_PANEL)
    assert panel.box.y0 == near(-over - s.BAND_PANEL - title)
    assert panel.box.x0 < bands.x0 and bands.x1 < panel.box.x1
