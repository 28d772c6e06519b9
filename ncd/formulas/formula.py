"""The grammar of formulas: the functions and constants that they know, operators, and the parser.

A formula has a grammar of its own; it is parsed, never evaluated as Python. ``$1``, ``$2`` are the
operands, a name is the position along an axis (or in a size, its size), ``n_x`` the size of axis x.
An axis whose name holds a slash is written by its identifier (``x/s`` is ``x_s``).

    formula    = comparison | formula ("and" | "or") formula | "not" formula
    comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum        = product {("+" | "-") product}
    product    = sign {("*" | "/" | "//" | "%") sign}
    sign       = "-" sign | power
    power      = atom ["**" sign]
    atom       = number | "$" number | name | name "(" formula {"," formula} ")" | "(" formula ")"

These are Python's own rules of precedence. So the text is split into tokens here, numbers and names
are replaced by placeholders, and Python's parser (``ast.parse``) builds the tree.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from ncd.errors import ParseError, short_repr
from ncd.formulas.elementwise_functions import ELEMENTWISE, function_called
from ncd.words import nearest_name

# --- Formulas: elementwise maps, derived sizes and initial weights, written as text

LONGEST = 1000  # letters of a formula
DEEPEST = 40  # nested brackets
TALLEST = 64  # nested operations; Python itself can walk about four times as many


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str

    @property
    def value(self) -> int | float:
        return float(self.text) if re.search(r"[.e]", self.text) else int(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Operand:
    """An input array: ``$1`` is the first, so ``number`` counts from 1."""

    number: int

    def __str__(self) -> str:
        return f"${self.number}"


@dataclass(frozen=True)
class Name:
    """An axis, a size (``n_x``) or a constant; the user of the formula decides which."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Application:
    """An operator or a function applied to formulas: ``+`` to two, ``-`` to one or two."""

    operation: str
    parts: tuple[Formula, ...]

    @property
    def precedence(self) -> int:
        """The precedence of the operator; functions have the highest."""
        negative = self.operation == "-" and len(self.parts) == 1
        return _NEGATIVE if negative else _PRECEDENCE.get(self.operation, _FUNCTION)

    def __str__(self) -> str:
        parts = enumerate(self.parts)
        texts = [f"({part})" if self.brackets(i) else str(part) for i, part in parts]
        if self.precedence == _FUNCTION:
            return f"{self.operation}({', '.join(texts)})"
        if len(texts) == 1:
            return f"not {texts[0]}" if self.operation == "not" else f"-{texts[0]}"
        return f" {self.operation} ".join(texts)

    def brackets(self, place: int) -> bool:
        """Returns whether the part at this place needs brackets to be read back as it is."""
        part, own = self.parts[place], self.precedence
        if own == _FUNCTION or not isinstance(part, Application):
            return False
        power, inner = own == _PRECEDENCE["**"], part.precedence
        if power and place == 1 and inner == _NEGATIVE:
            return False  # an exponent may have a sign
        # powers group to the right, other operators to the left, comparisons not at all
        groups = own != _PRECEDENCE["<"] and (place == 1) == power
        return inner < own or (inner == own and not groups)


Formula = Number | Operand | Name | Application

# Every function, with how many arguments it takes.
FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(ELEMENTWISE, 1),
    "min": 2,
    "max": 2,
    "clamp": 3,  # a number, the lower limit and the upper one
    "where": 3,
}
CONSTANTS = ("e", "inf", "pi")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
RANDOM = ("normal", "uniform")  # standard normal; uniform from -1 to 1: in initial values only

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(COMPARISONS, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": 8,
}
_NEGATIVE, _FUNCTION = 7, 9  # a minus sign binds less tightly than a power


def leaves(formula: Formula) -> Iterator[Formula]:
    """Yields every number, operand and name, from left to right."""
    if isinstance(formula, Application):
        for part in formula.parts:
            yield from leaves(part)
    else:
        yield formula


def parse(text: str) -> Formula:
    """Returns the formula of a text.

    >>> str(parse("where($2>0, -inf, $1)")), str(parse("(a+b)*c**-1"))
    ('where($2 > 0, -inf, $1)', '(a + b) * c ** -1')

    Raises ParseError, with the place of the fault, for a text that is not a formula.
    """
    if not isinstance(text, str):
        raise ParseError(f"{short_repr(text)} is no formula", cure='text such as "2 * $1"')
    if len(text) > LONGEST:
        raise ParseError(f"the formula has more than {LONGEST} letters", cure="a shorter one")
    return _parse_cached(text)


