"""``isinstance`` and ``issubclass`` for the values of a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import (
    Bound,
    ClassValue,
    Function,
    Method,
    Native,
    Unknown,
)
from ncd.pytorch_source.listed.elsewhere import Elsewhere

TYPES = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
}
KINDS: Mapping[str, Any] = {  # of Python, by the names of their types
    **TYPES,
    "Iterable": (list, tuple, dict, set, str),
    "Sequence": (list, tuple, str),
    "OrderedDict": dict,
}


def is_instance(machine: Machine, value: Any, kinds: Any) -> bool:
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    return any(_is(value, kind) for kind in every)


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, ClassValue):
        return isinstance(value, kind.real)
    if isinstance(kind, Unknown):  # a class of another file, of which this is an object
        made = isinstance(value, Unknown) and value.name == f"{kind.name}(…)"
        return made or (isinstance(value, Elsewhere) and value.title == kind.name)
    if isinstance(kind, tuple):
        return any(_is(value, one) for one in kind)
    if isinstance(kind, Native):
        if kind.name == "nn.Parameter":
            return isinstance(value, nn.Parameter)
        if kind.name == "Callable":
            return isinstance(value, Function | Bound | Method | Native | nn.Module | ClassValue)
        return isinstance(value, KINDS.get(kind.name, ()))
    return isinstance(kind, type) and not isinstance(value, Unknown) and isinstance(value, kind)


def is_subclass(machine: Machine, value: Any, kinds: Any) -> bool:
    real = value.real if isinstance(value, ClassValue) else value
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    whole = [one.real if isinstance(one, ClassValue) else one for one in every]
    return isinstance(real, type) and any(
        isinstance(k, type) and issubclass(real, k) for k in whole
    )
