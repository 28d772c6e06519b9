"""Numbers of a source that remember how they were computed from those in its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv, Mod

OPS = 400  # parts of an expression; longer ones become plain numbers


@dataclass(frozen=True, order=True)
class Place:
    """A whole number in a text: where it stands, its value, and what it is called there.

    ``end`` is the letters before its end; ``name`` may be empty; ``is_input`` is whether it is a
    size of the input.
    """

    line: int
    start: int
    end: int
    value: int
    name: str = ""
    is_input: bool = False


class Whole(int):
    """A whole number with the expression that it is the value of."""

    expr: sympy.Expr
    table: Any  # the SizeTable that its symbols belong to

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return _compared(self, other, sympy.Eq, int.__eq__)

    def __ne__(self, other: object) -> bool:
        return _compared(self, other, sympy.Ne, int.__ne__)

    def __lt__(self, other: int) -> bool:
        return _compared(self, other, sympy.Lt, int.__lt__)

    def __le__(self, other: int) -> bool:
        return _compared(self, other, sympy.Le, int.__le__)

    def __gt__(self, other: int) -> bool:
        return _compared(self, other, sympy.Gt, int.__gt__)

    def __ge__(self, other: int) -> bool:
        return _compared(self, other, sympy.Ge, int.__ge__)

    def __neg__(self) -> int:
        return whole(-int(self), -self.expr, self.table)

    def __pos__(self) -> Whole:
        return self

    def __deepcopy__(self, memo: Any) -> Whole:
        return self

    def __copy__(self) -> Whole:
        return self

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Real(float):
    """A real number with the expression that it is the value of."""

    expr: sympy.Expr
    table: Any


def _compared(a: Whole, b: Any, kind: Any, plain: Callable[[int, int], Any]) -> Any:
    """Returns a comparison, and records it as a test of the sizes."""
    found = plain(a, b)
    if found is not NotImplemented and isinstance(b, int) and not isinstance(b, bool):
        expr = expression(b, a.table)
        a.table.test(kind(a.expr, expr, evaluate=False), found)
    return found


def expression(value: Any, table: Any) -> sympy.Expr:
    """Returns the expression of a number; a plain one stands for itself."""
    if isinstance(value, Whole | Real) and value.table is table:
        return value.expr
    if isinstance(value, float):
        return sympy.Rational(repr(float(value)))
    return sympy.Integer(int(value))


def whole(value: int, expr: sympy.Expr, table: Any) -> int:
    """Returns a whole number with its expression; a plain one if that is a number."""
    if expr.is_number or len(expr.free_symbols) > 12 or expr.count_ops() > OPS:
        return value
    made = Whole(value)
    made.expr, made.table = expr, table
    return made


def _real(value: float, expr: sympy.Expr, table: Any) -> float:
    if expr.is_number or expr.count_ops() > OPS:
        return value
    made = Real(value)
    made.expr, made.table = expr, table
    return made


def as_whole(value: Any) -> Any:
    """Returns ``int(value)`` of a number that remembers its expression."""
    if isinstance(value, Whole) or not isinstance(value, Real):
        return value if isinstance(value, Whole) else int(value)
    number = float(value)
    expr = value.expr if number == int(number) else sympy.floor(value.expr)
    return whole(int(number), expr, value.table)


def rounded(value: Any, to: Callable[[float], int]) -> int:
    """Returns ``math.floor`` or ``math.ceil`` of a number."""
    function = sympy.ceiling if to is ceil else sympy.floor
    if isinstance(value, Real):
        return whole(to(float(value)), function(value.expr), value.table)
    return value if isinstance(value, Whole) else to(value)


def _binary(name: str, combine: Callable[[Any, Any], Any]) -> None:
    """Gives whole and real numbers an operator, and its reflection."""
    for kind, plain in ((Whole, int), (Real, float)):
        for reflected in (False, True):
            setattr(
                kind, f"__{'r' * reflected}{name}__", _operator(name, plain, combine, reflected)
            )


def _operator(name: str, plain: type, combine: Any, reflected: bool) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        if type(other) is bool or not isinstance(other, int | float):
            return getattr(plain, f"__{'r' * reflected}{name}__")(plain(self), other)
        numbers = (_plain(other), plain(self)) if reflected else (plain(self), _plain(other))
        value = _VALUES[name](*numbers)
        sides = (self.expr, expression(other, self.table))
        left, right = sides[::-1] if reflected else sides
        try:  # an exponent is no size: its value counts, wherever it stands in the text
            expr = combine(left, expression(numbers[1], None) if name == "pow" else right)
        except (ArithmeticError, TypeError, ValueError, AssertionError):
            return value
        if isinstance(value, int):
            return whole(value, expr, self.table)
        return _real(value, expr, self.table) if isinstance(value, float) else value

    return operate


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else float(value)


def _power(a: Any, b: Any) -> Any:
    if not (b.is_number and b.is_Integer and 0 <= b <= 4):
        raise ValueError("a power that no size has")
    return a**b


def _floor_div(a: Any, b: Any) -> Any:
    return FloorDiv(a, b) if a.is_integer and b.is_integer else sympy.floor(a / b)


_VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
}
_binary("add", lambda a, b: a + b)
_binary("sub", lambda a, b: a - b)
_binary("mul", lambda a, b: a * b)
_binary("truediv", lambda a, b: a / b)
_binary("floordiv", _floor_div)
_binary("mod", lambda a, b: Mod(a, b))
_binary("pow", _power)
