"""Imports in a source: listed names become known, all others unknown values."""

from __future__ import annotations

from typing import Any

from ncd.lang.near_names import nearest_name
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Namespace, Partly, Unknown
from ncd.pytorch_source.library_parts import parts_of


def _found(machine: Machine, path: str) -> Any:
    """Returns the library of a dotted path, or None."""
    head, *rest = path.split(".")
    if parts := parts_of(machine, head or path):
        return Partly(path, parts)
    found = machine.libraries.get(path, machine.libraries.get(head))
    for name in rest if path not in machine.libraries else ():
        if not isinstance(found, Namespace):
            return None
        found = found.names.get(name)
    return found


def imported(machine: Machine, path: str, alias: str | None) -> tuple[str, Any]:
    """Returns the name that ``import path`` sets, and its value."""
    name = alias or path.split(".")[0]
    found = _found(machine, path if alias else name)
    return name, _unknown(
        machine, path, f"the library {path} is not read"
    ) if found is None else found


def imported_name(machine: Machine, path: str, name: str, alias: str | None) -> dict[str, Any]:
    """Returns the value for ``from path import name``."""
    space = _found(machine, path)
    if name == "*":
        if isinstance(space, Namespace):
            return dict(space.names)
        machine.starred = path.strip(".") or "another file"
        return {}
    whole, given = f"{path}.{name}", alias or name
    if whole in machine.libraries:
        return {given: machine.libraries[whole]}
    if isinstance(space, Namespace) and name in space.names:
        return {given: space.names[name]}
    if isinstance(space, Partly):
        known = {**machine.shared, **space.names}
        return {given: known.get(name, space.otherwise(name, None))}
    other = name in ("MLP", "Permute") and path[:1] != "." and "torchvision" not in path
    if not isinstance(space, Namespace) and name in machine.shared and not other:
        return {given: machine.shared[name]}
    if isinstance(space, Namespace):
        near = nearest_name(name, sorted(space.names), "")
        why = f"it is not on the list{near and f'; try {near}'}"
        return {given: _unknown(machine, whole, why)}
    file = path.strip(".") or "another file"
    return {given: _unknown(machine, name, f"it is imported from {file}, which is not read")}


def _unknown(machine: Machine, name: str, why: str) -> Unknown:
    """Returns an unknown value; raises ImportError where the source handles that error."""
    if machine.optional:
        raise machine.raised(ImportError(f"{name}: {why}"), machine.node)
    return Unknown(name, why)
