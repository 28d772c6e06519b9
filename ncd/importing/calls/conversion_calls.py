"""Reads conversions: to another dtype, device or memory layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Handler, Operand, Value, kind_of
from ncd.importing.base.op_order import SAME
from ncd.importing.calls.formulas import as_real, explicit
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Map


def converted(g: Builder, x: Operand, *args: Any, **more: Any) -> Operand:
    """Returns a tensor in another dtype or on another device; real numbers stay real."""
    dtypes = [arg for arg in (*args, *more.values()) if isinstance(arg, torch.dtype)]
    if not isinstance(x, Value) or not dtypes:
        return x
    real = dtypes[0].is_floating_point
    if x.slot.kind == "real" and real:
        return x
    if x.slot.kind == "real" and dtypes[0] != torch.bool:
        return explicit(g, [g.solid(x)], x.dims, "$1", kind="whole")
    if x.slot.kind != "real" and real:
        return as_real(g, x)
    if x.slot.kind in ("whole", "bool") and dtypes[0] != torch.bool:
        return x if x.slot.kind == "whole" else _counted(g, g.solid(x))
    g.refuse("real numbers as whole ones")


def _counted(g: Builder, x: Value) -> Value:
    """Returns a mask as the numbers 0 and 1."""

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Map(Signature(Type(arrays), Type(arrays)), SAME)

    return g.op(make, [x], x.dims, kind="whole", below=x.slot.below)


def as_whole(g: Builder, found: Any, val: Any) -> Any:
    """Returns a result as whole numbers if torch's result has whole numbers."""
    if not isinstance(val, torch.Tensor) or not isinstance(found, Value):
        return found
    kind = kind_of(val.dtype)
    if kind == "real" or found.slot.kind != "real":
        return found
    return explicit(g, [g.solid(found)], found.dims, "$1", kind=kind)


def _same(g: Builder, x: Operand, *args: Any, **more: Any) -> Operand:
    return x


CALLS: dict[str, Handler] = {
    **dict.fromkeys(("contiguous", "alias", "clone", "detach", "lift_fresh_copy"), _same),
    **dict.fromkeys(("to", "_to_copy", "type_as", "float"), converted),
}
