"""Cures that change a number of the text, so that the test that failed holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod
from typing import Any

import sympy

from ncd.findings.cures.candidate import Candidate, replacement_edit
from ncd.findings.failures.call_reasons import PAIRS
from ncd.findings.failures.failure import TAKES, Failure, equation
from ncd.findings.reading.finding import Edit
from ncd.findings.reading.traced_numbers import SourceNumber, input_places

LARGEST = 2**20
MIN_COST = 1.0  # cost of any of these edits
SEARCH_RADIUS = 48  # numbers around the present one
RARE = ("kernel_size", "stride", "padding", "dilation", "output_padding")  # seldom the mistake


def number_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields edits of one number, of equal ones in a line, and of all places that must go along."""
    table, test = failure.trace.table, failure.test
    if test is None:
        yield from _literal_edits(failure)
        return
    free = sorted(table.numbers(test.expr), key=str)
    near = near_sizes(failure)
    done = set()
    for symbol in free:
        place = table.places.get(symbol)
        if place is None or place.line == 0:
            continue
        twins = tuple(s for s, p in table.places.items() if _twin(p, place))
        for group in {(symbol,), tuple(s for s in free if s in twins)}:
            for rank, value in enumerate(solutions(failure, group, near)):
                for edits in (
                    *(
                        tuple(_edit(failure, table.places[s], value) for s in together)
                        for together in {group, twins}
                    ),
                    _width_edits(failure, place, value),
                ):
                    key = tuple(sorted(edits))
                    if edits and key not in done:
                        done.add(key)
                        yield _candidate(failure, place, edits, value, rank)


def _literal_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields numbers of the text that are sizes of what failed, as others of these sizes.

    This is what is left where no reading with symbols came to its end.
    """
    tree, near = failure.trace.tree, near_sizes(failure)
    inputs = input_places(tree)
    lines: dict[tuple[int, int], list[ast.Constant]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in near - {1}:
            lines.setdefault((node.lineno, node.value), []).append(node)
    for (_, value), nodes in lines.items():
        own = failure.constructor_call is not None and nodes[0] in ast.walk(
            failure.constructor_call
        )
        given = (nodes[0].lineno, nodes[0].col_offset) in inputs
        for new in sorted(near - {value, 1}, key=lambda n: abs(n - value)):
            for some in (nodes, *([one] for one in nodes if len(nodes) > 1)):
                changed = (replacement_edit(failure.trace.text, one, str(new)) for one in some)
                edits = tuple(edit for edit in changed if edit is not None)
                cost = MIN_COST if own else 4.0 if given else 3.0
                yield Candidate(edits, cost, "written", "input" if given else "model")


def _twin(one: SourceNumber, other: SourceNumber) -> bool:
    return (one.line, one.value) == (other.line, other.value)


def _width_edits(failure: Failure, place: SourceNumber, value: int) -> tuple[Edit, ...]:
    """Returns the edits of all numbers that are equal to a width that heads do not divide.

    So the number of heads stays, and the arrays go along.
    """
    found = equation(failure)
    if found is None or found[0] != "divisible" or place.value != failure.value(found[1]):
        return ()
    equal = [
        node
        for node in ast.walk(failure.trace.tree)
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value == place.value
    ]
    edits = (replacement_edit(failure.trace.text, node, str(value)) for node in equal)
    return tuple(edit for edit in edits if edit is not None)


def _edit(failure: Failure, place: SourceNumber, value: int) -> Edit:
    """Returns the edit of a number; a factor of a name becomes the name if it has the value."""
    row = failure.trace.text.split("\n")[place.line - 1]
    factor = re.search(r"([A-Za-z_]\w*) \* $", row[: place.start])
    places = failure.trace.table.places.values()
    same = factor and any(p.name == factor[1] and p.value == value for p in places)
    return Edit(place.line, place.start, place.end, factor[1] if factor and same else str(value))


def _candidate(
    failure: Failure, place: SourceNumber, edits: tuple[Edit, ...], value: int, rank: int
) -> Candidate:
    made = failure.constructor_call
    own = made is not None and _contains_number(failure, made, place)
    cost = 4.0 if place.is_input else MIN_COST + failure.has_misplaced_axis if own else 3.0
    at_call = place.line == getattr(failure.node, "lineno", 0) and failure.layer is None
    cost = 1.5 if at_call and not place.is_input else cost
    cost += 0.2 * rank + 0.1 * (len(edits) > 1) + 3.5 * (place.name in RARE)
    pair = failure.layer is None and failure.call is not None and failure.call.name in PAIRS
    taken = place.is_input or (own and place.name in TAKES)
    if value == 1 and (pair or not taken):  # a side of 1 meets any other, and so hides the mistake
        return Candidate(edits, cost + 3, "number", "meaning")
    return Candidate(edits, cost, "number", "input" if place.is_input else "model")


def _contains_number(failure: Failure, node: ast.AST, place: SourceNumber) -> bool:
    """Returns whether a number stands in the source of a node."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    row = failure.trace.text.split("\n")[place.line - 1]
    offset = len(row[: place.start].encode())
    start = (first, getattr(node, "col_offset", 0))
    return start <= (place.line, offset) < (last, getattr(node, "end_col_offset", 0))


def near_sizes(failure: Failure) -> set[int]:
    """Returns the sizes at hand: of the arrays, products of neighbours, and sides of the test."""
    found: set[int] = set()
    shapes = [*failure.shapes, *(failure.call.shapes if failure.call else ())]
    for shape in shapes:
        sizes = [failure.value(n) for n in shape]
        for i in range(len(sizes)):
            found |= {prod(sizes[i:j]) for j in range(i + 1, len(sizes) + 1)}
    sides = getattr(failure.test.expr, "args", ()) if failure.test else ()
    found |= {failure.value(a) for a in sides if getattr(a, "is_integer", False)}
    return found


def solutions(failure: Failure, group: tuple[Any, ...], near: set[int]) -> list[int]:
    """Returns the nearest values with which the test comes out the other way."""
    table, test = failure.trace.table, failure.test
    assert test is not None
    if not group:
        return []
    now = table.places[group[0]].value
    tries = (
        near
        | {now + d for d in range(-SEARCH_RADIUS, SEARCH_RADIUS + 1)}
        | {now * k for k in range(2, 9)}
    )
    tries |= {2**k for k in range(1, 12)}
    kind = equation(failure)
    most = 2 if kind is not None and kind[0] == "divisible" else 1
    found: list[int] = []
    for value in sorted(tries, key=lambda n: (abs(n - now), -n)):
        if value < 1 or value == now or value > LARGEST:
            continue
        try:
            answer = table.value_after(test.expr, dict.fromkeys(group, value))
        except (ArithmeticError, AssertionError, TypeError, ValueError):
            continue
        if answer in (sympy.true, sympy.false) and bool(answer) is not test.holds:
            found.append(value)
            if len(found) == most:
                break
    return found
