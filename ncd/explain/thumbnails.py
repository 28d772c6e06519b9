"""Thumbnails: the values of arrays as small pictures for the wires of a diagram.

What the axes mean decides what is drawn: positions by positions are maps, one for each head;
features are stripes below each other, one for each position; images are images; a distribution is
bars. An array has one scale; zero has the colour of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.drawing.elements.primitives import PictureTile, Rectangle, Thumbnail
from ncd.errors import MismatchError, ParseError, short_repr
from ncd.explain.colour_scale import CellGrid, ColourRange, map_png, palette, png, pool, rgb_image
from ncd.language.arguments import check_flag
from ncd.language.axes import Array, Axis
from ncd.run.module import CircuitModule, Trace, check_module

POSITIVE = {False: "ffffff dbe8f2 9cc3e0 4a8fc4 1d5f9a 0a3259"}
POSITIVE[True] = "161b22 1d3a57 2c6699 5fa3d8 b3d8f6 f4faff"
COLOUR_STOPS = {
    False: "0b3a68 3a80b9 a4c6e2 faf8f5 f0b184 c8641c 7a2f08"
}  # from negative, as in maps
COLOUR_STOPS[True] = "bfe0fb 4a93cf 1c486f 171b21 6b3712 d9752b ffc08a"
LARGEST = 1 << 22  # numbers of an array with a thumbnail
COLUMNS = 64  # features of a stripe, those with the largest numbers
GAP = 4.0  # between tiles
FEW, SOME = 4, 18  # maps that are large, and maps that are shown at all
MAP, SMALL_MAP, LONE_MAP = 54.0, 36.0, 90.0  # their sides
CellBytes = NDArray[np.uint8]
STRIPE = 12.0  # the height of a vector
POSITION = 5.0  # the height of a position's features
FEATURES = 22.0, 56.0  # the least and the greatest height of features
WIDE, NARROW = 56.0, 22.0  # the width of features, and of those of one head
ROW = 100.0  # the width of all heads, at most
PICTURE, ONE_OF_SEVERAL, CHANNEL = 52.0, 36.0, 26.0  # the side of an image, and of a channel
CHANNELS = 8  # channels shown, the liveliest; and pictures
BATCHES = ("b", "batch")  # axes that are no channels
BARS = 24  # the height of bars, in pixels of their tile


def thumbnails(
    module: CircuitModule,
    run: Trace,
    *,
    dark: bool = False,
    marked: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Thumbnail]:
    """Returns small pictures of the values of a run, for the wires of its diagram.

    Args:
        module: The compiled module that ran.
        run: What :func:`trace` returned for it.
        dark: Whether the colours are for a dark page.
        marked: Positions by axes, such as ``{"y": 3}``; their rows are outlined.

    Returns:
        A :class:`Thumbnail` for each array that has something to show, by the array's id. Copies,
        rearrangements, scores that are scaled or masked next, whole numbers, single numbers and
        arrays of more than four million numbers have none.

    Raises:
        ParseError: For what :func:`compile` or :func:`trace` did not make.
        MismatchError: For the run of another module.

    Source: E. Tufte, *The Visual Display of Quantitative Information* (1983): small multiples.

    >>> import ncd
    >>> module = ncd.compile(ncd.Linear("m:3 -> k:2"), seed=0)
    >>> pictures = thumbnails(module, ncd.trace(module, *ncd.example_inputs(module.term)))
    >>> pictures["v1"].description
    'k, 2 numbers from -0.41 to 0.13'
    >>> drawing = ncd.draw(module.term, thumbnails=pictures)
    >>> [each.array for each in drawing.thumbnails]
    ['v0', 'v1']
    """
    check_module(module, "thumbnails")
    check_flag(dark, "dark", "thumbnails")
    _check_marked(marked)
    if not isinstance(run, Trace):
        fact = f"{short_repr(run)} is no run"
        raise ParseError(fact, where="thumbnails", cure="ncd.trace(module, *inputs)")
    return {id: cells.paint(dark, marked) for id, cells in cells_of_run(module.circuit, run)}


def cells_of_run(circuit: Circuit, run: Trace) -> Iterator[tuple[str, ThumbnailCells]]:
    """Yields the id of each array that has something to show, with the numbers that are shown."""
    for value in shown_values(circuit):
        if value.id in run.values:
            numbers = run.values[value.id]
            if tuple(numbers.shape) != value.array.shape:
                raise _other_run(value, numbers)
            made = thumbnail_cells(value.array, numbers, _origin(circuit, value))
            if made is not None:
                yield value.id, made


def _check_marked(marked: object) -> None:
    """Raises ParseError for anything but a mapping from names of axes to positions."""
    pairs = marked.items() if isinstance(marked, Mapping) else [(None, None)]
    if not all(isinstance(name, str) and type(at) is int for name, at in pairs):
        fact = f"marked is {short_repr(marked)}, but it is a mapping from axes to positions"
        raise ParseError(fact, where="thumbnails", cure='marked={"y": 3}')


def _other_run(value: Value, numbers: Tensor) -> MismatchError:
    fact = f"array {value.id} is {value.array.shape}, but {tuple(numbers.shape)} in this run"
    return MismatchError(fact, where="thumbnails", cure="the run of this module")


def shown_values(circuit: Circuit) -> Iterator[Value]:
    """Yields the arrays of a circuit that say something new."""
    taken: dict[str, list[Cell]] = {}
    for cell in circuit.cells:
        for value in cell.inputs:
            taken.setdefault(value.id, []).append(cell)
    made = (value for cell in circuit.cells if not _rearranges(cell) for value in cell.outputs)
    for value in (*circuit.inputs, *made):
        consumers = taken.get(value.id, [])
        if len(consumers) != 1 or not _says_more(consumers[0]):
            yield value


def _rearranges(cell: Cell) -> bool:
    """Returns whether an op only copies, renames or orders what it takes."""
    renames = cell.passes_arrays_on and not cell.glyph.marks
    return renames or cell.op.role in ("copy", "diagonal", "reshape", "transpose")


def _says_more(cell: Cell) -> bool:
    """Returns whether the result of an op is shown in place of what it takes."""
    return cell.op.role in ("scale", "mask") or (cell.passes_arrays_on and bool(cell.glyph.marks))


def thumbnail_frames(circuit: Circuit) -> dict[str, Thumbnail]:
    """Returns the thumbnails of a circuit without pictures, as large as those of a run."""
    found = {}
    for value in shown_values(circuit):
        sized = all(axis.size is not None for axis in value.array)
        if sized and value.array.below is None and 1 < value.array.numel <= LARGEST:
            grid = _grid(value.array, _origin(circuit, value))
            found[value.id] = Thumbnail(grid.width, grid.height)
    return found


@dataclass(frozen=True)
class ThumbnailCells:
    """The numbers that a thumbnail shows: chosen and pooled, without colours yet.

    ``maps`` has a map for each tile of ``grid``, and ``ends`` is the range of their scale.
    """

    grid: _Grid
    maps: CellGrid
    ends: ColourRange
    description: str

    def paint(self, dark: bool, marked: Mapping[str, int] = MappingProxyType({})) -> Thumbnail:
        """Returns the thumbnail in colours, for a light or a dark page."""
        grid = self.grid
        tiles = grid.kind.paint_tiles(self.maps, _Painter(self.ends, dark))
        pictures = tuple(map(PictureTile, grid.boxes, tiles))
        marks = tuple(grid.marks(marked))
        return Thumbnail(grid.width, grid.height, pictures, marks, self.description)

    @property
    def frame(self) -> Thumbnail:
        """The thumbnail without its pictures."""
        return Thumbnail(self.grid.width, self.grid.height)

    @property
    def shades(self) -> CellBytes:
        """A byte for each number that is shown, three for one of a picture in colours.

        0 is a number that is not known, 1 to 255 are the scale from its one end to the other.
        """
        return self.grid.kind.shades(self.maps, self.ends)


def thumbnail_cells(array: Array, values: Tensor, origin: str) -> ThumbnailCells | None:
    """Returns the numbers that an array's thumbnail shows; None if there is nothing to show."""
    whole = array.below is not None or not values.is_floating_point()
    if whole or not 1 < values.numel() <= LARGEST:
        return None
    numbers: CellGrid = values.detach().float().cpu().numpy()
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    known = numbers[np.isfinite(numbers)]
    if not known.size:
        return None
    grid = _grid(array, origin)
    maps, note = grid.kind.maps(numbers)
    named = " × ".join(axis.display_name for axis in array)
    low, high = float(known.min()), float(known.max())
    said = f"{named}, {numbers.size:,} numbers from {low:.2g} to {high:.2g}{note}"
    return ThumbnailCells(grid, maps, ColourRange.from_numbers(known, signed=low < 0), said)


