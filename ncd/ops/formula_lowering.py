"""Formulas as torch expressions, with the casts that the kinds of numbers need.

``k ** -0.5`` is written as it is, so that a size k may change; its value 0.25 is only that of now.

Every part of a formula is a truth value, whole or real, and either a tensor or a plain number that
follows from the sizes. Truth values count as 0 and 1 in arithmetic. Real parts get the dtype of the
module: torch would use 32 bits for ``positions * 0.5`` in a module of 64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ncd.errors import SizeError
from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import COMPARISONS, SIGNS, Application, Formula, Name, Number, Operand
from ncd.formulas.traced_sizes import is_symbolic
from ncd.language import torch_code as ex
from ncd.language.axes import Axis

# --- Plain numbers of formulas at traced sizes: an expression follows them, a value does not


def without_formula(value: Any) -> Any:
    """Returns a number without its formula.

    >>> from ncd.formulas.traced_sizes import SizeTrace
    >>> without_formula(SizeTrace().size("k", 16)) ** -0.5
    0.25
    """
    return value.value if is_symbolic(value) else value


def is_pinned(expr: ex.TorchExpr, value: Any) -> bool:
    """Returns whether a value holds at the current sizes only, and not as a formula."""
    return not is_symbolic(value) and any(map(is_symbolic, _sizes(expr)))


def pin(expr: ex.TorchExpr, value: Any) -> Any:
    """Returns a value on which code depends; its trace notes that its sizes must not change."""
    if is_pinned(expr, value):
        for size in _sizes(expr):
            int(size)
    return value


def _sizes(expr: ex.TorchExpr) -> Iterator[int]:
    for part in expr.walk():
        if isinstance(part, ex.Size):
            yield from (axis.numel for axis in part.axes)


# --- Translating formulas to expressions, with the casts that the kinds of numbers need

Kind = Literal["truth", "whole", "real"]
MAX_EXACT_INTEGER = 2**53  # whole numbers up to this are exact as real ones too


@dataclass(frozen=True)
class LoweredFormula:
    """A translated part of a formula: a plain number, or a tensor if ``value`` is None."""

    expr: ex.TorchExpr
    kind: Kind
    dims: frozenset[tuple[str, int]] = frozenset()
    value: int | float | bool | None = None

    @property
    def pinned_value(self) -> int | float | bool | None:  # where the translation depends on it
        return pin(self.expr, self.value)


def constant(value: int | float | bool, expr: ex.TorchExpr | None = None) -> LoweredFormula:
    """Returns the part of a plain number, written as an expression of sizes if one is given."""
    whole: Kind = "whole" if isinstance(value, int) else "real"
    kind: Kind = "truth" if isinstance(value, bool) else whole
    return LoweredFormula(ex.Const(value) if expr is None else expr, kind, value=value)


def lower(
    formula: Formula, args: Sequence[LoweredFormula], names: Mapping[str, LoweredFormula]
) -> LoweredFormula:
    """Returns the formula of these operands; ``names`` are its axes, sizes and constants.

    Raises SizeError where a plain number is undefined, such as ``1 / (n_x - 3)`` for x = 3.
    """
    if isinstance(formula, Number):
        return _check_range(constant(formula.value), formula)
    if isinstance(formula, Operand):
        return args[formula.number - 1]
    if isinstance(formula, Name):
        return names[formula.text]
    assert isinstance(formula, Application)
    parts = [lower(part, args, names) for part in formula.parts]
    return _check_range(_apply_operation(formula.operation, parts, formula), formula)


def broadcast_to(part: LoweredFormula, dims: ex.Group, below: Axis | None) -> ex.TorchExpr:
    """Returns the part as a tensor of ``dims``, of whole numbers if ``below`` an axis.

    Raises SizeError for a plain number that is not below it.
    """
    zeros: ex.TorchExpr = ex.Filled(dims) if below is None else ex.Cast(ex.Filled(dims), "whole")
    if part.value is not None:
        number = _number(part)
        if below is not None:
            _check_below(number, below)
        return zeros if number.pinned_value == 0 else ex.Infix("+", zeros, number.expr)
    expr = (_real(part) if below is None else _number(part)).expr
    if below is not None and part.kind == "real":
        expr = ex.Cast(expr, "whole")
    missing = tuple(dim for dim in dims if dim.key not in part.dims)
    if not missing:
        return expr
    zeros = ex.Filled(missing) if below is None else ex.Cast(ex.Filled(missing), "whole")
    return ex.Infix("+", expr, zeros if missing == dims else ex.Align(zeros, missing, dims))


def _check_below(part: LoweredFormula, below: Axis) -> None:
    value = part.pinned_value
    whole = part.kind == "whole" and value is not None and value >= 0
    if not whole or (below.size is not None and not (value or 0) < below.numel):
        raise SizeError(
            f"it gives {value}, but its numbers are whole ones below {below.sized_words}",
            cure="a whole number, 0 or more, below it",
        )


def _check_range(part: LoweredFormula, formula: Formula) -> LoweredFormula:
    if part.kind == "whole" and part.value is not None and abs(part.value) > MAX_EXACT_INTEGER:
        raise SizeError(f"{formula} is over 2**53, too large for a whole number", cure="1e30")
    return part


def _apply_operation(
    operation: str, parts: list[LoweredFormula], formula: Formula
) -> LoweredFormula:
    match operation, parts:
        case ["where", [condition, yes, no]]:
            return _where_call(_truth(condition), yes, no)
        case ["clamp", [a, low, high]]:
            return _clamp(_number(a), _number(low), _number(high))
        case ["and" | "or", [a, b]]:
            return _and_or(operation, _truth(a), _truth(b))
        case ["not", [a]]:
            return _not(_truth(a))
        case ["min" | "max", [a, b]]:
            return _extreme(operation, _number(a), _number(b))
        case ["-", [a]]:
            return _negative(_number(a))
        case [_, [a, b]] if operation in COMPARISONS:
            return _comparison(operation, a, b)
        case ["**", [a, b]] if a.value is None or b.value is None:
            return _power(_number(a), _number(b))
        case [_, [a, b]]:
            return _arithmetic(operation, _number(a), _number(b), formula)
    (a,) = parts
    return _function(operation, _number(a), formula)


# --- kinds ---------------------------------------------------------------------------------------


def _number(part: LoweredFormula) -> LoweredFormula:
    """Converts a truth value to 0 or 1."""
    if part.kind != "truth":
        return part
    if part.value is not None:
        return constant(int(bool(part.pinned_value)))
    return replace(part, expr=ex.Cast(part.expr, "whole"), kind="whole")


def _real(part: LoweredFormula) -> LoweredFormula:
    """Converts a tensor to real numbers; torch converts plain numbers itself."""
    if part.value is not None or part.kind == "real":
        return _number(part)
    return replace(part, expr=ex.Cast(part.expr, "real"), kind="real")


def _truth(part: LoweredFormula) -> LoweredFormula:
    """Converts a number to the truth value of ``!= 0``."""
    if part.kind == "truth":
        return part
    if part.value is not None:
        return constant(bool(part.pinned_value))
    return LoweredFormula(ex.Infix("!=", part.expr, ex.Const(0)), "truth", part.dims)


def _alike(a: LoweredFormula, b: LoweredFormula) -> tuple[LoweredFormula, LoweredFormula, Kind]:
    """Converts both to real numbers if one of them is real."""
    if "real" in (a.kind, b.kind):
        return _real(a), _real(b), "real"
    return a, b, "whole"


# --- operations ----------------------------------------------------------------------------------


def _arithmetic(
    sign: str, a: LoweredFormula, b: LoweredFormula, formula: Formula
) -> LoweredFormula:
    if a.value is not None and b.value is not None:
        return _fold_constants(sign, a, b, formula)
    divides = sign in ("//", "%")
    if divides and b.kind == "whole" and b.value == 0:
        raise _uncomputable(formula)
    # torch refuses to divide whole numbers by a tensor that holds a 0
    if sign == "/" or (divides and b.value is None):
        a, b = _real(a), _real(b)
        kind: Kind = "real"
    else:
        a, b, kind = _alike(a, b)
    if divides and a.value is not None:
        a = _tensor(a)
    dims = a.dims | b.dims
    if sign == "//" and kind == "real":  # torch's floor_divide has no gradient; this one's is 0
        return LoweredFormula(
            ex.call("torch.div", a.expr, b.expr, rounding_mode="floor"), kind, dims
        )
    return LoweredFormula(ex.Infix(sign, a.expr, b.expr), kind, dims)


def _tensor(part: LoweredFormula) -> LoweredFormula:
    """Converts a plain number to a real tensor: some functions of torch take no number there."""
    return replace(part, expr=ex.Infix("+", ex.Filled(()), part.expr), kind="real", value=None)


def _fold_constants(
    sign: str, a: LoweredFormula, b: LoweredFormula, formula: Formula
) -> LoweredFormula:
    """Computes plain numbers, but keeps the expression as it was written: ``k ** -0.5``."""
    assert a.value is not None and b.value is not None
    one, two = a.value, b.value
    exact = isinstance(one, int) and isinstance(two, int)
    if sign == "**" and exact and abs(one) > 1 and two > 64:
        raise _uncomputable(formula)  # Python would compute all its digits
    if not exact or sign in ("/", "**") or is_pinned(a.expr, one) or is_pinned(b.expr, two):
        one, two = without_formula(one), without_formula(two)
    try:
        value = SIGNS[sign](one, two)
    except (ArithmeticError, ValueError):
        raise _uncomputable(formula) from None
    if isinstance(value, complex):
        raise _uncomputable(formula)
    if sign == "**" and b.pinned_value == 0.5:
        return constant(value, ex.call("math.sqrt", a.expr))
    return constant(value, ex.Infix(sign, a.expr, b.expr))


def _uncomputable(formula: Formula) -> SizeError:
    return SizeError(f"{formula} is no number with these sizes", cure="other sizes")


def _power(a: LoweredFormula, b: LoweredFormula) -> LoweredFormula:
    stays = a.kind == "whole" and b.kind == "whole" and b.value is not None and b.value >= 0
    if not stays:  # torch refuses a whole number to the power of a negative one
        a, b = _real(a), _real(b)
    return LoweredFormula(
        ex.Infix("**", a.expr, b.expr), "whole" if stays else "real", a.dims | b.dims
    )


def _comparison(sign: str, a: LoweredFormula, b: LoweredFormula) -> LoweredFormula:
    if a.value is not None and b.value is not None:
        return constant(bool(SIGNS[sign](a.pinned_value, b.pinned_value)))
    a, b = _number(a), _number(b)
    if a.value is None and b.value is None:
        a, b, _ = _alike(a, b)
    return LoweredFormula(ex.Infix(sign, a.expr, b.expr), "truth", a.dims | b.dims)


def _and_or(operation: str, a: LoweredFormula, b: LoweredFormula) -> LoweredFormula:
    for part, other in ((a, b), (b, a)):
        if part.value is not None:
            decides = part.value == (operation == "or")
            return part if decides else other
    sign = "&" if operation == "and" else "|"
    return LoweredFormula(ex.Infix(sign, a.expr, b.expr), "truth", a.dims | b.dims)


def _not(a: LoweredFormula) -> LoweredFormula:
    if a.value is not None:
        return constant(not a.value)
    return replace(a, expr=ex.Prefix("~", a.expr))


def _negative(a: LoweredFormula) -> LoweredFormula:
    if isinstance(a.expr, ex.Const) and a.value is not None:
        return constant(-a.value)
    value = None if a.value is None else -a.value
    return replace(a, expr=ex.Prefix("-", a.expr), value=value)


def _extreme(operation: str, a: LoweredFormula, b: LoweredFormula) -> LoweredFormula:
    if a.value is not None and b.value is not None:
        first = SIGNS["<=" if operation == "min" else ">="](a.pinned_value, b.pinned_value)
        return a if first else b
    a, b, kind = _alike(a, b)
    dims = a.dims | b.dims
    if a.value is None and b.value is None:
        function = "torch.minimum" if operation == "min" else "torch.maximum"
        return LoweredFormula(ex.call(function, a.expr, b.expr), kind, dims)
    tensor, limit = (a, b) if a.value is None else (b, a)
    side = "max" if operation == "min" else "min"
    return LoweredFormula(ex.call("torch.clamp", tensor.expr, **{side: limit.expr}), kind, dims)


def _clamp(a: LoweredFormula, low: LoweredFormula, high: LoweredFormula) -> LoweredFormula:
    if a.value is not None or low.value is None or high.value is None:
        return _extreme("min", _extreme("max", a, low), high)
    kind: Kind = "real" if "real" in (a.kind, low.kind, high.kind) else "whole"
    a = _real(a) if kind == "real" else a
    return LoweredFormula(ex.call("torch.clamp", a.expr, min=low.expr, max=high.expr), kind, a.dims)


def _where_call(
    condition: LoweredFormula, yes: LoweredFormula, no: LoweredFormula
) -> LoweredFormula:
    if condition.value is not None:
        return yes if condition.value else no
    kind: Kind = "truth"
    if (yes.kind, no.kind) != ("truth", "truth") or yes.value is not None or no.value is not None:
        yes, no, kind = _alike(_number(yes), _number(no))
    if kind == "real" and yes.value is not None and no.value is not None:
        yes = _tensor(yes)
    dims = condition.dims | yes.dims | no.dims
    return LoweredFormula(ex.call("torch.where", condition.expr, yes.expr, no.expr), kind, dims)


def _function(name: str, a: LoweredFormula, formula: Formula) -> LoweredFormula:
    function = ELEMENTWISE[name]
    if a.value is not None:
        try:
            number: float = (
                without_formula(a.value) if function.is_in_math else pin(a.expr, a.value)
            )
            value = function.of_number(number)
        except (ArithmeticError, ValueError):
            raise _uncomputable(formula) from None
        return constant(value, ex.call(f"math.{name}", a.expr) if function.is_in_math else None)
    if name in ("ceil", "floor") and a.kind == "whole":
        return a
    if not function.keeps_whole:
        a = _real(a)
    return replace(a, expr=ex.Call(function.torch, (a.expr,)))
