"""Reads the arguments of a call as an expression: ``a.flatten(0, 1), [1, 2], dim=0``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ncd.lang.errors import ParseError, shown
from ncd.lang.formulas.expr import Arg, Cast, Const, Expr, Method, Prefix, Tuple

LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the arrays that are taken, in order
METHODS = {"bool", "flatten", "unsqueeze"}
LONGEST = 4000  # letters of the arguments
EXAMPLE = '"a, b, [1, 2], dim=0"'


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, by position and by name, and the text that they were read from."""

    text: str
    given: tuple[Expr, ...]
    named: Mapping[str, Expr]

    def __hash__(self) -> int:
        return hash(self.text)


def read_arguments(text: str, count: int) -> Arguments:
    """Returns the arguments of a text; ``count`` is the number of arrays.

    >>> read_arguments("a.unsqueeze(0), dim=-1", 1).given
    (Method(on=Arg(index=0), name='unsqueeze', args=(Const(value=0),), kwargs=()),)

    Raises ParseError for text that is no arguments, and for an array that it does not use.
    """
    if len(text) > LONGEST:
        raise ParseError(f"the arguments have more than {LONGEST:,} letters", cure=EXAMPLE)
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _wrong(text) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _wrong(text)
    given = tuple(_value(node, count) for node in call.args)
    named = {str(word.arg): _value(word.value, count) for word in call.keywords}
    used = {p.index for e in (*given, *named.values()) for p in e.walk() if isinstance(p, Arg)}
    for index in range(count):
        if index not in used:
            fact = f"the arguments {shown(text)} do not use {LETTERS[index]}"
            raise ParseError(fact, cure="a pattern without that array")
    return Arguments(text, given, named)


def _wrong(text: str) -> ParseError:
    return ParseError(f"{shown(text)} are no arguments", cure=EXAMPLE)


def _value(node: ast.expr, count: int) -> Expr:
    """Returns the expression of one argument."""
    match node:
        case ast.Name(id=name) if len(name) == 1 and name in LETTERS[:count]:
            return Arg(LETTERS.index(name))
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return Const(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Prefix("-", _value(operand, count))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return Tuple(tuple(_value(item, count) for item in items))
        case ast.Call(func=ast.Attribute(value=on, attr=name), args=args, keywords=[]):
            if name == "real" and not args:
                return Cast(_value(on, count), "real")
            if name in METHODS:
                more = tuple(_value(arg, count) for arg in args)
                return Method(_value(on, count), name, more)
    raise _wrong(ast.unparse(node))
