"""Wires that meet end to end are one strand of the animation."""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from types import SimpleNamespace

import numpy as np
import pytest

from ncd import Einsum, Id, Linear, Softmax, Term, Wire
from ncd.app.figure import morph
from ncd.app.figure.morph import IN, OUT, POINTS, Strand, strands
from ncd.drawing.elements.primitives import Point
from ncd.drawing.pipeline import draw

CORNER = tuple(Point(float(x), float(y)) for x, y in ((0, 0), (4, 0), (4, 4)))


def test_points_of_a_strand_stand_at_equal_distances() -> None:
    found = morph._even(CORNER)
    assert len(found) == POINTS
    assert (found[0], found[-1]) == ([0, 0], [4, 4])
    steps = [abs(c - a) + abs(d - b) for (a, b), (c, d) in pairwise(found)]
    assert max(steps) == pytest.approx(8 / (POINTS - 1), abs=0.11)
    assert all(x == 4 or y == 0 for x, y in found)
    assert found == [[round(n, 1) for n in point] for point in found]


def test_a_strand_backwards_has_its_label_at_the_same_place() -> None:
    strand = Strand("m", IN, "L", CORNER, 0.25)
    back = strand.back
    assert (back.start, back.stop, back.label) == ("L", IN, 0.75)
    assert back.points == CORNER[::-1]
    assert back.back == strand


@pytest.mark.parametrize(("x", "y", "share"), [(0, -1, 0), (4, 0, 0.5), (5, 5, 1)])
def test_a_label_belongs_to_the_nearest_point(x: float, y: float, share: float) -> None:
    assert morph._part(list(CORNER), Point(x, y)) == share


def test_open_ends_reach_the_sides_of_the_drawing() -> None:
    whole = morph._reaching(Strand("m", IN, OUT, CORNER), -3, 9)
    assert (whole[0], whole[-1]) == (Point(-3, 0), Point(9, 4))
    assert morph._reaching(Strand("m", "L", "K", CORNER), -3, 9) == CORNER
    assert len(morph._reaching(Strand("m", "L", OUT, CORNER), -3, 9)) == 4
    back = morph._reaching(Strand("m", IN, OUT, CORNER[::-1]), -3, 9)
    assert (back[0], back[-1]) == (Point(-3, 4), Point(9, 0))


def test_ends_of_a_drawing_stand_before_and_behind_every_letter() -> None:
    ranks = [morph._rank(end) for end in (IN, "A", "z", OUT)]
    assert ranks == sorted(ranks)


def test_a_dash_has_the_ends_of_its_whole_path() -> None:
    path = [SimpleNamespace(a=(0.12, 1), d=(2, 1)), SimpleNamespace(a=(2, 1), d=(3.26, 1))]
    assert morph._ends(path) == [0.1, 1, 3.3, 1]


def test_two_strands_become_one_whose_label_stays_where_it_was() -> None:
    straight = (Point(4, 4), Point(8, 4))
    for names, label in ((("m", ""), 0.5 * 8 / 12), (("", "m"), (8 + 0.5 * 4) / 12)):
        one = Strand(names[0], IN, "", CORNER)
        two = Strand(names[1], "", OUT, straight)
        found = morph._join_strands(one, two)
        assert (found.name, found.start, found.stop) == ("m", IN, OUT)
        assert found.points == (*CORNER, Point(8, 4))
        assert found.label == pytest.approx(label)


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        (Linear("m:3 -> k:2", "L"), {("m", IN, "L"), ("k", "L", OUT)}),
        (Id("m:3") >> Softmax("m"), None),
        (Wire("y:2, x:3 -> x:3, y:2"), {("y", IN, OUT), ("x", IN, OUT)}),
        (Einsum("k:3, k:3 -> "), {("k", IN, IN)}),
    ],
)
def test_a_strand_goes_from_end_to_end(term: object, wanted: set[tuple[str, str, str]]) -> None:
    drawing = draw(term)  # type: ignore[arg-type]
    found = strands(drawing)
    if wanted is not None:
        assert {strand.key for strand in found} == wanted
    for strand in found:
        assert 0 <= strand.label <= 1
        assert morph._rank(strand.start) <= morph._rank(strand.stop)
        gaps = pairwise(strand.points)
        assert max(hypot(b.x - a.x, b.y - a.y) for a, b in gaps) < 60


@pytest.mark.parametrize(
    "term", [Linear("m:3 -> k:2", "L"), Wire("y:2, x:3 -> x:3, y:2"), Einsum("k:3, k:3 -> ")]
)
def test_a_label_stands_on_its_strand_where_it_is_drawn(term: Term) -> None:
    """A strand between equal ends goes the way of its first wire."""
    drawing = draw(term)
    boxes = {label.label.words: label.box for label in reversed(drawing.labels)}
    ways = [(wire.path[0].point_at(0), wire.path[-1].point_at(1)) for wire in drawing.wires]
    for strand in strands(drawing):
        begins = [first for first, _ in ways[:1] if strand.start == strand.stop]
        assert strand.points[0] in (begins or [first for first, _ in ways])
        box, points = boxes[strand.name], list(strand.points)
        at = strand.label * morph._distances(points)[-1]
        place = np.interp(at, morph._distances(points), [point.x for point in points])
        assert box.x0 <= place <= box.x1


CAP = Strand("m", IN, "A", (Point(0, 0), Point(2, 3), Point(4, 0)), 0.25)


@pytest.mark.parametrize("one", [CAP, CAP.back])
@pytest.mark.parametrize("turned", [False, True])
def test_strands_are_joined_at_their_ends_whichever_way_they_go(one: Strand, turned: bool) -> None:
    two = Strand("", "B", OUT, (Point(4, 0), Point(6, 3), Point(8, 0)))
    (found,), joined = morph._join_pair([one, two.back if turned else two])
    points = (*CAP.points, *two.points[1:])
    assert joined and found.points == points
    assert morph._join_pair([found]) == ([found], False)
    apart = Strand("k", IN, OUT, (Point(2, 3), Point(6, 3)))  # meets them in the middle alone
    assert not morph._join_pair([CAP, apart])[1]