def _origin(circuit: Circuit, value: Value) -> str:
    maker = circuit.producers.get(value.id)
    return "input" if maker is None else maker.op.role


class _Painter:
    """Paints numbers of one array as PNGs, on one scale."""

    def __init__(self, ends: ColourRange, dark: bool) -> None:
        self.range = ends
        self.stops = (COLOUR_STOPS if ends.low < 0 else POSITIVE)[dark]

    def picture(self, cells: CellGrid) -> bytes:
        """Returns a map as PNG; unknown numbers are transparent."""
        return map_png(cells, self.range, self.stops)

    def bars(self, shares: CellGrid) -> bytes:
        """Returns a distribution as bars, one pixel wide each."""
        heights = np.nan_to_num(shares / (np.nanmax(shares) or 1)) * BARS
        filled = np.arange(BARS, 0, -1)[:, None] <= np.ceil(heights)
        solid = np.broadcast_to(
            np.frombuffer(palette(self.stops), np.uint8)[600:603], (*filled.shape, 3)
        )
        return png(Image.fromarray(np.dstack([solid, np.uint8(filled * 255)])))


# --- Kinds of pictures: how many tiles of what size, and what stands in them


@dataclass(frozen=True)
class _Maps:
    """Arrays of numbers, drawn as maps: the dimensions in their order, and the shape of all."""

    order: tuple[int, ...]
    shape: tuple[int, ...]
    max_pictures: int
    max_columns: int = COLUMNS
    sides: tuple[int, int] = (1, 1)  # the dimensions that are rows and columns, the last ones
    channels: int = 1  # maps of a tile
    painting: ClassVar[str] = "map"  # how a page paints it: as a map, as bars, or in its colours
    choice: ClassVar[str] = ""  # what is chosen where there is much: columns, or whole maps

    def maps(self, numbers: CellGrid) -> tuple[CellGrid, str]:
        """Returns the maps that are shown, and what is left out."""
        maps = numbers.transpose(self.order).reshape(-1, *self.shape)
        chosen, note = self.choose_tiles(maps)
        return pool(chosen, self.max_columns).maps, note

    def choose_tiles(self, maps: CellGrid) -> tuple[CellGrid, str]:
        left = (
            f"; the first {self.max_pictures} of {len(maps)} pictures"
            if len(maps) > self.max_pictures
            else ""
        )
        return maps[: self.max_pictures], left

    def paint_tiles(self, maps: CellGrid, painter: _Painter) -> list[bytes]:
        """Returns the tiles as PNGs."""
        return [painter.picture(cells) for cells in maps]

    def shades(self, maps: CellGrid, ends: ColourRange) -> CellBytes:
        """Returns the bytes of :attr:`ThumbnailCells.shades`."""
        share = ((maps - ends.low) / (ends.high - ends.low)).clip(0, 1)
        return np.where(np.isfinite(share), 1 + np.nan_to_num(share * 254).round(), 0).astype("u1")


