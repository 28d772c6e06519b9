"""Runs in other number formats: weights, inputs and arrays are rounded, and then float32 again."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ncd.lang.circuits.circuit import Cell
from ncd.lang.formats import BITS, PLAIN, Formats
from ncd.run.execution.program import Watch

FLOATS = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float8": torch.float8_e4m3fn,
}
LARGEST = torch.finfo(torch.float8_e4m3fn).max  # what is larger becomes this, not NaN


def rounded(x: Tensor, name: str, over: tuple[int, ...] = (-1,)) -> Tensor:
    """Returns the nearest numbers of a format, in the tensor's own dtype.

    Args:
        x: The numbers.
        name: The format.
        over: The dimensions that share a scale, for whole numbers.

    Their gradient is that of no rounding.

    >>> rounded(torch.tensor([1.0, 0.3, -0.52]), "int4").tolist()[0]
    1.0
    """
    if name == PLAIN:
        return x
    if name in FLOATS:
        bounded = x.clamp(-LARGEST, LARGEST) if name == "float8" else x
        near = bounded.detach().to(FLOATS[name]).to(x.dtype)
    else:
        near = _whole(x.detach(), BITS[name], over)
    return x + (near - x).detach() if x.requires_grad and torch.is_grad_enabled() else near


def _whole(x: Tensor, bits: int, over: tuple[int, ...]) -> Tensor:
    """Returns the nearest multiples of a scale, of which the largest number is the last."""
    last = 2 ** (bits - 1) - 1
    sizes = x.abs()
    finite = torch.where(sizes.isfinite(), sizes, 0)  # a mask holds -∞, which stays
    most = finite.amax(over, keepdim=True) if x.dim() else finite
    scale = most / torch.full_like(most, last)  # by a number, a GPU would multiply by its inverse
    near = (x / scale.clamp_min(1e-30)).round() * scale
    return torch.where(x.isfinite(), near, x)


@torch.no_grad()
def round_weights(module: nn.Module, formats: Formats) -> None:
    """Rounds the weights of a module where they stand."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point() and tensor.numel():
            several = tensor.dim() > 1
            name = formats.weights if several else formats.vector
            tensor.copy_(rounded(tensor, name, tuple(range(1, tensor.dim()))))


def rounded_inputs(inputs: tuple[Tensor, ...], formats: Formats) -> tuple[Tensor, ...]:
    """Returns the inputs of a run, in the format of its arrays."""
    name = formats.activations
    return tuple(rounded(x, name) if x.is_floating_point() else x for x in inputs)


def rounding(formats: Formats, watch: Watch | None) -> Watch:
    """Returns what rounds the arrays that each step made, before ``watch`` sees them."""

    def step(
        cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        if given or not cell.initial:  # a weight has its own format
            made = tuple(_array(x, cell, formats) for x in made)
        seen = watch(cell, given, made) if watch is not None else None
        return seen or made

    return step


def _array(x: Tensor, cell: Cell, formats: Formats) -> Tensor:
    if not x.is_floating_point():
        return x
    x = rounded(x, formats.activations)
    name = formats.made_by(cell.path)
    return x if name == formats.activations else rounded(x, name)
