"""Reads the names of arrays, such as ``"y m, x m"``, as a term that passes them on unchanged."""

from __future__ import annotations

import re

from ncd.language.axes import Type
from ncd.language.terms import Id, Term

QUOTED_LINE = re.compile(r"\"[^\"'()\n]+\"|'[^\"'()\n]+'")
AXIS = r"~?[a-z](_?\d+)?(:\d+(x\d+)*)?"  # bare, only letters: other words are no arrays
BARE_LINE = re.compile(rf"{AXIS}(\s*,?\s+{AXIS})+")


def read(text: str) -> Term | None:
    """Returns the term that passes arrays on, or None for a text that names none.

    Names of several letters stand in quotation marks, so that a sentence is not read as axes.

    >>> read('"batch features, m:8"')
    Id('batch features, m:8')
    >>> read("~y m, x m")
    Id('~y m, x m')
    >>> read("not arrays") is None
    True

    Raises ParseError for a quoted text with something that is no axis.
    """
    line = text.strip()
    if QUOTED_LINE.fullmatch(line):
        return Id(Type.parse(line[1:-1].strip()))
    return Id(Type.parse(line)) if BARE_LINE.fullmatch(line) else None
