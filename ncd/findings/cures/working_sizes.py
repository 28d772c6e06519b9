"""Sizes of an input with which a source would run, where one has to be divisible by a number."""

from __future__ import annotations

import time
from typing import Any

import sympy

from ncd.findings.cures.cure_search import read_again, works
from ncd.findings.failures.failure import Failure
from ncd.findings.reading.finding import Edit, apply_edits
from ncd.findings.reading.traced_numbers import SourceNumber

SPAN = 2048  # sizes below the present one that are looked at for a step, and twice as many above
DOUBLINGS = 6  # of the step that the failing test asks for, as later tests may ask for more


def working_sizes(failure: Failure, deadline: float) -> str:
    """Returns the sentence about the sizes that work, as reading them shows; else nothing.

    Args:
        failure: The failure, of a reading with symbols.
        deadline: When it stops reading, in seconds of computing.
    """
    test, table = failure.test, failure.trace.table
    for symbol in sorted(table.numbers(test.expr), key=str) if test is not None else ():
        place = table.places.get(symbol)
        if place is None or not place.is_input or place.value < 3 or not place.line:
            continue
        least = _step(failure, symbol, place.value, deadline)
        for step in [least * 2**k for k in range(DOUBLINGS)] if least > 1 else ():
            if time.process_time() > deadline:
                break
            near = [n for n in (place.value // step * step, -(-place.value // step) * step) if n]
            sizes = {*near, *_neighbours(place.value, step)}
            if all(_runs(failure, place, size, deadline) for size in sorted(sizes)):
                name = place.name or "size of the input"
                words = " or ".join(map(str, near))
                return f"It works where the {name} is divisible by {step}, such as {words}."
    return ""


def _step(failure: Failure, symbol: Any, value: int, deadline: float) -> int:
    """Returns the number of which all sizes are multiples that pass the failing test; else 0."""
    span, good = min(value, SPAN), []
    for n in range(max(2, value - span), value + 2 * span):
        if time.process_time() > deadline:
            return 0
        if _holds(failure, symbol, n):
            good.append(n)
    step = good[1] - good[0] if len(good) > 2 else 0
    regular = step > 1 and all(n % step == 0 for n in good)
    return step if regular and len(good) >= 3 * span // step - 2 else 0


def _holds(failure: Failure, symbol: Any, value: int) -> bool:
    assert failure.test is not None
    try:
        answer = failure.trace.table.value_after(failure.test.expr, {symbol: value})
    except (ArithmeticError, AssertionError, TypeError, ValueError):
        return False
    return answer in (sympy.true, sympy.false) and bool(answer) is not failure.test.holds


def _neighbours(value: int, step: int) -> list[int]:
    """Returns the next odd multiples of a step: those that no larger power of 2 explains.

    >>> _neighbours(161, 8), _neighbours(30, 16)
    ([152, 168], [16, 48])
    """
    below = (value // step - 1) // 2 * 2 + 1
    return [n * step for n in (below, below + 2) if n > 0]


def _runs(failure: Failure, place: SourceNumber, size: int, deadline: float) -> bool:
    """Returns whether the source runs with another size of the input, and all that equal it."""
    places = failure.trace.table.places.values()
    twins = [p for p in places if (p.line, p.value, p.is_input) == (place.line, place.value, True)]
    edits = tuple(Edit(p.line, p.start, p.end, str(size)) for p in sorted(set(twins)))
    again = read_again(apply_edits(failure.trace.text, edits), failure.trace, deadline)
    return works(again, failure.trace, edits)
