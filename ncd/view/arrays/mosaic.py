"""Arrays of any shape as pictures: two axes as rows and columns, the others side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ncd.export import markup
from ncd.view.base import heatmap
from ncd.view.base.heatmap import Grid

WIDE, TALL = 960, 640  # pixels of a picture
LEAST = 48  # pixels to which a picture with few rows or columns is stretched
MANY = 72  # the greatest number of pictures
GAP = 3
BEHIND = 128  # the grey between pictures


@dataclass(frozen=True)
class Mosaic:
    """The picture as a data URL, its size, and a description."""

    address: str
    size: tuple[int, int]
    told: str


def mosaic(numbers: Grid, colours: int | None) -> Mosaic:
    """Returns numbers as a picture; the axis ``colours``, of length 3, is red, green and blue.

    Numbers outside 0 to 1 are scaled between their extremes.

    >>> mosaic(np.zeros((6, 9, 3), np.float32), 2).told
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
    flat = _stretched(_shades(pictures).reshape(count, high, wide, 3)[:MANY])
    across = prod(lead[1:]) if len(lead) > 1 and prod(lead[1:]) <= 12 else min(len(flat), 8)
    image = Image.fromarray(_tiled(flat, across))
    image.thumbnail((WIDE, TALL), Image.Resampling.BOX)
    return Mosaic(
        heatmap.address(np.asarray(image)), image.size, _told(numbers, lead, (high, wide), count)
    )


def _told(numbers: Grid, lead: tuple[int, ...], size: tuple[int, int], count: int) -> str:
    low, high = float(numbers.min()), float(numbers.max())
    words = [f"{size[0]:,} × {size[1]:,} pixels"]
    if lead:
        words.insert(0, f"{' × '.join(map(str, lead))} pictures of")
    if count > MANY:
        words.append(f"(the first {MANY})")
    if low < 0 or high > 1:
        words.append(f"from {markup.digits(low)} (black) to {markup.digits(high)}")
    return " ".join(words)


def _shades(numbers: Grid) -> NDArray[np.uint8]:
    low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    return np.round(255 * (numbers - low) / (high - low)).astype(np.uint8)


def _stretched(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns pictures (n, h, w, 3) with few, long rows made higher."""
    high, wide = pictures.shape[1:3]
    if max(high, wide) < LEAST:
        by = ceil(LEAST / max(high, wide))
        return pictures.repeat(by, 1).repeat(by, 2)
    if wide > 20 * high:
        return pictures.repeat(ceil(wide / 20 / high), 1)
    if high > 20 * wide:
        return pictures.repeat(ceil(high / 20 / wide), 2)
    return pictures


def _tiled(pictures: NDArray[np.uint8], across: int) -> NDArray[np.uint8]:
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
