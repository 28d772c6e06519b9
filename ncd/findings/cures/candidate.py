"""An edit that may cure a failure, before it is tried."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ncd.findings.failures.failure import Failure
from ncd.findings.reading.finding import Edit

SIZE_METHODS = ("view", "reshape", "expand", "unflatten", "split", "repeat")  # take sizes
SIZE_OR_AXIS_METHODS = (*SIZE_METHODS, "permute", "transpose")  # take sizes or places of axes
SPACES = ("torch", "F", "nn", "np", "math", "einops")
SHAPE_MAKERS = (
    "zeros",
    "ones",
    "rand",
    "randn",
    "empty",
    "full",
    "new_zeros",
    "new_ones",
    "randint",
)
MAKERS = (*SHAPE_MAKERS, "arange", "linspace", "eye", "tensor")  # of arrays, from numbers


@dataclass(frozen=True)
class Candidate:
    """Edits that may cure a failure.

    ``cost`` orders them: a small one is likely what was meant. ``kind`` says how they were found.
    """

    edits: tuple[Edit, ...]
    cost: float
    kind: str
    changes: Literal["model", "input", "meaning"] = "model"


def replacement_edit(text: str, node: ast.expr, new: str) -> Edit | None:
    """Returns the edit that puts other words in the place of an expression of one line."""
    if node.end_col_offset is None or node.lineno != node.end_lineno:
        return None
    row = text.split("\n")[node.lineno - 1].encode()
    start, end = (len(row[:n].decode()) for n in (node.col_offset, node.end_col_offset))
    return Edit(node.lineno, start, end, new)


def insertion_edit(text: str, line: int, offset: int, new: str) -> Edit:
    """Returns the edit that puts words into a line, behind so many bytes of it."""
    place = len(text.split("\n")[line - 1].encode()[:offset].decode())
    return Edit(line, place, place, new)


def method_edits(text: str, node: ast.expr, move: str) -> tuple[Edit, ...]:
    """Returns the edits that put a method behind an expression, in brackets if it needs them.

    >>> expression = ast.parse("f(a + b)").body[0].value.args[0]
    >>> [(edit.start, edit.new) for edit in method_edits("f(a + b)", expression, ".long()")]
    [(2, '('), (7, ').long()')]
    """
    end = insertion_edit(text, node.end_lineno or node.lineno, node.end_col_offset or 0, move)
    if not isinstance(
        node, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Compare | ast.Lambda | ast.IfExp
    ):
        return (end,)
    begin = insertion_edit(text, node.lineno, node.col_offset, "(")
    return begin, Edit(end.line, end.start, end.end, f"){move}")


def operands(failure: Failure) -> Iterator[ast.expr]:
    """Yields the operands of the failing call."""
    text = failure.trace.text
    for node in _parts(failure.node):
        source = ast.get_source_segment(text, node) or ""
        if isinstance(node, ast.Constant | ast.List | ast.Tuple) or source in SPACES:
            continue
        layer = isinstance(failure.node, ast.Call) and isinstance(failure.node.func, ast.Attribute)
        if source and not (layer and source == "self"):
            yield node


def arrays_of_model_call(failure: Failure) -> list[ast.expr]:
    """Returns what the line of the text that calls the model gives it."""
    run = failure.trace.run_node
    if not isinstance(run, ast.Call) or run is failure.node:
        return []
    return [*run.args, *(word.value for word in run.keywords)]


def maker_calls(failure: Failure, node: ast.expr) -> Iterator[ast.Call]:
    """Yields the calls that may make an array: in its expression, or where its name is set last."""
    places: list[ast.expr] = [node]
    if isinstance(node, ast.Name):
        places = [
            one.value
            for one in ast.walk(failure.trace.tree)
            if isinstance(one, ast.Assign)
            and any(ast.unparse(each) == node.id for each in one.targets)
            and one.lineno <= node.lineno
        ][::-1]
    for place in places:
        yield from (one for one in ast.walk(place) if isinstance(one, ast.Call))


def function_name(call: ast.Call) -> str:
    """Returns the name of the function or method that is called, without what holds it."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _parts(node: ast.AST) -> list[ast.expr]:
    """Returns the expressions of a node that may be arrays: arguments, operands, a subject."""
    if isinstance(node, ast.Call):
        own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if own and isinstance(node.func, ast.Attribute) and node.func.attr in SIZE_OR_AXIS_METHODS:
            return own
        lists = [e for a in node.args if isinstance(a, ast.List | ast.Tuple) for e in a.elts]
        return [*own, *node.args, *lists, *(word.value for word in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.value] if isinstance(node, ast.AugAssign) else []
