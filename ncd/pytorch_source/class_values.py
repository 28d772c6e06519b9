"""Classes of a source: their creation, and their objects."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch import nn

from ncd.importing.naming.source_names import METHODS
from ncd.pytorch_source.attributes import attribute, member
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised
from ncd.pytorch_source.base.source_operators import described
from ncd.pytorch_source.base.source_values import (
    SETTINGS,
    Bound,
    ClassValue,
    Function,
    Interpreted,
    Marked,
    Namespace,
    Native,
    Plain,
    Scope,
    Super,
    Unknown,
)
from ncd.pytorch_source.base.unknown_sizes import of_function
from ncd.pytorch_source.calls import is_module_class
from ncd.pytorch_source.function_values import bound
from ncd.pytorch_source.listed.layer_building import MODULES, begin
from ncd.text.reader import TextError

CLASSES = 300
NESTED = 5  # lists of what a model gives inside of each other
HOME = "yours"  # the module in which the classes of a source are said to stand


def class_value(machine: Machine, node: ast.ClassDef, scope: Scope) -> ClassValue:
    """Returns the class of a ``class`` statement, without its decorators."""
    if len(machine.classes) >= CLASSES:
        raise machine.stop(f"it has more than {CLASSES} classes", "fewer")
    if node.keywords:
        raise machine.refuse("a metaclass is not understood here", f"class {node.name}(nn.Module):")
    bases = tuple(machine.value(base, scope) for base in node.bases)
    methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    real = _real(machine, node.name, bases, methods)
    made = ClassValue(node.name, real, {}, lambda *given: _instance(machine, *given), bases)
    made.annotated = [
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    machine.classes[real] = made
    real.visitor = made  # type: ignore[attr-defined]
    inner = Scope(scope, made.names, is_class=True)
    machine.run(node.body, inner)
    for value in made.names.values():
        _own(value, made)
    functions = (one for one in made.names.values() if isinstance(one, Function))
    nodes = {one.name: one.node for one in functions if isinstance(one.node, ast.FunctionDef)}
    setattr(real, METHODS, nodes)
    if isinstance(forward := made.names.get("forward"), Function) and made.is_module:
        real.forward = forward_of(machine, forward)  # type: ignore[attr-defined]
    return made


def _own(value: Any, made: ClassValue) -> None:
    """Records for each method the class that it belongs to, for ``super()``."""
    inner = value.function if isinstance(value, Marked | Bound) else value
    if isinstance(inner, Function) and inner.owner is None:
        inner.owner = made


def _real(machine: Machine, name: str, bases: tuple[Any, ...], methods: set[str]) -> type:
    """Returns an empty Python class that gives the method resolution order."""
    found: list[type] = []
    for base in bases:
        if isinstance(base, ClassValue):
            found.append(base.real)
        elif is_module_class(base):
            found += [one for one in (Interpreted, base) if one not in found]
        elif not isinstance(base, Unknown | Namespace | Native | type):
            raise machine.refuse(f"{described(base)} is no class to inherit from", "nn.Module")
    if Interpreted in found and nn.Module in found:
        found.remove(nn.Module)
    if not found and "forward" in methods and any(isinstance(base, Unknown) for base in bases):
        found = [Interpreted]  # a module whose base stands in another file
    modules = any(issubclass(one, nn.Module) for one in found)
    plain = any(issubclass(one, Plain) for one in found)
    order = found if found else [Plain]
    if modules and plain:
        order = [one for one in found if not issubclass(one, Plain)]
    real = machine.attempt(type, name, tuple(order), {"__module__": HOME})
    assert isinstance(real, type)
    return real


def forward_of(machine: Machine, function: Function) -> Any:
    """Returns the ``forward`` that torch calls; it interprets that of the source."""

    def forward(self: nn.Module, *args: Any, **named: Any) -> Any:
        try:
            found = function(self, *args, **named)
            return _tensors(machine, found) if self is machine.root else found
        except (Raised, TextError) as error:
            machine.failure = machine.failure or error  # torch may raise another one
            raise

    kind = inspect.Parameter
    given = function.node.args
    several = [
        *((one, kind.POSITIONAL_OR_KEYWORD) for one in (*given.posonlyargs, *given.args)),
        *(((given.vararg, kind.VAR_POSITIONAL),) if given.vararg else ()),
        *((one, kind.KEYWORD_ONLY) for one in given.kwonlyargs),
        *(((given.kwarg, kind.VAR_KEYWORD),) if given.kwarg else ()),
    ]
    made = []
    for one, sort in several:
        default = function.defaults.get(one.arg, kind.empty)
        text = ast.unparse(one.annotation) if _is_text(one.annotation) else kind.empty
        made.append(kind(one.arg, sort, default=default, annotation=text))
    forward.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return forward


def _is_text(annotation: ast.expr | None) -> bool:
    """Returns whether an annotation holds a text, as ``Float[Tensor, "b t m"]`` does."""
    parts = ast.walk(annotation) if isinstance(annotation, ast.Subscript) else ()
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def _tensors(machine: Machine, found: Any, depth: int = 0) -> Any:
    """Returns the outputs of a whole model; an output object becomes a tuple of its tensors."""
    if isinstance(found, Unknown):
        raise machine.unknown(found)
    if isinstance(found, Plain):
        found = tuple(found.own.values())
    if isinstance(found, list | tuple) and depth < NESTED:
        return tuple(_tensors(machine, one, depth + 1) for one in found)
    if isinstance(found, dict):
        return {name: _tensors(machine, one, depth + 1) for name, one in found.items()}
    return found


# objects ------------------------------------------------------------------------------------------


def _instance(
    machine: Machine, made: ClassValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns an object of a class."""
    if not made.is_module:
        return _plain_object(machine, made, args, named)
    machine.modules += 1
    if machine.modules > MODULES:
        raise machine.stop(f"it makes more than {MODULES:,} modules", "fewer layers")
    subject: Any = object.__new__(made.real)
    with machine.made():
        try:
            if (first := member(machine, subject, "__init__")) is not None:
                if isinstance(first, Bound) and isinstance(first.function, Function):
                    args, named = of_function(machine, made.name, first.function, args, named)
                    given = bound(machine, first.function, (subject, *args), named)
                    subject.__dict__[SETTINGS] = given
                first(*args, **named)
            else:
                attribute(machine, Super(made, subject), "__init__")(*args, **named)
        except (Raised, TextError) as error:
            error.inside = True  # type: ignore[union-attr]
            raise
    if "_parameters" not in subject.__dict__:
        begin(machine, nn.Module, subject, (), {})
    return subject


