"""Calls of functions and classes of a source, of modules, and of listed functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ncd.pytorch_source.attributes import member
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import described
from ncd.pytorch_source.base.source_values import (
    Bound,
    ClassValue,
    Function,
    Interpreted,
    Marked,
    Method,
    Native,
    Quiet,
    Scope,
    Super,
    Unknown,
)
from ncd.pytorch_source.listed.elsewhere import Elsewhere, box, is_class_name
from ncd.pytorch_source.listed.layer_building import layer
from ncd.pytorch_source.listed.tensor_calls import is_size, sized, torch_call
from ncd.pytorch_source.listed.torch_names import LISTED

OWN = (Function, Bound, ClassValue, Method)
ERRORS = (
    *(ValueError, TypeError, RuntimeError, AssertionError, NotImplementedError, ImportError),
    *(ModuleNotFoundError, KeyError, IndexError, AttributeError, Exception, StopIteration),
    *(ZeroDivisionError, OverflowError, ArithmeticError, LookupError, DeprecationWarning),
    *(UserWarning, FutureWarning, Warning, OSError),
)
MADE = "a module runs on its inputs only when it is drawn"


def call(
    machine: Machine,
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any],
    scope: Scope | None = None,
) -> Any:
    """Returns the result of a call; raises TextError if it is not supported."""
    if isinstance(function, Unknown):
        return _of_unknown(machine, function, args, named)
    if isinstance(function, Native):
        return machine.within(_native(machine, function, args, named, scope))
    if isinstance(function, nn.Module):
        return _run(machine, function, args, named)
    if isinstance(function, OWN):
        return function(*args, **named)
    if isinstance(function, Marked):
        return call(machine, function.function, args, named, scope)
    if isinstance(function, Quiet):
        return function(*args[:1])
    if (own := member(machine, function, "__call__")) is not None:
        return own(*args, **named)
    return _listed(machine, function, args, named)


def _native(machine: Machine, function: Native, args: Any, named: Any, scope: Scope | None) -> Any:
    if function.name == "super":
        return _super(machine, args, scope)
    if function.name == "locals":
        return dict(scope.names) if scope else {}
    return machine.attempt(function.run, machine, *args, **named)


def _listed(machine: Machine, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Returns the result of a listed function, layer or error."""
    try:
        listed = function in LISTED
    except TypeError:
        listed = False
    if function is torch.Tensor:
        if all(is_size(n) for n in args):
            return sized(torch.zeros)(machine, *(args or (0,)))
        return torch_call(machine, torch.tensor, args, {"dtype": torch.float32})
    if isinstance(function, type) and issubclass(function, nn.Module) and listed:
        return layer(machine, function, args, named)
    if listed:
        return torch_call(machine, function, args, named)
    if isinstance(function, type) and function in ERRORS:
        return function(*(str(one) for one in args if isinstance(one, str | int | float)))
    raise machine.refuse(f"{described(function)} is not called here", "a listed function")


def _of_unknown(
    machine: Machine, function: Unknown, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns a box of what stands in another file, or an unknown value."""
    if machine.tracing:
        return box(machine, function, (*args, *named.values()))
    if machine.building and is_class_name(function):
        return Elsewhere(machine, function, args, named)
    return Unknown(f"{function.name}(…)"[:80], function.why)


def _run(machine: Machine, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Runs a module inside another one; at the top level, records the call."""
    if machine.strict:
        machine.step(machine.node, 20)
        return machine.attempt(module, *args, **{**_plain_masks(module, args), **named})
    machine.ran.append((module, args, named))
    if not machine.calls:
        machine.direct.add(id(module))
    if machine.runner is not None:
        return machine.runner(module, args, {**_plain_masks(module, args), **named})
    return Unknown("the result of the model", MADE)


def _plain_masks(module: nn.Module, args: tuple[Any, ...]) -> dict[str, bool]:
    """Changes arguments so that torch does not inspect the numbers of a mask."""
    if isinstance(module, nn.TransformerEncoder) and len(args) < 4:
        return {"is_causal": False}
    if isinstance(module, nn.TransformerDecoder) and len(args) < 7:
        return {"tgt_is_causal": False}
    return {}


def _super(machine: Machine, args: tuple[Any, ...], scope: Scope | None) -> Super:
    """Returns ``super()`` for the current class and object."""
    function = scope.function if scope else None
    if len(args) == 2 and isinstance(args[0], ClassValue):
        return Super(args[0], args[1])
    if args or function is None or function.owner is None or scope is None:
        raise machine.refuse("super() stands outside of a method", "super().__init__()")
    own = scope
    while own.function is function and own.outer is not None and own.outer.function is function:
        own = own.outer
    names = [one.arg for one in function.node.args.args]
    subject = own.names.get(names[0]) if names else None
    if isinstance(subject, ClassValue) or not hasattr(type(subject), "visitor"):
        raise machine.refuse("super() stands outside of a method", "super().__init__()")
    return Super(function.owner, subject)


def is_module_class(value: Any) -> bool:
    """Returns whether a value is a class of modules, of torch or of the source."""
    if isinstance(value, ClassValue):
        return value.is_module
    return isinstance(value, type) and issubclass(value, nn.Module) and value is not Interpreted
