"""Reads conversions: to another dtype, device or memory layout."""

from __future__ import annotations

from typing import Any

import torch

from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Handler, Operand, Value, kind_of
from ncd.importing.calls.formulas import as_real, explicit


def converted(g: Builder, x: Operand, *args: Any, **more: Any) -> Operand:
    """Returns a tensor in another dtype or on another device; real numbers stay real."""
    if isinstance(x, Constant) and kind_of(x.tensor.dtype) != g.kind:
        x = g.value(x)
    if not isinstance(x, Value) or x.slot.kind == g.kind:
        return x
    if g.kind == "real":
        return as_real(g, x)
    x = g.solid(x)
    if g.kind == "bool":
        return explicit(g, [x], x.dims, "$1 != 0", kind="bool")
    return explicit(g, [x], x.dims, "$1", kind="whole", below=x.slot.below)


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
    **dict.fromkeys(("to", "_to_copy", "type_as"), converted),
}
