"""Formulas: what an elementwise map computes, how an axis' size follows, how a weight begins.

A formula is text with a grammar of its own; it is parsed, never evaluated as Python. ``$1``, ``$2``
are the operands, a name is the position along an axis (or in a size, its size), ``n_x`` the size of
axis x. An axis whose name holds a stroke is called by its identifier (``x/s`` is ``x_s``).

    formula    = comparison | formula ("and" | "or") formula | "not" formula
    comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum        = product {("+" | "-") product}
    product    = sign {("*" | "/" | "//" | "%") sign}
    sign       = "-" sign | power
    power      = atom ["**" sign]
    atom       = number | "$" number | name | name "(" formula {"," formula} ")" | "(" formula ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from ncd.lang.errors import ParseError, shown

LONGEST = 1000  # letters of a formula
DEEPEST = 40  # brackets in brackets
TALLEST = 64  # operations on operations; Python itself can walk about four times as many


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
    """``$1``: the first array that is given; counted from 1."""

    number: int

    def __str__(self) -> str:
        return f"${self.number}"


@dataclass(frozen=True)
class Name:
    """A name: an axis, a size (``n_x``), a constant; whoever uses the formula knows which."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Apply:
    """An operator or a function on formulas: ``+`` on two, ``-`` on one or two, ``where``."""

    operation: str
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        if self.operation not in _BINDING:
            return f"{self.operation}({', '.join(map(str, self.parts))})"
        own = _UNARY if len(self.parts) == 1 else _BINDING[self.operation]
        if self.operation == "not":
            own = _BINDING["not"]
        texts = [_bracketed(part, own, i) for i, part in enumerate(self.parts)]
        if len(texts) == 1:
            return f"{self.operation} {texts[0]}" if self.operation == "not" else f"-{texts[0]}"
        return f" {self.operation} ".join(texts)


Formula = Number | Operand | Name | Apply

# Every function, with how many arguments it takes.
FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(("abs", "ceil", "cos", "erf", "exp", "floor", "gelu", "log", "relu"), 1),
    **dict.fromkeys(("sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "tanh"), 1),
    "min": 2,
    "max": 2,
    "where": 3,
}
CONSTANTS = ("e", "inf", "pi")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
RANDOM = ("normal", "uniform")  # standard normal; uniform from -1 to 1: in initial values only

_BINDING = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(COMPARISONS, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": 8,
}
_UNARY = 7  # a minus binds less than a power

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?![\w.]))|\$(?P<operand>\d{1,3})(?!\w)"
    r"|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>(),])|(?P<end>$))"
)


def _bracketed(part: Formula, around: int, place: int) -> str:
    text = str(part)
    if not isinstance(part, Apply) or part.operation not in _BINDING:
        return text
    own = _UNARY if len(part.parts) == 1 and part.operation == "-" else _BINDING[part.operation]
    if around == 8 and place == 1 and own == _UNARY:
        return text  # an exponent takes its sign along
    right = around == 8  # a power groups to the right, all others to the left, comparisons not
    loose = own < around or (own == around and ((place == 0) == right or around == 4))
    return f"({text})" if loose else text


