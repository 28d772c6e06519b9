"""Checks of the tensors that a module is given."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ncd.lang.errors import MismatchError
from ncd.lang.types.axes import Array


def real(x: object) -> bool:
    """Returns whether a value is a tensor of real or complex numbers."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def check_shapes(dom: tuple[Array, ...], inputs: tuple[Tensor, ...]) -> None:
    """Raises MismatchError for a wrong number, shape or kind of tensors."""
    bound = [axis for array in dom for axis in array]
    if len(inputs) != len(dom):
        words = ", ".join(map(str, dom))
        raise MismatchError(
            f"the module takes {len(dom)} tensors, one for each of ({words}), "
            f"but got {len(inputs)}",
            bound=bound,
            cure="*ncd.example_inputs(term)",
        )
    try:
        leads = [_lead(array, x) for array, x in zip(dom, inputs, strict=True)]
    except MismatchError as error:
        raise error.at(bound=bound) from None
    if not torch.compiler.is_compiling() and not _broadcast(leads):
        raise MismatchError(
            "the batch axes in front of the arrays differ: "
            + ", ".join(str(tuple(lead)) for lead in dict.fromkeys(leads)),
            bound=bound,
            cure="the same batch axes in front of all",
        )


def _lead(array: Array, x: Tensor) -> tuple[int, ...]:
    """Returns the batch axes of a tensor; raises MismatchError if it does not fit its array."""
    shape, n = tuple(getattr(x, "shape", ())), len(array.shape)
    if not isinstance(x, Tensor) or len(shape) < n or shape[len(shape) - n :] != array.shape:
        raise MismatchError(
            f"the array ({array}) has shape {array.shape}, but the tensor has {shape}",
            cure=f"a tensor of shape {array.shape}, or with batch axes in front of it",
        )
    if real(x) != (array.below is None):
        kind = "real" if array.below is None else "whole"
        raise MismatchError(
            f"the array ({array}) holds {kind} numbers, but the tensor is of type {x.dtype}",
            cure="x.float()" if kind == "real" else "x.long()",
        )
    return shape[: max(len(shape) - n, 0)]


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def whole(array: Array, x: Tensor) -> Tensor:
    """Returns whole numbers as int64; raises MismatchError for one out of range.

    The range is checked on the CPU only, as a GPU would have to be waited for.
    """
    x = x if x.dtype == torch.int64 else x.to(torch.int64)
    assert array.below is not None
    if x.device.type != "cpu" or torch.compiler.is_compiling() or not x.numel():
        return x
    try:
        low, high = map(int, x.aminmax())
    except RuntimeError:  # inside vmap, or without numbers
        return x
    if low < 0 or high >= array.below.numel:
        raise MismatchError(
            f"the array ({array}) holds whole numbers from 0 to {array.below.numel - 1}, "
            f"but the tensor has {low if low < 0 else high}",
            bound=[*array, array.below],
            cure=f"x.clamp(0, {array.below.numel - 1})",
        )
    return x
