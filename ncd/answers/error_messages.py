"""Explains a pasted traceback or error message of torch: what its numbers are, what to look for."""

from __future__ import annotations

import re
from math import isqrt, prod

from ncd.answers.message_table import MESSAGES

CALLED = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+).*\n\s+(?P<code>\S.*)')
CELL = re.compile(r"^-+> *(?P<line>\d+) +(?P<code>\S.*)", re.M)  # of a notebook
LIBRARIES = ("site-packages", "dist-packages", "/lib/python", "<frozen", "<__array_function__")
NUMBER = re.compile(r"\d{4,}")
PRODUCT = re.compile(
    r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+)x(?P<b>\d+) and (?P<c>\d+)x(?P<d>\d+)\)"
    r"|a and b must have same reduction dim, but got \[(?P<a2>\d+), (?P<b2>\d+)\] X "
    r"\[(?P<c2>\d+), (?P<d2>\d+)\]"
    r"|size mismatch, m1: \[(?P<a3>\d+) x (?P<b3>\d+)\], m2: \[(?P<c3>\d+) x (?P<d3>\d+)\]"
)
CURE = "the class that fails, with its call as the last line"
LONGEST = 10_000  # letters that are looked through, at the beginning and at the end
CODE = 60  # letters of a line of the traceback
CHANNELS = (512, 256, 128, 64, 32, 16)


def explain(text: str) -> str | None:
    """Returns what an error message of torch means, and what to look for.

    Args:
        text: A traceback, or its last line alone.

    Returns:
        Two sentences, the line at which it stops, and a request for the class; None for a message
        that is not known.

    Source: the messages of torch 1.0 to 2.13.

    >>> words = explain("RuntimeError: mat1 and mat2 shapes cannot be multiplied "
    ...                 "(64x9216 and 400x120)")
    >>> print(words.partition(".")[0])
    The layer takes 400 numbers and gives 120, but each of its 64 rows holds 9,216
    >>> explain("nn.Linear(8, 3)") is None
    True
    """
    text = text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"
    fact, search = _meaning(text)
    return f"{fact} {search}{_place(text)} Try {CURE}." if fact else None


def first_words(message: str) -> str:
    """Returns what a message of torch means, without what to look for; empty if it is not known.

    >>> first_words("mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)")
    'The layer takes 400 numbers and gives 120, but each of its 64 rows holds 9,216.'
    """
    return _meaning(message)[0]


def _meaning(text: str) -> tuple[str, str]:
    """Returns what a message means, and what to look for; empty for one that is not known."""
    flat = " ".join(text.split())
    return _product(flat) or _listed(flat) or ("", "")


def _listed(text: str) -> tuple[str, str] | None:
    """Returns what the first known message in a text means; the table's order decides."""
    for pattern, fact, search in MESSAGES:
        if found := pattern.search(text):
            given = {name: _spelled(value or "") for name, value in found.groupdict().items()}
            return fact.format(**given), search.format(**given)
    return None


def _spelled(value: str) -> str:
    """Returns a part of a message; a number of four digits or more has commas.

    >>> _spelled("9216"), _spelled("[64, 1024]")
    ('9,216', '[64, 1,024]')
    """
    value = value if len(value) <= CODE else f"{value[:CODE]}…"
    return NUMBER.sub(lambda digits: f"{int(digits[0]):,}", value)


def _product(text: str) -> tuple[str, str] | None:
    """Returns what a product of matrices means whose sizes do not meet."""
    if (found := PRODUCT.search(text)) is None:
        return None
    given = [int(value[:15]) for value in found.groups() if value is not None]
    rows, width, takes, gives = given
    fact = (
        f"The layer takes {takes:,} numbers and gives {gives:,}, but each of its {rows:,} rows "
        f"holds {width:,}."
    )
    search = f"Look for nn.Linear({takes}, {gives}): "
    whole = rows * width
    if takes > width and takes % width == 0 and whole % takes == 0:
        parts = f"{takes:,} = {takes // width:,} × {width:,}"
        return fact, f"{search}{parts}, so a flatten(1) before it is probably missing."
    if rows == takes:
        return (
            fact,
            f"{search}the array has {takes:,} as its first size, so it is probably transposed.",
        )
    return (
        fact,
        f"{search}either it becomes nn.Linear({width}, {gives}), or {_before(width, takes)}.",
    )


def _before(width: int, takes: int) -> str:
    """Returns what may be wrong before a linear layer, by what a picture's sizes multiply to.

    >>> _before(9216, 400)
    'what stands before it has other sizes than was thought (9,216 = 256·6·6, 400 = 16·5·5)'
    """
    parts = [f"{n:,} = {found}" for n in (width, takes) if (found := _picture(n))]
    return f"what stands before it has other sizes than was thought{_in_brackets(parts)}"


def _in_brackets(parts: list[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def _picture(n: int) -> str:
    """Returns a number as channels times a square, if it is one; else an empty text."""
    for channels in CHANNELS:
        side = isqrt(n // channels)
        if n == prod((channels, side, side)) and 1 < side < 64:
            return f"{channels}·{side}·{side}"
    return ""


def _place(text: str) -> str:
    """Returns a sentence with the last line of a traceback that is the visitor's own."""
    called = [one for one in CALLED.finditer(text) if not _is_library(one["file"])]
    last = called[-1] if called else next(iter([*CELL.finditer(text)][-1:]), None)
    if last is None:
        return ""
    code = last["code"].strip()
    code = code if len(code) <= CODE else f"{code[:CODE]}…"
    return f" It stops at line {last['line'][:9]}: {code}."


def _is_library(file: str) -> bool:
    return any(part in file for part in LIBRARIES)
