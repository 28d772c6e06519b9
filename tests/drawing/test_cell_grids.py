"""Grids of cells beside a diagram: no gaps between cells, rulers of their length, clear labels."""

from __future__ import annotations

from itertools import combinations
from math import dist

import pytest

import ncd
from ncd.drawing.cell_grids import (
    _slots,
    broadcast_axis_colours,
    dependency_slices,
    with_broadcast_bands,
    with_cell_grids,
)
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Annotation, Outline, Rectangle, Text

CELL, THICK, TICK = style.CELL, style.RULER, style.RULER_TICK


def grids(term: ncd.Term) -> list[Annotation]:
    circuit = ncd.elaborate(term)
    return [
        extra for extra in with_cell_grids(ncd.draw(term), circuit).extras if extra.kind == "cells"
    ]


def boxes(grid: Annotation, cells: bool) -> list[Rectangle]:
    """The boxes of its cells, or of its rulers and ticks."""
    kinds = ("touch", "neutral") if cells else ("ink",)
    items = [i for i in grid.items if isinstance(i, Outline) and i.paint in kinds]
    return [Rectangle.from_points(p for curve in item.path for p in curve) for item in items]


def approx(*numbers: float) -> object:
    return pytest.approx(numbers, abs=1e-6)


ACTS = ncd.Function("G", "b -> c:2")


@pytest.mark.parametrize(
    ("term", "slices", "colours"),
    [
        (ncd.Index("a:4 b:3", a=2), {"v0": (2, None), "v1": (None,)}, {}),
        (ncd.Id("a:4 b:3") >> ACTS, {"v0": (2, None), "v1": (2, None)}, {"a": "lift"}),
        (ncd.Id("b:3") >> ACTS, {"v0": (None,), "v1": (None,)}, {}),
        (
            ncd.Id("a:4 b:3, d:5") >> ncd.Function("H", "b, d -> c:2"),
            {"v0": (2, None), "v1": (None,), "v2": (2, None)},
            {"a": "inner"},
        ),
        (ncd.Einsum("a:5 b:3 -> b a"), {"v0": (2, 1), "v1": (1, 2)}, {"a": "lift", "b": "lift"}),
        (ncd.Id("a:5, a") >> ncd.Add(), dict.fromkeys(("v0", "v1", "v2"), (2,)), {"a": "lift"}),
        (
            ncd.Id("a:4 b:3") >> ncd.Repeat((ncd.Linear("b -> b", "W"),) * 2),
            {"v0": (None, None), "v2": (None, None)},
            {},
        ),
        (ncd.Id("a:4"), {"v0": (2,)}, {}),
    ],
    ids=str,
)
def test_what_a_place_of_the_result_needs_and_what_all_is_done_for_each_place_of(
    term: ncd.Term, slices: dict[str, object], colours: dict[str, str]
) -> None:
    circuit = ncd.elaborate(term)
    assert dependency_slices(circuit) == slices
    assert broadcast_axis_colours(circuit) == colours
    bands = with_broadcast_bands(ncd.draw(term), circuit).extras
    assert {band.words for band in bands} == {f"broadcast over {name}" for name in colours}


@pytest.mark.parametrize(("second", "needed"), [(3, 3), (0, None)])
def test_an_array_that_is_used_twice_is_needed_at_one_place_or_whole(
    second: int, needed: int | None
) -> None:
    both = ncd.Index("a", a=3) @ ncd.Index("a", a=second)
    found = dependency_slices(ncd.elaborate(ncd.Copy("a:4") >> both))
    assert found == {"v0": (needed,), "v1": (3,), "v2": (second,), "v3": (), "v4": ()}


@pytest.mark.parametrize("array", ["a:2 b:2 c:2 d:2", "x:2x2", "a", "a:2, x:2x2"])
def test_arrays_that_are_no_small_tables_have_no_grids(array: str) -> None:
    assert grids(ncd.Id(array)) == []


@pytest.mark.parametrize(
    ("term", "letters"),
    [(ncd.Id("a:4 b:3") >> ACTS, "G"), (ncd.Id("a:4 b:3") >> ACTS >> ncd.Softmax("c"), "")],
)
def test_the_arrow_of_a_single_op_has_its_letter(term: ncd.Term, letters: str) -> None:
    *_, arrow = grids(term)
    words = [item.label.words for item in arrow.items if isinstance(item, Text)]
    assert words == [*letters]


