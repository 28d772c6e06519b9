"""Handwritten digits: the small ones that scikit-learn ships, or a local copy of MNIST."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import ParseError

FOLDER = "NCD_MNIST"  # the environment variable that names the folder of MNIST
MOST = 12_000  # images of MNIST that are used
SMALL = 1_797  # images of scikit-learn
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
    return resized(images, x), labels, source


def available() -> int:
    """Returns the largest number of images."""
    return MOST if os.environ.get(FOLDER) else SMALL


def resized(images: Tensor, x: int) -> Tensor:
    """Returns images (n, h, w) smoothly scaled to x × x."""
    if images.shape[1:] == (x, x):
        return images
    return F.interpolate(images[:, None], (x, x), mode="bilinear", antialias=True)[:, 0]


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
    return images[:MOST].float() / 255, labels[:MOST].long()


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
