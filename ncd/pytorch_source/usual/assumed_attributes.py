"""Attributes of values of other files: those that are usual for their names are assumed."""

from __future__ import annotations

from typing import Any

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Assumed, Unknown
from ncd.pytorch_source.base.usual_sizes import UNKNOWN, VALUES, usual


def unknown_attribute(machine: Machine, value: Unknown, name: str, module: bool = False) -> Any:
    """Returns an attribute of an unknown value: a size that is usual for its name is assumed.

    A ``module`` may also have a choice, such as ``use_bias``, and a width called ``size``.
    """
    size = usual("dim" if name == "size" else name) if module else VALUES.get(name)
    if type(size) is int or (module and type(size) is bool):
        machine.taken.setdefault(value.name, {})[name] = size
        machine.assumed_at[id(machine.node)] = Unknown(f"{value.name}.{name}"[:80], value.why)
        return size
    return Unknown(f"{value.name}.{name}"[:80], value.why)


def of_no_number(machine: Machine, name: str) -> Any:
    """Returns an attribute of an assumed number that must be an object; None for other values.

    It is asked for at the node of ``a.b.c``, where ``a.b`` is taken as a number.
    """
    inner = getattr(machine.node, "value", None)
    value = machine.assumed_at.get(id(inner))
    if value is None:
        return None
    owner, _, size = value.name.rpartition(".")
    machine.taken.get(owner, {}).pop(size, None)
    if not machine.taken.get(owner, {1: 1}):
        del machine.taken[owner]
    return unknown_attribute(machine, value, name, True)


def assumed_setting(machine: Machine, value: Assumed, name: str) -> Any:
    """Returns a setting that stands in another file, if a value is usual for its name."""
    if name not in value.own:
        if usual(name) is UNKNOWN:
            raise machine.refuse(
                f"{value.name}.{name} is not given", f"a class with {name} = … for {value.name}"
            )
        value.own[name] = usual(name)
    return value.own[name]
