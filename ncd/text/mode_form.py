"""The line of a source that sets the mode of its module, as a form."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ncd.text.call_form import CallForm, Field, ModuleCall, parts
from ncd.text.line_places import Offsets, Place
from ncd.text.shape_lines import shape_line


def mode_form(text: str, call: ModuleCall) -> CallForm | None:
    """Returns the line that sets the mode of the module, where the last line does not call it.

    It is ``net.eval()``, or else the line that makes the module; None if there is neither, or the
    mode changes nothing.

    >>> call = ModuleCall(drawn="Net", modes="In training dropout sets 10% of the numbers to 0.")
    >>> form = mode_form("net = Net()\\ny = net(x)\\nprint(y)", call)
    >>> form.parts[0], form.fields[0].options
    ('net = Net()', (('training', ''), ('evaluation', '.eval()')))
    """
    if not call.modes:
        return None
    try:
        body = ast.parse(shape_line(text)[0]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    statements = [*_statements(body)]
    sets = [each for each in statements if _sets_mode(each)]
    makes = [each for each in statements if isinstance(each, ast.Assign)]
    for each in (*reversed(sets), *reversed(makes)):
        first, last = each.lineno, each.end_lineno or each.lineno
        line = "\n".join(text.split("\n")[first - 1 : last])
        alone = line[: each.col_offset].isspace() or not each.col_offset
        places = [*_made(each, line, call.drawn)] if alone else []
        if places:
            made = parts(line, places[:1], call)
            return CallForm(
                first, last, tuple(_kept(part) if each in sets else part for part in made)
            )
    return None


def _kept(part: str | Field) -> str | Field:
    """Returns a part of a line that does nothing but set the mode, so that it goes on to do so."""
    if isinstance(part, str):
        return part
    return replace(part, options=tuple((name, value or ".train()") for name, value in part.options))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements outside of classes and functions."""
    for each in body:
        if not isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
            yield from _statements(getattr(each, "body", []))


def _sets_mode(node: ast.stmt) -> bool:
    """Returns whether a statement is ``net.eval()`` or ``net.train()``."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Call) and _of_mode(value) and not value.args


def _of_mode(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("eval", "train")


def _made(node: ast.stmt, line: str, drawn: str) -> Iterator[Place]:
    """Yields the place of the mode in a line: behind the call that makes the module, or a name."""
    offset = Offsets(line, len(line) - len(line.lstrip()), node.lineno - 1, node.col_offset)
    for each in ast.walk(node):
        if not isinstance(each, ast.Call):
            continue
        if _of_mode(each) and not each.args and isinstance(each.func, ast.Attribute):
            yield Place(offset.end(each.func.value), offset.end(each), "mode", "mode")
        elif isinstance(each.func, ast.Name) and each.func.id == drawn:
            yield Place(offset.end(each), offset.end(each), "mode", "mode")
