"""Python's operators and text formats, with limits on results."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from ncd.notation.term_reader import TextError
from ncd.read.python_source.interpreter import (
    BITS,
    ITEMS,
    LONGEST_TEXT,
    ClassValue,
    Interpreter,
    SourceFunction,
    UnknownValue,
    error_at,
)

# --- Numbers and names in texts: f-strings, ``format`` and ``%``, of bounded width

SPEC = re.compile(r"[^\d{}]{0,2}[<>=^+\- ]?#?0?\d{0,2},?(\.\d{1,2})?[bcdeEfFgGnosxX%]?")
FIELD = re.compile(r"\{\{|\}\}|\{(\w*)(![rsa])?(?::([^{}]*))?\}|[{}]")
PERCENT = re.compile(r"%(?:%|[-+ 0#]?\d{0,2}(?:\.\d{1,2})?[sdifgerx])")
PRINTABLE_TYPES = (bool, int, float, str, type(None), torch.Size, torch.dtype, torch.device)
DEEPEST = 3  # lists inside of each other that are written


def value_text(value: Any, exact: bool = False, depth: int = 0) -> str:
    """Returns a value as ``str`` writes it, or ``repr`` if exact; for an object only its kind."""
    if isinstance(value, PRINTABLE_TYPES):
        return repr(value) if exact else str(value)
    if isinstance(value, BaseException) and not exact:
        return str(value)
    if type(value) in (list, tuple, dict) and depth < DEEPEST and len(value) < 100:
        parts = _parts(value, depth + 1)
        if isinstance(value, tuple):
            return f"({parts}{',' * (len(value) == 1)})"
        return f"{{{parts}}}" if isinstance(value, dict) else f"[{parts}]"
    name = value.name if isinstance(value, ClassValue | SourceFunction) else type(value).__name__
    return f"<{name}>"


def _parts(value: Any, depth: int) -> str:
    """Returns the items of a value as text; it ends where it becomes too long."""
    found: list[str] = []
    letters = 0
    for one in value:
        text = value_text(one, True, depth)
        text = f"{text}: {value_text(value[one], True, depth)}" if isinstance(value, dict) else text
        found.append(text)
        letters += len(text)
        if letters > LONGEST_TEXT:  # the machine refuses the whole
            break
    return ", ".join(found)


def f_string_text(machine: Interpreter, value: Any, spec: str, exact: bool = False) -> str:
    """Returns a value in an f-string; raises TextError for a specification that is too wide."""
    value = value_text(value, True) if exact else value
    if not spec:
        return value_text(value)
    if not SPEC.fullmatch(spec) or not isinstance(value, int | float | str):
        raise machine.refuse("this way to write a value is not understood", "f'{value}'")
    return str(machine.attempt(format, value, spec))


def format_text(machine: Interpreter, text: str, *args: Any, **named: Any) -> str:
    """Returns ``text.format(…)``; fields are numbers and names, without attributes."""
    at = iter(range(len(args)))

    def field(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        key = found[1]
        if key is None:
            raise machine.refuse("a field of format is a number or a name", "'{}'")
        values: Any = named if key and not key.isdecimal() else args
        place: Any = key if values is named else int(key) if key else next(at, len(args))
        exact = found[2] in ("!r", "!a")
        return f_string_text(machine, machine.attempt(lambda: values[place]), found[3] or "", exact)

    return str(machine.checked_size(FIELD.sub(field, text)))


def percent(machine: Interpreter, text: str, values: Any) -> str:
    """Returns ``text % values``."""
    if "%" in PERCENT.sub("", text):
        raise machine.refuse("this way to write a value is not understood", "f'{value}'")
    several = values if isinstance(values, tuple) else (values,)
    plain = tuple(x if isinstance(x, int | float | str) else value_text(x) for x in several)
    return str(machine.attempt(lambda: text % plain))


# --- Python's operators on the values of a source, with limits on the results

Binary = Callable[[Any, Any], Any]
BINARY: Mapping[type[ast.operator], Binary] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
IN_PLACE: Mapping[type[ast.operator], Binary] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Pow: operator.ipow,
}
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARISON_OPERATORS: Mapping[type[ast.cmpop], Binary] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
ELEMENTWISE_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)  # of one number each
ARITHMETIC_TYPES = (
    bool,
    int,
    float,
    complex,
    str,
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    type(None),
)


REFLECTED_METHODS: Mapping[type[ast.operator], str] = {  # methods of the second number
    ast.Add: "__radd__",
    ast.Sub: "__rsub__",
    ast.Mult: "__rmul__",
    ast.Div: "__rtruediv__",
    ast.FloorDiv: "__rfloordiv__",
    ast.Mod: "__rmod__",
}


def binary_result(
    machine: Interpreter, kind: ast.operator, a: Any, b: Any, in_place: bool = False
) -> Any:
    """Returns ``a + b`` and the like; ``in_place`` is for ``a += b``."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, UnknownValue):
            array = machine.tracing and isinstance(other, Tensor)
            return (
                machine.boxed_array(one, [other])
                if array and type(kind) in ELEMENTWISE_OPERATORS
                else one
            )
    if isinstance(kind, ast.BitOr) and _is_type(a) and _is_type(b):
        return UnknownValue("a union of types", "it is a type hint")
    if isinstance(a, nn.ModuleList | nn.ParameterList) and isinstance(kind, ast.Add):
        return machine.attempt((operator.iadd if in_place else operator.add), a, b)
    for one in (a, b):
        if not isinstance(one, (*ARITHMETIC_TYPES, Tensor)):
            raise machine.refuse(f"{kind_name(one)} takes no part in arithmetic", "numbers")
    if isinstance(kind, ast.Mod) and isinstance(a, str):
        return machine.checked_size(percent(machine, a, b))
    _check_size(machine, kind, a, b)
    number = in_place or isinstance(b, int | float)
    if number and not machine.tracing and isinstance(a, Tensor) and is_placeholder(a):
        return a  # the numbers of weights do not matter
    if type(a) is float and isinstance(b, int) and type(b) not in (int, bool):
        # Python's real numbers do not let a kind of whole ones have its turn.
        reflected = getattr(b, REFLECTED_METHODS.get(type(kind), ""), None)
        if reflected is not None:
            return machine.checked_size(machine.attempt(reflected, a))
    table = IN_PLACE if in_place and type(kind) in IN_PLACE else BINARY
    return machine.checked_size(machine.attempt(table[type(kind)], a, b))