def parse(text: str) -> Formula:
    """The formula of a text.

    >>> str(parse("where($2>0, -inf, $1)")), str(parse("(a+b)*c**-1"))
    ('where($2 > 0, -inf, $1)', '(a + b) * c ** -1')

    Raises ParseError, with the place, for a text that is none.
    """
    if not isinstance(text, str):
        raise ParseError(f"{shown(text)} is no formula", cure='text such as "2 * $1"')
    if len(text) > LONGEST:
        raise ParseError(f"the formula has more than {LONGEST} letters", cure="a shorter one")
    return _parsed(text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Formula:
    return _Parser(text).whole()


class _Parser:
    """Reads a formula from left to right; every method takes what it names."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.token: re.Match[str] = self._next()

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            rest = self.text[self.at :].lstrip()
            raise self._wrong(f"{shown(rest[:12])} is not understood")
        self.at = found.end()
        return found

    def _wrong(self, fact: str) -> ParseError:
        whole = f" in the formula {shown(self.text)}"
        return ParseError(fact + whole, cure='something like "where($2 > 0, -inf, $1)"')

    def _take(self) -> str:
        word = self.token[0].strip()
        if not self.token["end"] or word:
            self.token = self._next()
        return word

    @property
    def _word(self) -> str:
        return self.token[0].strip()

    def _expect(self, sign: str) -> None:
        if self._word != sign:
            raise self._wrong(f"{sign} is missing before {shown(self._word or 'the end')}")
        self._take()

    def whole(self) -> Formula:
        found = self.formula(0)
        if self._word:
            raise self._wrong(f"{shown(self._word)} stands where nothing can follow")
        if _height(found) > TALLEST:
            fact = f"the formula has more than {TALLEST} operations in a row"
            raise ParseError(fact, cure="a shorter one, or brackets that share them out")
        return found

    def formula(self, least: int) -> Formula:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"brackets stand more than {DEEPEST} deep")
        left, compared = self.start(), False
        while (own := _BINDING.get(self._word, 0)) > least and self._word != "not":
            sign = self._take()
            right = self.formula(_UNARY - 1 if sign == "**" else own)
            if own == 4 and compared:
                raise self._wrong("two comparisons stand in a row")
            compared = own == 4
            left = Apply(sign, (left, right))
        self.depth -= 1
        return left

    def start(self) -> Formula:
        word = self._word
        if word == "-":
            self._take()
            return Apply("-", (self.formula(_UNARY),))
        if word == "not":
            self._take()
            return Apply("not", (self.formula(_BINDING["not"]),))
        if word == "(":
            self._take()
            inner = self.formula(0)
            self._expect(")")
            return inner
        if self.token["number"]:
            return Number(self._take())
        if self.token["operand"]:
            return Operand(int(self._take()[1:]))
        if self.token["name"] and word not in ("and", "or"):
            return self.named(self._take())
        raise self._wrong(f"a number or a name is missing before {shown(word or 'the end')}")

    def named(self, name: str) -> Formula:
        if self._word != "(":
            return Name(name)
        if name not in FUNCTIONS:
            close = get_close_matches(name, FUNCTIONS, n=1) or [f"one of {', '.join(FUNCTIONS)}"]
            raise ParseError(f"there is no function {shown(name)}", cure=close[0])
        self._take()
        parts = [self.formula(0)]
        while self._word == ",":
            self._take()
            parts.append(self.formula(0))
        self._expect(")")
        if len(parts) != FUNCTIONS[name]:
            raise self._wrong(f"{name} takes {FUNCTIONS[name]} arguments, not {len(parts)}")
        return Apply(name, tuple(parts))


# --- walks ---------------------------------------------------------------------------------------


def leaves(formula: Formula) -> Iterator[Formula]:
    """Every number, operand and name, from left to right."""
    if isinstance(formula, Apply):
        for part in formula.parts:
            yield from leaves(part)
    else:
        yield formula


def _height(formula: Formula) -> int:
    """How many operations stand on one another, counted without walking down."""
    height, layer = 0, [formula]
    while layer := [part for f in layer if isinstance(f, Apply) for part in f.parts]:
        height += 1
    return height


def replaced(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with every leaf changed."""
    if isinstance(formula, Apply):
        return Apply(formula.operation, tuple(replaced(part, change) for part in formula.parts))
    return change(formula)


_LATEX = {
    "*": r"{} \cdot {}",
    "/": r"\frac{{{}}}{{{}}}",
    "//": r"\left\lfloor {} / {} \right\rfloor",
    "%": r"{} \bmod {}",
    "**": "{}^{{{}}}",
    "<=": r"{} \le {}",
    ">=": r"{} \ge {}",
    "==": "{} = {}",
    "!=": r"{} \ne {}",
    "and": r"{} \wedge {}",
    "or": r"{} \vee {}",
    "not": r"\neg {}",
    "sqrt": r"\sqrt{{{}}}",
    "abs": r"\left|{}\right|",
    "exp": "e^{{{}}}",
    "relu": r"\max({}, 0)",
    "gelu": r"{0}\,\Phi({0})",
    "silu": r"{0}\,\sigma({0})",
    "sigmoid": r"\sigma({})",
    "floor": r"\lfloor {} \rfloor",
    "ceil": r"\lceil {} \rceil",
    "where": r"\begin{{cases}} {1} & {0} \\ {2} & \text{{else}} \end{{cases}}",
}
_LETTERS = {"inf": r"\infty", "pi": r"\pi", "e": "e"}


def latex(formula: Formula) -> str:
    """The formula in LaTeX; operands are a, b, c.

    >>> latex(parse("where($1 > 0, $1, 0)"))
    '\\\\begin{cases} a & a > 0 \\\\\\\\ 0 & \\\\text{else} \\\\end{cases}'
    """
    if isinstance(formula, Operand):
        return "abcdfghl"[(formula.number - 1) % 8]
    if not isinstance(formula, Apply):
        head, _, tail = str(formula).partition("_")
        plain = f"{head}_{{{tail.replace('_', ',')}}}" if tail else head
        return _LETTERS.get(head, plain)
    parts = [latex(part) for part in formula.parts]
    if formula.operation in _BINDING and formula.operation not in ("/", "//"):
        own = _UNARY if len(parts) == 1 else _BINDING[formula.operation]
        for i, part in enumerate(formula.parts):
            if _bracketed(part, own, i) != str(part) and not (i and formula.operation == "**"):
                parts[i] = rf"\left({parts[i]}\right)"
    pattern = _LATEX.get(formula.operation)
    if formula.operation == "-" and len(parts) == 1:
        return f"-{parts[0]}"
    if pattern:
        return pattern.format(*parts)
    if formula.operation in FUNCTIONS:
        return rf"\operatorname{{{formula.operation}}}({', '.join(parts)})"
    return f" {formula.operation} ".join(parts)
