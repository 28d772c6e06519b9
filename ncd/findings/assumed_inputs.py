"""Reads a source that gives no input: with the one that the reader assumes, or one that fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy
from torch.utils._pytree import tree_leaves

from ncd.findings.cures.number_edits import near_sizes, solutions
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.reading.source_trace import Trace
from ncd.pytorch_source.usual.assumptions import OTHER, unfit

TOKENS = "1x16"  # a batch and its length
TURNS = 3  # sizes that are fitted
RANK = 3  # of inputs whose sizes are fitted; for a picture the reader tries the usual ones


def plain_reading(text: str, deadline: float) -> Trace:
    """Returns a reading with plain numbers, whose failure is not that of an assumed input.

    Args:
        text: The source.
        deadline: When it gives up, in seconds of computing.
    """
    trace = Trace(text, False, deadline).read()
    failure = failure_of(trace) if trace.assumed else None
    if failure is not None and failure.call is not None and failure.call.name == "embedding":
        rows = failure.value(failure.call.shapes[-1][0])
        trace = Trace(text, False, deadline, f"{TOKENS}#{rows}").read()
    for _ in range(TURNS):
        shapes = trace.assumed or trace.shapes
        if trace.error is None or not shapes or "," in shapes or shapes.count("x") >= RANK:
            break
        again = _fitted(text, shapes, deadline)
        if again is None or again.message == trace.message:
            break
        trace = again
    return trace


def with_assumption(failure: Failure, plain: Trace, reason: str) -> str:
    """Returns the reason of a failure; first that what is assumed does not fit, if it rests on it.

    Args:
        failure: The failure.
        plain: The reading with plain numbers, which knows what is assumed.
        reason: Why it fails.
    """
    taken, table = plain.machine.taken, failure.trace.table
    if not (plain.assumed or taken):
        return reason
    sure = failure.trace.symbolic and failure.test is not None
    inputs, sizes = plain.assumed, taken
    if sure and failure.test is not None:
        of_input = [table.places.get(one) for one in table.numbers(failure.test.expr)]
        inputs = inputs if any(one and not one.line for one in of_input) else ""
        plainly = {int(one) for one in failure.test.expr.atoms(sympy.Integer)}
        sizes = {name: given for name, given in taken.items() if plainly & {*_numbers(given)}}
    words = unfit(inputs, sizes, sure)
    return f"{words[:1].upper()}{words[1:]}: {reason} Try {OTHER}." if words else reason


def _numbers(given: Mapping[str, Any]) -> Iterator[int]:
    """Yields the whole numbers among some values, and those in their lists."""
    for value in given.values():
        yield from (n for n in tree_leaves(value) if type(n) is int)


def _fitted(text: str, shapes: str, deadline: float) -> Trace | None:
    """Returns a reading with another size of the assumed input, if one may fit."""
    failure = failure_of(Trace(text, True, deadline, shapes).read())
    if failure is None or failure.test is None:
        return None
    table = failure.trace.table
    for symbol in sorted(table.numbers(failure.test.expr), key=str):
        place = table.places.get(symbol)
        if place is None or place.line:
            continue
        for value in solutions(failure, (symbol,), near_sizes(failure))[:1]:
            return Trace(text, False, deadline, _with(shapes, place.start, value)).read()
    return None


def _with(shapes: str, index: int, value: int) -> str:
    """Returns a shape with another size at a place.

    >>> _with("1x16#50", 1, 12)
    '1x12#50'
    """
    sizes, hash_sign, rows = shapes.partition("#")
    numbers = sizes.split("x")
    numbers[index] = str(value)
    return "x".join(numbers) + hash_sign + rows