def test_a_matrix_has_its_cells_its_rulers_and_its_labels() -> None:
    left, *_ = grids(ncd.Id("y:3 m:5"))
    cells = boxes(left, cells=True)
    whole = Rectangle.union(cells)
    assert len(cells) == 15
    for n, cell in enumerate(cells):
        r, c = divmod(n, 5)
        x, y = whole.x0 + c * CELL, whole.y0 + r * CELL
        assert tuple(cell) == approx(x, y, x + CELL, y + CELL)
    half, tick = THICK / 2, TICK / 2
    across, end, down, foot = boxes(left, cells=False)
    x0, y0, x1, y1 = whole
    assert tuple(across) == approx(x0 - half, y0 - half, x1 + half, y0 + half)
    assert tuple(end) == approx(x1 - half, y0 - tick, x1 + half, y0 + tick)
    assert tuple(down) == approx(x0 - half, y0 - half, x0 + half, y1 + half)
    assert tuple(foot) == approx(x0 - tick, y1 - half, x0 + tick, y1 + half)
    m, y = (item for item in left.items if isinstance(item, Text))
    assert (m.label.words, y.label.words) == ("m", "y")
    assert (m.box.x0 + m.box.x1) / 2 == pytest.approx((x0 + x1) / 2)
    assert m.box.y1 == pytest.approx(y0 - tick - style.RULER_TEXT)
    assert (y.position.y - y.label.ascent / 2) == pytest.approx((y0 + y1) / 2)
    assert y.position.x + y.label.width == pytest.approx(x0 - half - style.RULER_TEXT)


def test_the_label_of_an_output_is_at_its_right() -> None:
    _, right, _ = grids(ncd.Id("y:3 m:5"))
    whole = Rectangle.union(boxes(right, cells=True))
    _, y = (item for item in right.items if isinstance(item, Text))
    assert y.position.x == pytest.approx(whole.x1 + style.RULER_TEXT)


def test_slabs_of_three_axes_lie_behind_each_other() -> None:
    for size, drawn in ((3, 3), (4, 4), (9, 4)):
        left, right, _ = grids(ncd.Id(f"h:{size} y:2 m:3"))
        cells = boxes(left, cells=True)
        assert len(cells) == drawn * 6
        step = style.SLAB[0]
        corners = [(cells[6 * n].x0, cells[6 * n].y0) for n in range(drawn)]
        front = corners[-1]  # the one in front is painted last
        assert corners == [
            approx(front[0] + step * n, front[1] - step * n) for n in reversed(range(drawn))
        ]
        shift = step * (drawn - 1)
        m, y, h = (item for item in left.items if isinstance(item, Text))
        whole = Rectangle.union(cells[-6:])
        assert m.box.y1 == pytest.approx(whole.y0 - TICK / 2 - shift - style.RULER_TEXT)
        assert (h.label.words, h.position.y) == ("h", pytest.approx(whole.y0 - shift / 2))
        assert h.position.x + h.label.width == pytest.approx(whole.x0 - style.RULER_TEXT)
        assert y.position.x + y.label.width < whole.x0
        _, own, _ = (item for item in right.items if isinstance(item, Text))
        last = Rectangle.union(boxes(right, cells=True)[-6:])
        assert own.position.x == pytest.approx(last.x1 + shift + style.RULER_TEXT)


def test_grids_of_several_arrays_do_not_meet_each_other_or_the_wires() -> None:
    term = ncd.Id("y:3 m:2") @ ncd.Id("h:4 x:2 k:3") @ ncd.Id("m:7") @ ncd.Id("")
    drawing = with_cell_grids(ncd.draw(term), ncd.elaborate(term))
    found = [extra.box for extra in drawing.extras if extra.kind == "cells"]
    wires = Rectangle.from_points(p for wire in drawing.wires for curve in wire.path for p in curve)
    assert not any(a.meets(b) for a, b in combinations(found, 2))
    assert not any(box.meets(wires) for box in found)
    assert all(drawing.box.x0 < b.x0 and b.x1 < drawing.box.x1 for b in found)


@pytest.mark.parametrize(
    ("size", "at", "places"),
    [
        (8, None, [*range(8)]),
        (9, None, [*range(6), None, 8]),
        (20, 5, [*range(3, 9), None, 19]),
        (20, 1, [*range(6), None, 19]),
        (20, 13, [*range(11, 17), None, 19]),
        (20, 14, [*range(12, 20)]),
        (20, 18, [*range(12, 20)]),
    ],
)
def test_of_a_long_axis_the_places_around_the_index_and_the_last_are_drawn(
    size: int, at: int | None, places: list[int | None]
) -> None:
    assert _slots(size, at) == places


@pytest.mark.parametrize(("size", "at"), [(4, 2), (20, 1), (20, 19), (20, 18)])
def test_what_an_index_takes_is_blue_and_the_arrow_comes_from_it(size: int, at: int) -> None:
    term = ncd.Index(f"a:{size} b:3", a=at)
    left, right, arrow = grids(term)
    blue = [
        Rectangle.from_points(p for c in item.path for p in c)
        for item in left.items
        if isinstance(item, Outline) and item.paint == "touch"
    ]
    cells = boxes(left, cells=True)
    row = _slots(size, at).index(at)
    assert len(blue) == 3
    assert {round((b.y0 - cells[0].y0) / CELL) for b in blue} == {row}
    shaft = next(item for item in arrow.items if isinstance(item, Outline))
    path = [p for curve in shaft.path for p in curve]
    start = Rectangle.union(cells).x1 + THICK, Rectangle.union(blue).y1
    assert min(dist(p, start) for p in path) <= style.TOUCH_WAY / 2 + 1e-6
    assert min(x for x, _ in path) >= start[0] - style.TOUCH_WAY
    assert max(x for x, _ in path) < Rectangle.union(boxes(right, cells=True)).x0
