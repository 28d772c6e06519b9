"""The fields of a term: their spelling in Python and JSON, equality and hashes.

A field of a term is declared with :func:`term_field`; its spelling checks every value that it is
given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from keyword import iskeyword
from typing import Any, ClassVar, Protocol, TypeVar

from ncd.errors import ParseError, SizeError, printable, short_repr
from ncd.formulas.formula import Application, Formula, Name, Number, Operand
from ncd.formulas.formula import parse as parse_formula
from ncd.language.axes import Array, Signature, Type, check_once

# --- Spellings: readers and writers of the fields of terms, for Python and JSON alike

Value = TypeVar("Value", covariant=True)
WrittenValue = TypeVar("WrittenValue", contravariant=True)


class ParsedField(Protocol[Value, WrittenValue]):
    """The type of a field that is written as ``WrittenValue`` and read as ``Value``.

    For type checkers alone, to which a descriptor's ``__set__`` is the parameter of the
    constructor and its ``__get__`` the field; when a program runs, the field holds its value.
    """

    def __get__(self, term: object, kind: type | None = None) -> Value: ...

    def __set__(self, term: object, value: WrittenValue) -> None: ...


SignatureField = ParsedField[Signature, Signature | str]
ArrayField = ParsedField[Array, Array | str]
TypeField = ParsedField[Type, Type | str]
FormulaField = ParsedField[Formula, Formula | str]
StatedField = ParsedField[Signature | None, Signature | str | None]
InitialField = ParsedField[Formula | None, Formula | str | None]


@dataclass(frozen=True)
class FieldFormat:
    """A reader and the writers of a field; ``words`` describes the values that it takes."""

    words: str
    read: Callable[[Any, str], Any]  # of a value and the name of the field; raises NCDError
    json_value: Callable[[Any], Any] = lambda value: value  # for JSON
    literal: Callable[[Any], str] = repr  # for Python


def term_field(by: FieldFormat, default: Any = MISSING) -> Any:
    """Returns a field of a term that is read by a spelling."""
    return field(default=default, metadata={"by": by})


def spelling(of: Field[Any]) -> FieldFormat:
    """Returns the spelling of a field."""
    by: FieldFormat = of.metadata["by"]
    return by


def read_fields(term: Any) -> None:
    """Reads every field of a frozen dataclass by its spelling, in ``__post_init__``."""
    for name, read in _readers(type(term)):
        given = getattr(term, name)
        value = read(given, name)
        if value is not given:
            object.__setattr__(term, name, value)


def _readers(kind: type) -> tuple[tuple[str, Callable[[Any, str], Any]], ...]:
    if kind not in _READERS:
        _READERS[kind] = tuple((f.name, spelling(f).read) for f in fields(kind))
    return _READERS[kind]


def field_names(kind: type) -> tuple[str, ...]:
    """Returns the names of a dataclass's fields, in order."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(f.name for f in fields(kind))
    return _NAMES[kind]


_READERS: dict[type, tuple[tuple[str, Callable[[Any, str], Any]], ...]] = {}
_NAMES: dict[type, tuple[str, ...]] = {}


def kind_of(what: type, parse: Callable[[Any], Any], example: str) -> FieldFormat:
    """Returns the spelling of an array, a type or a signature: text, or the object itself."""

    def read(value: Any, name: str) -> Any:
        if isinstance(value, what):
            for array in _arrays(value):
                check_once(array)
            return value
        if not isinstance(value, str):
            raise ParseError(f"{name} is {short_repr(value)}, but it is text", cure=example)
        return parse(value)

    return FieldFormat("text", read, lambda v: v.spec, lambda v: repr(v.spec))


def _arrays(value: object) -> tuple[Array, ...]:
    if isinstance(value, Signature):
        return (*value.dom, *value.cod)
    return (value,) if isinstance(value, Array) else tuple(value) if isinstance(value, Type) else ()


SIGNATURE = kind_of(Signature, Signature.parse, '"y m -> y k"')
ARRAY = kind_of(Array, Array.parse, '"y m"')
TYPE = kind_of(Type, Type.parse, '"y m, x m"')


def one_axis(value: Any, name: str) -> Any:
    array = ARRAY.read(value, name)
    if len(array) != 1 or array.below:
        raise ParseError(f"{name} is ({array}), but it is one axis", cure='"x"')
    return array


AXIS = FieldFormat("text", one_axis, lambda v: v.spec, lambda v: repr(v.spec))


def _formula(value: Any, name: str) -> Any:
    if isinstance(value, Number | Operand | Name | Application):
        return value
    return parse_formula(value)


FORMULA = FieldFormat("text", _formula, str, lambda v: repr(str(v)))


def optional(by: FieldFormat, *none: object) -> FieldFormat:
    """Returns the spelling of the same values, or of None, for which ``none`` may be written."""
    return FieldFormat(
        f"{by.words} or null",
        lambda value, name: None if value in (None, *none) else by.read(value, name),
        lambda value: None if value is None else by.json_value(value),
        lambda value: "None" if value is None else by.literal(value),
    )


INITIAL = optional(FORMULA, "")
OPTIONAL_SIGNATURE = optional(SIGNATURE, "")


