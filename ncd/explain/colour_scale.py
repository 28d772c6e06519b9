"""Numbers as colours: scales that suit colour-blind readers, their ranges, and pooled maps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CellGrid = NDArray[np.float32]
FEW, RARE = 3, 2000  # outliers ignored: at least 3, or one in 2000
OUTLIERS_FROM = 12  # outliers are ignored only in arrays with more numbers
FAR = 5.0  # an outlier is at least this many times as large as the other numbers


@lru_cache
def palette(stops: str) -> bytes:
    """Returns 256 colours interpolated between the given hex stops, three bytes each.

    >>> palette("000000 ffffff")[:6], len(palette("000000 ffffff"))
    (b'\\x00\\x00\\x00\\x01\\x01\\x01', 768)
    """
    colours = np.array([list(bytes.fromhex(stop)) for stop in stops.split()])
    at, places = np.linspace(0, 1, 256), np.linspace(0, 1, len(colours))
    channels = [np.interp(at, places, colours[:, i]) for i in range(3)]
    return np.uint8(np.round(np.stack(channels, 1))).tobytes()


@dataclass(frozen=True)
class PooledMaps:
    """Maps whose cells stand for blocks of numbers, by their mean or their largest value."""

    maps: CellGrid  # (…, rows, columns)
    shape: tuple[int, int]
    block: tuple[int, int] = (1, 1)
    largest: bool = False

    @property
    def caption(self) -> str:
        """A sentence about the pooling; empty if nothing was pooled."""
        if self.block == (1, 1):
            return ""
        what = "the largest number" if self.largest else "means"
        (rows, columns), (high, wide) = self.shape, self.block
        return f"{rows:,} × {columns:,} numbers, shown as {what} of {high} × {wide}."


def pool(maps: CellGrid, most: int) -> PooledMaps:
    """Pools maps to at most ``most`` cells a side; masked numbers (NaN) are ignored.

    A cell is the mean of a block of numbers. If the mean would hide a few outliers, every cell is
    the number of its block that is furthest from zero.

    >>> pool(np.arange(6, dtype=np.float32).reshape(1, 6), 3).maps
    array([[0.5, 2.5, 4.5]], dtype=float32)
    >>> pool(np.eye(8, dtype=np.float32)[:1] * 9, 2).maps
    array([[9., 0.]], dtype=float32)
    """
    shape = maps.shape[-2:]
    rows, columns = (math.ceil(size / most) for size in shape)
    if (rows, columns) == (1, 1):
        return PooledMaps(maps, shape)
    blocks = _blocks(maps, rows, columns)
    known = np.isfinite(blocks)
    numbers, count = np.where(known, blocks, 0), known.sum((-3, -1))
    means = numbers.sum((-3, -1)) / np.maximum(count, 1)
    high, low = numbers.max((-3, -1)), numbers.min((-3, -1))
    furthest = np.where(high >= -low, high, low)
    largest = bool(np.abs(means).max(initial=0) < 0.5 * np.abs(furthest).max(initial=0))
    cells = np.where(count > 0, furthest if largest else means, np.nan)
    return PooledMaps(cells.astype(np.float32), shape, (rows, columns), largest)


def _blocks(maps: CellGrid, rows: int, columns: int) -> CellGrid:
    """Cuts maps into blocks: (…, cells down, rows, cells across, columns)."""
    high, wide = maps.shape[-2:]
    more = [(0, 0)] * (maps.ndim - 2) + [(0, -high % rows), (0, -wide % columns)]
    full = np.pad(maps, more, constant_values=np.nan)
    return full.reshape(*maps.shape[:-2], -(-high // rows), rows, -(-wide // columns), columns)


@dataclass(frozen=True)
class ColourRange:
    """The range of a colour scale, and the number of outliers far beyond it."""

    low: float
    high: float
    outliers: int = 0
    largest: float = 0.0

    @staticmethod
    def from_numbers(numbers: CellGrid, *, signed: bool) -> ColourRange:
        """Returns the range from zero to the largest number, or symmetric about zero if ``signed``.

        A few outliers are ignored, because with them all other numbers would have the same colour.

        >>> ColourRange.from_numbers(np.float32([*range(16), 1000]), signed=False)
        ColourRange(low=0.0, high=15.0, outliers=1, largest=1000.0)
        """
        sizes = np.abs(numbers[np.isfinite(numbers)])
        largest, few = float(sizes.max(initial=0)), max(FEW, len(sizes) // RARE)
        high, beyond = largest, 0
        if len(sizes) > OUTLIERS_FROM:
            top = np.sort(np.partition(sizes, -few - 1)[-few - 1 :])[::-1].astype(float)
            gaps = (n for n in range(1, few) if top[n - 1] > FAR * top[n] > 0)
            beyond = next(gaps, few if top[0] > FAR * top[few] > 0 else 0)
            high = float(top[beyond])
        high = high or 1.0
        return ColourRange(-high if signed else 0.0, high, beyond, largest)

    @property
    def with_outliers(self) -> ColourRange:
        """The same scale, extended to the largest number."""
        high = self.largest or 1.0
        return ColourRange(-high if self.low < 0 else 0.0, high, self.outliers, self.largest)


# --- Numbers as PNGs


def map_png(cells: CellGrid, ends: ColourRange, stops: str) -> bytes:
    """Returns a map as PNG, a pixel for each cell; masked cells are transparent."""
    share = (cells - ends.low) / (ends.high - ends.low)
    known = np.isfinite(share)
    if not known.all():
        share = np.where(known, share, 0)
    shades = (share.clip(0, 1) * 255).round().astype(np.uint8)
    if known.all():
        image = Image.fromarray(shades, mode="P")
        image.putpalette(palette(stops))
        return png(image)
    table = np.frombuffer(palette(stops), np.uint8).reshape(256, 3)
    return png(Image.fromarray(np.dstack([table[shades], np.uint8(known * 255)])))


def rgb_image(channels: CellGrid) -> NDArray[np.uint8]:
    """Returns three maps as the red, green and blue of one image, scaled to their extremes."""
    numbers = np.nan_to_num(np.moveaxis(channels, 0, -1))
    low, high = float(numbers.min()), float(numbers.max())
    return np.round(255 * (numbers - low) / (high - low or 1)).astype(np.uint8)


def png(image: Image.Image) -> bytes:
    """Returns an image as a PNG that is written quickly."""
    file = BytesIO()
    image.save(file, "png", compress_level=1)
    return file.getvalue()
