"""Errors in a text, with their positions."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ncd.lang.errors import ParseError, nearest_name, shown


class TextError(ParseError):
    """A text that is not a term, with the position of the error.

    Args:
        fact: The fault.
        line: The line of its beginning, from 1.
        column: The column of its beginning, from 1.
        end: The line and the column behind its end.
        cure: A text that would work.

    Source: Python's SyntaxError.

    >>> import ncd
    >>> ncd.parse("Coppy('m')")
    Traceback (most recent call last):
    ncd.text.text_errors.TextError: line 1, column 1: there is no op 'Coppy'. Try Copy.
    """

    def __init__(
        self, fact: str, line: int, column: int, end: tuple[int, int] = (0, 0), cure: str = ""
    ) -> None:
        super().__init__(fact, cure=cure, where=f"line {line}, column {column}")
        self.line, self.column, self.end = line, column, end


def error_at(fact: str, node: ast.AST, cure: str = "") -> TextError:
    """Returns an error at the position of a syntax node."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return TextError(fact, line, column + 1, (end[0], end[1] + 1), cure)


def unknown_at(what: str, name: str, known: Collection[str], node: ast.AST) -> TextError:
    """Returns the error for an unknown name, with the most similar known one."""
    what = f"there is {what}" if what.startswith("no") else what
    return error_at(f"{what} {shown(name)}", node, nearest_name(name, sorted(known)))
