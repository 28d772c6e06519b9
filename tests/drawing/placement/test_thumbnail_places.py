"""Room for thumbnails: each array has one picture, which lies on nothing, in every form of file."""

from __future__ import annotations

import re
from base64 import b64decode

import pytest

import ncd
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import PictureTile, Rectangle, Thumbnail
from ncd.drawing.lint.lint import lint
from ncd.drawing.placement.thumbnail_places import LABEL, ThumbnailPlaces
from ncd.explain.thumbnails import thumbnail_frames, thumbnails

ATTENTION = ncd.catalogue["multi-head-attention"].build()
WIDTHS = (1280, 705)
ABOUT = re.compile("thumbnail|lies on|overlap|cut off")
KNOWN = {("rotary", 705)}  # a factor stands on a wire of the row that begins with its scores


def run_pictures(term: ncd.Term, seed: int = 0) -> dict[str, Thumbnail]:
    module = ncd.compile(term, seed)
    return thumbnails(module, ncd.trace(module, *ncd.example_inputs(term)))


@pytest.mark.few(20)
@pytest.mark.parametrize("name", [*ncd.catalogue])
def test_thumbnails_lie_on_nothing_and_each_array_has_one(name: str) -> None:
    term = ncd.catalogue[name].build()
    frames = thumbnail_frames(ncd.elaborate(term))
    for width in WIDTHS:
        drawing = ncd.draw(term, thumbnails=frames, width=width)
        faults = [fault for fault in lint(drawing) if ABOUT.search(fault)]
        assert bool(faults) == ((name, width) in KNOWN), faults
        arrays = [drawn.array for drawn in drawing.thumbnails]
        assert len({*arrays}) == len(arrays)
        assert {*arrays} <= {*frames} & {wire.array for wire in drawing.wires}


def test_a_thumbnail_has_its_size_and_stands_below_its_wires_or_in_a_gap_between_them() -> None:
    frames = {"v0": Thumbnail(50.0, 30.0), "v9": Thumbnail(70.0, 90.0)}
    drawing = ncd.draw(ATTENTION, thumbnails=frames)
    found = {drawn.array: drawn.box for drawn in drawing.thumbnails}
    for id, box in found.items():
        assert (box.width, box.height) == pytest.approx((frames[id].width, frames[id].height))
    levels = {axis: wire_level(drawing, "v9", axis) for axis in "yx"}
    assert levels["y"] < found["v9"].y0 and found["v9"].y1 < levels["x"]
    softmax = ncd.draw(ncd.Softmax("m:9"), thumbnails={"v1": Thumbnail(40.0, 20.0)})
    assert softmax.thumbnails[0].box.y0 > wire_level(softmax, "v1", "m")


def wire_level(drawing: ncd.Drawing, array: str, axis: str) -> float:
    (wire,) = (w for w in drawing.wires if (w.array, w.axis) == (array, axis))
    return wire.path[0].a.y


def test_a_drawing_without_thumbnails_is_as_before() -> None:
    assert ncd.draw(ATTENTION, thumbnails={}) == ncd.draw(ATTENTION)
    assert not ncd.draw(ATTENTION, thumbnails={"no such id": Thumbnail(9.0, 9.0)}).thumbnails


