"""Reads a term or a definition from text, without evaluating anything.

Python's ``ast`` parses the text, and every kind of node that the language has is read by one method
here. Ops and structures are looked up by name in the catalogue, as in JSON.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from inspect import signature
from typing import Any, Protocol, TypeVar

from ncd.circuit.definition import Definition, NamedArray
from ncd.circuit.elaborate import Axes
from ncd.errors import NCDError, ParseError, plain_message, short_repr
from ncd.language.arguments import check_text
from ncd.language.axes import Array, Signature, Type, plain, seq, space
from ncd.language.terms import DEPTH, Beside, Term, Then
from ncd.notation.call_form import ModuleCall
from ncd.notation.other_names import term_called
from ncd.words import nearest_name
from ncd.write.term_json import KINDS

# --- Errors in a text, with their positions

SYNTAX = {  # what Python says, in other words
    "invalid syntax": "the text is no code from here on",
    "invalid decimal literal": "a number and a word stand together here",
    "invalid imaginary literal": "a number and a word stand together here",
    "invalid hexadecimal literal": "a number and a word stand together here",
}
_LOOP = "a list that a loop makes"
PART_NAMES: dict[type[ast.AST], str] = {
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
    ncd.notation.term_reader.TextError: line 1, column 1: there is no op 'Coppy'. Try Copy.
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


def parse_error_at(fact: str, node: ast.AST, cure: str = "") -> TextError:
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
    fact = SYNTAX.get(error.msg, plain_message(error.msg))
    cure = "a smaller one" if "digits" in fact else cure
    return TextError(fact, line, column, end, cure)


def spoken(node: ast.AST) -> str:
    """Returns what a part of a text is, in words for its reader.

    >>> spoken(ast.parse("lambda x: x").body[0].value)
    'a function without a name'
    """
    return PART_NAMES.get(type(node), "this")


def unknown_at(
    what: str, name: str, known: Collection[str], node: ast.AST, otherwise: str | None = None
) -> TextError:
    """Returns the error for an unknown name, with the known one that was probably meant."""
    what = f"there is {what}" if what.startswith("no") else what
    return parse_error_at(
        f"{what} {short_repr(name)}", node, nearest_name(name, sorted(known), otherwise)
    )


# --- Reads a definition, a function of named arrays, without running it

HEAD = 'def attention(q: "y k", k: "x k"):'
LINE = 'scores = Einsum("y k, x k -> y x")(q, k)'


class Terms(Protocol):
    """Reads the terms that a definition calls."""

    known: dict[str, Any]

    def value(self, node: ast.expr) -> Any:
        """Returns the value of a syntax node."""

    def term(self, node: ast.expr) -> Term:
        """Returns the term of a syntax node."""


def read_definition(node: ast.FunctionDef, terms: Terms) -> Term:
    """Returns the term that a definition describes.

    Args:
        node: The syntax tree of the function.
        terms: The reader of the terms that it calls.

    Raises:
        TextError: For what a definition does not have, at its place.

    >>> from ncd import parse
    >>> str(parse('def f(x: "t m"):\\n    return Linear("m -> k", "W")(x)').cod)
    't k'
    """
    sizes = _sizes(node, terms)
    with _locate_errors(node):
        body = _DefinitionBody(Definition(dict(_inputs(node))), terms)
    lines = [line for line in node.body if not _is_text(line)]
    for line in lines[:-1]:
        body.line(line)
    if not lines or not isinstance(lines[-1], ast.Return) or lines[-1].value is None:
        raise parse_error_at("a definition ends with what it returns", node.body[-1], "return x")
    last = lines[-1]
    assert last.value is not None
    outputs = body.arrays(last.value)
    with _locate_errors(last):
        term = body.own.term(outputs)
    with _locate_errors(node):
        Axes(**sizes).check_used(term)
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
            raise parse_error_at("the only decorator is define", mark, "@define(t=seq(12), m=64)")
        for word in mark.keywords if isinstance(mark, ast.Call) else ():
            found[str(word.arg)] = terms.value(word.value)
    return found


def _inputs(node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yields the name and the axes of each input."""
    own = node.args
    if own.vararg or own.kwarg or own.kwonlyargs or own.posonlyargs or own.defaults:
        raise parse_error_at("inputs are names with axes", node, HEAD)
    for one in own.args:
        axes = one.annotation
        if not isinstance(axes, ast.Constant) or not isinstance(axes.value, str):
            raise parse_error_at(f"{one.arg} has no axes", one, f'{one.arg}: "t m"')
        yield one.arg, axes.value


