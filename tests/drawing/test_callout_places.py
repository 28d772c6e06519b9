"""Where a callout stands, where its pointer begins and ends, and what that costs."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from ncd import Linear, catalogue
from ncd.drawing import callouts
from ncd.drawing.callouts import HIGHER, OVER, WIDER, _CalloutPlacer
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import wrap
from ncd.drawing.elements.primitives import Point, Rectangle, Text
from ncd.drawing.pipeline import draw

DRAWING = draw(Linear("m:3 -> k:2", "L"))
PART = Rectangle(100, 100, 160, 140)
TIP, BASE = style.CALLOUT_TIP, style.CALLOUT_BASE


def around(fence: bool = False, width: float = inf) -> _CalloutPlacer:
    return _CalloutPlacer(DRAWING, "", PART, fence, width)


def at(x: float, y: float) -> Rectangle:
    """A place of 80 by 40 with this middle."""
    return Rectangle(x - 40, y - 20, x + 40, y + 20)


@pytest.mark.parametrize("room", [508.4, 590.4, 705.2])
def test_no_pointer_lies_on_the_words_of_its_callout(room: float) -> None:
    entry = catalogue["multi-head-attention"]
    drawing = draw(entry.build(), width=room, notes=entry.callouts(entry.settings({})))
    notes = [extra for extra in drawing.extras if extra.kind == "note"]
    assert len(notes) >= 4
    for note in notes:
        words = Rectangle.union([part.box for part in note.items if isinstance(part, Text)])
        outline = next(part.path for part in note.items if not isinstance(part, Text))
        for point in (curve.a for curve in outline):
            assert not (words.x0 < point.x < words.x1 and words.y0 < point.y < words.y1), note.words


@pytest.mark.parametrize(
    ("x", "y", "tip"),
    [
        (130, 20, (130, 100 - TIP)),
        (300, 20, (130, 100 - TIP)),
        (130, 220, (130, 140 + TIP)),
        (20, 120, (100 - TIP, 120)),
        (300, 120, (160 + TIP, 120)),
        (300, 150, (160 + TIP, 140 + TIP)),
        (300, 90, (160 + TIP, 100 - TIP)),
        (130, 77, (130, 100 - TIP)),  # just above the part and its margin
        (130, 163, (130, 140 + TIP)),
        (20, 77.5, (100 - TIP, 100 - TIP)),  # reaches beside the part
    ],
)
def test_a_pointer_ends_at_the_side_of_an_op_that_is_near(
    x: float, y: float, tip: tuple[float, float]
) -> None:
    assert around().tip(at(x, y)) == tip


@pytest.mark.parametrize(
    ("x", "y", "tip"),
    [
        (130, 20, (130, 100 + TIP)),
        (20, 20, (103 + BASE, 103)),
        (300, 20, (157 - BASE, 103)),
        (300, 220, (157 - BASE, 137)),
        (20, 120, (103, 120)),
        (300, 120, (157, 120)),
    ],
)
def test_and_inside_a_fence_not_at_its_corner(x: float, y: float, tip: tuple[float, float]) -> None:
    assert around(fence=True).tip(at(x, y)) == tip


@pytest.mark.parametrize(
    ("tip", "base"),
    [
        ((50, 90), (50, 40)),
        ((50, -50), (50, 0)),
        ((-90, 20), (0, 20)),
        ((200, 20), (100, 20)),
        ((-90, 90), (1.5 * BASE, 40)),
        ((200, 90), (100 - 1.5 * BASE, 40)),
        ((200, 39), (100, 40 - BASE)),
        ((200, 1), (100, BASE)),
        ((50, 40), (50, 40)),
        ((50, 0), (50, 0)),
    ],
)
def test_a_pointer_begins_on_the_side_towards_its_end_and_not_at_a_corner(
    tip: tuple[float, float], base: tuple[float, float]
) -> None:
    box = Rectangle(0, 0, 100, 40)
    assert callouts._base(box, Point(*tip)) == base
    corners = [curve.a for curve in callouts._pointing(box, Point(*tip))]
    assert len(corners) == 7
    n = corners.index(Point(*tip))
    before, after = corners[n - 1], corners[(n + 1) % 7]
    assert ((before.x + after.x) / 2, (before.y + after.y) / 2) == base
    assert abs(before.x - after.x) + abs(before.y - after.y) == 2 * BASE
    twice = sum(
        a.x * b.y - b.x * a.y for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)
    )
    assert twice >= 2 * 100 * 40  # once around, without a crossing


def test_the_growth_of_the_drawing_costs() -> None:
    page, margin = DRAWING.box, style.MARGIN
    inside = page.grown(-margin)
    wide = Rectangle(inside.x0, inside.y0, inside.x1 + 50, inside.y1)
    tall = Rectangle(inside.x0, inside.y0 - 7, inside.x1, inside.y1)
    left = Rectangle(inside.x0 - 50, inside.y0, inside.x1, inside.y1 + 3)
    places = np.array([inside, wide, tall, left])
    free = around().growth(places)
    assert free.tolist() == pytest.approx([0, 50 * WIDER, 7 * HIGHER, 50 * WIDER + 3 * HIGHER])
    narrow = around(width=page.width + 20).growth(places)
    assert (narrow - free).tolist() == pytest.approx([0, 30 * OVER, 0, 30 * OVER])


def test_the_gap_to_the_part_bounds_the_pointer() -> None:
    places = np.array([at(300, 120), at(130, 20), at(300, 220), at(130, 120), at(160 + 43, 120)])
    found = around().gap(places)
    assert found.tolist() == pytest.approx(
        [100 - TIP, 60 - TIP, np.hypot(100 - TIP, 60 - TIP), 0, 0]
    )
    for box, gap in zip(places, found, strict=True):
        assert around().reach(Rectangle(*box)) >= gap - 1e-9


def test_places_cover_nothing_of_the_drawing() -> None:
    own = _CalloutPlacer(DRAWING, "n0", Rectangle.union(DRAWING.glyphs[0].ink), False, inf)
    gap = style.CALLOUT_GAP
    places = own.places(60, 30)
    assert len(places) > 20
    for x0, y0, x1, y1 in places:
        assert (x1 - x0, y1 - y0) == pytest.approx((60, 30))
        away = (
            (own.every[:, 0] >= x1 + gap - 1e-6)
            | (own.every[:, 2] <= x0 - gap + 1e-6)
            | (own.every[:, 1] >= y1 + gap - 1e-6)
            | (own.every[:, 3] <= y0 - gap + 1e-6)
        )
        assert away.all()
    page = DRAWING.box.grown(-style.MARGIN)
    assert places[:, 0].min() == pytest.approx(page.x0 - gap - 60)
    assert places[:, 2].max() == pytest.approx(page.x1 + gap + 60)
    assert places[:, 1].min() == pytest.approx(page.y0 - gap - 30)
    assert places[:, 3].max() == pytest.approx(page.y1 + gap + 30)


def test_a_pointer_pays_for_what_it_crosses() -> None:
    own = around()
    own.in_the_way = np.array(
        [Rectangle(20, 115, 30, 125), Rectangle(60, 100, 62, 140), Rectangle(0, 0, 9, 9)]
    ).T
    own.is_wire = np.array([False, True, False])
    box = Rectangle(-100, 100, 0, 140)
    assert own.crossing_cost(box) > callouts.COVER
    assert own.crossing_cost(box) % callouts.COVER == callouts.WIRE
    own.is_wire = np.array([True, True, False])
    assert own.crossing_cost(box) == 2 * callouts.WIRE
    own.in_the_way = own.in_the_way[:, 2:]
    own.is_wire = np.array([False])
    assert own.crossing_cost(box) == 0


@pytest.mark.parametrize("count", [2, 10, 20, 40, 160])
def test_the_lines_of_a_callout_are_as_wide_as_its_shapes_permit(count: int) -> None:
    """Wider by the root of the letters, so that it stays as compact, within a least and a most."""
    text = " ".join(["words"] * count)
    (one,) = wrap("words ", inf, style.CALLOUT)
    shapes = [max(line.width for line in lines) for lines in callouts._shapes(text)]
    for wide, factor in zip(shapes, (1, 1.4, 1.8), strict=True):
        limit = min(max(16 * factor * len(text) ** 0.5, 110), 330)
        assert wide <= limit
        assert wide > limit - one.width - 5 or count == 2  # another word would not fit


def test_a_legend_stands_over_the_diagram_at_its_left() -> None:
    note = callouts._legend(DRAWING, "What it is.")
    page = DRAWING.box
    assert (note.box.x0, note.box.y1) == pytest.approx((page.x0 + style.MARGIN, page.y0))
    assert note.box.height == pytest.approx(style.CALLOUT_LEADING + 1.5 * style.CALLOUT_PAD)
    long = callouts._legend(DRAWING, "What it is, at length. " * 20)
    assert long.box.width <= style.LEGEND_WIDE[1] + 1e-6
    lines = round((long.box.height - 1.5 * style.CALLOUT_PAD) / style.CALLOUT_LEADING)
    assert lines > 5
    texts = [item for item in long.items if isinstance(item, Text)]
    assert len(texts) == lines
    assert all(
        long.box.x0 < t.position.x and long.box.y0 < t.position.y < long.box.y1 for t in texts
    )
    steps = {round(b.position.y - a.position.y, 6) for a, b in pairwise(texts)}
    assert steps == {style.CALLOUT_LEADING}