def _is_type(value: Any) -> bool:
    return value is None or isinstance(value, ClassValue | type)


def _check_size(machine: Interpreter, kind: ast.operator, a: Any, b: Any) -> None:
    """Raises Stopped for a power, shift or repetition that would be too large."""
    if isinstance(kind, ast.Pow | ast.LShift) and type(a) is int and type(b) is int:
        bits = a.bit_length() + b if isinstance(kind, ast.LShift) else a.bit_length() * abs(b)
        if bits > BITS and abs(a) > 1:
            raise machine.stop(f"a whole number has more than {BITS} bits")
    a, b = (b, a) if isinstance(a, int) else (a, b)
    if not isinstance(a, str | list | tuple):
        return
    most = LONGEST_TEXT if isinstance(a, str) else ITEMS
    if isinstance(kind, ast.Mult) and isinstance(b, int) and len(a) * b > most:
        raise machine.stop("it is repeated too often", "fewer repetitions")
    if isinstance(kind, ast.Add) and isinstance(b, type(a)) and len(a) + len(b) > most:
        raise machine.stop("it becomes too long", "less")


def comparison_result(machine: Interpreter, kind: ast.cmpop, a: Any, b: Any) -> Any:
    """Returns ``a < b`` and the like."""
    if not isinstance(kind, ast.Is | ast.IsNot):
        for one in (a, b):
            if isinstance(one, UnknownValue):
                return one
        if isinstance(kind, ast.In | ast.NotIn) and isinstance(b, Tensor):
            raise machine.refuse("whether a tensor holds a number depends on the numbers")
        if isinstance(kind, ast.In | ast.NotIn) and isinstance(b, range) and type(a) is not int:
            b = machine.items(b)  # Python goes through all of them
    return machine.attempt(COMPARISON_OPERATORS[type(kind)], a, b)


class NumbersUnknown(TextError):
    """A condition on the numbers of an array."""


