"""Methods of modules that list their parts, and methods without effect on a diagram."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Interpreted, Method, Unknown

SAME = (  # they change numbers, or where they lie, and return the module
    *("to", "cpu", "cuda", "double", "float", "half", "bfloat16", "type", "requires_grad_"),
    *("zero_grad", "load_state_dict", "reset_parameters", "_reset_parameters"),
    "flatten_parameters",
)
LISTED = (  # what they give is gone through
    *("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"),
    *("children", "named_children", "items", "keys", "values"),
)


def module_method(machine: Machine, value: nn.Module, name: str) -> Any:
    """Returns a listed method of a module."""
    if name in SAME:
        return Method(name, lambda *args, **named: value)
    if name == "state_dict":
        return Method(name, lambda *args, **named: Unknown("state_dict()", "it holds numbers"))
    if name in LISTED:
        return Method(name, lambda *args, **named: _listed(machine, value, name, args, named))
    if name == "apply":
        return Method(name, lambda function: _applied(machine, value, function))
    if name == "register_buffer":
        return Method(name, lambda *args, **named: _buffer(machine, value, *args, **named))
    return Method(
        name, lambda *args, **named: machine.attempt(getattr(value, name), *args, **named)
    )


def _applied(machine: Machine, value: nn.Module, function: Any) -> nn.Module:
    """Calls a function on all parts of a module; one that is not known only sets numbers."""
    return value if isinstance(function, Unknown) else machine.attempt(value.apply, function)


def _listed(
    machine: Machine, value: nn.Module, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    found = machine.attempt(lambda: list(getattr(value, name)(*args, **named)))
    machine.step(machine.node, len(found))
    return iter(found) if name not in ("items", "keys", "values") else found


def _buffer(
    machine: Machine, value: nn.Module, name: str, tensor: Any = None, persistent: bool = True
) -> None:
    """Registers a buffer; its numbers are constants of the diagram."""
    if tensor is not None and not isinstance(tensor, Tensor):
        raise machine.raised(TypeError(f"register_buffer: {name} is no tensor"), machine.node)
    if isinstance(value, Interpreted) and isinstance(tensor, nn.Parameter):
        tensor = tensor.detach()
    machine.attempt(value.register_buffer, name, tensor, persistent=bool(persistent))
