"""Attributes of values: those on a list for each kind, and those set by the source."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn

from ncd.lang.errors import shown
from ncd.lang.near_names import nearest_name
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import described
from ncd.pytorch_source.base.source_values import (
    Assumed,
    Bound,
    ClassValue,
    Function,
    Interpreted,
    Marked,
    Method,
    Namespace,
    Plain,
    Super,
    Unknown,
    own_names,
)
from ncd.pytorch_source.listed.attribute_lists import (
    CONTAINER_METHODS,
    MODULE_METHODS,
    PLAIN_KINDS,
    TENSOR_METHODS,
    TENSOR_VALUES,
)
from ncd.pytorch_source.listed.attribute_setting import DATA, MISSING, set_attribute
from ncd.pytorch_source.listed.elsewhere import Elsewhere
from ncd.pytorch_source.listed.layer_building import begin
from ncd.pytorch_source.listed.module_methods import class_method, module_method
from ncd.pytorch_source.listed.plain_methods import plain_method
from ncd.pytorch_source.listed.tensor_calls import tensor_method
from ncd.pytorch_source.usual.assumed_attributes import (
    assumed_setting,
    of_no_number,
    unknown_attribute,
)

CALLED = ("__init__", "__call__", "__getitem__", "__len__")  # dunder names that are written


def attribute(machine: Machine, value: Any, name: str) -> Any:
    """Returns ``value.name``; raises TextError for a name that is not listed."""
    found = lookup(machine, value, name)
    if found is not MISSING:
        return found
    if type(value) in (int, bool) and (other := of_no_number(machine, name)) is not None:
        return other
    if isinstance(value, nn.Module | Plain | ClassValue):
        words = f"{described(value)!r} object has no attribute {shown(name)}"
        raise machine.raised(AttributeError(words), machine.node)
    near = nearest_name(name, _listed(value), "")
    raise machine.refuse(f"{name} of {_kind(value)} is not understood here", near)


def lookup(machine: Machine, value: Any, name: str) -> Any:
    """Returns ``value.name``, or MISSING."""
    if name.startswith("__"):
        return _dunder(machine, value, name)
    if isinstance(value, Unknown):
        return unknown_attribute(machine, value, name)
    if isinstance(value, Namespace):
        return value.names.get(name, value.otherwise(name, MISSING))
    if isinstance(value, Super):
        return _above(machine, value, name)
    if isinstance(value, ClassValue):
        return _of_class(machine, value, name)
    if isinstance(value, Assumed):
        return assumed_setting(machine, value, name)
    if isinstance(value, Plain):
        return value.own[name] if name in value.own else _own_member(machine, value, name)
    if isinstance(value, nn.Module):
        return _of_module(machine, value, name)
    if isinstance(value, Tensor):
        return _of_tensor(machine, value, name)
    if isinstance(value, type) and (found := class_method(machine, value, name)) is not None:
        return found
    return plain_method(machine, value, name, MISSING)


def member(machine: Machine, value: Any, name: str) -> Any:
    """Returns a method that a class of the source defines, or None."""
    if not isinstance(value, Interpreted | Plain):
        return None
    found = _own_member(machine, value, name)
    return None if found is MISSING else found


def _dunder(machine: Machine, value: Any, name: str) -> Any:
    """Returns one of the few supported attributes with double underscores."""
    if name == "__dict__" and isinstance(value, Plain):
        return value.own
    if name == "__class__" and isinstance(value, Interpreted | Plain):
        return type(value).visitor
    if name == "__class__" and isinstance(value, nn.Module):
        return type(value)
    if name == "__version__" and isinstance(value, Namespace) and name in value.names:
        return value.names[name]
    if name == "__name__" and isinstance(value, ClassValue | Function):
        return value.name
    if name == "__name__" and isinstance(value, type) and issubclass(value, nn.Module):
        return value.__name__
    if name == "__init__" and isinstance(value, type) and issubclass(value, nn.Module):
        return Method(name, lambda it, *args, **named: _begin(machine, value, it, args, named))
    if isinstance(value, Super):
        return _above(machine, value, name)
    if name == "__setattr__" and isinstance(value, Interpreted | Plain):
        return Method(name, lambda key, new: set_attribute(machine, value, str(key), new))
    if name == "__getattr__" and isinstance(value, Interpreted):
        return Method(name, lambda key: attribute(machine, value, str(key)))
    if name in CALLED and isinstance(value, ClassValue):
        return _of_class(machine, value, name)
    if isinstance(value, Unknown):
        return value
    raise machine.refuse(f"{shown(name)} is not understood here", "a plain attribute")


# classes ------------------------------------------------------------------------------------------


def _of_class(machine: Machine, value: ClassValue, name: str) -> Any:
    for real in value.real.__mro__:
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _taken(own.names[name], None, value)
    unknown = next((base for base in _bases(machine, value) if isinstance(base, Unknown)), None)
    return Unknown(f"{value.name}.{name}", unknown.why) if unknown else MISSING


def _bases(machine: Machine, value: ClassValue) -> list[Any]:
    """Returns all bases of a class, also those of its bases."""
    every = [machine.classes[real] for real in value.real.__mro__ if real in machine.classes]
    return [base for one in every for base in one.bases]


def _own_member(machine: Machine, value: Interpreted | Plain, name: str) -> Any:
    """Returns the attribute of an object as the classes of the source define it."""
    for real in type(value).__mro__:
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _taken(own.names[name], value, type(value).visitor)
    return MISSING


def _taken(found: Any, subject: Any, owner: ClassValue) -> Any:
    """Returns a class attribute as seen from an object or from the class."""
    if isinstance(found, Marked):
        if found.kind == "classmethod":
            return Bound(found.function, (owner,))
        if found.kind == "property":
            return found if subject is None else found.function(subject)
        if found.kind == "method" and subject is not None:
            return Bound(found.function, (subject,))
        return found.function
    if isinstance(found, Function) and subject is not None:
        return Bound(found, (subject,))
    return found


def _above(machine: Machine, value: Super, name: str) -> Any:
    """Returns an attribute of ``super()``."""
    order = [*type(value.subject).__mro__]
    above = order[order.index(value.owner.real) + 1 :]
    for real in (one for one in above if one not in (Interpreted, Plain)):
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _taken(own.names[name], value.subject, type(value.subject).visitor)
        if own is None and name == "__init__":
            return _first_step(machine, real, value.subject)
        if own is None and name in (*MODULE_METHODS, "forward", "__call__") and name in vars(real):
            return Method(name, partial(machine.attempt, getattr(real, name), value.subject))
    return MISSING


def _first_step(machine: Machine, real: type, subject: Any) -> Any:
    """Returns the ``__init__`` of a class that the source does not define."""

    def first(*args: Any, **named: Any) -> None:
        if issubclass(real, nn.Module):
            other = any(
                isinstance(base, Unknown) for base in _bases(machine, type(subject).visitor)
            )
            given = ((), {}) if real is nn.Module and other else (args, named)
            _begin(machine, real, subject, *given)

    return Method("__init__", first)


def _begin(
    machine: Machine, real: type, subject: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Initialises an object as a torch module whose weights take no memory."""
    if not isinstance(subject, Interpreted):
        raise machine.refuse("__init__ is called on something that is no module", "super()")
    begin(machine, real, subject, args, named)