def _text(value: Any, name: str, most: int = 200) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{name} is {short_repr(value)}, but it is text", cure=f'{name} = "…"')
    if len(value) > most:
        raise ParseError(f"{name} has {len(value)} letters, at most {most} can be", cure="fewer")
    if not printable(value):
        raise ParseError(
            f"{name} is {short_repr(value)}, which cannot be printed", cure="plain text"
        )
    return value


TEXT = FieldFormat("text", _text)
LONG_TEXT = FieldFormat("text", lambda value, name: _text(value, name, 4000))


def _layer_name(value: Any, name: str) -> str:
    text = _text(value, name)
    if not text.isidentifier() or iskeyword(text) or text.startswith("_"):
        better = re.sub(r"\W", "_", text).lstrip("_0123456789") or "L"
        cure = better if better.isidentifier() and not iskeyword(better) else f"{better}_"
        raise ParseError(f"{text!r} is no name for a layer", cure=cure)
    return text


NAME = FieldFormat("text", _layer_name)
SCOPE = FieldFormat("text", lambda value, name: value if value == "" else _layer_name(value, name))


def integer(least: int = 0, most: int = 10**6) -> FieldFormat:
    """Returns the spelling of a whole number from ``least`` to ``most``."""

    def read(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            number = isinstance(value, int) and not isinstance(value, bool)
            limits = f"{least} or more" if not number or value < least else f"at most {most:,}"
            if least < 0:
                limits = f"from {least:,} to {most:,}"
            nearest = most if number and value > most else least if number else max(least, 0)
            raise SizeError(
                f"the {name} is {short_repr(value)}, but it is a whole number, {limits}",
                cure=f"{name} = {nearest}",
                axis=name,
                nearest=nearest,
            )
        return value

    return FieldFormat("a whole number", read)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParseError(
            f"{name} is {short_repr(value)}, but it is True or False", cure=f"{name}=True"
        )
    return value


FLAG = FieldFormat("true or false", _flag)


def number(
    limits: str = "a number",
    allowed: Callable[[float], bool] = lambda value: abs(value) < 1e300,
    example: str = "0.5",
) -> FieldFormat:
    """Returns the spelling of a real number that is ``allowed``; ``limits`` says so in words.

    >>> number("a number over 1", lambda value: value > 1, "1.5").read(2, "scale")
    2.0
    """

    def read(value: Any, name: str) -> float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not allowed(value):
            raise ParseError(
                f"{name} is {short_repr(value)}, but it is {limits}", cure=f"{name}={example}"
            )
        return float(value)

    return FieldFormat(limits, read)


NUMBER = number()
PROBABILITY = number("a number from 0 up to, not including, 1", lambda value: 0 <= value < 1, "0.1")
SMALL_NUMBER = number("a small number over 0", lambda value: 0 < value < 1, "1e-5")


def choice(*names: str) -> FieldFormat:
    """Returns the spelling of one of some names."""

    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in names:
            raise ParseError(
                f"{name} is {short_repr(value)}, but it is one of {', '.join(names)}",
                cure=f'{name}="{names[0]}"',
            )
        return value

    return FieldFormat("text", read)


# --- The fields of terms: equality, hashes, pickling and text by their values

T = TypeVar("T")
CACHED_ATTRIBUTES = {
    "_lifted",
    "_sites",
    "_circuit",
    "_hash",
}  # a text's hash differs between processes
MAX_CACHE_ENTRIES = 256  # entries of a cache of one object


class StructuralBase:
    """The base of terms: frozen dataclasses that are equal if their class and fields are."""

    variadic: ClassVar[str] = ""  # the field that is given as positional arguments

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        names = field_names(type(self))
        return hash(self) == hash(other) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    def __hash__(self) -> int:
        if "_hash" not in self.__dict__:
            values = tuple([getattr(self, name) for name in field_names(type(self))])
            self.__dict__["_hash"] = hash((type(self).__name__, values))
        known: int = self.__dict__["_hash"]
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in CACHED_ATTRIBUTES
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        given = [f for f in fields(self) if f.name != self.variadic]  # type: ignore[arg-type]
        words = [repr(part) for part in getattr(self, self.variadic, ())]
        while given and getattr(self, given[-1].name) == given[-1].default:
            given.pop()
        for f in given:
            value = getattr(self, f.name)  # of an op that is only drawn, it may have no spelling
            text = spelling(f).literal(value) if f.metadata else repr(value)
            words.append(f"{f.name}={text}" if self.variadic else text)
        return f"{type(self).__name__}({', '.join(words)})"


def _read_term(value: Any, name: str) -> StructuralBase:
    if not isinstance(value, StructuralBase):
        raise ParseError(f"{name} is no term", cure='a term such as Id("m")')
    return value


def _read_terms(value: Any, name: str) -> tuple[StructuralBase, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParseError(f"{name} is no list of terms", cure='terms such as (Id("m"),)')
    return tuple(_read_term(item, name) for item in value)


TERM = FieldFormat("a term", _read_term)
TERMS = FieldFormat("a list of terms", _read_terms)


def remember_result(owner: Any, name: str, key: Hashable, compute: Callable[[Any], T]) -> T:
    """Returns ``compute(key)``, which an object remembers for its last keys under this name."""
    known = owner.__dict__.setdefault(name, {})
    value: T | None = known.get(key)
    if value is None:
        value = compute(key)
        if len(known) >= MAX_CACHE_ENTRIES:
            known.clear()
        known[key] = value
    return value