def truth(machine: Interpreter, value: Any) -> bool:
    """Returns whether a value counts as true; tensors have no known numbers."""
    if isinstance(value, UnknownValue):
        return _assumed_false(machine, value)
    if isinstance(value, Tensor) and id(value) in machine.flags_read:
        return machine.flags_read[id(value)][1]
    if isinstance(value, Tensor) and (machine.tracing or value.numel() != 1):
        fact = "this condition depends on the numbers of a tensor, which are not known"
        cure = "torch.where, or a condition on its shape"
        raise error_at(machine.node, fact, cure, NumbersUnknown)
    return bool(machine.attempt(bool, value))


def _assumed_false(machine: Interpreter, value: UnknownValue) -> bool:
    """Returns false for a condition on what stands in another file; notes that it is assumed."""
    if not machine.strict:
        raise machine.unknown_error(value)
    machine.assumed_values[value.name] = "false"
    return False


def unknown_result(machine: Interpreter, value: UnknownValue) -> UnknownValue:
    """Returns what a call gives of an unknown value, which is not known either.

    Raises an error where a module runs: an array may depend on it.
    """
    if machine.tracing:
        raise machine.unknown_error(value)
    return value


def is_placeholder(tensor: Tensor) -> bool:
    """Returns whether a tensor stands for weights, whose numbers do not matter."""
    spread = any(s == 0 and n > 1 for s, n in zip(tensor.stride(), tensor.shape, strict=True))
    return spread or isinstance(tensor, torch.nn.Parameter) or _is_shared(tensor)


# --- Numbers that all weights share, as only their shapes matter

LARGEST = 2**21  # numbers of one weight
SHARED_NUMBER_COUNT = LARGEST + 2**19  # numbers that weights share
VECTORS = (0.5, 1.5)  # the least and the largest number of a vector, such as a scale
MAPS = {200: 0.12, 1500: 0.045, 2**63: 0.016}  # and of a map of at most so many inputs: sums stay


_random_tensors: dict[tuple[float, float], Tensor] = {}  # random numbers, by their range


def _random_numbers(least: float, largest: float) -> Tensor:
    """Returns random numbers, of which each weight is a part."""
    if (least, largest) not in _random_tensors:
        with _disable_current_modes(), torch._C.DisableTorchFunction():  # they are real ones
            random = torch.Generator().manual_seed(0)
            made = torch.empty(SHARED_NUMBER_COUNT, device="cpu").uniform_(
                least, largest, generator=random
            )
        _random_tensors[least, largest] = made
    return _random_tensors[least, largest]


def _is_shared(tensor: Tensor) -> bool:
    with torch._C.DisableTorchFunction():  # no call of a source, which may be counted
        own = tensor.untyped_storage()._cdata
        return any(own == each.untyped_storage()._cdata for each in _random_tensors.values())


_begins = count()


def shared_numbers(shape: Sequence[int]) -> Tensor | None:
    """Returns random numbers of a shape that take no memory of their own.

    They differ along all axes, so that a run tells whether axes are in their places. There are none
    for very many, or for sizes that are expressions.

    >>> x, y = shared_numbers((3, 4)), shared_numbers((3, 4))
    >>> x.data_ptr() == y.data_ptr(), x.untyped_storage().nbytes() == y.untyped_storage().nbytes()
    (False, True)
    """
    if any(type(n) is not int for n in shape) or not 1 < (size := prod(shape)) <= LARGEST:
        return None
    most = next(most for inputs, most in MAPS.items() if size <= inputs * shape[0])
    whole = _random_numbers(*(VECTORS if len(shape) < 2 else (-most, most)))
    begin = (
        next(_begins) * 4 % (SHARED_NUMBER_COUNT - LARGEST)
    )  # a place where complex numbers may begin
    return whole[begin : begin + size].view(tuple(shape))


def kind_name(value: Any) -> str:
    """Returns the kind of a value for a message.

    >>> kind_name(3), kind_name(None), kind_name(torch)
    ('int', 'None', 'module')
    """
    if value is None:
        return "None"
    name = getattr(value, "name", "") if isinstance(value, ClassValue | UnknownValue) else ""
    return name or type(value).__name__
