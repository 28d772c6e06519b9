"""Interprets a text line by line; lines outside of classes that it cannot read are skipped."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator

from torch import nn

from ncd.pytorch_source.base.machine import STEPS, Machine
from ncd.pytorch_source.base.source_errors import NotKnown, Raised, Stopped, error_at
from ncd.pytorch_source.base.source_values import ClassValue, Scope, Unknown
from ncd.pytorch_source.function_values import Left, Returned
from ncd.text.text_errors import TextError

MAIN = ("__name__ == '__main__'", "'__main__' == __name__")
ASIDE = 100_000  # steps of a line that defines nothing


def run_lines(machine: Machine, tree: ast.Module, scope: Scope) -> None:
    """Interprets the whole text; unsupported lines outside classes are skipped."""
    first: Exception | None = None
    ran = 0

    def run(node: ast.stmt) -> None:
        nonlocal ran
        ran = len(machine.ran)
        _line(machine, node, scope)
        if isinstance(node, ast.If):
            _take_branch(machine, node, scope)

    for node, error in skipped_lines(tree, scope, run):
        first = first or error
        machine.left_out.append(node.lineno)
        del machine.ran[ran:]
        if machine.modules:
            gc.collect()  # those that the line has made
    if first is not None and not machine.ran and not _has_class(scope):
        raise first


def _take_branch(machine: Machine, node: ast.If, scope: Scope) -> None:
    """Sets the numbers that only branches set that do not run, as the first of them does.

    Which one runs depends on a choice that is not made, such as the name of a data set.
    """
    for part in ast.walk(node):
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Constant):
            continue
        value = part.value.value
        for target in part.targets:
            known = not isinstance(target, ast.Name) or target.id in scope.names
            if not known and type(value) in (int, float):
                scope.names[target.id] = value  # type: ignore[attr-defined]
                machine.presumed[target.id] = repr(value)  # type: ignore[attr-defined]


def skipped_lines(
    tree: ast.Module, scope: Scope, run: Callable[[ast.stmt], None]
) -> Iterator[tuple[ast.stmt, Exception]]:
    """Runs the lines of a text in order; yields those that fail and stand apart, with the error.

    What such a line would set is unknown afterwards.
    """
    for node in lines_of(tree):
        try:
            run(node)
        except (Raised, TextError) as error:
            if not stands_apart(node, error):
                raise
            failed = error.with_traceback(None)  # else it would hold all values
        else:
            continue
        forget(node, scope)
        yield node, failed


def lines_of(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yields the statements of a text, also those that it runs only as a script.

    >>> tree = ast.parse("a = 1\\nif __name__ == '__main__':\\n    b = 2\\n    c = 3")
    >>> [ast.unparse(each) for each in lines_of(tree)]
    ['a = 1', 'b = 2', 'c = 3']
    """
    for node in tree.body:
        script = isinstance(node, ast.If) and ast.unparse(node.test) in MAIN
        yield from node.body if script else (node,)  # type: ignore[attr-defined]


def stands_apart(node: ast.stmt, error: Raised | TextError) -> bool:
    """Returns whether a text may go on without a line that fails: it makes no module."""
    aside = isinstance(node, ast.Expr | ast.If) and isinstance(error, Stopped | NotKnown)
    return aside or not (isinstance(error, Stopped) or getattr(error, "inside", False))


def _line(machine: Machine, node: ast.stmt, scope: Scope) -> None:
    """Interprets a top-level line."""
    try:
        with machine.aside(ASIDE if isinstance(node, ast.Expr | ast.If) else STEPS):
            machine.run([node], scope)
    except (Returned, Left):
        raise error_at(node, "it stands outside of a function or a loop") from None


def forget(node: ast.stmt, scope: Scope) -> None:
    """Marks the names that a line would set as unknown."""
    why = f"line {node.lineno} is not understood"
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            scope.names.setdefault(part.id, Unknown(part.id, why))
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        scope.names[node.name] = Unknown(node.name, why)


def _has_class(scope: Scope) -> bool:
    """Returns whether a source defines or creates a module."""
    return any(
        isinstance(value, nn.Module) or (isinstance(value, ClassValue) and value.is_module)
        for value in scope.names.values()
    )
