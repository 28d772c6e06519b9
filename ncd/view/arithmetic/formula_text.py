"""Formulas with numbers in place of arrays, in usual notation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ncd.lang.formulas.expr import (
    Align,
    Arg,
    Call,
    Cast,
    Const,
    Expr,
    Filled,
    Infix,
    Method,
    Position,
    Prefix,
    Size,
)
from ncd.run.explain.arithmetic_kinds import Each
from ncd.view.arithmetic.sum_table import figure

SIGNS = {
    "*": "×",
    "/": "÷",
    "-": "−",
    "**": "^",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "==": "=",
    "%": "mod",
    "&": "and",
}


def spelled(how: Each) -> str:
    """Returns the formula with numbers, as plain text.

    >>> spelled(Each(Infix("*", Arg(0), Const(2)), (-0.5,), {}, (), -1.0))
    '−0.5 × 2'
    """
    return _text(how.expr, how, top=True)


def rule(how: Each) -> str:
    """Returns the formula for any place: a dot for the first number, axis names for positions.

    >>> rule(Each(Infix("/", Arg(0), Const(4)), (-0.5,), {}, (), -0.125))
    '… ÷ 4'
    """
    return _text(how.expr, replace(how, numbers=(), places={}), top=True)


def _text(expr: Expr, how: Each, top: bool = False) -> str:
    match expr:
        case Arg(index):
            return figure(how.numbers[index]) if how.numbers else "…"
        case Const(value):
            return figure(float(value)) if isinstance(value, int | float) else str(value)
        case Size(axes):
            sizes = [axis.numel for axis in axes]
            return " × ".join(map(str, sizes)) or "1"
        case Position(dim, _):
            return f"{dim.name} {how.places.get(dim.key, '')}".strip()
        case Filled():
            return "0"
        case Align(on, _, _) | Cast(on, _):
            return _text(on, how, top)
        case Prefix(sign, on):
            return f"{'not ' if sign == '~' else '−'}{_text(on, how)}"
        case Infix(sign, left, right):
            return _infix(sign, left, right, how, top)
        case Call(function):
            return _call(function.rpartition(".")[2], expr.args, expr.kwargs, how)
        case Method(on, name):
            return _call(name, (on, *expr.args), expr.kwargs, how)
    return "…"


def _infix(sign: str, left: Expr, right: Expr, how: Each, top: bool) -> str:
    if isinstance(_bare(right), Filled) and sign == "+":  # adding zeros only broadcasts
        return _text(left, how, top)
    if isinstance(_bare(left), Filled) and sign == "+":
        return _text(right, how, top)
    second = _text(right, how)
    if second.startswith("−") and sign not in ("<", ">"):
        second = f"({second})"
    text = f"{_text(left, how)} {SIGNS.get(sign, sign)} {second}"
    return text if top else f"({text})"


def _bare(expr: Expr) -> Expr:
    return _bare(expr.on) if isinstance(expr, Align | Cast) else expr


def _call(name: str, args: Sequence[Expr], kwargs: Sequence[tuple[str, Expr]], how: Each) -> str:
    given = [_text(part, how, top=True) for part in args]
    if name == "where":
        return f"{given[1]} if {given[0]}, else {given[2]}"
    if name == "div":  # rounded down
        return f"⌊{_text(args[0], how)} ÷ {_text(args[1], how)}⌋"
    if name == "sqrt":
        return f"√{_text(args[0], how)}"
    options = {key: _text(part, how, top=True) for key, part in kwargs}
    if name == "clamp":
        text = f"max({given[0]}, {options['min']})" if "min" in options else given[0]
        return f"min({text}, {options['max']})" if "max" in options else text
    name = {"maximum": "max", "minimum": "min"}.get(name, name)
    return f"{name}({', '.join([*given, *(f'{key} = {text}' for key, text in options.items())])})"
