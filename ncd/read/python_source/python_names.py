"""Python's built-in functions."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from ncd.read.python_source.attributes import MISSING, attribute, lookup, member, set_attribute
from ncd.read.python_source.functions_and_classes import ERRORS, call
from ncd.read.python_source.interpreter import (
    MIXIN,
    BoundFunction,
    BuiltinFunction,
    ClassValue,
    Interpreter,
    ListedMethod,
    Namespace,
    PlainObject,
    SourceFunction,
    UnknownValue,
)
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.source_operators import (
    binary_result,
    kind_name,
    truth,
    unknown_result,
    value_text,
)
from ncd.read.python_source.torch_names import native

# --- ``isinstance`` and ``issubclass`` for the values of a source

TYPES = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
}
KINDS: Mapping[str, Any] = {  # of Python, by the names of their types
    **TYPES,
    "Iterable": (list, tuple, dict, set, str),
    "Sequence": (list, tuple, str),
    "OrderedDict": dict,
}


def is_instance(machine: Interpreter, value: Any, kinds: Any) -> bool:
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    return any(_is(value, kind) for kind in every)


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, ClassValue):
        return isinstance(value, _with_mixin(kind.real))
    if isinstance(kind, UnknownValue):  # a class of another file, of which this is an object
        made = isinstance(value, UnknownValue) and value.name == f"{kind.name}(…)"
        return made or (isinstance(value, ExternalModule) and value.title == kind.name)
    if isinstance(kind, tuple):
        return any(_is(value, one) for one in kind)
    if isinstance(kind, BuiltinFunction):
        if kind.name == "nn.Parameter":
            return isinstance(value, nn.Parameter)
        if kind.name == "Callable":
            return isinstance(
                value,
                SourceFunction
                | BoundFunction
                | ListedMethod
                | BuiltinFunction
                | nn.Module
                | ClassValue,
            )
        return isinstance(value, KINDS.get(kind.name, ()))
    return (
        isinstance(kind, type) and not isinstance(value, UnknownValue) and isinstance(value, kind)
    )


def is_subclass(machine: Interpreter, value: Any, kinds: Any) -> bool:
    real = value.real if isinstance(value, ClassValue) else value
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    whole = [one.real if isinstance(one, ClassValue) else one for one in every]
    return isinstance(real, type) and any(
        isinstance(k, type) and issubclass(real, _with_mixin(k)) for k in whole
    )


def _with_mixin(kind: type) -> tuple[Any, ...]:
    """Returns a class, and what stands for it in the modules that extend it."""
    return kind, vars(kind).get(MIXIN, ())


# --- Python's built-in functions for the interpreter

NUMBER = (bool, int, float)


def numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of numbers; a tensor with one known number counts as that number."""

    def run(machine: Interpreter, *args: Any, **named: Any) -> Any:
        plain = [_number(machine, one) for one in args]
        if any(isinstance(one, UnknownValue) for one in plain):
            return next(one for one in plain if isinstance(one, UnknownValue))
        return function(*plain, **named)

    return run


def _number(machine: Interpreter, value: Any) -> Any:
    if isinstance(value, UnknownValue):
        return unknown_result(machine, value)
    if isinstance(value, Tensor):
        if machine.tracing:
            raise machine.refuse("this number depends on those of a tensor", "its shape")
        return value.item()
    if isinstance(value, Iterator):
        return machine.items(value)
    if isinstance(value, (*NUMBER, list, tuple)):
        return value
    if isinstance(value, str) and len(value) < 50:
        return value
    raise machine.refuse(f"{kind_name(value)} is not a number", "a number")


def _iterable_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of iterables."""

    def run(machine: Interpreter, *args: Any, **named: Any) -> Any:
        lists = [machine.items(one) for one in args]
        return iter(machine.checked_size(list(function(*lists, **named))))

    return run


def collection_function(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``list(…)`` and the like."""

    def run(machine: Interpreter, *args: Any, **named: Any) -> Any:
        if args and isinstance(args[0], dict) and kind in (dict, OrderedDict):
            return kind(args[0], **named)
        return kind(*([machine.items(args[0])] if args else []), **named)

    return run


def _text(machine: Interpreter, value: Any = "") -> str:
    return value_text(value)


def _exact_text(machine: Interpreter, value: Any) -> str:
    return value_text(value, exact=True)


def _truth(machine: Interpreter, value: Any = False) -> bool:
    return truth(machine, value)


def _length(machine: Interpreter, value: Any) -> Any:
    if isinstance(value, UnknownValue):
        return unknown_result(machine, value)
    if (own := member(machine, value, "__len__")) is not None:
        return own()
    return len(value)


def _range(machine: Interpreter, *args: Any) -> Any:
    if unknown := next((one for one in args if isinstance(one, UnknownValue)), None):
        if machine.strict:
            raise machine.unknown_error(unknown)
        return range(0)
    return range(*args)


def _enumerate(machine: Interpreter, value: Any, start: int = 0) -> Any:
    return iter(list(enumerate(machine.items(value), start)))


def _zip(machine: Interpreter, *values: Any, strict: bool = False) -> Any:
    return iter(list(zip(*map(machine.items, values), strict=bool(strict))))


def _map(machine: Interpreter, function: Any, *values: Any) -> Any:
    turns = zip(*map(machine.items, values), strict=False)
    return iter([call(machine, function, turn, {}) for turn in turns])


def _filter(machine: Interpreter, function: Any, values: Any) -> Any:
    test = (lambda x: x) if function is None else lambda x: call(machine, function, (x,), {})
    return iter([x for x in machine.items(values) if truth(machine, test(x))])


