"""Errors in a visitor's source, with their positions."""

from __future__ import annotations

import ast

from ncd.lang.errors import readable
from ncd.text.reader import TextError

LETTERS = 300  # of a message of torch


class Raised(Exception):
    """An error that the source, or a function called by it, raises; the source may catch it."""

    def __init__(self, error: BaseException, node: ast.AST) -> None:
        super().__init__(str(error))
        self.error, self.node = error, node


class Stopped(TextError):
    """An exceeded limit; it ends the reading, and the source cannot catch it."""


class NotKnown(TextError):
    """The use of a value that comes from elsewhere, such as a file."""


class LayerStops(TextError):
    """A layer of torch that stops on the array that it is given."""


class WrongArguments(TextError, TypeError):
    """A call with arguments that do not fit; the source may catch it, as Python's TypeError."""


def error_at(
    node: ast.AST, fact: str, cure: str = "", kind: type[TextError] = TextError
) -> TextError:
    """Returns an error at the position of a node."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = (getattr(node, "end_lineno", 0) or line, getattr(node, "end_col_offset", 0) or column)
    return kind(fact, line, column + 1, (end[0], end[1] + 1), cure)


def told(raised: Raised) -> TextError:
    """Returns the error that is shown to the visitor for an error raised by the source."""
    if isinstance(raised.error, TextError):
        return raised.error
    lines = [line.strip() for line in str(raised.error).splitlines() if line.strip()]
    words = readable(lines[0], LETTERS) if lines else ""
    name = type(raised.error).__name__
    return error_at(raised.node, f"{name}: {words}" if words else name)