def _plain_object(
    machine: Machine, made: ClassValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    subject = made.real()
    if (first := member(machine, subject, "__init__")) is not None:
        first(*args, **named)
    elif any(isinstance(base, Unknown) for base in made.bases):
        return Unknown(made.name, next(b for b in made.bases if isinstance(b, Unknown)).why)
    elif args or named:
        error = TypeError(f"{made.name}() takes no arguments")
        raise machine.raised(error, machine.node)
    return subject


def fill(
    machine: Machine, made: ClassValue, subject: Plain, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Sets the fields of an object of a data class."""
    fields = every_field(machine, made)
    given = ast.arguments([], [ast.arg(name) for name in fields], None, [], [], None, [])
    node = ast.Lambda(given, ast.Constant(None))
    defaults = {name: value for name, value in fields.items() if not isinstance(value, Missing)}
    function = Function(made.name, node, Scope(), lambda *_: None, defaults)
    for name, value in bound(machine, function, args, named).items():
        subject.own[name] = value.make() if isinstance(value, Factory) else value
    if (after := member(machine, subject, "__post_init__")) is not None:
        after()


class Missing:
    """The default of a field that has none."""


class Factory:
    """A default value that is made anew for each object."""

    def __init__(self, make: Any) -> None:
        self.make = make


def every_field(machine: Machine, made: ClassValue) -> dict[str, Any]:
    """Returns the fields of a data class with their defaults, those of its bases first."""
    found: dict[str, Any] = {}
    for real in reversed(made.real.__mro__):
        own = machine.classes.get(real)
        for name in (own.fields or ()) if own else ():
            found[name] = own.names.get(name, Missing()) if own else Missing()
    return found