def test_in_rows_an_array_has_its_thumbnail_once_and_not_at_the_end_of_a_row() -> None:
    frames = thumbnail_frames(ncd.elaborate(ATTENTION))
    drawing = ncd.draw(ATTENTION, thumbnails=frames, width=705)
    arrows = [extra for extra in drawing.extras if extra.kind == "arrow"]
    right = [extra.box.x0 for extra in arrows if "next row" in extra.words]
    assert right
    assert {drawn.array for drawn in drawing.thumbnails} == {*frames}
    first = drawing.thumbnails[: len(drawing.thumbnails) // 2]
    assert max(drawn.box.x1 for drawn in first) < min(right)


def test_equal_structures_have_their_own_pictures() -> None:
    """The third takes the layout of the first from the cache, and a template of its SVG."""
    term = ncd.Linear("m:5 -> k:4") >> ncd.Softmax("k:4")
    drawn = []
    for seed in range(4):
        pictures = run_pictures(term, seed)
        svg = ncd.draw(term, thumbnails=pictures).svg(fonts=False)
        sent = [b64decode(data) for data in re.findall(r"png;base64,([^\"]+)", svg)]
        assert sent == [tile.png for own in pictures.values() for tile in own.tiles]
        assert all(own.description in svg for own in pictures.values())
        assert svg.endswith("</g></svg>")
        drawn.append(svg)
    assert len({*drawn}) == 4


def test_a_tile_moves_with_its_thumbnail() -> None:
    tile = PictureTile(Rectangle(5.0, 6.0, 15.0, 16.0), b"")
    drawing = ncd.draw(ncd.Softmax("m:9"), thumbnails={"v0": Thumbnail(20.0, 20.0, (tile,))})
    (drawn,) = drawing.thumbnails
    (moved,) = drawn.tiles
    x, y = drawn.box.x0, drawn.box.y0
    assert moved.box == (x + 5, y + 6, x + 15, y + 16)


def test_files_hold_the_pictures() -> None:
    term = ncd.Linear("m:3 -> k:2")
    plain, pictures = ncd.draw(term), run_pictures(term)
    drawing = ncd.draw(term, thumbnails=pictures)
    assert drawing.pdf().count(b"/Subtype /Image") == 2
    assert not plain.pdf().count(b"/Subtype /Image")
    assert len(re.findall(r"fill=\{rgb,255:red,\d+;green,\d+;blue,\d+\}", drawing.tex())) == 5
    assert drawing.png(1.0) != ncd.draw(term, thumbnails=thumbnail_frames(ncd.elaborate(term))).png(
        1.0
    )


def test_an_equation_has_thumbnails_on_both_sides_and_none_at_its_sign() -> None:
    term = ncd.catalogue["layer-norm"].build()
    drawing = ncd.draw(term, thumbnails=run_pictures(term))
    arrays = [drawn.array for drawn in drawing.thumbnails]
    assert len({*arrays}) == len(arrays)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "draw: thumbnails is 5, but it is a mapping from ids to thumbnails. Try ncd"),
        ({"v0": b"png"}, "draw: thumbnails is {'v0': b'png'}, but it is a mapping from ids"),
    ],
)
def test_wrong_thumbnails_are_refused(wrong: object, said: str) -> None:
    with pytest.raises(ncd.ParseError) as refused:
        ncd.draw(ATTENTION, thumbnails=wrong)  # type: ignore[arg-type]
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("ys", "gap"),
    [
        ([0, 100, 300], (100, 300)),  # the widest gap
        ([0, 200, 300], (0, 200)),
        ([0, 40], None),  # no room in it
        ([50], None),
        ([0, 66 + LABEL], (0, 66 + LABEL)),
        ([0, 64 + LABEL], None),
    ],
)
def test_a_thumbnail_stands_in_the_middle_of_the_widest_gap_or_below(ys, gap) -> None:
    room = style.THUMBNAIL_ROOM
    picture = Thumbnail(20.0, 65.0 - 2 * room)
    drawn = ThumbnailPlaces({"v": picture}, {"v": 0})._place_thumbnail("v", ys, 10.0)
    if gap is None:
        assert drawn.box.y0 == max(ys) + room
    else:  # the name of the lower wire stands above it
        over, under = drawn.box.y0 - gap[0], gap[1] - LABEL - drawn.box.y1
        assert over == pytest.approx(under) and over >= room
    assert (drawn.box.x0, drawn.box.x1) == (0.0, 20.0)
    assert drawn.box.height == picture.height


def test_a_row_has_room_for_its_widest_thumbnail() -> None:
    pictures = {"a": Thumbnail(20.0, 10.0), "b": Thumbnail(50.0, 10.0), "c": Thumbnail(90.0, 10.0)}
    places = ThumbnailPlaces(pictures, {"a": 0, "b": 0, "c": 1})
    assert places.width(0) == 50.0 + 2 * style.THUMBNAIL_SIDE
    assert (places.width(1), places.width(2)) == (90.0 + 2 * style.THUMBNAIL_SIDE, 0.0)
