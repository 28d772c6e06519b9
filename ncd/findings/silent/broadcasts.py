"""A column against a row: (N, 1) and (N) that become N × N."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ncd.findings.failures.call_reasons import DISTANCES
from ncd.findings.reading.call_recorder import Call
from ncd.findings.silent.model_runs import Run, Shape, line_of, shapes
from ncd.findings.silent.silent_source import Attempt, Fault, Source

DIFFERENCES = ("sub", "rsub", "__sub__", "__rsub__", "sub_", "subtract")
MEANT = ("unsqueeze", "arange", "view", "reshape", "expand", "transpose", "t")


def grown_pairs(source: Source) -> Iterator[Fault]:
    """Yields the calls on a column and a row of as many numbers, whose result is a square."""
    for run in source.all_runs:
        for call in run.calls:
            loss = call.name in DISTANCES
            if (not loss and call.name not in DIFFERENCES) or len(call.takes) < 2:
                continue
            pair = shapes(call.takes[:2])
            column = int(len(pair[1]) > len(pair[0]))
            if not _meets(pair[column], pair[1 - column]):
                continue
            made, other = (_maker(run, call.takes[i]) for i in (column, 1 - column))
            counts = other is not None and other.name == "arange"
            real = all(one.is_floating_point() for one in call.takes[:2])
            if not loss and (_spread(made) or counts or not real):
                continue
            yield _fault(source, call, pair, column)


def _meets(wide: Shape, flat: Shape) -> bool:
    """Returns whether shapes are (N, 1) and (N)."""
    return len(wide) == 2 and len(flat) == 1 and wide == (flat[0], 1) and flat[0] > 1


def _maker(run: Run, value: object) -> Call | None:
    """Returns the call that made an array, before those of one array that keep its shape."""
    maker = run.maker(value)
    while (
        maker is not None and len(maker.takes) == 1 and shapes(maker.gives) == shapes(maker.takes)
    ):
        maker = run.maker(maker.takes[0])
    return maker


def _spread(maker: Call | None) -> bool:
    """Returns whether an axis of an array was added or kept on purpose."""
    if maker is None:
        return False
    if maker.name == "__getitem__":
        index = maker.words.get(1)
        return index is None or (isinstance(index, tuple) and None in index)
    return maker.name in MEANT or maker.words.get("keepdim") is True


def _fault(source: Source, call: Call, pair: tuple[Shape, ...], column: int) -> Fault:
    a, b = ("(" + ", ".join(map(str, one)) + ")" for one in pair)
    n = pair[column][0]
    each = "each number of one against all of the other"
    says = f"{a} and {b} give {n} × {n}: {each}, where {n} pairs are meant."
    node = call.node
    line = line_of(node)
    operands = _operands(node)
    if operands is None:
        return Fault(line, call.path, says)
    text = source.source
    place = operands[column]
    plain = isinstance(place, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    edits = text.around(place, "" if plain else "(", ".squeeze(-1)" if plain else ").squeeze(-1)")
    edits = edits if not plain else edits[1:]
    return Fault(line, call.path, says, (Attempt(edits),))


def _operands(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Returns the two arrays that a node combines, as they stand in the source."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        return node.args[0], node.args[1]
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None