@lru_cache(maxsize=1024)
def _parse_cached(text: str) -> Formula:
    return _Parser(text).formula()


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?![\w.]))|\$(?P<operand>\d{1,3})(?!\w)"
    r"|(?P<sign>(?:and|or|not)(?!\w)|\*\*|//|<=|>=|==|!=|[-+*/%<>(),])|(?P<name>[^\W\d]\w*))"
)
_NODES: tuple[type[ast.AST], ...] = (
    *(ast.Or, ast.And, ast.Not, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Add),
    *(ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
)
_SIGNS: dict[type[ast.AST], str] = dict(zip(_NODES, _PRECEDENCE, strict=True))
_SIGNS[ast.USub] = "-"


class _Parser:
    """Splits a text into tokens, checks their order and converts Python's tree of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[re.Match[str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            token = _TOKEN.match(text, at)
            if token is None:
                raise self._syntax_error(f"{short_repr(text[at:].lstrip()[:12])} is not understood")
            self.tokens.append(token)
            at = token.end()
        self._check_order()

    def _syntax_error(self, fact: str) -> ParseError:
        whole = f" in the formula {short_repr(self.text)}"
        return ParseError(fact + whole, cure='something like "where($2 > 0, -inf, $1)"')

    def _check_order(self) -> None:
        """Raises ParseError for a token that cannot stand after those before it."""
        calls: list[bool] = []  # for each open bracket whether it holds arguments
        name = value = False  # whether the token before is a name, or ends a value
        for token in (*self.tokens, None):
            sign = token["sign"] if token else ""
            word = short_repr(token[0].strip() if token else "the end")
            if not value and sign not in (None, "(", "-", "not"):
                raise self._syntax_error(f"a number or a name is missing before {word}")
            starts = sign is None or sign == "not" or (sign == "(" and not name)
            if calls and ((value and starts) or not token or (sign == "," and not calls[-1])):
                raise self._syntax_error(f") is missing before {word}")
            if value and (starts or (not calls and sign in (")", ","))):
                raise self._syntax_error(f"{word} stands where nothing can follow")
            if sign == "(":
                calls.append(name)
            elif sign == ")":
                calls.pop()
            if len(calls) > DEEPEST:
                raise self._syntax_error(f"brackets stand more than {DEEPEST} deep")
            name, value = bool(token and token["name"]), sign in (None, ")")

    def formula(self) -> Formula:
        code = " ".join(token["sign"] or f"x{i}" for i, token in enumerate(self.tokens))
        try:
            tree = ast.parse(code, mode="eval").body
        except SyntaxError:  # the order is right, but Python wants brackets around "not"
            raise self._syntax_error("'not' stands without brackets after an operator") from None
        except (MemoryError, RecursionError):
            raise _too_tall() from None
        return self._convert_node(tree, 0)

    def _convert_node(self, node: ast.expr, height: int) -> Formula:
        """Converts a node of Python's tree that has ``height`` operations above it."""
        match node:
            case ast.Name():
                return self._leaf(node)
            case ast.UnaryOp():
                return self._apply(_SIGNS[type(node.op)], [node.operand], height)
            case ast.BinOp():
                return self._apply(_SIGNS[type(node.op)], [node.left, node.right], height)
            case ast.Compare(ops=[operator], comparators=[right]):
                return self._apply(_SIGNS[type(operator)], [node.left, right], height)
            case ast.BoolOp():
                return self._apply(_SIGNS[type(node.op)], node.values, height)
            case ast.Call(func=ast.Name() as name):
                return self._call(self._token(name)["name"], node.args, height)
        raise self._syntax_error("two comparisons stand in a row")

    def _token(self, node: ast.Name) -> re.Match[str]:
        return self.tokens[int(node.id[1:])]

    def _leaf(self, node: ast.Name) -> Formula:
        token = self._token(node)
        if token["operand"]:
            return Operand(int(token["operand"]))
        return Number(token["number"]) if token["number"] else Name(token["name"])

    def _call(self, name: str, args: list[ast.expr], height: int) -> Formula:
        if name not in FUNCTIONS:
            every = f"one of {', '.join(FUNCTIONS)}"
            cure = function_called(name) or nearest_name(name, FUNCTIONS, every)
            raise ParseError(f"there is no function {short_repr(name)}", cure=cure)
        if len(args) != FUNCTIONS[name]:
            raise self._syntax_error(f"{name} takes {FUNCTIONS[name]} arguments, not {len(args)}")
        return self._apply(name, args, height)

    def _apply(self, operation: str, nodes: Sequence[ast.expr], height: int) -> Formula:
        height += len(nodes) - 1 if operation in ("and", "or") else 1  # a and b and c is nested
        if height > TALLEST:
            raise _too_tall()
        parts = [self._convert_node(node, height) for node in nodes]
        if operation in ("and", "or"):
            return reduce(lambda a, b: Application(operation, (a, b)), parts)
        return Application(operation, tuple(parts))


def _too_tall() -> ParseError:
    fact = f"the formula has more than {TALLEST} operations in a row"
    return ParseError(fact, cure="a shorter one, or brackets that share them out")


# --- The binary operators of formulas and expressions as Python functions

SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def formula_number(value: float) -> str:
    """Returns a number as a formula has it.

    >>> formula_number(-0.5), formula_number(-math.inf), formula_number(2.0)
    ('(-0.5)', '(-inf)', '2')
    >>> formula_number(9e16)  # a whole number would have no room
    '9e+16'
    """
    if math.isnan(value):
        return "(inf - inf)"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    if abs(value) >= 2**53:  # too large for a whole number: with an exponent, or a point
        return repr(float(value)) if value > 0 else f"({float(value)!r})"
    if abs(value) >= 1e15:
        return f"{value:.17g}" if value > 0 else f"(-{-value:.17g})"
    text = repr(int(value)) if float(value).is_integer() else repr(float(value))
    return f"({text})" if value < 0 else text
