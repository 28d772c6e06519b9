"""Generated pictures of shapes, with the class of every pixel."""

from __future__ import annotations

import torch
from torch import Tensor

NOISE = 0.15
KINDS = ("background", "disc", "square", "triangle")


def shapes(n: int, x: int, classes: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns noisy pictures (n, 1, x, x) of bright shapes, and the class of each pixel (n, x, x).

    Each has up to three shapes, later ones on top. Class 0 is the background; then come discs,
    squares and triangles, up to the number of classes.

    >>> pictures, classes = shapes(2, 16, 3, torch.Generator().manual_seed(0))
    >>> tuple(pictures.shape), tuple(classes.shape), int(classes.max()) <= 2
    ((2, 1, 16, 16), (2, 16, 16), True)
    """
    column = torch.arange(x) + 0.5
    row = column[:, None]
    found = torch.zeros(n, x, x, dtype=torch.uint8)
    light = torch.zeros(n, x, x)
    for _ in range(3):
        kind = torch.randint(0, classes, (n, 1, 1), generator=random)
        radius = _between(0.1 * x, 0.25 * x, n, random)
        down, right = (_between(0.15 * x, 0.85 * x, n, random) for _ in range(2))
        inside = _inside(kind, (row - down) / radius, (column - right) / radius)
        found = torch.where(inside, kind.byte(), found)
        light = torch.where(inside, _between(0.5, 1.0, n, random), light)
    noise = NOISE * torch.randn(n, x, x, generator=random)
    return (light + noise)[:, None], found.long()


def _between(low: float, high: float, n: int, random: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(n, 1, 1, generator=random)


def _inside(kind: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """Returns whether a pixel lies in its shape, given its distance in radii of the shape."""
    inside = torch.zeros(len(kind), down.shape[1], right.shape[2], dtype=torch.bool)
    for number, lies in enumerate((_in_disc, _in_square, _in_triangle), 1):
        own = kind[:, 0, 0] == number
        inside[own] = lies(down[own], right[own])
    return inside


def _in_disc(down: Tensor, right: Tensor) -> Tensor:
    return down**2 + right**2 < 1


def _in_square(down: Tensor, right: Tensor) -> Tensor:
    return (down.abs() < 0.85) & (right.abs() < 0.85)


def _in_triangle(down: Tensor, right: Tensor) -> Tensor:
    return (down < 0.7) & (2 * right.abs() < down + 1.1)