# modules and tensors ------------------------------------------------------------------------------


def _of_module(machine: Machine, value: nn.Module, name: str) -> Any:
    own = own_names(value)
    if name in own:
        return own[name]
    for held in ("_parameters", "_buffers", "_modules"):
        if name in value.__dict__.get(held, ()):
            return getattr(value, name)
    if isinstance(value, Interpreted):
        found = _own_member(machine, value, name)
        if found is not MISSING:
            return found
    if _is_setting(value, name) or isinstance(value.__dict__.get(name), Tensor):
        return value.__dict__[name]
    methods = (*MODULE_METHODS, *CONTAINER_METHODS)
    if name in methods and hasattr(type(value), name):
        return module_method(machine, value, name)
    if isinstance(value, Elsewhere):
        _, made_of, _, named = value.__dict__["made_of"]
        return named[name] if name in named else unknown_attribute(machine, made_of, name, True)
    return MISSING


def _of_tensor(machine: Machine, value: Tensor, name: str) -> Any:
    if name in TENSOR_VALUES:
        return machine.attempt(lambda: TENSOR_VALUES[name](value))
    if name in TENSOR_METHODS:
        return tensor_method(machine, value, name)
    return MISSING


def _listed(value: Any) -> list[str]:
    """Returns the names that a kind of value has, for a suggestion."""
    if isinstance(value, Tensor):
        return sorted({*TENSOR_VALUES, *TENSOR_METHODS})
    if isinstance(value, Namespace):
        return sorted(value.names)
    return sorted(
        next((names for kind, names in PLAIN_KINDS.items() if isinstance(value, kind)), ())
    )


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return "a tensor"
    return value.name if isinstance(value, Namespace) else described(value)


def _is_setting(value: nn.Module, name: str) -> bool:
    """Returns whether a name is a public setting of a layer, such as its stride."""
    return not name.startswith("_") and isinstance(value.__dict__.get(name, MISSING), DATA)
