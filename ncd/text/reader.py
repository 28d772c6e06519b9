"""Reads a term from text in the language's Python notation, without evaluating anything.

Python's ``ast`` parses the text, and every kind of node that the language has is read by one method
here. Ops and structures are looked up by name in the catalogue, as in JSON.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import signature
from typing import Any, TypeVar

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.errors import NCDError, shown
from ncd.lang.terms.arguments import check_text
from ncd.lang.terms.terms import DEPTH, Beside, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.lang.types.axis_kinds import plain, seq, space
from ncd.serial import KINDS
from ncd.text.definition_reader import defined
from ncd.text.text_errors import TextError, error_at, spoken, syntax_error, unknown_at

LONGEST = 30_000  # letters of a text
NODES = 20_000  # parts of a text, such as names and calls
OPS, PARTS = 2_000, 8_000  # of a term: ops, and ops with all structures around them
COPIES = 200  # terms that ``(layer,) * n`` gives
EXAMPLE = 'a term, such as Linear("m:128 -> k:16", "Q") >> Softmax("k")'
PYTORCH = "a layer of PyTorch, such as nn.Linear(8, 3)(torch.randn(2, 8)), or a whole class"
SIZES: Mapping[str, Callable[..., Any]] = {"seq": seq, "space": space, "plain": plain}
PARSED: Mapping[str, Callable[[str], Any]] = {
    "Type.parse": Type.parse,
    "Array.parse": Array.parse,
    "Signature.parse": Signature.parse,
}
NAMES: Mapping[str, Callable[..., Any]] = {**KINDS, **SIZES, **PARSED, "Axes": Axes}
Values = Mapping[str, Any]
R = TypeVar("R")


def parse(text: str) -> Term:
    """Returns the term that a text describes.

    The text is as in Python: ``>>`` and ``@`` between ops of the catalogue, or a definition as of
    :func:`ncd.define`. Lines before the last one may name parts:
    ``layer = Linear("m -> m", "W") >> Elementwise("relu")``.

    Args:
        text: The text, at most 30,000 letters.

    Raises:
        TextError: For text that is no term, with line, column and cure.
        ParseError: For something that is no text.

    Source: this project's own notation: ``parse(repr(term)) == term``.

    >>> term = parse('q = Linear("m -> k", "Q")\\nAxes(y=seq(20), m=128, k=16)(Id("y m") >> q)')
    >>> str(term.dom.spec), str(term.cod.spec)
    ('~y:20 m:128', '~y:20 k:16')
    """
    check_text(text, "text", "parse")
    if len(text) > LONGEST:
        raise TextError(f"it has {len(text):,} letters, at most {LONGEST:,} are read", 1, 1)
    lines = _tree(text).body
    if not lines:
        raise TextError("there is no term", 1, 1, cure=EXAMPLE)
    reader = Reader()
    for line in lines[:-1]:
        reader.name(line)
    last = lines[-1]
    if isinstance(last, ast.FunctionDef):
        return reader.definition(last)
    if not isinstance(last, ast.Expr):
        raise error_at("the last line is a term", last, EXAMPLE)
    return reader.term(last.value)


def _tree(text: str) -> ast.Module:
    """Returns Python's syntax tree of a text; a chain may continue on further lines."""
    try:
        tree = _loose(text)
    except SyntaxError as error:
        raise syntax_error(error, EXAMPLE) from None
    except (ValueError, RecursionError, MemoryError):
        raise TextError("it is nested too deep, or holds a letter that no text has", 1, 1) from None
    for count, node in enumerate(ast.walk(tree), 1):
        if count > NODES:
            raise error_at(f"it has more than {NODES:,} parts", node, "a shorter text")
    return tree


def _loose(text: str) -> ast.Module:
    """Returns the syntax tree of a text, or of the text in brackets if it is not valid alone."""
    try:
        return ast.parse(text)
    except SyntaxError:
        with suppress(SyntaxError):
            tree = ast.parse(f"(\n{text}\n)")
            ast.increment_lineno(tree, -1)
            return tree
        raise


