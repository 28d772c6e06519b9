"""The derivative of a formula by one of its operands, as a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import (
    COMPARISONS,
    Application,
    Formula,
    Name,
    Number,
    Operand,
    leaves,
    parse,
)

ZERO, ONE = Number("0"), Number("1")

# The derivatives of functions of one number.
_RULES: Mapping[str, Formula] = {
    name: parse(function.derivative) for name, function in ELEMENTWISE.items()
}
# Those that are constant between jumps, as torch takes them.
_FLAT = (*COMPARISONS, "and", "or", "not", "//")


@lru_cache(maxsize=1024)
def derivative(formula: Formula, operand: int) -> Formula:
    """Returns the partial derivative by ``$operand``; at jumps and corners it is torch's.

    Source: the table of derivatives of ``torch.autograd``.

    >>> str(derivative(parse("$1 ** 2 / $2"), 1)), str(derivative(parse("tanh($1)"), 1))
    ('2 * $1 / $2', '1 - tanh($1) ** 2')
    """
    if isinstance(formula, Operand):
        return ONE if formula.number == operand else ZERO
    if not isinstance(formula, Application) or formula.operation in _FLAT:
        return ZERO
    inner = tuple(derivative(part, operand) for part in formula.parts)
    if all(part == ZERO for part in inner):
        return ZERO
    if formula.operation in _RULES:
        (x,), (slope,) = formula.parts, inner
        return times(_substitute(_RULES[formula.operation], (x, formula)), slope)
    rule = _of_negative if len(formula.parts) == 1 else _OF_SEVERAL[formula.operation]
    return rule(formula, inner)


def _substitute(rule: Formula, operands: tuple[Formula, ...]) -> Formula:
    """Returns a formula with other formulas in place of its operands."""
    if isinstance(rule, Operand):
        return operands[rule.number - 1]
    if isinstance(rule, Application):
        return Application(
            rule.operation, tuple(_substitute(part, operands) for part in rule.parts)
        )
    return rule


def plus(a: Formula, b: Formula) -> Formula:
    """Returns a sum, without zeros."""
    if ZERO in (a, b):
        return b if a == ZERO else a
    if isinstance(b, Application) and b.operation == "-" and len(b.parts) == 1:
        return Application("-", (a, *b.parts))
    return Application("+", (a, b))


def times(a: Formula, b: Formula) -> Formula:
    """Returns a product, without ones, and 0 if a factor is."""
    if ZERO in (a, b):
        return ZERO
    if ONE in (a, b):
        return b if a == ONE else a
    if isinstance(b, Application) and b.operation == "/" and b.parts[0] == ONE:
        return Application("/", (a, b.parts[1]))
    return Application("*", (a, b))


def minus(a: Formula) -> Formula:
    """Returns the negative of a formula."""
    if isinstance(a, Application) and a.operation == "-" and len(a.parts) == 1:
        return a.parts[0]
    return a if a == ZERO else Application("-", (a,))


def _of_negative(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    return minus(inner[0])  # the only operation on one part that has no rule of its own


def _of_where(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    return Application("where", (formula.parts[0], *inner[1:]))


def _of_sum(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    return plus(inner[0], inner[1] if formula.operation == "+" else minus(inner[1]))


def _of_product(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    (a, b), (da, db) = formula.parts, inner
    return plus(times(da, b), times(a, db))


def _of_quotient(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    (a, b), (da, db) = formula.parts, inner
    first = da if da == ZERO else Application("/", (da, b))
    if db == ZERO:
        return first
    return plus(first, minus(Application("/", (times(a, db), Application("**", (b, Number("2")))))))


def _of_remainder(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    """Returns that of ``a % b``, which is a - floor(a / b) * b."""
    (a, b), (da, db) = formula.parts, inner
    return plus(da, minus(times(Application("floor", (Application("/", (a, b)),)), db)))


def _of_power(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    """Returns that of ``a ** b``: 0 by a where b is 0, and 0 by b where a is 0, as torch takes it.

    Where b is below 0 at a = 0, neither the power nor its derivative is finite.
    """
    (a, b), (da, db) = formula.parts, inner
    first = times(times(b, _power(a, b)), da)
    if not isinstance(b, Number) and first != ZERO:
        first = Application("where", (Application("==", (b, ZERO)), ZERO, first))
    if db == ZERO or a == ZERO:
        return first
    second = times(Application("*", (formula, Application("log", (a,)))), db)
    if not isinstance(a, Number):
        at_zero = Application("and", (Application("==", (a, ZERO)), Application(">=", (b, ZERO))))
        second = Application("where", (at_zero, ZERO, second))
    return plus(first, second)


def _power(base: Formula, exponent: Formula) -> Formula:
    """Returns ``base ** (exponent - 1)``."""
    if not isinstance(exponent, Number):
        return Application("**", (base, Application("-", (exponent, ONE))))
    less = exponent.value - 1
    if less in (0, 1):
        return ONE if less == 0 else base
    return Application(
        "**", (base, minus(Number(f"{-less:g}")) if less < 0 else Number(f"{less:g}"))
    )


def _of_extreme(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    """Returns that of ``max`` or ``min``: of equal numbers both count half, a limit not at all."""
    (a, b), (da, db) = formula.parts, inner
    sign = ">" if formula.operation == "max" else "<"
    if _is_constant(b) or _is_constant(a):  # torch clamps, and a number on the limit passes
        number, limit, slope = (a, b, da) if _is_constant(b) else (b, a, db)
        return Application("where", (Application(f"{sign}=", (number, limit)), slope, ZERO))
    half = times(Number("0.5"), plus(da, db))
    equal = Application("where", (Application("==", (a, b)), half, db))
    return Application("where", (Application(sign, (a, b)), da, equal))


def _of_clamp(formula: Application, inner: tuple[Formula, ...]) -> Formula:
    """Returns that of ``clamp``: a number on a plain limit passes, as in torch."""
    (number, low, high), (slope, *_) = formula.parts, inner
    if _is_constant(low) and _is_constant(high):
        within = Application(
            "and", (Application(">=", (number, low)), Application("<=", (number, high)))
        )
        return Application("where", (within, slope, ZERO))
    above = Application("max", (number, low))
    slope = _of_extreme(above, inner[:2])
    return _of_extreme(Application("min", (above, high)), (slope, inner[2]))


def _is_constant(formula: Formula) -> bool:
    """Returns whether a formula is a number that follows from sizes, for all that can be seen."""
    named = (leaf.text for leaf in leaves(formula) if isinstance(leaf, Name))
    operands = any(isinstance(leaf, Operand) for leaf in leaves(formula))
    return not operands and all(name.startswith("n_") for name in named)


_OF_SEVERAL: Mapping[str, Callable[[Application, tuple[Formula, ...]], Formula]] = {
    "+": _of_sum,
    "-": _of_sum,
    "*": _of_product,
    "/": _of_quotient,
    "%": _of_remainder,
    "**": _of_power,
    "clamp": _of_clamp,
    "max": _of_extreme,
    "min": _of_extreme,
    "where": _of_where,
}
