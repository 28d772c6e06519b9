"""Digits and shapes with their classes."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.errors import ParseError

# --- Handwritten digits: the small ones that scikit-learn ships, or a local copy of MNIST

FOLDER = "NCD_MNIST"  # the environment variable that names the folder of MNIST
MNIST_COUNT = 12_000  # images of MNIST that are used
SCIKIT_LEARN_COUNT = 1_797  # images of scikit-learn
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


def digits(x: int) -> tuple[Tensor, Tensor, str]:
    """Returns images (n, x, x) from 0 to 1, the digit on each (n), and their source in words.

    The first images of MNIST (LeCun et al. 1998) if ``NCD_MNIST`` names a folder with its files,
    else the 1,797 images of 8 × 8 that scikit-learn ships (Alpaydin and Kaynak 1998), enlarged.
    """
    folder = os.environ.get(FOLDER)
    if folder:
        images, labels = mnist(Path(folder))
        source = "MNIST"
    else:
        from sklearn.datasets import load_digits

        found = load_digits()
        images = torch.from_numpy(found.images).float() / 16
        labels = torch.from_numpy(found.target).long()
        source = "the digits of scikit-learn"
    return resize_images(images, x), labels, source


def available() -> int:
    """Returns the largest number of images."""
    return MNIST_COUNT if os.environ.get(FOLDER) else SCIKIT_LEARN_COUNT


def resize_images(images: Tensor, x: int) -> Tensor:
    """Returns images (n, h, w) smoothly scaled to x × x."""
    if images.shape[1:] == (x, x):
        return images
    return F.interpolate(images[:, None], (x, x), mode="bilinear", antialias=True)[:, 0]


def rewrite_digits(images: Tensor, random: torch.Generator) -> Tensor:
    """Returns images (n, x, x) as other hands might write them, from 0 to 1.

    Each is turned by up to 7°, moved by up to 5 % of its side, made up to a fifth wider or
    narrower, and given more contrast, as an image that was enlarged has soft edges.
    """
    count = len(images)

    def between(low: float, high: float) -> Tensor:
        return _random_between(low, high, count, random)[:, 0, 0]

    angle, right, down = between(-0.12, 0.12), between(-0.09, 0.09), between(-0.09, 0.09)
    wide, high = between(0.85, 1.18), between(0.94, 1.18)
    across = torch.stack((angle.cos() * wide, -angle.sin() * high, right), 1)
    along = torch.stack((angle.sin() * wide, angle.cos() * high, down), 1)
    size = [count, 1, *images.shape[1:]]
    grid = F.affine_grid(torch.stack((across, along), 1), size, align_corners=False)
    moved = F.grid_sample(images[:, None], grid, align_corners=False)[:, 0]
    gain, middle = (between(*ends)[:, None, None] for ends in ((1, 5), (0.3, 0.6)))
    return ((moved - middle) * gain + middle).clamp(0, 1)


def mnist(folder: Path) -> tuple[Tensor, Tensor]:
    """Returns the first images (n, 28, 28), from 0 to 1, and labels (n) of MNIST's training files.

    Raises ParseError if the folder lacks a file (plain or gzipped), or for other data.
    """
    images, labels = (_idx(folder, name) for name in FILES)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise ParseError(
            f"{folder} has images of shape {tuple(images.shape)} and labels of shape "
            f"{tuple(labels.shape)}",
            cure="the two training files of MNIST",
        )
    return images[:MNIST_COUNT].float() / 255, labels[:MNIST_COUNT].long()


def _idx(folder: Path, name: str) -> Tensor:
    """Returns an array of bytes from a file in MNIST's format: type, rank, sizes, numbers."""
    for path, opened in ((folder / name, open), (folder / f"{name}.gz", gzip.open)):
        if path.is_file():
            with opened(path, "rb") as file:
                data = file.read()
            break
    else:
        raise ParseError(f"{folder} has no {name}, gzipped or not", cure="the files of MNIST there")
    rank = data[3] if data[:3] == b"\0\0\x08" else 0
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, 4 + 4 * rank, 4)]
    numbers = torch.frombuffer(bytearray(data[4 + 4 * rank :]), dtype=torch.uint8)
    if not rank or numbers.numel() != torch.Size(shape).numel():
        raise ParseError(f"{path} is no such file of MNIST", cure="its original")
    return numbers.view(shape)


# --- Generated pictures of shapes, with the class of every pixel

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
        radius = _random_between(0.1 * x, 0.25 * x, n, random)
        down, right = (_random_between(0.15 * x, 0.85 * x, n, random) for _ in range(2))
        inside = _shape_mask(kind, (row - down) / radius, (column - right) / radius)
        found = torch.where(inside, kind.byte(), found)
        light = torch.where(inside, _random_between(0.5, 1.0, n, random), light)
    noise = NOISE * torch.randn(n, x, x, generator=random)
    return (light + noise)[:, None], found.long()


def _random_between(low: float, high: float, n: int, random: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(n, 1, 1, generator=random)


def _shape_mask(kind: Tensor, down: Tensor, right: Tensor) -> Tensor:
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
