"""Checks of what a fused loop is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.lang.errors import MismatchError, ParseError, SizeError, shown
from ncd.lang.terms.arguments import check_formats


def checked_cuts(
    grouped: object, streamed: object, budget: object, formats: object
) -> tuple[str, int]:
    """Returns the streamed axis and its tile; raises NCDError for what has another form."""
    if not isinstance(grouped, Mapping):
        raise _wrong("grouped", grouped, "the size of a group for each axis", 'grouped={"y": 4}')
    pair = ("", 1) if streamed is None else streamed
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _wrong("streamed", streamed, "an axis and a tile of it", 'streamed=("x", 4)')
    for name, size in (*grouped.items(), pair):
        if not isinstance(name, str):
            raise _wrong("an axis", name, "text", '"x"')
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            fact = f"a tile of {name} has size {shown(size)}"
            raise SizeError(fact, cure=f"{name} = 1", axis=name)
    if pair[0] in grouped:
        fact = f"the axis {pair[0]} is grouped and streamed, and its tiles are cut in one way"
        raise MismatchError(fact, where="stream", cure="one of the two")
    if budget is not None:
        check_budget(budget, "stream")
    check_formats(formats, "stream")
    return pair[0], pair[1]


def check_budget(budget: object, where: str) -> None:
    """Raises SizeError for an amount of fast memory that is no whole number of bytes."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        fact = f"the budget is {shown(budget)}, but it is a whole number of bytes"
        raise SizeError(fact, where=where, cure="budget=100_000")


def _wrong(name: str, value: object, form: str, cure: str) -> ParseError:
    return ParseError(f"{name} is {shown(value)}, but it is {form}", where="stream", cure=cure)
