"""The memory that torch's convolutions take for themselves on a CPU.

There are two families of kernels. ATen's own unrolls the windows of one picture at a time into
columns (``slow_conv2d`` and its kin). oneDNN's copies its input, weight and output into formats in
which channels are filled up to whole vectors, and keeps tables for each thread. Which formats it
takes depends on the processor; what is stated here is the largest, found by measuring.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from ncd.costs import BYTES

VECTORS = {"AVX512": 16, "AVX2": 8}  # numbers in a vector of the processor
LANES = VECTORS.get(torch.backends.cpu.get_cpu_capability(), 0)  # 0: none that oneDNN is fast with
FEW = 4  # channels below which it leaves an input as it is
SMALL = 1000  # bytes that every convolution keeps beside its copies
TABLES = 26_000  # bytes of the same where the gradient of a weight is made
STRIDED = 60_000  # bytes that each thread keeps where windows are apart
APART = 1500  # bytes for each place of a window, where each channel has a window of its own
ROWS = 8  # rows of a picture that each thread keeps then


class Convolution:
    """The bytes that a convolution makes on its way.

    The *wide* pictures are those that windows lie in, the *narrow* ones have a place for each
    window: the input and the output, and in a transposed convolution the output and the input.

    Args:
        x: the input, of shape (batch, channels, *places).
        weight: of shape (channels out, channels in, *window), or with its channels swapped.
        output: the shape of the output.
        setting: stride, padding, dilation, transposed, output padding, groups, as aten takes them.
    """

    def __init__(
        self, x: Tensor, weight: Tensor, output: Sequence[int], setting: Sequence[Any]
    ) -> None:
        stride, _, dilation, self.transposed, *_ = setting
        self.unrolled = "Slow" in str(torch._C._select_conv_backend(x, weight, None, *setting))
        self.threads, self.result = torch.get_num_threads(), prod(output) * BYTES
        shapes = (tuple(output), tuple(x.shape)) if self.transposed else (tuple(x.shape), output)
        (_, channels, *wide), (_, deep, *narrow) = shapes
        sides, self.window = weight.shape[2:], prod(weight.shape[2:])
        self.columns = channels * self.window * prod(narrow) * BYTES
        self.wide, self.narrow = (_filled(shape) for shape in shapes)
        self.weight = _weights(channels, deep, setting[-1]) * self.window * BYTES
        self.apart = APART * self.window if setting[-1] > 1 else 0
        self.taken, self.kernel = self.wide, self.weight  # where nothing is summed into the wide
        if channels < FEW and self.window > 1 and not self.transposed:
            self.taken = prod(shapes[0]) * BYTES
            self.kernel = channels * _lanes(deep) * self.window * BYTES
        beyond = (side > min(ends) for side, *ends in zip(sides, wide, narrow, strict=True))
        self.odd = max(dilation) > 1 or not LANES
        unrolls = self.odd or any(beyond)
        self.multiplied = self.threads * self.columns if unrolls else 0
        self.picked = self.tables = 0
        if max(stride) > 1:
            around = [n + 2 * (side - 1) for n, side in zip(narrow, sides, strict=True)]
            each = _lanes(deep) * prod(around) + ROWS * _lanes(channels) * wide[-1]
            each += _lanes(channels) * _lanes(deep) if self.window == 1 else 0
            self.tables = self.threads * (each * BYTES + STRIDED)
            self.picked = self.threads * _lanes(channels) * prod(narrow) * BYTES

    def gathered(self) -> int:
        """Returns the bytes held while computing narrow images from wide ones."""
        return self.taken + self.narrow + self.kernel + self.picked + self.multiplied + SMALL

    def scattered(self) -> int:
        """Returns the bytes held while computing wide images from narrow ones, by summation."""
        beside = (self.wide if self.transposed else 0) + self.tables
        return self.wide + self.narrow + self.weight + beside + self.multiplied + SMALL

    def summed(self) -> int:
        """Returns the bytes held for the gradient of the weights; each thread sums its own part."""
        parts = self.kernel + (self.weight if self.multiplied else 0)
        parts += 4 * self.weight if self.odd else 0
        found = self.taken + self.narrow + self.threads * parts
        return found + self.picked + self.multiplied + TABLES + self.apart


def forward(x: Tensor, weight: Tensor, setting: Sequence[Any], made: Tensor) -> int:
    """Returns the bytes that ``aten.convolution`` holds beside its arguments and its result."""
    own = Convolution(x, weight, made.shape, setting)
    if own.unrolled:
        again = own.transposed and (own.window == 1 or x.dim() == 5)
        return own.columns + again * own.result
    if own.transposed:
        return max(own.scattered() - own.result, 2 * own.wide)
    return max(own.gathered() - own.result, own.narrow)


def backward(
    gradient: Tensor, x: Tensor, weight: Tensor, setting: Sequence[Any], made: Sequence[Any]
) -> int:
    """Returns the bytes that ``aten.convolution_backward`` holds beside what it takes and gives.

    It makes the gradient of the input first, then that of the weight.
    """
    own = Convolution(x, weight, gradient.shape, setting)
    if own.unrolled:
        channels, *places = gradient.shape[1:]
        return own.columns + (3 * channels + prod(places)) * BYTES
    given, *others = [0 if grad is None else grad.numel() * BYTES for grad in made]
    first = own.gathered() if own.transposed else own.scattered()
    again = own.wide * (2 if own.picked else 1)  # copies of what it gives
    return max(first - given - sum(others), again, own.summed() - sum(others), own.weight + SMALL)


def most(
    pictures: int, channels: Sequence[int], places: Sequence[int], narrow: int, window: int
) -> int:
    """Returns an upper bound of the bytes that any of these kernels holds, from sizes alone.

    Args:
        pictures: how many there are.
        channels: how many the input and the output have.
        places: how many a picture has, in the input and in the output.
        narrow: how many it has where each place is of a window.
        window: how many places a window has.
    """
    filled = [_lanes(count) for count in channels]
    weight = prod(filled) * window
    stacks = pictures * sum(map(operator.mul, filled, places))
    each = (10 * narrow * window + ROWS * max(places)) * max(filled) + 6 * weight
    threads = torch.get_num_threads()
    return (4 * stacks + 4 * weight + threads * each) * BYTES + threads * STRIDED + TABLES


def _lanes(channels: int) -> int:
    """Returns how many channels oneDNN holds: it fills them up to whole vectors."""
    return -(-channels // (LANES or 16)) * (LANES or 16)


def _weights(channels: int, deep: int, groups: int) -> int:
    """Returns how many weights oneDNN holds for each place of a window."""
    if groups == channels == deep and groups >= LANES:  # the groups themselves are filled up
        return _lanes(groups)
    return groups * _lanes(channels // groups) * _lanes(deep // groups)


def _filled(shape: Sequence[int]) -> int:
    """Returns the bytes of a stack of images whose channels are padded to whole vectors."""
    return prod((shape[0], _lanes(shape[1]), *shape[2:])) * BYTES
