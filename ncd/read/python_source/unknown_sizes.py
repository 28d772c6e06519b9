"""Sizes that come from other files or from data: usual numbers for their names are assumed."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from torch import nn

from ncd.read.python_source.interpreter import Interpreter, SourceFunction, UnknownValue, parameters
from ncd.read.python_source.other_files import is_class_name
from ncd.read.python_source.usual_sizes import usual_value

RESULT_SUFFIX = "(…)"  # the end of the name of what an unknown function gives


def usual_number(value: Any, name: str) -> int | float | None:
    """Returns the usual number for the name of an unknown value; None if it may be no number.

    >>> usual_number(UnknownValue("data.shape", ""), "in_features")
    64
    >>> usual_number(UnknownValue("make_layers(…)", ""), "features") is None
    True
    """
    if not isinstance(value, UnknownValue):
        return None
    function = value.name.removesuffix(RESULT_SUFFIX)
    if function != value.name and "." not in function:  # it may give a module
        return None
    if function == value.name and is_class_name(value):
        return None
    size = usual_value(name)
    return size if type(size) in (int, float) else None


def with_usual_numbers(
    machine: Interpreter,
    title: str,
    names: list[str],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a class, with numbers in the place of unknown sizes.

    Args:
        machine: The interpretation, which notes what is assumed.
        title: The name of the class.
        names: The names of its arguments in their order.
        args: The arguments.
        named: Those by name.
    """
    given = dict(zip(names, args, strict=False)) | dict(named)
    found = {name: usual_number(value, name) for name, value in given.items()}
    sizes = {name: size for name, size in found.items() if size is not None}
    if not sizes:
        return args, dict(named)
    machine.assumed_settings.setdefault(title, {}).update(sizes)
    places = (sizes.get(name, value) for name, value in zip(names, args, strict=False))
    words = {name: sizes.get(name, value) for name, value in named.items()}
    return (*places, *args[len(names) :]), words


def of_function(
    machine: Interpreter, title: str, first: Any, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a class of the source, by the names that its ``__init__`` has."""
    if not isinstance(first, SourceFunction) or not any(
        isinstance(value, UnknownValue) for value in (*args, *named.values())
    ):
        return args, dict(named)
    return with_usual_numbers(machine, title, parameters(first)[0], args, named)


def of_layer(
    machine: Interpreter, real: type[nn.Module], args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a layer of torch, by the names that torch has for them."""
    if not any(isinstance(value, UnknownValue) for value in (*args, *named.values())):
        return args, dict(named)
    return with_usual_numbers(machine, real.__name__, [*signature(real).parameters], args, named)
