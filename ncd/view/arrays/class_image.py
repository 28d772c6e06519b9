"""Pictures with a class for each pixel, in one colour for each class."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Colours by Okabe and Ito, which colour-blind readers can tell apart.
COLOURS = ((230, 159, 0), (86, 180, 233), (204, 121, 167), (0, 158, 115))
COVER = 0.6  # the opacity of the class colour
LARGE = 256  # the side of the image in points; a pixel is a square of several points
STROKE = 4  # the least side of a pixel, in points, for a stroke through it


def colour(kind: int) -> tuple[int, int, int]:
    """Returns one of the four class colours, as red, green and blue."""
    return COLOURS[(kind - 1) % len(COLOURS)]


def painted(
    picture: Tensor, classes: Tensor, wrong: Tensor | None = None, large: int = LARGE
) -> NDArray[np.uint8]:
    """Returns a grey picture with its pixels in class colours, struck through if wrong.

    All are (h, w). Class 0 is the background, which has no colour.

    >>> painted(torch.zeros(1, 2), torch.tensor([[0, 1]]), large=2).tolist()
    [[[0, 0, 0], [138, 95, 0]]]
    """
    grey = 255 * picture.clamp(0, 1)[..., None].expand(-1, -1, 3)
    table = torch.tensor([(0, 0, 0), *map(colour, range(1, int(classes.max()) + 1))])
    cover = COVER * (classes > 0)[..., None]
    pixels = ((1 - cover) * grey + cover * table[classes]).round().byte()
    scale = max(1, large // max(picture.shape))
    pixels = _larger(pixels, scale)
    if wrong is not None and scale >= STROKE:
        stroke = torch.eye(scale, dtype=torch.bool).repeat(wrong.shape)
        pixels[stroke & _larger(wrong, scale)] = 255
    return pixels.numpy()


def _larger(pixels: Tensor, scale: int) -> Tensor:
    return pixels.repeat_interleave(scale, 0).repeat_interleave(scale, 1)