class Reader:
    """Reads the nodes of a syntax tree; ``known`` holds the named terms."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.depth = 0
        self.readers: Mapping[type[ast.expr], Callable[[Any], Any]] = {
            ast.Constant: self._constant,
            ast.UnaryOp: self._minus,
            ast.Tuple: self._items,
            ast.List: self._items,
            ast.Dict: self._pairs,
            ast.Name: self._named,
            ast.BinOp: self._joined,
            ast.Call: self._call,
        }

    def name(self, line: ast.stmt) -> None:
        """Reads a line ``name = term``, or the definition of a term."""
        if isinstance(line, ast.FunctionDef):
            self.known[line.name] = self.definition(line)
            return
        if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
            raise error_at("a line before the last is name = term", line, 'layer = Id("m")')
        name = line.targets[0].id
        if len(line.targets) > 1 or name in NAMES:
            raise error_at(f"{name} cannot be given a value", line.targets[0], "another name")
        self.known[name] = self.value(line.value)

    def definition(self, node: ast.FunctionDef) -> Term:
        """Returns the term of a function of named arrays."""
        term = defined(node, self)
        _check_size(term, node)
        return term

    def term(self, node: ast.expr) -> Term:
        """Returns the term of a syntax node."""
        found = self.value(node)
        if not isinstance(found, Term):
            raise error_at(f"{shown(ast.unparse(node))} is not a term", node, EXAMPLE)
        return found

    def value(self, node: ast.expr) -> Any:
        """Returns the value of a syntax node: a term, a text, a number, or several of them."""
        read = self.readers.get(type(node))
        if read is None:
            raise error_at(f"{spoken(node)} is not part of the language", node, EXAMPLE)
        self.depth += 1
        if self.depth > DEPTH:
            raise error_at(f"it is nested more than {DEPTH} deep", node, "named parts")
        try:
            return read(node)
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str | int | float | bool | None):
            return node.value
        raise error_at(f"{shown(node.value)} is neither a text nor a number", node, "a text")

    def _minus(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = self._constant(node.operand)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        raise error_at("only numbers have a sign", node, "-1")

    def _items(self, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _pairs(self, node: ast.Dict) -> dict[str, Any]:
        """Reads ``{"x/s": 2}``, for names that are no names in Python."""
        names = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if not all(isinstance(name, str) for name in names):
            raise error_at("the names between { and } are texts", node, '{"x/s": 2}')
        values = (self.value(value) for value in node.values)
        return dict(zip(map(str, names), values, strict=True))

    def _named(self, node: ast.Name) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        if node.id in NAMES:
            raise error_at(f"{node.id} stands here without its arguments", node, f"{node.id}(…)")
        raise unknown_at("nothing called", node.id, {**NAMES, **self.known}, node, EXAMPLE)

    def _joined(self, node: ast.BinOp) -> Any:
        """Reads ``f >> g``, ``f @ g`` and ``(layer,) * 3``."""
        if isinstance(node.op, ast.Mult):
            return self._copies(node)
        if not isinstance(node.op, ast.RShift | ast.MatMult):
            raise error_at("terms are joined by >> and @", node, "f >> g, or f @ g")
        nodes = _chain(node, type(node.op))
        terms = [self.term(part) for part in nodes]
        if isinstance(node.op, ast.MatMult):
            return _built(node, Beside, *terms)
        total = terms[0]
        for part, term in zip(nodes[1:], terms[1:], strict=True):
            total = _built(part, Then.joined, total, term)  # a mismatch is told at its step
        return total

    def _copies(self, node: ast.BinOp) -> tuple[Any, ...]:
        items, count = self.value(node.left), self.value(node.right)
        if not isinstance(items, tuple) or type(count) is not int:
            raise error_at("only several terms are multiplied", node, "(layer,) * 3")
        if not 0 < count * len(items) <= COPIES:
            raise error_at(
                f"it makes {shown(count)} copies, at most {COPIES}", node, "(layer,) * 3"
            )
        return items * count

    def _call(self, node: ast.Call) -> Any:
        for one in (*node.args, *node.keywords):
            if isinstance(one, ast.Starred) or (isinstance(one, ast.keyword) and one.arg is None):
                raise error_at("arguments are written one by one", one, 'Linear("m -> k", "Q")')
        make = self._callee(node.func)
        args = [self.value(item) for item in node.args]
        words = {str(word.arg): self.value(word.value) for word in node.keywords}
        return _built(node, make, *args, **words)

    def _callee(self, node: ast.expr) -> Callable[..., Any]:
        """Returns the object that is called: an op, ``Type.parse``, or ``Axes(…)``."""
        if isinstance(node, ast.Call):
            sizes = self.value(node)
            if isinstance(sizes, Axes):
                return sizes
            raise error_at("a term is not called", node, 'Axes(m=128)(Id("m"))')
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name in NAMES:
            return NAMES[name]
        if isinstance(node, ast.Name):
            raise unknown_at("no op", name, NAMES, node, EXAMPLE)
        fact = f"{shown(ast.unparse(node))} is no op of the language, and only those are called"
        raise error_at(fact, node, PYTORCH)


def _chain(node: ast.expr, kind: type[ast.operator]) -> list[ast.expr]:
    """Returns a, b, c of ``a >> b >> c``; a loop, as such chains are long."""
    found = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, kind):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _built(node: ast.AST, make: Callable[..., R], *args: Any, **words: Any) -> R:
    """Returns ``make(…)``; errors get the position of the syntax node."""
    takes = signature(make).parameters
    loose = any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in takes.values())
    for word in words if not loose else ():
        if word not in takes:
            raise unknown_at(f"{make.__name__} has no", word, takes, node)
    try:
        made = make(*args, **words)
    except NCDError as error:
        where = f"{error.where}: " if error.where else ""
        raise error_at(f"{where}{error.fact}", node, error.cure) from None
    except (TypeError, ValueError, AttributeError):
        name = getattr(make, "__name__", "Axes(…)")
        raise error_at(f"{name} takes {', '.join(takes)}", node, "these arguments") from None
    if isinstance(made, Term):
        _check_size(made, node)
    return made


def _check_size(term: Term, node: ast.AST) -> None:
    if term.count > OPS:
        raise error_at(f"it has more than {OPS:,} ops", node, "fewer")
    if term.nodes > PARTS:
        raise error_at(f"it has more than {PARTS:,} parts", node, "fewer")
