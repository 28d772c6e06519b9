"""Heat maps pooled to screen size, and arrays of any shape as pictures."""

from __future__ import annotations

from base64 import b64encode
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ncd.explain.colour_scale import CellGrid as CellGrid
from ncd.explain.colour_scale import ColourRange as ColourRange
from ncd.explain.colour_scale import PooledMaps as PooledMaps
from ncd.explain.colour_scale import map_png, png
from ncd.explain.colour_scale import palette as palette
from ncd.explain.colour_scale import pool as pool
from ncd.explain.colour_scale import rgb_image as rgb_image
from ncd.site import markup
from ncd.site.markup import GREY as GREY
from ncd.site.markup import POSITIVE as POSITIVE
from ncd.site.markup import SIGNED_COLOURS, SIGNED_DARK

# --- Heat maps of arrays: pooled to screen size, in colours that suit colour-blind readers

LARGE, SMALL = 256, 84  # the cells along a side of the large map and of a small picture
DARK = ContextVar("dark", default=False)  # whether the page of this run is dark


def scale(signed: bool) -> str:
    """Returns the hex stops for numbers with or without signs.

    >>> scale(signed=False) == POSITIVE, scale(signed=True) == SIGNED_COLOURS
    (True, True)
    """
    if not signed:
        return POSITIVE
    return SIGNED_DARK if DARK.get() else SIGNED_COLOURS


def data_url(cells: CellGrid, ends: ColourRange, stops: str = POSITIVE) -> str:
    """Returns a map as a small image in a data URL; masked cells are transparent."""
    return _address(map_png(cells, ends, stops))


def sprite_sheet(maps: CellGrid, ends: ColourRange, stops: str = POSITIVE) -> str:
    """Returns one picture of several maps, (maps, rows, columns), one below the other."""
    return data_url(maps.reshape(-1, maps.shape[-1]), ends, stops)


def image_url(pixels: NDArray[np.uint8]) -> str:
    """Returns a colour image as a data URL."""
    return _address(png(Image.fromarray(pixels)))


def _address(data: bytes) -> str:
    return f"data:image/png;base64,{b64encode(data).decode()}"


def visible_range(count: int, at: int, most: int) -> range:
    """Returns the group of ``most`` pictures, out of ``count``, that contains number ``at``.

    >>> visible_range(100, 70, 32), visible_range(100, 99, 32)
    (range(64, 96), range(96, 100))
    """
    start = at // most * most
    return range(start, min(count, start + most))


# --- Arrays of any shape as pictures: two axes as rows and columns, the others side by side

WIDE, TALL = 960, 640  # pixels of a picture
MIN_SIDE = 48  # pixels to which a picture with few rows or columns is stretched
MOST_PICTURES = 72  # the greatest number of pictures
GAP = 3
BEHIND = 128  # the grey between pictures


@dataclass(frozen=True)
class Mosaic:
    """The picture as a data URL, its size, and a description."""

    address: str
    size: tuple[int, int]
    description: str


def mosaic(numbers: CellGrid, colours: int | None) -> Mosaic:
    """Returns numbers as a picture; the axis ``colours``, of length 3, is red, green and blue.

    Numbers outside 0 to 1 are scaled between their extremes.

    >>> mosaic(np.zeros((6, 9, 3), np.float32), 2).description
    '6 × 9 pixels'
    """
    if colours is None:
        pictures = np.repeat(numbers[..., None], 3, -1)
    else:
        pictures = np.moveaxis(numbers, colours, -1)
    while pictures.ndim < 3:
        pictures = pictures[None]
    (high, wide), lead = pictures.shape[-3:-1], pictures.shape[:-3]
    count = prod(lead)
    flat = _raise_rows(_shades(pictures).reshape(count, high, wide, 3)[:MOST_PICTURES])
    across = prod(lead[1:]) if len(lead) > 1 and prod(lead[1:]) <= 12 else min(len(flat), 8)
    image = Image.fromarray(_tile_pictures(flat, across))
    image.thumbnail((WIDE, TALL), Image.Resampling.BOX)
    return Mosaic(
        image_url(np.asarray(image)), image.size, _alt_text(numbers, lead, (high, wide), count)
    )


def _alt_text(numbers: CellGrid, lead: tuple[int, ...], size: tuple[int, int], count: int) -> str:
    low, high = float(numbers.min()), float(numbers.max())
    words = [f"{size[0]:,} × {size[1]:,} pixels"]
    if lead:
        words.insert(0, f"{' × '.join(map(str, lead))} pictures of")
    if count > MOST_PICTURES:
        words.append(f"(the first {MOST_PICTURES})")
    if low < 0 or high > 1:
        words.append(f"from {markup.digits(low)} (black) to {markup.digits(high)}")
    return " ".join(words)


def _shades(numbers: CellGrid) -> NDArray[np.uint8]:
    low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    return np.round(255 * (numbers - low) / (high - low)).astype(np.uint8)


def _raise_rows(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns pictures (n, h, w, 3) with few, long rows made higher."""
    high, wide = pictures.shape[1:3]
    if max(high, wide) < MIN_SIDE:
        by = ceil(MIN_SIDE / max(high, wide))
        return pictures.repeat(by, 1).repeat(by, 2)
    if wide > 20 * high:
        return pictures.repeat(ceil(wide / 20 / high), 1)
    if high > 20 * wide:
        return pictures.repeat(ceil(high / 20 / wide), 2)
    return pictures


def _tile_pictures(pictures: NDArray[np.uint8], across: int) -> NDArray[np.uint8]:
    """Returns pictures side by side, ``across`` in each row."""
    count, high, wide, _ = pictures.shape
    down = ceil(count / across)
    whole = np.full(
        (down * (high + GAP) - GAP, across * (wide + GAP) - GAP, 3), BEHIND, dtype=np.uint8
    )
    for n, picture in enumerate(pictures):
        row, column = divmod(n, across)
        y, x = row * (high + GAP), column * (wide + GAP)
        whole[y : y + high, x : x + wide] = picture
    return whole