class _Stripes(_Maps):
    """Features of positions: of many the ones with the largest numbers."""

    choice = "columns"

    def choose_tiles(self, maps: CellGrid) -> tuple[CellGrid, str]:
        maps, note = super().choose_tiles(maps)
        count = maps.shape[-1]
        if count > COLUMNS:
            loud = np.nan_to_num(np.abs(maps)).max((0, 1))
            maps = maps[..., np.sort(np.argsort(-loud, kind="stable")[:COLUMNS])]
            note += f"; the {COLUMNS} features of {count:,} with the largest numbers"
        return maps, note


class _Channels(_Maps):
    """Channels of an image, of many the liveliest."""

    choice = "maps"

    def choose_tiles(self, maps: CellGrid) -> tuple[CellGrid, str]:
        if len(maps) <= self.max_pictures:
            return maps, ""
        lively = np.nan_to_num(maps).std((1, 2))
        order = np.sort(np.argsort(-lively, kind="stable")[: self.max_pictures])
        return maps[order], f"; the {self.max_pictures} liveliest of {len(maps):,} channels"


class _Pictures(_Maps):
    """Pictures that go in, each of one channel or of three."""

    painting = "colour"

    def choose_tiles(self, maps: CellGrid) -> tuple[CellGrid, str]:
        pictures = maps.reshape(-1, self.channels, *self.shape)
        chosen, note = super().choose_tiles(pictures)
        return chosen.reshape(-1, *self.shape), note

    def shades(self, maps: CellGrid, ends: ColourRange) -> CellBytes:
        pictures = maps.reshape(-1, self.channels, *maps.shape[1:])
        channels = np.broadcast_to(pictures, (len(pictures), 3, *maps.shape[1:]))
        return rgb_image(np.moveaxis(channels, 1, 0))

    def paint_tiles(self, maps: CellGrid, painter: _Painter) -> list[bytes]:
        return [png(Image.fromarray(picture)) for picture in self.shades(maps, painter.range)]


