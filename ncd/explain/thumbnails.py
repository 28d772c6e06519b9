"""Thumbnails: the values of arrays as small pictures for the wires of a diagram.

What the axes mean decides what is drawn: positions by positions are maps, one for each head;
features are stripes below each other, one for each position; images are images; a distribution is
bars. An array has one scale; zero has the colour of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.drawing.elements.primitives import Rectangle, Thumbnail, Tile
from ncd.explain.colour_scale import CellGrid, ColourRange, palette, pool
from ncd.language.axes import Array, Axis
from ncd.run.module import CircuitModule, Trace

POSITIVE = {False: "ffffff dbe8f2 9cc3e0 4a8fc4 1d5f9a 0a3259"}
POSITIVE[True] = "161b22 1d3a57 2c6699 5fa3d8 b3d8f6 f4faff"
SIGNED = {False: "7a2f08 c8641c f0b184 faf8f5 a4c6e2 3a80b9 0b3a68"}
SIGNED[True] = "ffc08a d9752b 6b3712 171b21 1c486f 4a93cf bfe0fb"
LARGEST = 1 << 22  # numbers of an array with a thumbnail
COLUMNS = 64  # features of a stripe, those with the largest numbers
GAP = 4.0  # between tiles
FEW, SOME = 4, 18  # maps that are large, and maps that are shown at all
MAP, SMALL_MAP, LONE_MAP = 62.0, 40.0, 96.0  # their sides
STRIPE = 12.0  # the height of a vector
POSITION = 5.0  # the height of a position's features
FEATURES = 22.0, 56.0  # the least and the greatest height of features
WIDE, NARROW = 60.0, 27.0  # the width of features, and of those of one head
PICTURE, CHANNEL = 52.0, 26.0  # the side of an image, and of a channel
CHANNELS = 8  # channels shown, the liveliest
BARS = 24  # the height of bars, in pixels of their tile


def thumbnails(module: CircuitModule, run: Trace, *, dark: bool = False) -> dict[str, Thumbnail]:
    """Returns small pictures of the values of a run, for the wires of its diagram.

    Args:
        module: The compiled module that ran.
        run: What :func:`trace` returned for it.
        dark: Whether the colours are for a dark page.

    Returns:
        A :class:`Thumbnail` for each array that has something to show, by the array's id. Copies,
        rearrangements, scores that are scaled or masked next, whole numbers, single numbers and
        arrays of more than four million numbers have none.

    Raises:
        Nothing.

    Source: E. Tufte, *The Visual Display of Quantitative Information* (1983): small multiples.

    >>> import ncd
    >>> module = ncd.compile(ncd.Linear("m:3 -> k:2"))
    >>> pictures = thumbnails(module, ncd.trace(module, *ncd.example_inputs(module.term)))
    >>> pictures["v1"].description
    'k, 2 numbers from -0.91 to 0.59'
    >>> drawing = ncd.draw(module.term, thumbnails=pictures)
    >>> [each.array for each in drawing.thumbnails]
    ['v0', 'v1']
    """
    return {
        value.id: made
        for value in shown_values(module.circuit)
        if value.id in run.values
        and (made := thumbnail(value.array, run.values[value.id], dark, module.circuit, value.id))
    }


def shown_values(circuit: Circuit) -> Iterator[Value]:
    """Yields the arrays of a circuit that say something new."""
    taken: dict[str, list[Cell]] = {}
    for cell in circuit.cells:
        for value in cell.inputs:
            taken.setdefault(value.id, []).append(cell)
    yield from circuit.inputs
    for cell in circuit.cells:
        if _rearranges(cell):
            continue
        for value in cell.outputs:
            next_roles = [other.op.role for other in taken.get(value.id, ())]
            if next_roles not in (["scale"], ["mask"]):
                yield value


def _rearranges(cell: Cell) -> bool:
    """Returns whether an op only copies, renames or orders what it takes."""
    drawn = cell.glyph.marks or cell.glyph.caps
    return not drawn or cell.op.role in ("copy", "diagonal", "note", "reshape", "transpose")


def thumbnail(
    array: Array, values: Tensor, dark: bool, circuit: Circuit, id: str
) -> Thumbnail | None:
    """Returns the thumbnail of an array; None if there is nothing to show."""
    whole = array.below is not None or not values.is_floating_point()
    if whole or not 1 < values.numel() <= LARGEST:
        return None
    numbers: CellGrid = values.detach().float().cpu().numpy()
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    known = numbers[np.isfinite(numbers)]
    if not known.size:
        return None
    maker = circuit.producers.get(id)
    painter = _Painter(known, dark)
    layout = _Layout(array, numbers, painter, is_share=maker is not None and _gives_shares(maker))
    tiles, width, height = layout.tiles()
    low, high = float(known.min()), float(known.max())
    named = " × ".join(axis.display_name for axis in array)
    said = f"{named}, {numbers.size:,} numbers from {low:.2g} to {high:.2g}{layout.note}"
    return Thumbnail(width, height, tuple(tiles), said)


def _gives_shares(maker: Cell) -> bool:
    return maker.op.role == "softmax"


class _Painter:
    """Paints numbers of one array as PNGs, on one scale."""

    def __init__(self, known: CellGrid, dark: bool) -> None:
        signed = bool(known.min() < 0)
        self.range = ColourRange.of(known, signed=signed)
        stops = (SIGNED if signed else POSITIVE)[dark]
        self.colours = np.frombuffer(palette(stops), np.uint8).reshape(256, 3)

    def picture(self, cells: CellGrid) -> bytes:
        """Returns a map as PNG; unknown numbers are transparent."""
        share = (cells - self.range.low) / (self.range.high - self.range.low)
        known = np.isfinite(share)
        shades = (np.where(known, share, 0).clip(0, 1) * 255).round().astype(np.uint8)
        if known.all():
            image = Image.fromarray(shades, mode="P")
            image.putpalette(self.colours.tobytes())
            return _png(image)
        return _png(Image.fromarray(np.dstack([self.colours[shades], np.uint8(known * 255)])))

    def bars(self, shares: CellGrid) -> bytes:
        """Returns a distribution as bars, one pixel wide each."""
        heights = np.nan_to_num(shares / (np.nanmax(shares) or 1)) * BARS
        filled = np.arange(BARS, 0, -1)[:, None] <= np.ceil(heights)
        solid = np.broadcast_to(self.colours[200], (*filled.shape, 3))
        return _png(Image.fromarray(np.dstack([solid, np.uint8(filled * 255)])))


def colour_picture(channels: CellGrid) -> bytes:
    """Returns three channels as the red, green and blue of one image, scaled to their extremes."""
    numbers = np.nan_to_num(np.moveaxis(channels, 0, -1))
    low, high = float(numbers.min()), float(numbers.max())
    return _png(Image.fromarray(np.round(255 * (numbers - low) / (high - low or 1)).astype(np.uint8)))


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "png", compress_level=1)
    return file.getvalue()


@dataclass
class _Layout:
    """The tiles of one thumbnail; ``note`` says what they leave out."""

    array: Array
    numbers: CellGrid
    painter: _Painter
    is_share: bool = False
    note: str = ""

    def tiles(self) -> tuple[list[Tile], float, float]:
        """Returns the tiles, and the width and the height of all."""
        sequences = [axis for axis in self.array if axis.sequence and not axis.spatial]
        spaces = [axis for axis in self.array if axis.spatial]
        others = [axis for axis in self.array if axis not in (*sequences, *spaces)]
        if spaces and len(spaces[0].shape) > 1:
            return self.images(spaces[0])
        lines = [*sequences, *spaces]
        if len(lines) > 1:
            return self.maps(lines[0], lines[1])
        if lines and others:
            return self.stripes(lines[0], others)
        if len(others) > 1:
            return self.stripes(others[0], others[1:])
        return self.vector()

    def parts(self, *kept: Axis) -> CellGrid:
        """Returns the numbers with these axes last, one dimension each, and all others as one."""
        at = {axis: self.dims(axis) for axis in self.array}
        rest = [dim for axis, dims in at.items() if axis not in kept for dim in dims]
        order = [*rest, *(dim for axis in kept for dim in at[axis])]
        sizes = [prod(axis.shape) for axis in kept]
        return self.numbers.transpose(order).reshape(-1, *sizes)

    def dims(self, axis: Axis) -> range:
        at = 0
        for other in self.array:
            if other is axis:
                break
            at += len(other.shape)
        return range(at, at + len(axis.shape))

    # Kinds of pictures ---------------------------------------------------------------------------

    def maps(self, rows: Axis, columns: Axis) -> tuple[list[Tile], float, float]:
        maps = self.parts(rows, columns)
        side = LONE_MAP if len(maps) == 1 else MAP if len(maps) <= FEW else SMALL_MAP
        maps = self.first(maps, SOME)
        high, wide = maps.shape[1:]
        scale = side / max(high, wide)
        size = max(wide * scale, side / 3), max(high * scale, side / 3)
        across = 2 if len(maps) in (3, 4) else min(len(maps), 6)
        return self.grid(pool(maps, round(side)).maps, size, across)

    def stripes(self, rows: Axis, features: list[Axis]) -> tuple[list[Tile], float, float]:
        """Lays out the features of each position, in a tile for each head."""
        heads = min(features, key=lambda axis: axis.numel) if len(features) > 1 else None
        columns = [axis for axis in features if axis is not heads]
        found = self.parts(rows, *columns).reshape(-1, rows.numel, prod(a.numel for a in columns))
        found = self.first(found, CHANNELS if heads else 1)
        found = pool(self.loudest(found), COLUMNS).maps
        least, most = FEATURES
        size = (NARROW if heads else WIDE), min(max(POSITION * rows.numel, least), most)
        return self.grid(found, size, 4)

    def images(self, space: Axis) -> tuple[list[Tile], float, float]:
        channels = self.parts(space).reshape(-1, *self.sides(space))
        high, wide = channels.shape[1:]
        side = PICTURE if len(channels) in (1, 3) else CHANNEL
        size = side * wide / max(high, wide), side * high / max(high, wide)
        if len(channels) == 3:
            box = Rectangle(0.0, 0.0, *size)
            return [Tile(box, colour_picture(channels))], *size
        if len(channels) > CHANNELS:
            lively = np.nan_to_num(channels).std((1, 2))
            order = np.sort(np.argsort(-lively, kind="stable")[:CHANNELS])
            self.note = f"; the {CHANNELS} liveliest of {len(channels)} channels"
            channels = channels[order]
        return self.grid(pool(channels, 64).maps, size, 4)

    def vector(self) -> tuple[list[Tile], float, float]:
        numbers = self.numbers.reshape(1, 1, -1)
        wide = min(max(4.0 * numbers.size, 24.0), 90.0)
        if self.is_share and numbers.size <= 2 * COLUMNS:
            box = Rectangle(0.0, 0.0, wide, float(BARS))
            return [Tile(box, self.painter.bars(numbers[0, 0]))], box.width, box.height
        return self.grid(pool(numbers, 2 * COLUMNS).maps, (wide, STRIPE), 1)

    # Helpers -------------------------------------------------------------------------------------

    def sides(self, space: Axis) -> tuple[int, int]:
        """Returns the height and the width of images; more dimensions stand below each other."""
        *more, wide = space.shape
        return prod(more), wide

    def first(self, maps: CellGrid, most: int) -> CellGrid:
        if len(maps) > most:
            self.note = f"; the first {most} of {len(maps)} pictures" if most > 1 else "; the first"
        return maps[:most]

    def loudest(self, maps: CellGrid) -> CellGrid:
        """Returns the features with the largest numbers, in their order."""
        count = maps.shape[-1]
        if count <= COLUMNS:
            return maps
        loud = np.nan_to_num(np.abs(maps)).max((0, 1))
        self.note += f"; the {COLUMNS} features with the largest numbers of {count:,}"
        return maps[..., np.sort(np.argsort(-loud, kind="stable")[:COLUMNS])]

    def grid(
        self, maps: CellGrid, size: tuple[float, float], across: int
    ) -> tuple[list[Tile], float, float]:
        """Lays maps out in rows; returns them, and the width and the height of all."""
        (wide, high), across = size, min(across, len(maps))
        tiles = []
        for n, cells in enumerate(maps):
            x, y = n % across * (wide + GAP), n // across * (high + GAP)
            tiles.append(Tile(Rectangle(x, y, x + wide, y + high), self.painter.picture(cells)))
        down = ceil(len(maps) / across)
        return tiles, across * (wide + GAP) - GAP, down * (high + GAP) - GAP
