"""Values of a source: functions, classes and objects of the interpreter."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

SUBMODULES = ("torch", "pytorch", "models")  # of libraries, with the same names


class _Whole:
    """A value that copies of a module share."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self


@dataclass(eq=False)
class Unknown(_Whole):
    """A value that is not known, such as a result of an unknown library."""

    name: str
    why: str


@dataclass(eq=False)
class Namespace(_Whole):
    """A module of a library, with the names that may be used."""

    name: str
    names: Mapping[str, Any]

    def otherwise(self, name: str, missing: Any) -> Any:
        """Returns the value of a name that is not among them."""
        return missing


class Partly(Namespace):
    """A library of which some names are known, and all others unknown."""

    def otherwise(self, name: str, missing: Any) -> Any:
        if name in SUBMODULES:
            return Partly(f"{self.name}.{name}", self.names)
        return Unknown(f"{self.name}.{name}"[:80], f"{name} of {self.name} is not read")


@dataclass(eq=False)
class Scope(_Whole):
    """The names of a module, class or function; ``outer`` is the enclosing scope."""

    outer: Scope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)  # declared global or nonlocal
    function: Function | None = None
    is_class: bool = False

    def home(self, name: str) -> Scope:
        """Returns the scope in which a name is set."""
        return self.elsewhere.get(name, self)

    def find(self, name: str) -> Scope | None:
        """Returns the scope that knows a name; a class does not show its names to its methods."""
        scope: Scope | None = self.home(name)
        while scope is not None and (
            name not in scope.names or (scope.is_class and scope is not self)
        ):
            scope = scope.outer
        return scope

    @property
    def top(self) -> Scope:
        """The scope of the whole text."""
        return self if self.outer is None else self.outer.top


@dataclass(eq=False)
class Function(_Whole):
    """A function defined in the source, which is interpreted when called."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    interpret: Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    owner: ClassValue | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.interpret(self, args, named)


def parameters(function: Function) -> tuple[list[str], list[str]]:
    """Returns the names of all arguments without ``self``, and of those that have no default."""
    given = function.node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = [one.arg for one in every][int(function.owner is not None) :]
    return names, [name for name in names if name not in function.defaults]


@dataclass(eq=False)
class Marked(_Whole):
    """A function behind ``@property``, ``@staticmethod`` or ``@classmethod``."""

    kind: str
    function: Any


@dataclass(eq=False)
class Bound(_Whole):
    """A function with its first arguments given: a method, or ``functools.partial``."""

    function: Any
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*self.args, *args, **{**self.named, **named})


@dataclass(eq=False)
class Method(_Whole):
    """A method that is on the list for a kind of value."""

    name: str
    call: Callable[..., Any]

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.call(*args, **named)


@dataclass(eq=False)
class Super(_Whole):
    """``super()``: the classes that come after a class in the method resolution order."""

    owner: ClassValue
    subject: Any


@dataclass(eq=False)
class ClassValue(_Whole):
    """A class of the source; ``real`` is an empty Python class with the same base order."""

    name: str
    real: type
    names: dict[str, Any]
    create: Callable[..., Any]
    bases: tuple[Any, ...] = ()
    annotated: list[str] = field(default_factory=list)  # names with a type hint
    fields: list[str] | None = None  # of a data class

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.create(self, args, named)

    @property
    def is_module(self) -> bool:
        """Whether it is a subclass of ``nn.Module``."""
        return issubclass(self.real, nn.Module)


class Plain:
    """An object of a class that is not a module."""

    visitor: ClassValue

    def __init__(self) -> None:
        self.own: dict[str, Any] = {}


class Assumed(Plain):
    """Settings that a source takes from elsewhere; each has the value usual for its name.

    Args:
        name: Its name in the source.
    """

    visitor = ClassValue("Config", Plain, {}, lambda *_: None)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Record(Plain):
    """An object that only has attributes, as ``SimpleNamespace`` makes them."""

    visitor = ClassValue("SimpleNamespace", Plain, {}, lambda *_: None)


class Interpreted(nn.Module):
    """A module of a class of the source; its plain attributes are stored in ``own_names``."""

    visitor: ClassValue


@dataclass(eq=False)
class Native(_Whole):
    """A function implemented here for the interpreter, which is its first argument."""

    name: str
    run: Callable[..., Any]


class Quiet(_Whole):
    """A context or decorator without effect, such as ``torch.no_grad()``."""

    def __call__(self, function: Any = None, *more: Any, **named: Any) -> Any:
        return function


PART = re.compile(r"[\w\-+ /:]{1,80}")  # the name of an attribute, which torch writes into code
SETTINGS = "made_with"  # the attribute of modules with the arguments of their ``__init__``
OWN = "own_names"  # the attribute of modules with what the source sets on them


def own_names(value: nn.Module) -> dict[str, Any]:
    """Returns the attributes that a source has set on a module, besides its tensors and modules."""
    found: dict[str, Any] = value.__dict__.setdefault(OWN, {})
    return found