class _DefinitionBody:
    """Reads the lines of a definition; ``names`` maps variable names to arrays."""

    def __init__(self, own: Definition, terms: Terms) -> None:
        self.own, self.terms = own, terms
        self.names: dict[str, NamedArray] = dict(own.inputs)

    def line(self, line: ast.stmt) -> None:
        """Reads a line ``a, b = term(x)``."""
        if not isinstance(line, ast.Assign) or len(line.targets) != 1:
            raise parse_error_at("a line is names = term(arrays)", line, LINE)
        target = line.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        made = self.arrays(line.value)
        if len(made) != len(targets):
            fact = f"there are {len(targets)} names for {len(made)} arrays"
            raise parse_error_at(fact, target, ", ".join("abcdefgh"[: len(made)]))
        for name, array in zip(targets, made, strict=True):
            if not isinstance(name, ast.Name):
                raise parse_error_at("arrays are given to names", name, LINE)
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
            raise parse_error_at(
                f"{short_repr(ast.unparse(node))} is no term on arrays", node, LINE
            )
        if isinstance(node.func, ast.Name) and node.func.id not in self.terms.known:
            self.terms.value(node)  # which names an op that is not known
            raise parse_error_at(f"{node.func.id} stands here without its arrays", node, LINE)
        term = self.terms.term(node.func)
        given = tuple(array for item in node.args for array in self.arrays(item))
        with _locate_errors(node):
            made = self.own.call(term, given)
        return made if isinstance(made, tuple) else (made,)


@contextmanager
def _locate_errors(node: ast.AST) -> Iterator[None]:
    """Adds the position of a syntax node to errors raised inside the ``with`` block."""
    try:
        yield
    except TextError:
        raise
    except NCDError as error:
        where = f"{error.where}: " if error.where else ""
        raise parse_error_at(f"{where}{error.fact}", node, error.cure) from None
    except TypeError as error:
        raise parse_error_at(str(error), node, "other sizes") from None


# --- Reads a term from text in the language's Python notation, without evaluating anything

LONGEST = 30_000  # letters of a text
NODES = 20_000  # parts of a text, such as names and calls
OPS, MOST_PARTS = 2_000, 8_000  # of a term: ops, and ops with all structures around them
COPIES = 200  # terms that ``(layer,) * n`` gives
EXAMPLE = 'a term, such as Linear("m:128 -> k:16", "Q") >> Softmax("k")'
PYTORCH = "a layer of PyTorch, such as nn.Linear(8, 3)(torch.randn(2, 8)), or a whole class"
SIZES: Mapping[str, Callable[..., Any]] = {"seq": seq, "space": space, "plain": plain}
PARSE_METHODS: Mapping[str, Callable[[str], Any]] = {
    "Type.parse": Type.parse,
    "Array.parse": Array.parse,
    "Signature.parse": Signature.parse,
}
NAMES: Mapping[str, Callable[..., Any]] = {**KINDS, **SIZES, **PARSE_METHODS, "Axes": Axes}
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
    reader = TermReader()
    for line in lines[:-1]:
        reader.name(line)
    last = lines[-1]
    if isinstance(last, ast.FunctionDef):
        return reader.definition(last)
    if not isinstance(last, ast.Expr):
        raise parse_error_at("the last line is a term", last, EXAMPLE)
    return reader.term(last.value)


def _tree(text: str) -> ast.Module:
    """Returns Python's syntax tree of a text; a chain may continue on further lines."""
    try:
        tree = _lenient_tree(text)
    except SyntaxError as error:
        raise syntax_error(error, EXAMPLE) from None
    except (ValueError, RecursionError, MemoryError):
        raise TextError("it is nested too deep, or holds a letter that no text has", 1, 1) from None
    for count, node in enumerate(ast.walk(tree), 1):
        if count > NODES:
            raise parse_error_at(f"it has more than {NODES:,} parts", node, "a shorter text")
    return tree


def _lenient_tree(text: str) -> ast.Module:
    """Returns the syntax tree of a text, or of the text in brackets if it is not valid alone."""
    try:
        return ast.parse(text)
    except SyntaxError:
        with suppress(SyntaxError):
            tree = ast.parse(f"(\n{text}\n)")
            ast.increment_lineno(tree, -1)
            return tree
        raise


