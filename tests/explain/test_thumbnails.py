"""Thumbnails show the numbers of a run: of which arrays, as which picture, in which colours."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from types import MappingProxyType

import numpy as np
import pytest
import torch
from PIL import Image

import ncd
from ncd.drawing.elements.primitives import Thumbnail
from ncd.explain.colour_scale import palette
from ncd.explain.thumbnails import LARGEST, thumbnail_cells, thumbnail_frames, thumbnails

PAGE = {False: (255, 255, 255), True: (0x16, 0x1B, 0x22)}  # the colour of zero


def pictures(name: str, **sizes: int) -> dict[str, Thumbnail]:
    term = ncd.catalogue[name].build(**sizes)
    module = ncd.compile(term)
    return thumbnails(module, ncd.trace(module, *ncd.example_inputs(term)))


def of(
    text: str,
    values: torch.Tensor,
    origin: str = "",
    dark: bool = False,
    marked: Mapping[str, int] = MappingProxyType({}),
) -> Thumbnail:
    cells = thumbnail_cells(ncd.Array.parse(text), values, origin)
    assert cells is not None
    return cells.paint(dark, marked)


def pixels(made: Thumbnail, tile: int = 0) -> np.ndarray:
    """Returns the colours of one tile, (rows, columns, 4)."""
    return np.array(Image.open(BytesIO(made.tiles[tile].png)).convert("RGBA"))


def sizes(made: Thumbnail) -> list[tuple[int, int]]:
    """Returns the rows and columns of each tile."""
    return [pixels(made, n).shape[:2] for n in range(len(made.tiles))]


# --- Which arrays have one


def test_attention_shows_what_goes_in_each_projection_its_maps_and_what_comes_out() -> None:
    assert [*pictures("multi-head-attention")] == [
        *("v0", "v1"),  # what goes in
        *("v4", "v5", "v6"),  # queries, keys and values; v2 and v3 are copies
        *("v8", "v9", "v10", "v11"),  # v7 are the scores before they are scaled
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Swap("m:3", "k:4")', ["v0", "v1"]),  # as they go in, not when they have changed places
        ('Named("m:3", "Q")', ["v1"]),  # right of its name
        ('Softmax("m:3")', ["v0", "v1"]),
        ('Linear("m:3 -> k:2") >> Scale("k:2")', ["v0", "v2"]),  # not before it is scaled
        ('Reduce("m:3 -> ()", "sum")', ["v0"]),  # a single number comes out
    ],
)
def test_only_new_arrays_of_several_numbers_have_one(text: str, shown: list[str]) -> None:
    term = ncd.parse(text)
    module = ncd.compile(term)
    run = ncd.trace(module, *ncd.example_inputs(term))
    assert [*thumbnails(module, run)] == shown


def test_whole_numbers_too_many_and_unknown_ones_have_none() -> None:
    def none(text: str, values: torch.Tensor) -> bool:
        return thumbnail_cells(ncd.Array.parse(text), values, "") is None

    assert none("t:3#v:9", torch.tensor([1, 2, 3]))
    assert none("t:3", torch.tensor([True, False, True]))
    assert none("m:1", torch.ones(1))
    assert none("m:3", torch.full((3,), torch.nan))
    assert none(f"m:{LARGEST + 1}", torch.zeros(1).expand(LARGEST + 1))
    assert not none("m:2", torch.ones(2))
    assert not none(f"m:{LARGEST}", torch.zeros(1).expand(LARGEST))


# --- As which picture


def test_positions_by_positions_are_a_map_for_each_head() -> None:
    scores = torch.arange(2 * 3 * 4).reshape(3, 4, 2).float()
    made = of("~y:3 ~x:4 h:2", scores)
    assert sizes(made) == [(3, 4), (3, 4)]
    shades = [pixels(made, h)[..., 0].astype(int) for h in range(2)]
    for h in range(2):  # more is darker, in the order of the numbers
        assert (np.argsort(-shades[h].ravel()) == np.argsort(scores[..., h].ravel().numpy())).all()
    assert made.width > made.height  # side by side


def test_of_many_heads_the_first_are_shown_and_that_is_said() -> None:
    made = of("~y:2 ~x:2 h:20", torch.rand(2, 2, 20))
    assert len(made.tiles) == 18
    assert made.description.endswith("; the first 18 of 20 pictures")


def test_features_are_a_row_for_each_position_and_of_many_the_largest_are_shown() -> None:
    values = torch.zeros(3, 100)
    values[:, 10:74] = torch.linspace(1, 2, 64)
    made = of("~t:3 m:100", values)
    assert sizes(made) == [(3, 64)]
    assert (pixels(made)[..., :3] != PAGE[False]).any(-1).all()  # no zero is among them
    said = "t × m, 300 numbers from 0 to 2; the 64 features of 100 with the largest numbers"
    assert made.description == said


def test_features_of_heads_are_a_tile_for_each_head() -> None:
    assert sizes(of("~t:5 k:6 h:2", torch.rand(5, 6, 2))) == [(5, 6), (5, 6)]
    assert sizes(of("~t:5 h:2 k:6", torch.rand(5, 2, 6))) == [(5, 6), (5, 6)]


def test_many_heads_stand_in_one_row_no_wider_than_four() -> None:
    few, many = (of(f"~t:5 k:16 h:{h}", torch.rand(5, 16, h)) for h in (4, 8))
    assert many.width == pytest.approx(few.width) and many.height == few.height
    assert len(many.tiles) == 8


def test_channels_are_images_the_liveliest_of_many() -> None:
    values = torch.zeros(10, 4, 6)
    values[2:] = torch.rand(8, 4, 6)
    made = of("c:10 u:4x6", values)
    assert sizes(made) == [(4, 6)] * 8
    assert made.description.endswith("; the 8 liveliest of 10 channels")
    assert all((pixels(made, n)[..., :3] != PAGE[False]).any() for n in range(8))
    tile = made.tiles[0].box
    assert tile.width / tile.height == pytest.approx(6 / 4)


def test_three_channels_that_go_in_are_one_picture_in_colour() -> None:
    values = torch.zeros(3, 2, 2)
    values[0, 0, 0], values[1, 0, 1], values[2, 1, 0] = 1, 1, 1
    made = of("c:3 u:2x2", values, origin="input")
    red, green, blue = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    assert pixels(made)[..., :3].tolist() == [[[*red], [*green]], [[*blue], [0, 0, 0]]]
    assert len(of("c:3 u:2x2", values).tiles) == 3


def test_a_batch_of_pictures_that_go_in_is_a_tile_for_each() -> None:
    values = torch.zeros(9, 3, 2, 2)
    values[:, 0], values[1, 1] = 1, 1
    made = of("b:9 c:3 u:2x2", values, origin="input")
    assert sizes(made) == [(2, 2)] * 8 and made.description.endswith("the first 8 of 9 pictures")
    assert [pixels(made, n)[0, 0, :3].tolist() for n in (0, 1)] == [[255, 0, 0], [255, 255, 0]]
    last = of("u:2x2 c:3 b:9", values.permute(2, 3, 1, 0), origin="input")
    assert (pixels(last, 1) == pixels(made, 1)).all()
    three = values[:3, 0]  # three pictures in grey, and no picture in colour
    assert sizes(of("b:3 u:2x2", three, origin="input")) == [(2, 2)] * 3
    features = of("b:3 c:4 u:2x2", torch.rand(3, 4, 2, 2), origin="input")
    assert features.description.endswith("; the 8 liveliest of 12 channels")


def test_one_channel_that_goes_in_is_a_picture_in_grey() -> None:
    values = torch.tensor([[0.0, 0.5], [1.0, 0.0]])
    grey = pixels(of("u:2x2", values, origin="input"))[..., :3]
    assert grey[..., 0].tolist() == grey[..., 2].tolist() == [[0, 128], [255, 0]]
    assert pixels(of("u:2x2", values))[0, 0, :3].tolist() == [255, 255, 255]


def test_a_distribution_is_bars_as_high_as_its_shares() -> None:
    made = of("v:3", torch.tensor([0.1, 0.2, 0.7]), origin="softmax")
    heights = (pixels(made)[..., 3] > 0).sum(0)
    assert heights.tolist() == [4, 7, 24]  # of 24 pixels, the largest being full
    assert sizes(of("v:3", torch.tensor([0.1, 0.2, 0.7]))) == [(1, 3)]


@pytest.mark.parametrize(
    ("text", "origin", "tiles", "size"),
    [  # maps have sides of 90, of 54 up to four and of 36, two or six in a row with 4 between
        ("~y:3 ~x:6", "", 1, (90, 45)),
        ("~y:1 ~x:9", "", 1, (90, 30)),  # no side is under a third
        ("~y:9 ~x:1", "", 1, (30, 90)),
        ("~y:2 ~x:2 h:2", "", 2, (112, 54)),
        ("~y:2 ~x:2 h:3", "", 3, (112, 112)),
        ("~y:2 ~x:2 h:4", "", 4, (112, 112)),
        ("~y:2 ~x:2 h:5", "", 5, (196, 36)),
        ("~y:2 ~x:2 h:7", "", 7, (236, 76)),
        ("~y:2 ~x:2 h:19", "", 18, (236, 116)),
        # features take 5 a position, from 22 to 56, and heads 22 across or 100 together
        ("~t:4 m:6", "", 1, (56, 22)),
        ("~t:5 m:6", "", 1, (56, 25)),
        ("~t:12 m:6", "", 1, (56, 56)),
        ("m:3 k:4", "", 1, (56, 22)),
        ("~t:5 k:6 h:2", "", 2, (48, 25)),
        ("~t:5 k:16 h:8", "", 8, (100, 25)),
        ("~t:5 k:16 h:9", "", 8, (100, 25)),
        # channels have sides of 26, four in a row; what stands alone, of 52
        ("c:2 u:4x8", "", 2, (56, 13)),
        ("c:5 u:8x4", "", 5, (64, 56)),
        ("c:9 u:4x4", "", 8, (116, 56)),
        ("u:4x8", "", 1, (52, 26)),
        ("u:2x4x4", "", 1, (26, 52)),
        # pictures that go in have sides of 52, or of 36 beside others
        ("c:3 g:1 u:4x8", "input", 1, (52, 26)),
        ("b:2 c:3 u:4x4", "input", 2, (76, 36)),
        ("b:9 c:1 u:4x4", "input", 8, (156, 76)),
        ("~t:3 u:4x4", "input", 3, (86, 26)),
        ("c:2 u:4x4", "input", 2, (56, 26)),
        # a vector takes 4 a number, from 24 to 90
        ("m:5", "", 1, (24, 12)),
        ("m:10", "", 1, (40, 12)),
        ("m:23", "", 1, (90, 12)),
        ("v:10", "softmax", 1, (40, 24)),
        ("v:128", "softmax", 1, (90, 24)),
        ("v:129", "softmax", 1, (90, 12)),
    ],
)
def test_the_room_of_a_picture_follows_from_its_axes(
    text: str, origin: str, tiles: int, size: tuple[float, float]
) -> None:
    array = ncd.Array.parse(text)
    cells = thumbnail_cells(array, torch.rand(array.shape), origin)
    assert cells is not None and len(cells.maps) == tiles * cells.grid.kind.channels
    assert (cells.frame.width, cells.frame.height) == pytest.approx(size)
    boxes = [*cells.grid.boxes]
    assert len(boxes) == tiles and (boxes[0].x0, boxes[0].y0) == (0, 0)
    assert {(round(box.width, 6), round(box.height, 6)) for box in boxes} == {
        (round(boxes[0].x1, 6), round(boxes[0].y1, 6))
    }
    for one, two in itertools.combinations(boxes, 2):  # 4 apart at least, across or down
        across = max(two.x0 - one.x1, one.x0 - two.x1)
        assert max(across, two.y0 - one.y1) >= 4 - 1e-9


# --- In which colours


@pytest.mark.parametrize("dark", [False, True])
def test_zero_has_the_colour_of_the_page_and_unknown_numbers_have_none(dark: bool) -> None:
    values = torch.tensor([0.0, 1.0, -torch.inf, torch.nan])
    row = pixels(of("m:4", values, dark=dark))[0]
    assert tuple(row[0, :3]) == PAGE[dark]
    assert row[:, 3].tolist() == [255, 255, 0, 0]


def test_numbers_with_signs_have_two_colours_about_zero() -> None:
    row = pixels(of("m:3", torch.tensor([-1.0, 0.0, 1.0])))[0, :, :3].astype(int)
    assert row[0, 2] > row[0, 0]  # negative ones are blue
    assert row[2, 0] > row[2, 2]  # positive ones are brown
    assert row[1].min() > 240


def test_all_pictures_of_an_array_have_one_scale() -> None:
    made = of("~y:1 ~x:2 h:2", torch.tensor([[[0.5, 1.0], [0.25, 0.5]]]))
    assert pixels(made, 0)[0, 0].tolist() == pixels(made, 1)[0, 1].tolist()


def test_a_palette_runs_from_its_first_stop_to_its_last() -> None:
    colours = np.frombuffer(palette("ffffff 0a3259"), np.uint8).reshape(256, 3)
    assert colours[[0, 255]].tolist() == [[255, 255, 255], [0x0A, 0x32, 0x59]]
    assert (np.diff(colours.astype(int), axis=0) <= 0).all()


def test_the_row_of_a_position_is_outlined_in_each_tile_of_arrays_with_its_axis() -> None:
    made = of("~y:4 ~x:2 h:2", torch.rand(4, 2, 2), marked={"y": 3, "x": 0})
    for tile, mark in zip(made.tiles, made.marks, strict=True):
        assert (mark.x0, mark.x1, mark.y1) == (tile.box.x0, tile.box.x1, tile.box.y1)
        assert mark.height == pytest.approx(tile.box.height / 4)
    assert not of("~x:2 m:3", torch.rand(2, 3), marked={"y": 1}).marks
    assert not of("~y:2 m:3", torch.rand(2, 3), marked={"y": 2}).marks


# --- Frames, and wrong calls


@pytest.mark.few(12)
@pytest.mark.parametrize("name", [*ncd.catalogue])
def test_frames_are_as_large_as_the_pictures_of_a_run(name: str) -> None:
    made = pictures(name)
    frames = thumbnail_frames(ncd.elaborate(ncd.catalogue[name].build()))
    assert {*made} <= {*frames}
    for id, own in made.items():
        assert (own.width, own.height) == (frames[id].width, frames[id].height)
        assert own.width == max(tile.box.x1 for tile in own.tiles)
        assert own.height == max(tile.box.y1 for tile in own.tiles)


def test_the_run_of_another_module_is_refused() -> None:
    module = ncd.compile(ncd.Linear("m:3 -> k:2"))
    other = ncd.compile(ncd.Linear("m:4 -> k:2"))
    run = ncd.trace(other, torch.ones(4))
    with pytest.raises(ncd.MismatchError) as refused:
        thumbnails(module, run)
    said = "thumbnails: array v0 is (3,), but (4,) in this run. Try the run of this module."
    assert str(refused.value) == said
    assert thumbnails(module, replace(run, values={})) == {}
