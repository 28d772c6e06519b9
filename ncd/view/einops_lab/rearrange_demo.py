"""An einops line applied to six pictures by einops and by its diagram, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from zlib import crc32

import einops
import torch
from torch import Tensor

import ncd
from ncd.inputs import images
from ncd.models.tensors.einops_calls import Written
from ncd.models.tensors.einops_patterns import term
from ncd.run import apart
from ncd.view.arrays.mosaic import Mosaic, mosaic
from ncd.view.einops_lab.shape_check import Shape, Tried, made

COLOURS = 3  # red, green and blue


@dataclass(frozen=True)
class Outcome:
    """Input, output (a number without a picture), and the gradient of the output's sum.

    ``apart`` is the largest difference between the diagram's results and einops'.
    """

    given: Mosaic
    result: Mosaic | None
    number: float
    gradient: Mosaic
    extremes: tuple[float, float]
    total: float
    apart: tuple[float, float]


def batch(b: int, h: int, w: int, c: int) -> Tensor:
    """Returns b pictures, (b, h, w, c) between 0 and 1; after the sixth they repeat."""
    few = [images.sample(name).pixels(c, h, w, 0) for name in images.SIX[:b]]
    return torch.stack([few[i % len(few)] for i in range(b)]).permute(0, 2, 3, 1).contiguous()


def given(name: str, sizes: dict[str, int]) -> Tensor:
    """Returns the array of a name: ``ims``, ``x`` (channels first) or ``y`` (its depth).

    >>> given("y", {"b": 2, "h": 4, "w": 6, "c": 3}).shape
    torch.Size([2, 12, 2, 3])
    """
    ims = batch(**sizes)
    if name == "ims":
        return ims
    x = einops.rearrange(ims, "b h w c -> b c h w").contiguous()
    if name == "x":
        return x
    return einops.rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) h w", h1=2, w1=2).contiguous()


def outcome(text: str, found: Tried, sizes: dict[str, int], device: str) -> Outcome:
    """Runs a line with einops and as a term."""
    written = found.written
    leaf = given(written.given, sizes).to(device)
    ways = []
    module = ncd.compile(term(text, sizes), device=device)
    for run in (lambda tensor: _einops(written, tensor), module):
        own = leaf.clone().requires_grad_()
        result = run(own)
        ways.append((result.detach(), *torch.autograd.grad(result.sum(), own)))
    (result, gradient), (ours, back) = ways
    colours = colour_axes(found)
    seen, slope = (t[0] if written.first else t for t in (leaf, gradient))
    return Outcome(
        _picture(seen, colours[0]),
        _picture(result, colours[-1]) if result.ndim else None,
        float(result.sum()),
        _picture(slope, colours[0]),
        (float(slope.min()), float(slope.max())),
        float(slope.sum()),
        (apart(result, ours), apart(gradient, back)),
    )


def _einops(written: Written, tensor: Tensor) -> Tensor:
    tensor = tensor[0] if written.first else tensor
    for call in written.calls:
        tensor = made(call, tensor)
    return tensor


def _picture(tensor: Tensor, colours: int | None) -> Mosaic:
    return mosaic(tensor.float().cpu().numpy(), colours)


def colour_axes(found: Tried) -> tuple[int | None, ...]:
    """Returns the position of the colour axis before and after each call, or None if it is merged.

    >>> from ncd.view.einops_lab.shape_check import tried
    >>> sizes = {"b": 2, "h": 4, "w": 6, "c": 3}
    >>> colour_axes(tried('rearrange(ims, "b h w c -> c h (b w)")', sizes))
    (3, 0)
    """
    at: int | None = 1
    if found.written.given == "ims":
        at = 2 if found.written.first else 3
    places = [at]
    for call, shape in zip(found.written.calls, found.shapes, strict=False):
        left, right = call.sides(len(shape))
        parts = left[at][-1:] if at is not None else ()
        at = right.index(parts) if parts and parts in right else None
        places.append(at)
    return tuple(
        at if at is not None and shape[at] == COLOURS else None
        for at, shape in zip(places, found.shapes, strict=True)
    )


# --- what could come out --------------------------------------------------------------------------


def choices(text: str, found: Tried) -> tuple[Shape, ...]:
    """Returns the right shape among three wrong ones, in a fixed pseudo-random order.

    >>> from ncd.view.einops_lab.shape_check import tried
    >>> text = 'reduce(ims, "b h w c -> h w c", "mean")'
    >>> choices(text, tried(text, {"b": 6, "h": 8, "w": 9, "c": 3}))
    ((8, 9, 3), (8, 3, 9), (9, 8, 3), (6, 8, 9, 3))
    """
    right = found.shapes[-1]
    every = dict.fromkeys(_plausible(right, found.shapes[-2]))
    wrong = [shape for shape in every if shape != right][:3]
    return tuple(sorted((right, *wrong), key=lambda shape: crc32(f"{shape} {text}".encode())))


def _plausible(right: Shape, before: Shape) -> Iterator[Shape]:
    """Yields likely wrong answers: unchanged, axes exchanged, one too many or too few."""
    if len(right) > 1:
        yield (right[1], right[0], *right[2:])
        yield (*right[:-2], right[-1], right[-2])
    yield before
    yield right[:-1]
    yield (*right, 1)
    yield (1, *right)
    yield (prod(right) + 1,)
    yield (2, *right)
