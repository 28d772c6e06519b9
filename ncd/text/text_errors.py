"""Errors in a text, with their positions."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ncd.lang.errors import ParseError, shown
from ncd.lang.near_names import nearest_name
from ncd.text.call_form import ModuleCall

SYNTAX = {  # what Python says, in other words
    "invalid syntax": "the text is no code from here on",
    "invalid decimal literal": "a number and a word stand together here",
    "invalid imaginary literal": "a number and a word stand together here",
    "invalid hexadecimal literal": "a number and a word stand together here",
}
_LOOP = "a list that a loop makes"
PARTS: dict[type[ast.AST], str] = {
    ast.Attribute: "a name behind a dot",
    ast.Subscript: "a part in square brackets",
    ast.Lambda: "a function without a name",
    ast.IfExp: "a choice by if and else",
    ast.Compare: "a comparison",
    ast.BoolOp: "and, or",
    ast.UnaryOp: "a sign before a part",
    ast.JoinedStr: "a text with values in it",
    ast.Starred: "a starred part",
    ast.NamedExpr: "a name that is given a value within a line",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.AsyncFunctionDef: "an asynchronous function",
    ast.AsyncFor: "an asynchronous loop",
    ast.AsyncWith: "an asynchronous block",
    ast.Match: "match",
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _LOOP),
    **dict.fromkeys((ast.Dict, ast.Set), "what stands in curly brackets"),
}


class TextError(ParseError):
    """A text that is not a term, with the position of the error.

    Args:
        fact: The fault.
        line: The line of its beginning, from 1.
        column: The column of its beginning, from 1.
        end: The line and the column behind its end.
        cure: A text that would work.
        call: The last line that is missing, with blanks for what is not known.

    Source: Python's SyntaxError.

    >>> import ncd
    >>> ncd.parse("Coppy('m')")
    Traceback (most recent call last):
    ncd.text.text_errors.TextError: line 1, column 1: there is no op 'Coppy'. Try Copy.
    """

    def __init__(
        self,
        fact: str,
        line: int,
        column: int,
        end: tuple[int, int] = (0, 0),
        cure: str = "",
        call: ModuleCall | None = None,
    ) -> None:
        super().__init__(fact, cure=cure, where=f"line {line}, column {column}")
        self.line, self.column, self.end, self.call = line, column, end, call


def error_at(fact: str, node: ast.AST, cure: str = "") -> TextError:
    """Returns an error at the position of a syntax node."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = (
        getattr(node, "end_lineno", None) or line,
        getattr(node, "end_col_offset", None) or column,
    )
    return TextError(fact, line, column + 1, (end[0], end[1] + 1), cure)


def syntax_error(error: SyntaxError, cure: str) -> TextError:
    """Returns the error for a text that Python's grammar does not have, in words for its reader."""
    line, column = error.lineno or 1, max(1, error.offset or 1)
    end = (error.end_lineno or line, error.end_offset or column)
    return TextError(SYNTAX.get(error.msg, error.msg), line, column, end, cure)


def spoken(node: ast.AST) -> str:
    """Returns what a part of a text is, in words for its reader.

    >>> spoken(ast.parse("lambda x: x").body[0].value)
    'a function without a name'
    """
    return PARTS.get(type(node), "this")


def unknown_at(
    what: str, name: str, known: Collection[str], node: ast.AST, otherwise: str | None = None
) -> TextError:
    """Returns the error for an unknown name, with the known one that was probably meant."""
    what = f"there is {what}" if what.startswith("no") else what
    return error_at(f"{what} {shown(name)}", node, nearest_name(name, sorted(known), otherwise))
