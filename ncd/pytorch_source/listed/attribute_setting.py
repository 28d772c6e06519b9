"""Sets attributes of objects and modules of a source."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ncd.lang.errors import shown
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import absorbed, described
from ncd.pytorch_source.base.source_values import (
    PART,
    ClassValue,
    Function,
    Plain,
    Unknown,
    own_names,
)
from ncd.pytorch_source.listed.module_methods import check_parts

MISSING = object()
DATA = (bool, int, float, str, tuple, type(None), torch.dtype, torch.Size)  # of torch's modules


def set_attribute(machine: Machine, value: Any, name: str, new: Any) -> None:
    """Sets ``value.name = new``."""
    if name.startswith("__") or not PART.fullmatch(name):
        raise machine.refuse(f"{shown(name)} is not understood here", "a plain attribute")
    if isinstance(value, Unknown):
        absorbed(machine, value)
    elif isinstance(value, Plain):
        value.own[name] = new
    elif isinstance(value, ClassValue):
        value.names[name] = new
    elif isinstance(value, nn.Module):
        _set_on_module(machine, value, name, new)
    elif isinstance(value, Tensor):
        if name not in ("data", "requires_grad", "grad"):
            raise machine.refuse(f"{shown(name)} of a tensor cannot be set", "an attribute of self")
    elif not isinstance(value, Function):
        raise machine.refuse(f"{shown(name)} of {described(value)} cannot be set")


def _set_on_module(machine: Machine, value: nn.Module, name: str, new: Any) -> None:
    own, inner = own_names(value), value.__dict__
    held = any(name in inner.get(kind, ()) for kind in ("_parameters", "_buffers", "_modules"))
    plain = isinstance(inner.get(name, MISSING), (*DATA, Tensor))
    taken = hasattr(nn.Module, name) or (name in inner and not plain)
    if held and isinstance(new, Unknown):
        return  # the numbers of weights, as of a file that is loaded
    if isinstance(new, nn.Module | nn.Parameter) or held:
        if taken:
            raise machine.refuse(f"{shown(name)} is a name of nn.Module itself", "another name")
        own.pop(name, None)
        if isinstance(new, nn.Module):
            check_parts(machine, value, new)
            machine.parents[id(new)] = value
        if not held or getattr(value, name) is not new:  # else torch would see a change
            machine.attempt(setattr, value, name, new)
    elif isinstance(new, (*DATA, Tensor)) and not taken and not name.startswith("_"):
        own.pop(name, None)
        inner[name] = new  # where torch and the import look for it
    else:
        if plain:
            del inner[name]
        own[name] = machine.within(new)
