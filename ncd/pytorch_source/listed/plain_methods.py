"""Methods of Python's strings, lists, dicts and other built-in values, with limits."""

from __future__ import annotations

from typing import Any

import torch

from ncd.pytorch_source.base.machine import ITEMS, Machine
from ncd.pytorch_source.base.source_values import Method
from ncd.pytorch_source.base.text_formats import put_in
from ncd.pytorch_source.listed.attribute_lists import PLAIN_KINDS

VALUES = ("real", "start", "stop", "step")  # which are no methods
DTYPE = ("is_floating_point", "is_complex", "itemsize")


def plain_method(machine: Machine, value: Any, name: str, missing: Any) -> Any:
    """Returns a listed attribute of a Python value, or ``missing``."""
    if isinstance(value, torch.dtype):
        return getattr(value, name) if name in DTYPE else missing
    if isinstance(value, torch.device):
        return value.type if name == "type" else None if name == "index" else missing
    if isinstance(value, torch.finfo | torch.iinfo):
        return getattr(value, name) if name in ("min", "max", "eps", "tiny", "bits") else missing
    kinds = (names for kind, names in PLAIN_KINDS.items() if isinstance(value, kind))
    if name not in next(kinds, ()) or not hasattr(value, name):
        return _of_result(value, name, missing)
    if name in VALUES:
        return getattr(value, name)
    if isinstance(value, str) and name == "format":
        return Method(name, lambda *args, **named: put_in(machine, value, *args, **named))
    return Method(name, lambda *args, **named: _called(machine, value, name, args, named))


def _of_result(value: Any, name: str, missing: Any) -> Any:
    """Returns a field of a result of torch, such as ``values`` of a maximum."""
    kind = type(value)
    if isinstance(value, tuple) and kind.__module__ == "torch.return_types":
        return getattr(value, name) if name in ("values", "indices") else missing
    return missing


def _called(
    machine: Machine, value: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns the result of a method; raises Stopped if it is too large."""
    if name in ("extend", "update") and args:
        spread = args[0] if isinstance(args[0], dict) else machine.items(args[0])
        args = (spread, *args[1:])
        _grown(machine, value, len(spread))
    if name in ("join",):
        parts = machine.items(args[0]) if args else []
        _grown(machine, value, sum(len(value) + len(x) for x in parts if isinstance(x, str)))
        args = (parts, *args[1:])
    if name == "replace" and len(args) > 1 and isinstance(args[1], str):
        _grown(machine, value, len(value) * len(args[1]))
    machine.step(machine.node, len(value) // 100 if hasattr(value, "__len__") else 0)
    found = machine.attempt(getattr(value, name), *args, **named)
    if isinstance(value, dict) and name in ("items", "keys", "values"):
        found = list(found)
    machine.within(value)
    return machine.within(found)


def _grown(machine: Machine, value: Any, more: int) -> None:
    """Raises Stopped if a value would become too large by an addition."""
    if len(value) + more > ITEMS:
        raise machine.stop("it becomes too long", "less")
