"""Terms rebuilt with changed axes or fields."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from ncd.lang.terms.field_spelling import field_names
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis, Signature, Type


def rewrite(value: Any, change: Callable[[Axis], Axis]) -> Any:
    """Returns a term, type or array in which every axis is changed."""
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


def axes_in(term: Term) -> list[Axis]:
    """Returns every axis that the fields of a term name, as often as they do.

    >>> from ncd.lang.terms.terms import Id
    >>> [axis.spec for axis in axes_in(Id("y:2 m, m"))]
    ['y:2', 'm', 'm']
    """
    found: list[Axis] = []

    def note(axis: Axis) -> Axis:
        found.append(axis)
        return axis

    rewrite(term, note)
    return found


def rebuilt(term: Term, change: Callable[[Any], Any]) -> Any:
    """Returns the term with every field changed; the term itself if all stay the same."""
    return remade(term, {name: change(getattr(term, name)) for name in field_names(type(term))})


def remade(term: Term, new: dict[str, Any]) -> Any:
    """Returns the term with these fields; the term itself if they are its own."""
    if all(_same(value, getattr(term, name)) for name, value in new.items()):
        return term
    given = new.get(term.variadic, ())
    return type(term)(*given, **{name: new[name] for name in new if name != term.variadic})


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return isinstance(a, tuple) and len(a) == len(b) and all(map(is_, a, b))
