"""Code with its operator precedence, and the bracket at which it may be broken into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

WIDTH = 100

# How tightly Python binds, from loose to tight.
LOOSE, COMPARED, OR, AND, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
LEVELS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARED),
    "|": OR,
    "&": AND,
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    "**": POWER,
}


class Bracket(NamedTuple):
    """The last bracket of some code: the text before, inside and after it."""

    head: str
    parts: tuple[Code, ...]
    tail: str


@dataclass(frozen=True)
class Code:
    """A piece of Python on one line; ``bracket`` is where it breaks if it is too long.

    ``operands`` are the parts before and from an operator on, for a line of their own in brackets.
    """

    text: str
    level: int = ATOM
    bracket: Bracket | None = None
    chain: tuple[str, ...] = ()  # methods called one on the other: ``x.a()``, ``.b()``
    operands: tuple[Code, Code] | None = None

    def with_prefix(self, text: str, level: int = LOOSE) -> Code:
        """Returns the code with text before it."""
        inner = self.bracket and self.bracket._replace(head=text + self.bracket.head)
        chain = (text, *self.chain) if self.chain and text.endswith(("= ", "return ")) else ()
        return Code(text + self.text, level, inner, chain)

    def with_suffix(self, text: str) -> Code:
        """Returns the code with text after it."""
        inner = self.bracket and self.bracket._replace(tail=self.bracket.tail + text)
        return Code(self.text + text, ATOM, inner)

    def with_brackets(self, level: int) -> Code:
        """Returns the code, in brackets if it binds less tightly than ``level``."""
        return self if self.level >= level else bracketed_code("(", (self,))


def bracketed_code(head: str, parts: Iterable[Code], tail: str = ")") -> Code:
    """Returns ``head``, parts separated by commas, and the closing bracket.

    >>> bracketed_code("f(", (Code("a"), Code("b"))).text
    'f(a, b)'
    """
    given = tuple(parts)
    text = f"{head}{', '.join(part.text for part in given)}{tail}"
    return Code(text, ATOM, Bracket(head, given, tail) if given else None)


def tuple_of(parts: Sequence[Code]) -> Code:
    """Returns a tuple as Python writes it: ``(1,)``, ``(1, 2)``."""
    return Code(f"({parts[0].text},)") if len(parts) == 1 else bracketed_code("(", parts)


def infix(sign: str, left: Code, right: Code) -> Code:
    """Returns two operands with an operator, in brackets only where needed.

    >>> infix("*", infix("+", Code("a"), Code("b")), infix("**", Code("c"), Code("2"))).text
    '(a + b) * c**2'
    """
    level = LEVELS[sign]
    if sign == "**":  # groups to the right, and its right side may have a sign
        first, second = left.with_brackets(ATOM), right.with_brackets(SIGN)
        if _simple(first.text) and _simple(second.text.removeprefix("-")):
            return Code(f"{first.text}**{second.text}", level)
    else:
        first, second = (
            left.with_brackets(level + (level == COMPARED)),
            right.with_brackets(level + 1),
        )
    whole = second.with_prefix(f"{first.text} {sign} ", level)
    return replace(whole, operands=(first, second.with_prefix(f"{sign} ")))


def _simple(text: str) -> bool:
    """Returns whether the code is a name, an attribute or a number: its power has no spaces."""
    return text.replace(".", "").replace("_", "").isalnum()


def prefix(sign: str, on: Code) -> Code:
    """Returns a value with ``-`` or ``~`` before it."""
    return on.with_brackets(SIGN).with_prefix(sign, SIGN)


def method(on: Code, name: str, parts: Iterable[Code]) -> Code:
    """Returns a method call: ``x.softmax(-1)``."""
    given = tuple(parts)
    start = receiver(on)
    link = bracketed_code(f".{name}(", given).text
    first = (start.text,) if start.text.endswith(")") else ()
    chain = (*on.chain, link) if on.chain else (*first, link if first else start.text + link)
    made = (
        bracketed_code(f"{start.text}.{name}(", given) if given else start.with_suffix(f".{name}()")
    )
    return replace(made, chain=chain)


def receiver(on: Code) -> Code:
    """Returns code that a method call or an index can follow."""
    return Code(f"({on.text})") if on.text[:1].isdigit() else on.with_brackets(ATOM)


def break_lines(code: Code, indent: int, after: str = "") -> list[str]:
    """Returns code on as many lines as needed, broken at its last bracket.

    >>> break_lines(bracketed_code("x = f(", (Code("a"), Code("b"))), 4)
    ['    x = f(a, b)']
    """
    space = " " * indent
    if indent + len(code.text) + len(after) <= WIDTH:
        return [space + code.text + after]
    if code.operands and indent + len(code.bracket.head if code.bracket else code.text) > WIDTH:
        left, right = code.operands
        return [*break_lines(left, indent), *break_lines(right, indent, after)]
    if code.bracket is None:
        return [space + code.text + after]
    links = code.chain
    if len(links) > 3 and indent + 4 + max(map(len, links)) <= WIDTH:  # the first is the target
        return [f"{space}{links[0]}(", *(f"{space}    {link}" for link in links[1:]), f"{space})"]
    head, parts, tail = code.bracket
    inside = ", ".join(part.text for part in parts)
    display = head.endswith(("[", " (")) or head == "("
    if indent + 4 + len(inside) <= WIDTH and not display:  # a list has one item a line
        return [space + head, f"{space}    {inside}", space + tail + after]
    comma = "," if len(parts) > 1 else ""
    body = [line for part in parts for line in break_lines(part, indent + 4, comma)]
    return [space + head, *body, space + tail + after]
