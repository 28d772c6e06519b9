"""The arguments of a term as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from ncd.lang.terms.field_spelling import spelling
from ncd.lang.terms.field_values import TERM, TERMS
from ncd.lang.terms.terms import Term


def arguments(
    term: Term, one: Callable[[Term], str], several: Callable[[tuple[Term, ...]], str]
) -> Iterator[str]:
    """Yields the arguments of a term as text, without those at their defaults at the end.

    Args:
        term: The term.
        one: Writes a term within it.
        several: Writes a tuple of terms within it.
    """
    own = [f for f in fields(term) if f.name != term.variadic]  # type: ignore[arg-type]
    yield from map(one, getattr(term, term.variadic, ()))
    while own and getattr(term, own[-1].name) == own[-1].default:
        own.pop()
    for field in own:
        value, by = getattr(term, field.name), spelling(field)
        name = f"{field.name}=" if term.variadic else ""
        if by is TERM:
            yield name + one(value)
        elif by is TERMS:
            yield name + several(value)
        else:
            yield name + by.literal(value)
