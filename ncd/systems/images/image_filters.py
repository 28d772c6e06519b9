"""Filters that people wrote down, and some that a network learned, as weights of a convolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ncd.systems.images.convolution_layers import FILTER_NAMES


def _rise(k: int, n: int, along: int) -> Tensor:
    """Returns 1 on the far side of a dimension, -1 on the near one, and 0 between."""
    line = (torch.arange(k) - (k - 1) / 2).sign()
    return line.view([k if i == along % n else 1 for i in range(n)]).expand([k] * n)


def _middle(k: int, n: int, value: float) -> Tensor:
    """Returns a number in the middle, and 0 around it."""
    found = torch.zeros([k] * n)
    found[(k // 2,) * n] = value
    return found


# In the order of ``FILTER_NAMES``; each takes a window's length and how many dimensions it has.
FILTER_FORMULAS: Sequence[Callable[[int, int], Tensor]] = (
    lambda k, n: _rise(k, n, -1),
    lambda k, n: _rise(k, n, 0),
    lambda k, n: _middle(k, n, k**n) - 1,
    lambda k, n: torch.full([k] * n, 1 / k**n),
    lambda k, n: _middle(k, n, k**n + 1) - 1,
)


def filter_weights(first: int, maps: int, channels: int, k: int, n: int) -> Tensor:
    """Returns the weights of written filters, (maps, channels, k, …), from the ``first`` one on.

    They add nothing up twice: what a filter makes of several equal channels is what it makes of
    one.

    >>> filter_weights(0, 2, 1, 3, 2).int().tolist()
    [[[[-1, 0, 1], [-1, 0, 1], [-1, 0, 1]]], [[[-1, -1, -1], [0, 0, 0], [1, 1, 1]]]]
    """
    every = torch.stack(
        [FILTER_FORMULAS[(first + i) % len(FILTER_FORMULAS)](k, n) for i in range(maps)]
    )
    return _on_channels(every, channels)


def _tent(k: int, n: int) -> Tensor:
    """Returns weights that fall evenly from the middle to the ends of a window."""
    line = 1 - (torch.arange(k) - (k - 1) / 2).abs() / ((k + 1) // 2)
    return torch.stack(torch.meshgrid(*[line] * n, indexing="ij")).prod(0)


# In the order of ``STAMPS`` of a transposed convolution.
STAMP_FORMULAS: Sequence[Callable[[int, int], Tensor]] = (
    lambda k, n: torch.ones([k] * n),
    _tent,
    lambda k, n: _middle(k, n, 1),
)


def stamp_weights(first: int, maps: int, channels: int, k: int, s: int, n: int) -> Tensor:
    """Returns the weights of a transposed convolution, (channels, maps, k, …), from ``first`` on.

    Each stamp adds up to the places of a step, so that a picture is as bright as before.

    >>> stamp_weights(0, 2, 1, 3, 2, 1).tolist()
    [[[0.666..., 0.666..., 0.666...], [0.5, 1.0, 0.5]]]
    """
    every = [STAMP_FORMULAS[(first + i) % len(STAMP_FORMULAS)](k, n) for i in range(maps)]
    scaled = torch.stack([s**n * stamp / stamp.sum() for stamp in every])
    return _on_channels(scaled, channels).transpose(0, 1)


def written_names(first: int, maps: int, names: Sequence[str] = FILTER_NAMES) -> list[str]:
    """Returns the names of the written filters of so many maps, each once.

    >>> written_names(3, 3), written_names(1, 9, ("box", "tent"))
    (['blur', 'sharpen', 'upright edges'], ['tent', 'box'])
    """
    return [names[(first + i) % len(names)] for i in range(min(maps, len(names)))]


def learned_weights(conv1: Tensor, maps: int, channels: int, k: int, n: int) -> Tensor:
    """Returns LeNet's first filters, (6, 3, 5, 5), drawn larger or smaller to fit a window.

    Their three channels, which were all grey, are added up. A line gets their middle row, and a
    volume repeats them.

    >>> learned_weights(torch.ones(6, 3, 5, 5), 2, 1, 3, 1).shape
    torch.Size([2, 1, 3])
    """
    grey = conv1.sum(1)[torch.arange(maps) % len(conv1)]
    sized = F.interpolate(grey[None], (k, k), mode="bilinear", align_corners=True)[0]
    if n == 1:
        sized = sized[:, k // 2]
    if n == 3:
        sized = sized[:, None].expand(-1, k, -1, -1) / k
    return _on_channels(sized, channels)


def _on_channels(filters: Tensor, channels: int) -> Tensor:
    return (filters / channels)[:, None].repeat_interleave(channels, 1)