class _Shares(_Maps):
    """A distribution, drawn as bars."""

    painting = "bars"

    def shades(self, maps: CellGrid, ends: ColourRange) -> CellBytes:
        return (np.nan_to_num(maps / (np.nanmax(maps) or 1)) * 255).astype(np.uint8)

    def paint_tiles(self, maps: CellGrid, painter: _Painter) -> list[bytes]:
        return [painter.bars(maps[0, 0])]


@dataclass(frozen=True)
class _Grid:
    """Tiles of one size in rows."""

    kind: _Maps
    count: int
    size: tuple[float, float]
    column_count: int = 4
    rows: Axis | None = None

    @property
    def boxes(self) -> Iterator[Rectangle]:
        (wide, high), across = self.size, min(self.column_count, self.count)
        for n in range(self.count):
            x, y = n % across * (wide + GAP), n // across * (high + GAP)
            yield Rectangle(x, y, x + wide, y + high)

    def marks(self, marked: Mapping[str, int]) -> Iterator[Rectangle]:
        """Yields the rows at these positions, in each tile."""
        if self.rows is not None and self.rows.name in marked:
            count, at = self.rows.numel, marked[self.rows.name]
            for x0, y0, x1, y1 in self.boxes if 0 <= at < count else ():
                high = (y1 - y0) / count
                yield Rectangle(x0, y0 + at * high, x1, y0 + (at + 1) * high)

    @property
    def width(self) -> float:
        return max(box.x1 for box in self.boxes)

    @property
    def height(self) -> float:
        return max(box.y1 for box in self.boxes)


