"""The arrays of numbers behind the lint: pieces, boxes that meet, lines that cross."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ncd.drawing.elements.primitives import Point, line, s_curve
from ncd.drawing.lint.flat_drawing import (
    LONGEST,
    DrawingArrays,
    Segments,
    distinct,
    meeting,
    piercing,
)
from ncd.drawing.lint.wire_rules import segment_crossings
from tests.drawing.lint.tiny_pictures import picture, run, wire


def boxes(seed: int, count: int) -> np.ndarray:
    chance = np.random.default_rng(seed)
    at = chance.integers(0, 12, (count, 2)).astype(float)
    return np.concatenate([at, at + chance.integers(0, 5, (count, 2))], 1)


@pytest.mark.parametrize("slack", [0.0, 1.0, -1e-9])
@pytest.mark.parametrize("seed", range(6))
def test_boxes_meet_where_both_of_their_sides_do(seed, slack):
    a, b = boxes(seed, 14), boxes(seed + 99, 9)
    i, j = meeting(a, b, slack)
    apart = {
        (m, n)
        for (m, p), (n, q) in product(enumerate(a), enumerate(b))
        if min(p[2], q[2]) - max(p[0], q[0]) > slack and min(p[3], q[3]) - max(p[1], q[1]) > slack
    }
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == apart
    assert len(i) == len(apart)
    assert (
        [len(one) for one in meeting(a[:0], b)] == [len(one) for one in meeting(a, b[:0])] == [0, 0]
    )


@pytest.mark.parametrize("seed", range(6))
def test_segments_cross_in_a_point_that_lies_on_both(seed):
    chance = np.random.default_rng(seed)
    a, b, c, d = chance.integers(0, 9, (4, 40, 2)).astype(float)
    met, at = segment_crossings(a, b, c, d)

    def turn(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    for n in range(40):
        one = turn(a[n], b[n], c[n]) * turn(a[n], b[n], d[n])
        two = turn(c[n], d[n], a[n]) * turn(c[n], d[n], b[n])
        slanted = abs(np.linalg.det([b[n] - a[n], d[n] - c[n]])) > 1e-9
        assert (n in met) == bool(slanted and one <= 0 and two <= 0)
        if n in met:
            for p, q in ((a[n], b[n]), (c[n], d[n])):
                assert np.linalg.det([q - p, at[n] - p]) == pytest.approx(0, abs=1e-6)


BOX = np.array([[10.0, 10.0, 20.0, 20.0]])


@pytest.mark.parametrize(
    ("start", "end", "slack", "through"),
    [
        ((0, 15), (30, 15), 0, True),
        ((15, 0), (15, 30), 0, True),
        ((0, 10), (30, 10), 0, False),
        ((0, 20), (30, 20), 0, False),
        ((10, 0), (10, 30), 0, False),
        ((20, 0), (20, 30), 0, False),
        ((0, 10.5), (30, 10.5), 0.75, False),
        ((0, 10.8), (30, 10.8), 0.75, True),
        ((0, 19.2), (30, 19.2), 0.75, True),
        ((19.2, 0), (19.2, 30), 0.75, True),
        ((19.5, 0), (19.5, 30), 0.75, False),
        ((12, 15), (18, 15), 0, True),  # inside
        ((0, 15), (9, 15), 0, False),
        ((0, 15), (10, 15), 0, False),
        ((0, 15), (10.8, 15), 0.75, True),
        ((0, 0), (30, 30), 0, True),
        ((0, 9), (22, 31), 0, True),  # through a corner
        ((0, 10), (20, 30), 0, False),  # touches it
        ((0, 12), (20, 32), 0, False),
        ((30, 0), (0, 30), 0, True),
        ((30, 12), (12, 30), 0, False),
    ],
)
def test_a_segment_pierces_a_box_that_it_runs_inside(start, end, slack, through):
    for a, b in ((start, end), (end, start)):
        pieces = Segments([(line(Point(*a), Point(*b)),)])
        pieces.a, pieces.b, pieces.path_index = (
            np.array([a], float),
            np.array([b], float),
            np.array([0]),
        )
        i, j = piercing(pieces, BOX, slack)
        assert (len(i) > 0) == (len(j) > 0) == through


def test_a_level_piece_is_cut_into_equal_parts_and_a_bend_follows_its_curve():
    bend = s_curve(Point(100, 0), Point(130, 40))
    pieces = Segments([(line(Point(0, 0), Point(100, 0)), bend), run((7, 7), (7 + LONGEST, 7))])
    assert pieces.path_index.tolist() == [0] * 12 + [0] * 3 + [1]
    level = pieces.a[:, 1] == pieces.b[:, 1]
    ends = [pair.tolist() for pair in (pieces.a[level], pieces.b[level])]
    third = 100 / 3
    assert np.array(ends[0]) == pytest.approx(
        np.array([(0, 0), (third, 0), (2 * third, 0), (7, 7)])
    )
    assert np.array(ends[1]) == pytest.approx(
        np.array([(third, 0), (2 * third, 0), (100, 0), (7 + LONGEST, 7)])
    )
    for n in range(12):
        assert tuple(pieces.a[n]) == pytest.approx(bend.point_at(n / 12))
        assert tuple(pieces.b[n]) == pytest.approx(bend.point_at((n + 1) / 12))
    assert (pieces.boxes[:, :2] <= pieces.boxes[:, 2:]).all()


def test_a_double_wire_is_as_wide_as_its_two_lines():
    wires = wire((0, 1), (9, 1)), wire((0, 5), (9, 5), double=True)
    assert DrawingArrays(picture(wires=wires)).half.tolist() == pytest.approx(
        [1.25 / 2, (1.25 + 3.6) / 2]
    )


def test_wires_that_end_where_another_begins_at_their_op_are_one_line():
    wires = (
        wire((50, 10), (90, 10), name="b x", made="n1"),
        wire((0, 10), (50, 10), name="a x", taken="n1"),
        wire((90, 10), (99, 10), name="c x", made="n2"),  # no op takes the one before
        wire((50, 30), (90, 30), name="d x", made="n1"),
        wire(path=(), name="e x", made="n1"),
    )
    flat = DrawingArrays(picture(wires=wires))
    assert flat.line.tolist() == [1, 1, 2, 3, 4]
    assert flat.loose_ends.tolist()[:4] == [
        [False, True],
        [True, False],
        [True, True],
        [True, True],
    ]
    split = (*wires, wire((50, 10), (90, 50), name="f x", made="n1"))
    joined = DrawingArrays(picture(wires=split)).unmatched_ends.tolist()
    assert joined[0] == [True, True] and joined[1] == [True, True] and joined[3] == [True, True]
    assert DrawingArrays(picture(wires=wires)).unmatched_ends.tolist()[:2] == [
        [False, True],
        [True, False],
    ]


def test_pairs_are_told_once_in_their_order():
    assert distinct(np.array([3, 1, 3]), np.array([2, 2, 2])) == [(3, 2), (1, 2)]
