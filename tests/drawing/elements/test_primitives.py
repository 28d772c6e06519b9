"""The boxes of what is drawn, with half of its strokes."""

from __future__ import annotations

from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    DrawnThumbnail,
    Outline,
    PictureTile,
    Point,
    Rectangle,
    Thumbnail,
    line,
)


def box(*items: Outline | Dot) -> tuple[float, ...]:
    found = Annotation("sign", items).box
    return found.x0, found.y0, found.x1, found.y1


def test_a_dot_reaches_as_far_as_its_radius_and_half_its_stroke() -> None:
    assert box(Dot(Point(10, 20), 3, stroke=2)) == (6, 16, 14, 24)
    assert box(Dot(Point(10, 20), 3, stroke=0)) == (7, 17, 13, 23)


def test_items_have_the_box_of_all() -> None:
    stroke = Outline((line(Point(0, 0), Point(8, 4)),), stroke=2)
    assert box(stroke) == (-1, -1, 9, 5)
    assert box(stroke, Dot(Point(10, 20), 3, stroke=2)) == (-1, -1, 14, 24)


def test_pictures_and_marks_stand_where_their_array_has_its_thumbnail() -> None:
    inner = Thumbnail(8, 6, (PictureTile(Rectangle(1, 2, 3, 4), b""),), (Rectangle(0, 0, 8, 2),))
    drawn = DrawnThumbnail("v0", Rectangle(100, 200, 108, 206), inner)
    assert [tile.box for tile in drawn.tiles] == [Rectangle(101, 202, 103, 204)]
    assert list(drawn.marks) == [Rectangle(100, 200, 108, 202)]
