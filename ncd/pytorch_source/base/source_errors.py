"""Errors of a visitor's source, with their places."""

from __future__ import annotations

import ast

from ncd.lang.errors import readable
from ncd.text.reader import TextError

LETTERS = 300  # of a message of torch


class Raised(Exception):
    """An error that the source raises itself, or a function that it calls; it may catch it."""

    def __init__(self, error: BaseException, node: ast.AST) -> None:
        super().__init__(str(error))
        self.error, self.node = error, node


class Stopped(TextError):
    """A bound that the source exceeds; it ends the reading, wherever it occurs."""


def error_at(
    node: ast.AST, fact: str, cure: str = "", kind: type[TextError] = TextError
) -> TextError:
    """Returns an error at the place of a node."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return kind(fact, line, column + 1, (end[0], end[1] + 1), cure)


def told(raised: Raised) -> TextError:
    """Returns the error that a visitor is shown for one that the source raises."""
    if isinstance(raised.error, TextError):
        return raised.error
    lines = [line.strip() for line in str(raised.error).splitlines() if line.strip()]
    words = readable(lines[0], LETTERS) if lines else ""
    name = type(raised.error).__name__
    return error_at(raised.node, f"{name}: {words}" if words else name)
