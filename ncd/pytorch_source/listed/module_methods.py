"""Methods of modules that list their parts, and methods without effect on a diagram."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import absorbed
from ncd.pytorch_source.base.source_values import Interpreted, Method, Unknown, own_names
from ncd.pytorch_source.listed.elsewhere import Elsewhere
from ncd.pytorch_source.listed.layer_building import as_parts, layer, placeholder
from ncd.pytorch_source.listed.tensor_calls import torch_call

SAME = (  # they change numbers, or where they lie, and return the module
    *("cpu", "cuda", "float", "half", "bfloat16", "type", "requires_grad_"),
    *("zero_grad", "load_state_dict", "reset_parameters", "_reset_parameters"),
    "flatten_parameters",
)
LISTED = (  # what they give is gone through
    *("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"),
    *("children", "named_children", "items", "keys", "values"),
)

TABLES = (nn.Embedding, nn.EmbeddingBag)
HOLDING = ("append", "extend", "insert", "add_module", "register_module", "update")  # of parts


def module_method(machine: Machine, value: nn.Module, name: str) -> Any:
    """Returns a listed method of a module."""
    if name in ("double", "to"):
        return Method(name, lambda *args, **named: _converted(value, name, args, named))
    if name in SAME:
        return Method(name, lambda *args, **named: value)
    if name == "state_dict":
        return Method(name, lambda *args, **named: Unknown("state_dict()", "it holds numbers"))
    if name == "generate_square_subsequent_mask":
        return class_method(machine, type(value), name)
    if name in LISTED:
        return Method(name, lambda *args, **named: _listed(machine, value, name, args, named))
    if name == "apply":
        return Method(name, lambda function: _applied(machine, value, function))
    if name == "register_buffer":
        return Method(name, lambda *args, **named: _buffer(machine, value, *args, **named))
    if name in HOLDING:
        return Method(
            name,
            lambda *args, **named: _held(
                machine, value, name, [as_parts(machine, one) for one in args], named
            ),
        )
    return Method(
        name, lambda *args, **named: machine.attempt(getattr(value, name), *args, **named)
    )


def class_method(machine: Machine, kind: type, name: str) -> Method | None:
    """Returns a listed method of a class of torch, which needs no module; None for others."""
    if name == "from_pretrained" and kind in TABLES:
        return Method(name, lambda table, *_, **named: _table(machine, kind, table, named))
    if name == "generate_square_subsequent_mask" and issubclass(kind, nn.Transformer):
        return Method(name, lambda sz, *_, **named: _square_mask(machine, sz, named))
    return None


def _table(machine: Machine, kind: type, table: Any, named: dict[str, Any]) -> Any:
    """Returns a layer with the sizes of a table of learned rows."""
    if not isinstance(table, Tensor):
        return absorbed(machine, table)
    words = ("padding_idx", "mode")
    kept: dict[str, Any] = {word: named[word] for word in words if word in named}
    return layer(machine, kind, tuple(table.shape), kept)


def _square_mask(machine: Machine, size: Any, named: dict[str, Any]) -> Any:
    """Returns the mask that hides later keys from a query."""
    kind = {"dtype": named["dtype"]} if named.get("dtype") is not None else {}
    full = machine.names["torch"].names["full"].run(machine, (size, size), float("-inf"), **kind)
    return torch_call(machine, torch.triu, (full, 1), {})


def _held(
    machine: Machine, value: nn.Module, name: str, args: list[Any], named: dict[str, Any]
) -> Any:
    """Makes modules parts of another one."""
    check_parts(machine, value, (args, named))
    return machine.attempt(getattr(value, name), *args, **named)


def check_parts(machine: Machine, value: nn.Module, new: Any) -> None:
    """Refuses a module as a part of itself, which torch would go through without an end."""
    for part in tree_leaves(new):
        if isinstance(part, nn.Module) and any(one is value for one in part.modules()):
            raise machine.refuse("a module cannot be a part of itself", "another module")


def _converted(
    value: nn.Module, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> nn.Module:
    """Returns a module of which the weights have 64 bits if it is moved to them.

    Their other formats are where numbers lie: what is drawn, and its sizes, do not depend on them.
    """
    if name == "double" or torch.float64 in (*args, *named.values()):
        for part in value.modules():
            for key, own in [*part._parameters.items()]:
                if own is not None and own.is_floating_point():
                    setattr(part, key, placeholder(own.shape, torch.float64, own.requires_grad))
            for key, kept in [*part._buffers.items()]:
                if kept is not None and kept.is_floating_point():
                    part._buffers[key] = kept.double()
    return value


def _applied(machine: Machine, value: nn.Module, function: Any) -> nn.Module:
    """Calls a function on all parts of a module; one that is not known only sets numbers."""
    return value if isinstance(function, Unknown) else machine.attempt(value.apply, function)


def _listed(
    machine: Machine, value: nn.Module, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    found = machine.attempt(lambda: list(getattr(value, name)(*args, **named)))
    machine.step(machine.node, len(found))
    if name == "parameters" and isinstance(value, Elsewhere):
        found = [placeholder((1,))]  # of which a source asks where it lies
    return iter(found) if name not in ("items", "keys", "values") else found


def _buffer(
    machine: Machine, value: nn.Module, name: str, tensor: Any = None, persistent: bool = True
) -> None:
    """Registers a buffer; its numbers are constants of the diagram."""
    if isinstance(tensor, Unknown):
        own_names(value)[name] = tensor
        return
    if tensor is not None and not isinstance(tensor, Tensor):
        raise machine.raised(TypeError(f"register_buffer: {name} is no tensor"), machine.node)
    if isinstance(value, Interpreted) and isinstance(tensor, nn.Parameter):
        tensor = tensor.detach()
    machine.attempt(value.register_buffer, name, tensor, persistent=bool(persistent))
