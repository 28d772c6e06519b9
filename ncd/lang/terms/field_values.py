"""The fields of terms: equality, hashes, pickling and text by their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

from ncd.lang.errors import ParseError
from ncd.lang.terms.field_spelling import Spelling, field_names, spelling

T = TypeVar("T")
CACHED = {"_lifted", "_sites", "_circuit", "_hash"}  # a text's hash differs between processes
KEPT = 256  # entries of a cache of one object


class FieldValue:
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
        return {name: value for name, value in self.__dict__.items() if name not in CACHED}

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


def _read_term(value: Any, name: str) -> FieldValue:
    if not isinstance(value, FieldValue):
        raise ParseError(f"{name} is no term", cure='a term such as Id("m")')
    return value


def _read_terms(value: Any, name: str) -> tuple[FieldValue, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParseError(f"{name} is no list of terms", cure='terms such as (Id("m"),)')
    return tuple(_read_term(item, name) for item in value)


TERM = Spelling("a term", _read_term)
TERMS = Spelling("a list of terms", _read_terms)


def kept(owner: Any, name: str, key: Hashable, compute: Callable[[Any], T]) -> T:
    """Returns ``compute(key)``, which an object remembers for its last keys under this name."""
    known = owner.__dict__.setdefault(name, {})
    value: T | None = known.get(key)
    if value is None:
        value = compute(key)
        if len(known) >= KEPT:
            known.clear()
        known[key] = value
    return value
