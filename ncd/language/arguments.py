"""Checks of the arguments of public functions, and the choices of labels."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from math import inf
from typing import Literal

from ncd.errors import ParseError, UnknownNameError, short_repr
from ncd.language.number_formats import Formats
from ncd.language.terms import Term

# --- The choices for a drawing: what its wires are labelled with, and its fills

Labels = Literal["names", "sizes", "both"]
Palette = Literal["quiet", "paper", "bw"]


# --- Checks of the arguments that users pass to public functions


def check_term(value: object, where: str) -> None:
    """Raises ParseError if the value is not a term; ``where`` is the name of the function."""
    if not isinstance(value, Term):
        cure = 'a term, such as Id("m:3") >> Softmax("m")'
        raise ParseError(f"{short_repr(value)} is not a term", where=where, cure=cure)


def check_text(value: object, name: str, where: str) -> None:
    """Raises ParseError if the value is not text, or contains half of a surrogate pair."""
    if not isinstance(value, str):
        raise ParseError(f"{name} is {short_repr(value)}, but it is text", where=where, cure="text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        fact = f"{name} is {short_repr(value)}, which holds half a letter (a surrogate)"
        raise ParseError(fact, where=where, cure="whole letters")


def check_texts(value: object, name: str, where: str) -> None:
    """Raises ParseError if the value is not a mapping from text to text."""
    if not isinstance(value, Mapping):
        fact = f"{name} is {short_repr(value)}, but it is a mapping from text to text"
        raise ParseError(fact, where=where, cure=f'{name}={{"Q": "…"}}')
    for key, text in value.items():
        check_text(key, f"a key of {name}", where)
        check_text(text, f"{name}[{short_repr(key)}]", where)


def check_names(value: object, name: str, where: str, form: str, example: str) -> None:
    """Raises ParseError if the value is not a collection of texts; a single text is not one.

    ``form`` says in the message what it is, and ``example`` is one of its texts.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        fact = f"{name} is {short_repr(value)}, but it is {form}"
        known = value if isinstance(value, str) and value else example
        raise ParseError(fact, where=where, cure=f"{name}=[{short_repr(known)}]")
    for item in value:
        check_text(item, f"an item of {name}", where)


def check_formats(value: object, where: str) -> None:
    """Raises ParseError if the value is neither number formats nor None."""
    if value is not None and not isinstance(value, Formats):
        fact = f"formats is {short_repr(value)}, but it is number formats"
        raise ParseError(fact, where=where, cure='formats=ncd.Formats("int8")')


def check_flag(value: object, name: str, where: str) -> None:
    """Raises ParseError if the value is neither True nor False."""
    if not isinstance(value, bool):
        fact = f"{name} is {short_repr(value)}, but it is True or False"
        raise ParseError(fact, where=where, cure=f"{name}=True")


def check_seed(value: object, where: str = "") -> None:
    """Raises ParseError if the value is not a whole number."""
    if not isinstance(value, int):
        fact = f"the seed is {short_repr(value)}, but it is a whole number"
        raise ParseError(fact, where=where, cure="seed=0")


def positive(value: object) -> bool:
    """Returns whether a value is a number over 0 that can be calculated with.

    >>> positive(1.5), positive(float("nan")), positive(True), positive("2"), positive(10**400)
    (True, False, False, False, False)
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 < value <= sys.float_info.max or value == inf


def check_choice(value: object, name: str, where: str, among: Collection[str]) -> None:
    """Raises UnknownNameError if the value is not one of the permitted texts."""
    if not isinstance(value, str) or value not in among:
        fact = f"{name} is {short_repr(value)}, but it is one of {', '.join(among)}"
        raise UnknownNameError(fact, where=where, cure=f'{name}="{next(iter(among))}"')
