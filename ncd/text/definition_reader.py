"""Reads a definition, a function of named arrays, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ncd.lang.circuits.definition import Definition, NamedArray
from ncd.lang.circuits.elaborate import Axes
from ncd.lang.errors import NCDError, shown
from ncd.lang.terms.terms import Term
from ncd.text.text_errors import TextError, error_at, unknown_at

HEAD = 'def attention(q: "y k", k: "x k"):'
LINE = 'scores = Einsum("y k, x k -> y x")(q, k)'


class Terms(Protocol):
    """Reads the terms that a definition calls."""

    known: dict[str, Any]

    def value(self, node: ast.expr) -> Any:
        """Returns the value of a syntax node."""

    def term(self, node: ast.expr) -> Term:
        """Returns the term of a syntax node."""


def defined(node: ast.FunctionDef, terms: Terms) -> Term:
    """Returns the term that a definition describes.

    Args:
        node: The syntax tree of the function.
        terms: The reader of the terms that it calls.

    Raises:
        TextError: For what a definition does not have, at its place.

    >>> from ncd.text import parse
    >>> str(parse('def f(x: "t m"):\\n    return Linear("m -> k", "W")(x)').cod)
    't k'
    """
    sizes = _sizes(node, terms)
    with _at(node):
        body = _Body(Definition(dict(_inputs(node))), terms)
    lines = [line for line in node.body if not _is_text(line)]
    for line in lines[:-1]:
        body.line(line)
    if not lines or not isinstance(lines[-1], ast.Return) or lines[-1].value is None:
        raise error_at("a definition ends with what it returns", node.body[-1], "return x")
    last = lines[-1]
    assert last.value is not None
    outputs = body.arrays(last.value)
    with _at(last):
        term = body.own.term(outputs)
    with _at(node):
        return Axes(**sizes)(term) if sizes else term


def _is_text(line: ast.stmt) -> bool:
    """Returns whether a line is only a string, such as a docstring."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _sizes(node: ast.FunctionDef, terms: Terms) -> dict[str, Any]:
    """Returns the sizes given in the decorator, if it has any."""
    found: dict[str, Any] = {}
    for mark in node.decorator_list:
        call = mark.func if isinstance(mark, ast.Call) else mark
        if ast.unparse(call) not in ("define", "ncd.define") or found:
            raise error_at("the only decorator is define", mark, "@define(t=seq(12), m=64)")
        for word in mark.keywords if isinstance(mark, ast.Call) else ():
            found[str(word.arg)] = terms.value(word.value)
    return found


def _inputs(node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yields the name and the axes of each input."""
    own = node.args
    if own.vararg or own.kwarg or own.kwonlyargs or own.posonlyargs or own.defaults:
        raise error_at("inputs are names with axes", node, HEAD)
    for one in own.args:
        axes = one.annotation
        if not isinstance(axes, ast.Constant) or not isinstance(axes.value, str):
            raise error_at(f"{one.arg} has no axes", one, f'{one.arg}: "t m"')
        yield one.arg, axes.value


class _Body:
    """Reads the lines of a definition; ``names`` maps variable names to arrays."""

    def __init__(self, own: Definition, terms: Terms) -> None:
        self.own, self.terms = own, terms
        self.names: dict[str, NamedArray] = dict(own.inputs)

    def line(self, line: ast.stmt) -> None:
        """Reads a line ``a, b = term(x)``."""
        if not isinstance(line, ast.Assign) or len(line.targets) != 1:
            raise error_at("a line is names = term(arrays)", line, LINE)
        target = line.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        made = self.arrays(line.value)
        if len(made) != len(targets):
            fact = f"there are {len(targets)} names for {len(made)} arrays"
            raise error_at(fact, target, ", ".join("abcdefgh"[: len(made)]))
        for name, array in zip(targets, made, strict=True):
            if not isinstance(name, ast.Name):
                raise error_at("arrays are given to names", name, LINE)
            self.names[name.id] = array

    def arrays(self, node: ast.expr) -> tuple[NamedArray, ...]:
        """Returns the arrays at a node: a name, several of them, or a term that is called."""
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise unknown_at("no array", node.id, self.names, node)
            return (self.names[node.id],)
        if isinstance(node, ast.Tuple):
            return tuple(array for item in node.elts for array in self.arrays(item))
        if not isinstance(node, ast.Call) or node.keywords:
            raise error_at(f"{shown(ast.unparse(node))} is no term on arrays", node, LINE)
        if isinstance(node.func, ast.Name) and node.func.id not in self.terms.known:
            self.terms.value(node)  # which names an op that is not known
            raise error_at(f"{node.func.id} stands here without its arrays", node, LINE)
        term = self.terms.term(node.func)
        given = tuple(array for item in node.args for array in self.arrays(item))
        with _at(node):
            made = self.own.call(term, given)
        return made if isinstance(made, tuple) else (made,)


@contextmanager
def _at(node: ast.AST) -> Iterator[None]:
    """Adds the position of a syntax node to errors raised inside the ``with`` block."""
    try:
        yield
    except TextError:
        raise
    except NCDError as error:
        where = f"{error.where}: " if error.where else ""
        raise error_at(f"{where}{error.fact}", node, error.cure) from None
    except TypeError as error:
        raise error_at(str(error), node, "other sizes") from None