class TermReader:
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
            ast.Name: self._named_term,
            ast.BinOp: self._composition,
            ast.Call: self._call,
        }

    def name(self, line: ast.stmt) -> None:
        """Reads a line ``name = term``, or the definition of a term."""
        if isinstance(line, ast.FunctionDef):
            self.known[line.name] = self.definition(line)
            return
        if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
            raise parse_error_at("a line before the last is name = term", line, 'layer = Id("m")')
        name = line.targets[0].id
        if len(line.targets) > 1 or name in NAMES:
            raise parse_error_at(f"{name} cannot be given a value", line.targets[0], "another name")
        self.known[name] = self.value(line.value)

    def definition(self, node: ast.FunctionDef) -> Term:
        """Returns the term of a function of named arrays."""
        term = read_definition(node, self)
        _check_size(term, node)
        return term

    def term(self, node: ast.expr) -> Term:
        """Returns the term of a syntax node."""
        found = self.value(node)
        if not isinstance(found, Term):
            raise parse_error_at(f"{short_repr(ast.unparse(node))} is not a term", node, EXAMPLE)
        return found

    def value(self, node: ast.expr) -> Any:
        """Returns the value of a syntax node: a term, a text, a number, or several of them."""
        read = self.readers.get(type(node))
        if read is None:
            raise parse_error_at(f"{spoken(node)} is not part of the language", node, EXAMPLE)
        self.depth += 1
        if self.depth > DEPTH:
            raise parse_error_at(f"it is nested more than {DEPTH} deep", node, "named parts")
        try:
            return read(node)
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str | int | float | bool | None):
            return node.value
        raise parse_error_at(
            f"{short_repr(node.value)} is neither a text nor a number", node, "a text"
        )

    def _minus(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = self._constant(node.operand)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        raise parse_error_at("only numbers have a sign", node, "-1")

    def _items(self, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _pairs(self, node: ast.Dict) -> dict[str, Any]:
        """Reads ``{"x/s": 2}``, for names that are no names in Python."""
        names = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if not all(isinstance(name, str) for name in names):
            raise parse_error_at("the names between { and } are texts", node, '{"x/s": 2}')
        values = (self.value(value) for value in node.values)
        return dict(zip(map(str, names), values, strict=True))

    def _named_term(self, node: ast.Name) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        if node.id in NAMES:
            raise parse_error_at(
                f"{node.id} stands here without its arguments", node, f"{node.id}(…)"
            )
        raise unknown_at("nothing called", node.id, {**NAMES, **self.known}, node, EXAMPLE)

    def _composition(self, node: ast.BinOp) -> Any:
        """Reads ``f >> g``, ``f @ g`` and ``(layer,) * 3``."""
        if isinstance(node.op, ast.Mult):
            return self._copies(node)
        if not isinstance(node.op, ast.RShift | ast.MatMult):
            raise parse_error_at("terms are joined by >> and @", node, "f >> g, or f @ g")
        nodes = _chain(node, type(node.op))
        terms = [self.term(part) for part in nodes]
        if isinstance(node.op, ast.MatMult):
            return _call_at_node(node, Beside, *terms)
        total = terms[0]
        for part, term in zip(nodes[1:], terms[1:], strict=True):
            total = _call_at_node(part, Then.append, total, term)  # a mismatch is told at its step
        return total

    def _copies(self, node: ast.BinOp) -> tuple[Any, ...]:
        items, count = self.value(node.left), self.value(node.right)
        if not isinstance(items, tuple) or type(count) is not int:
            raise parse_error_at("only several terms are multiplied", node, "(layer,) * 3")
        if not 0 < count * len(items) <= COPIES:
            raise parse_error_at(
                f"it makes {short_repr(count)} copies, at most {COPIES}", node, "(layer,) * 3"
            )
        return items * count

    def _call(self, node: ast.Call) -> Any:
        for one in (*node.args, *node.keywords):
            if isinstance(one, ast.Starred) or (isinstance(one, ast.keyword) and one.arg is None):
                raise parse_error_at(
                    "arguments are written one by one", one, 'Linear("m -> k", "Q")'
                )
        make = self._callee(node.func)
        args = [self.value(item) for item in node.args]
        words = {str(word.arg): self.value(word.value) for word in node.keywords}
        made = _call_at_node(node, make, *args, **words)
        if isinstance(make, Axes):  # a text sizes its own term, and no table of many
            _call_at_node(node, make.check_used, *args)
        return made

    def _callee(self, node: ast.expr) -> Callable[..., Any]:
        """Returns the object that is called: an op, ``Type.parse``, or ``Axes(…)``."""
        if isinstance(node, ast.Call):
            sizes = self.value(node)
            if isinstance(sizes, Axes):
                return sizes
            raise parse_error_at("a term is not called", node, 'Axes(m=128)(Id("m"))')
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name in NAMES:
            return NAMES[name]
        if isinstance(node, ast.Name):
            if cure := term_called(name):
                raise parse_error_at(f"there is no op {short_repr(name)}", node, cure)
            raise unknown_at("no op", name, NAMES, node, EXAMPLE)
        fact = (
            f"{short_repr(ast.unparse(node))} is no op of the language, and only those are called"
        )
        raise parse_error_at(fact, node, PYTORCH)


def _chain(node: ast.expr, kind: type[ast.operator]) -> list[ast.expr]:
    """Returns a, b, c of ``a >> b >> c``; a loop, as such chains are long."""
    found = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, kind):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _call_at_node(node: ast.AST, make: Callable[..., R], *args: Any, **words: Any) -> R:
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
        raise parse_error_at(f"{where}{error.fact}", node, error.cure) from None
    except (TypeError, ValueError, AttributeError):
        name = getattr(make, "__name__", "Axes(…)")
        if not takes:
            raise parse_error_at(f"{name} takes no arguments", node, f"{name}()") from None
        raise parse_error_at(f"{name} takes {', '.join(takes)}", node, "these arguments") from None
    if isinstance(made, Term):
        _check_size(made, node)
    return made


def _check_size(term: Term, node: ast.AST) -> None:
    if term.count > OPS:
        raise parse_error_at(f"it has more than {OPS:,} ops", node, "fewer")
    if term.nodes > MOST_PARTS:
        raise parse_error_at(f"it has more than {MOST_PARTS:,} parts", node, "fewer")