def _grid(array: Array, origin: str) -> _Grid:
    """Chooses the kind of picture by what the axes of an array are."""
    spaces = [axis for axis in array if len(axis.shape) > 1]
    lines = [axis for axis in array if axis.sequence or (axis.spatial and axis not in spaces)]
    features = [axis for axis in array if axis not in (*spaces, *lines)]
    if spaces:
        return _images(array, spaces[0], origin == "input")
    if len(lines) > 1:
        return _position_maps(array, lines[0], lines[1])
    rows, *columns = [*lines, *features]
    return _stripes(array, rows, columns) if columns else _vector(array, origin == "softmax")


def _position_maps(array: Array, rows: Axis, columns: Axis) -> _Grid:
    count = array.numel // (rows.numel * columns.numel)
    side = LONE_MAP if count == 1 else MAP if count <= FEW else SMALL_MAP
    scale = side / max(rows.numel, columns.numel)
    size = tuple(max(axis.numel * scale, side / 3) for axis in (columns, rows))
    kind = _Maps(_order(array, rows, columns), (rows.numel, columns.numel), SOME, round(side))
    count = min(count, SOME)
    return _Grid(kind, count, (size[0], size[1]), 2 if count in (3, 4) else 6, rows)


def _stripes(array: Array, rows: Axis, features: list[Axis]) -> _Grid:
    """Returns the features of each position, in a tile for each head."""
    heads = min(features, key=lambda axis: axis.numel) if len(features) > 1 else None
    columns = [axis for axis in features if axis is not heads]
    shape = rows.numel, prod(axis.numel for axis in columns)
    count = min(array.numel // prod(shape), CHANNELS)
    sides = 1, sum(len(axis.shape) for axis in columns)
    kind = _Stripes(_order(array, rows, *columns), shape, count, sides=sides)
    least, most = FEATURES
    high = min(max(POSITION * rows.numel, least), most)
    narrow = min(NARROW, (ROW + GAP) / count - GAP)  # many heads take no more room than four
    return _Grid(kind, count, (narrow if heads else WIDE, high), count, rows)


def _images(array: Array, space: Axis, goes_in: bool) -> _Grid:
    *more, wide = space.shape
    high, count = prod(more), array.numel // space.numel  # more dimensions stand below each other
    shape, sides = (high, wide), (len(more), 1)
    others = [axis for axis in array if axis is not space and axis.name not in BATCHES]
    colours = [axis for axis in others if axis.numel in (1, 3) and not axis.sequence]
    if goes_in and (colours or not others):
        last = sorted(colours, key=lambda axis: axis.numel)[-1:]
        channels = prod(axis.numel for axis in last)
        count //= channels
        side = PICTURE if count == 1 else ONE_OF_SEVERAL
        order = _order(array, *last, space)
        maps: _Maps = _Pictures(order, shape, CHANNELS, sides=sides, channels=channels)
    else:
        side = PICTURE if count == 1 else CHANNEL
        maps = _Channels(_order(array, space), shape, CHANNELS, sides=sides)
    size = side * wide / max(high, wide), side * high / max(high, wide)
    return _Grid(maps, min(count, CHANNELS), size)


def _vector(array: Array, is_distribution: bool) -> _Grid:
    count = array.numel
    wide, order = min(max(4.0 * count, 24.0), 90.0), tuple(range(len(array.shape)))
    if is_distribution and count <= 2 * COLUMNS:
        return _Grid(_Shares(order, (1, count), 1, count, (0, len(order))), 1, (wide, float(BARS)))
    return _Grid(_Maps(order, (1, count), 1, 2 * COLUMNS, (0, len(order))), 1, (wide, STRIPE))


def _order(array: Array, *last: Axis) -> tuple[int, ...]:
    """Returns the dimensions of an array with those of some axes last."""
    at, dims = 0, {}
    for axis in array:
        dims[axis] = range(at, at + len(axis.shape))
        at += len(axis.shape)
    rest = [dim for axis in array if axis not in last for dim in dims[axis]]
    return (*rest, *(dim for axis in last for dim in dims[axis]))
