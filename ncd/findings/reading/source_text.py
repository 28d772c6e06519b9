"""A source as text and as a tree: which node stands in which, its letters, and edits of it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from ncd.findings.reading.finding import Edit, further_argument


class SourceText:
    """A source with its syntax tree.

    Args:
        text: The whole text, whose lines the edits count.
        tree: The tree of it.
    """

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text, self.tree = text, tree
        self.lines = text.split("\n")
        self.nodes = list(ast.walk(tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def enclosing_nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields the nodes around a node, the nearest first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        """Returns the ``def`` around a node."""
        return next(
            (one for one in self.enclosing_nodes(node) if isinstance(one, ast.FunctionDef)), None
        )

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Returns the class around a node."""
        return next(
            (one for one in self.enclosing_nodes(node) if isinstance(one, ast.ClassDef)), None
        )

    def classes(self, name: str) -> list[ast.ClassDef]:
        """Returns the class of a name in the text, then those that it inherits from."""
        found: list[ast.ClassDef] = []
        waiting = [name]
        while waiting:
            wanted = waiting.pop(0)
            for node in self.tree.body:
                if isinstance(node, ast.ClassDef) and node.name == wanted and node not in found:
                    found.append(node)
                    waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
        return found

    def statement(self, node: ast.AST) -> ast.AST:
        """Returns the statement in which a node stands."""
        every = (one for one in (node, *self.enclosing_nodes(node)) if isinstance(one, ast.stmt))
        return next(every, node)

    def letters(self, node: ast.AST) -> str:
        """Returns the letters of a node."""
        return ast.get_source_segment(self.text, node) or ""

    def start(self, node: ast.AST) -> tuple[int, int]:
        """Returns the line of a node, and the letters before it."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return line, self._letters(line, column)

    def end(self, node: ast.AST) -> tuple[int, int]:
        """Returns the line on which a node ends, and the letters before its end."""
        line = getattr(node, "end_lineno", None) or 1
        return line, self._letters(line, getattr(node, "end_col_offset", None) or 0)

    def _letters(self, line: int, column: int) -> int:
        """Returns how many letters the first bytes of a line are."""
        row = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(row.encode()[:column].decode(errors="ignore"))

    def node_edits(self, node: ast.AST, new: str) -> tuple[Edit, ...]:
        """Returns the edits that put something in the place of a node."""
        return self.range_edits(self.start(node), self.end(node), new)

    def range_edits(
        self, start: tuple[int, int], end: tuple[int, int], new: str
    ) -> tuple[Edit, ...]:
        """Returns the edits that put something in the place of a stretch of text."""
        if start[0] == end[0]:
            return (Edit(start[0], start[1], end[1], new),)
        first = Edit(start[0], start[1], len(self.lines[start[0] - 1]), new)
        inner = (Edit(n, 0, len(self.lines[n - 1]), "") for n in range(start[0] + 1, end[0]))
        return (first, *inner, Edit(end[0], 0, end[1], ""))

    def wrapping_edits(self, node: ast.AST, before: str, after: str) -> tuple[Edit, ...]:
        """Returns the edits that put something before and after a node."""
        (first, left), (last, right) = self.start(node), self.end(node)
        return (Edit(first, left, left, before), Edit(last, right, right, after))

    def argument(self, call: ast.Call, name: str, new: str) -> tuple[Edit, ...]:
        """Returns the edit that gives a call an argument by name, or another value for it."""
        for word in call.keywords:
            if word.arg == name:
                return self.node_edits(word.value, new)
        return (further_argument(self.text, call, f"{name}={new}"),)

    def remarks(self) -> list[tuple[int, str]]:
        """Returns the comments, docstrings and annotations that are text, with their lines."""
        found = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT or (
                    token.type == tokenize.STRING and ("\n" in token.string or "[" in token.line)
                ):
                    found.append((token.start[0], token.string))
        except (tokenize.TokenError, IndentationError, SyntaxError):
            pass  # a last line with a shape is no Python
        return found


def called_name(node: ast.AST) -> str:
    """Returns the last name of what a call calls: ``Linear`` for ``nn.Linear(3, 4)``."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
