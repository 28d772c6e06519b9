"""Rewriting: a term with every axis, or every part, changed."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from ncd.lang.axes import Array, Axis, Signature, Type
from ncd.lang.spelling import field_names
from ncd.lang.terms import Term


def rewrite(value: Any, change: Callable[[Axis], Axis]) -> Any:
    """A term, type or array with every axis changed."""
    if isinstance(value, Axis):
        return change(value)
    if isinstance(value, Array):
        return Array(map(change, value), value.below and change(value.below))
    if isinstance(value, Signature):
        return Signature(rewrite(value.dom, change), rewrite(value.cod, change))
    if isinstance(value, Type):
        return Type(rewrite(item, change) for item in value)
    if isinstance(value, tuple):
        return tuple(rewrite(item, change) for item in value)
    if isinstance(value, Term):
        return rebuilt(value, lambda part: rewrite(part, change))
    return value


def rebuilt(term: Term, change: Callable[[Any], Any]) -> Any:
    """The term with every field changed; the term itself if none is."""
    values = {name: getattr(term, name) for name in field_names(type(term))}
    new = {name: change(value) for name, value in values.items()}
    if all(new[name] is values[name] or _same(new[name], values[name]) for name in values):
        return term
    given = new.pop(term.variadic, ())
    return type(term)(*given, **new)


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, tuple) and len(a) == len(b) and all(map(is_, a, b))