def _sum(machine: Interpreter, values: Any, start: Any = 0) -> Any:
    total: Any = start
    for each in machine.items(values):
        if isinstance(each, UnknownValue):
            return unknown_result(machine, each)
        total = machine.checked_size(total + each)
    return total


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(machine: Interpreter, *args: Any, key: Any = None, **named: Any) -> Any:
        values = machine.items(args[0]) if len(args) == 1 else list(args)
        numbers = [
            _number(machine, x) if isinstance(x, Tensor | UnknownValue) else x for x in values
        ]
        if unknown := next((x for x in numbers if isinstance(x, UnknownValue)), None):
            return unknown
        order = None if key is None else (lambda x: call(machine, key, (x,), {}))
        return function(numbers, key=order, **named)

    return run


def _all_call(machine: Interpreter, values: Any) -> bool:
    return all(truth(machine, one) for one in machine.items(values))


def _any_call(machine: Interpreter, values: Any) -> bool:
    return any(truth(machine, one) for one in machine.items(values))


def _sorted_call(machine: Interpreter, values: Any, key: Any = None, reverse: bool = False) -> Any:
    order = None if key is None else (lambda x: call(machine, key, (x,), {}))
    return sorted(machine.items(values), key=order, reverse=bool(reverse))


def _next_call(machine: Interpreter, value: Any, *default: Any) -> Any:
    if isinstance(value, UnknownValue):
        return unknown_result(machine, value)
    return next(value, *default)


def _getattr(machine: Interpreter, value: Any, name: str, *default: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError("getattr takes a name")
    if not default:
        return attribute(machine, value, name)
    found = lookup(machine, value, name)
    return default[0] if found is MISSING else found


def _hasattr(machine: Interpreter, value: Any, name: str) -> bool:
    if not isinstance(name, str) or name.startswith("__"):
        return False
    return lookup(machine, value, name) is not MISSING


def _setattr(machine: Interpreter, value: Any, name: str, new: Any) -> None:
    if not isinstance(name, str):
        raise TypeError("setattr takes a name")
    set_attribute(machine, value, name, new)


def _type(machine: Interpreter, value: Any) -> Any:
    if isinstance(value, PlainObject) or hasattr(type(value), "visitor"):
        return type(value).visitor
    found = next((NAMES[name] for name, kind in TYPES.items() if type(value) is kind), None)
    if value is None or (found is None and isinstance(value, nn.Module | Tensor)):
        return type(value)
    return found if found is not None else UnknownValue("type(…)", "it is an object of Python")


def _names(machine: Interpreter, value: Any = None) -> Any:
    """Returns the names of a library, of which a source asks whether a function is there."""
    if isinstance(value, Namespace):
        return sorted(value.names)
    return UnknownValue("dir(…)", "the names of an object are not read")


def _callable(machine: Interpreter, value: Any) -> bool:
    return isinstance(
        value,
        SourceFunction
        | BoundFunction
        | ListedMethod
        | BuiltinFunction
        | nn.Module
        | ClassValue
        | type,
    ) or (
        member(machine, value, "__call__") is not None
        if isinstance(value, PlainObject | Tensor)
        else callable(value)
    )


def _slice(machine: Interpreter, *ends: Any) -> slice:
    return slice(*ends)


def _round(value: Any, digits: Any = None) -> Any:
    return round(value, digits) if isinstance(digits, int) and abs(digits) < 30 else round(value)


def _power(machine: Interpreter, a: Any, b: Any) -> Any:
    return binary_result(machine, ast.Pow(), a, b)


def _nothing(machine: Interpreter, *args: Any, **named: Any) -> None:
    return None


UNREAD = """
open input hash bytes bytearray delattr ord chr complex property staticmethod
classmethod hex bin memoryview ascii
"""  # what Python has besides, and tells nothing of a diagram


def _to_number(kind: Callable[..., Any]) -> Callable[..., Any]:
    return numeric(lambda *args: kind(*args))


NAMES: dict[str, Any] = {
    **native(
        int=_to_number(int),
        float=_to_number(float),
        bool=_truth,
        str=_text,
        repr=_exact_text,
        list=collection_function(list),
        tuple=collection_function(tuple),
        dict=collection_function(dict),
        set=collection_function(set),
        frozenset=collection_function(frozenset),
        len=_length,
        range=_range,
        enumerate=_enumerate,
        zip=_zip,
        map=_map,
        filter=_filter,
        reversed=_iterable_function(reversed),
        iter=_iterable_function(iter),
        sum=_sum,
        min=_extreme(min),
        max=_extreme(max),
        all=_all_call,
        any=_any_call,
        sorted=_sorted_call,
        next=_next_call,
        isinstance=is_instance,
        issubclass=is_subclass,
        getattr=_getattr,
        hasattr=_hasattr,
        setattr=_setattr,
        type=_type,
        callable=_callable,
        slice=_slice,
        abs=lambda machine, x: abs(x) if isinstance(x, (*NUMBER, Tensor)) else _number(machine, x),
        round=numeric(_round),
        pow=_power,
        divmod=numeric(divmod),
        print=_nothing,
        id=lambda machine, value: 0,
        super=_nothing,
        locals=_nothing,
        dir=_names,
    ),
    **{name: UnknownValue(name, f"{name} is not read") for name in UNREAD.split()},
    "object": object,
    "__name__": "__main__",
    "__file__": "source.py",
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    **{error.__name__: error for error in ERRORS},
}
