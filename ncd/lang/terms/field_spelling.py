"""Spellings: how the fields of a term are read from text or JSON, and written again.

A field of a term is declared with :func:`spelled`; what it reads is then checked in one place, for
Python and JSON alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from keyword import iskeyword
from typing import Any

from ncd.lang.errors import ParseError, SizeError, shown
from ncd.lang.formulas.formula import Apply, Name, Number, Operand
from ncd.lang.formulas.formula import parse as parse_formula
from ncd.lang.types.axes import Array, Signature, Type, check_once


@dataclass(frozen=True)
class Spelling:
    """How a field is read (``read`` raises NCDError), and what it wants, in words."""

    words: str
    read: Callable[[Any, str], Any]  # the value, and the name of the field
    plain: Callable[[Any], Any] = lambda value: value  # to what JSON knows
    literal: Callable[[Any], str] = repr  # to Python


def spelled(by: Spelling, default: Any = MISSING) -> Any:
    """A field of a term that is read by a spelling."""
    return field(default=default, metadata={"by": by})


def spelling(of: Field[Any]) -> Spelling:
    """The spelling of a field."""
    found: Spelling = of.metadata["by"]
    return found


def read_fields(term: Any) -> None:
    """Reads every field of a frozen dataclass by its spelling, in ``__post_init__``."""
    for name, read in _readers(type(term)):
        value = getattr(term, name)
        found = read(value, name)
        if found is not value:
            object.__setattr__(term, name, found)


def _readers(kind: type) -> tuple[tuple[str, Callable[[Any, str], Any]], ...]:
    if kind not in _READERS:
        _READERS[kind] = tuple((f.name, spelling(f).read) for f in fields(kind))
    return _READERS[kind]


def field_names(kind: type) -> tuple[str, ...]:
    """The names of a dataclass's fields, in order."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(f.name for f in fields(kind))
    return _NAMES[kind]


_READERS: dict[type, tuple[tuple[str, Callable[[Any, str], Any]], ...]] = {}
_NAMES: dict[type, tuple[str, ...]] = {}


def kind_of(what: type, parse: Callable[[Any], Any], example: str) -> Spelling:
    """The spelling of an array, a type or a signature: text, or the thing itself."""

    def read(value: Any, name: str) -> Any:
        if isinstance(value, what):
            for array in _arrays(value):
                check_once(array)
            return value
        if not isinstance(value, str):
            raise ParseError(f"{name} is {shown(value)}, but it is text", cure=example)
        return parse(value)

    return Spelling("text", read, lambda v: v.spec, lambda v: repr(v.spec))


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


AXIS = Spelling("text", one_axis, lambda v: v.spec, lambda v: repr(v.spec))


def _formula(value: Any, name: str) -> Any:
    if isinstance(value, Number | Operand | Name | Apply):
        return value
    return parse_formula(value)


FORMULA = Spelling("text", _formula, str, lambda v: repr(str(v)))


def _maybe_formula(value: Any, name: str) -> Any:
    return None if value is None or value == "" else _formula(value, name)


INITIAL = Spelling(
    "text or null",
    _maybe_formula,
    lambda v: None if v is None else str(v),
    lambda v: repr(None if v is None else str(v)),
)


def _type_if(value: Any, name: str) -> Any:
    return None if value is None or value == "" else SIGNATURE.read(value, name)


STATED = Spelling(  # a type that is stated, or left open
    "text or null",
    _type_if,
    lambda v: None if v is None else v.spec,
    lambda v: repr(None if v is None else v.spec),
)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{name} is {shown(value)}, but it is text", cure=f'{name} = "…"')
    if len(value) > 200:
        raise ParseError(f"{name} has {len(value)} letters, at most 200 can be", cure="fewer")
    if not value.isprintable():
        raise ParseError(f"{name} is {shown(value)}, which cannot be printed", cure="plain text")
    return value


TEXT = Spelling("text", _text)


def _layer_name(value: Any, name: str) -> str:
    text = _text(value, name)
    if not text.isidentifier() or iskeyword(text) or text.startswith("_"):
        better = re.sub(r"\W", "_", text).lstrip("_0123456789") or "L"
        cure = better if better.isidentifier() and not iskeyword(better) else f"{better}_"
        raise ParseError(f"{text!r} is no name for a layer", cure=cure)
    return text


NAME = Spelling("text", _layer_name)
SCOPE = Spelling("text", lambda value, name: value if value == "" else _layer_name(value, name))


def whole(least: int = 0, most: int = 10**6) -> Spelling:
    """A whole number between two."""

    def read(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            number = isinstance(value, int) and not isinstance(value, bool)
            limits = f"{least} or more" if not number or value < least else f"at most {most:,}"
            nearest = most if number and value > most else least
            raise SizeError(
                f"the {name} is {shown(value)}, but it is a whole number, {limits}",
                cure=f"{name} = {nearest}",
                axis=name,
                nearest=nearest,
            )
        return value

    return Spelling("a whole number", read)


def maybe(by: Spelling) -> Spelling:
    """The same, or None."""
    return Spelling(
        f"{by.words} or null", lambda value, name: None if value is None else by.read(value, name)
    )


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParseError(f"{name} is {shown(value)}, but it is True or False", cure=f"{name}=True")
    return value


FLAG = Spelling("true or false", _flag)


def _probability(value: Any, name: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < 1:
        raise ParseError(
            f"{name} is {shown(value)}, but it is a number from 0 up to, not including, 1",
            cure=f"{name}=0.1",
        )
    return float(value)


PROBABILITY = Spelling("a number from 0 to 1", _probability)


def _positive(value: Any, name: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise ParseError(
            f"{name} is {shown(value)}, but it is a small number over 0", cure=f"{name}=1e-5"
        )
    return float(value)


SMALL = Spelling("a small number", _positive)


def choice(*names: str) -> Spelling:
    """One of some names."""

    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in names:
            raise ParseError(
                f"{name} is {shown(value)}, but it is one of {', '.join(names)}",
                cure=f'{name}="{names[0]}"',
            )
        return value

    return Spelling("text", read)
