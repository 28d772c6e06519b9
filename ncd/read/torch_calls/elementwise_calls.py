"""Activations, arithmetic, comparisons, masks, conversions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import formula_number, parse
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import Add, CausalMask, Dropout, Elementwise, Map, Scale
from ncd.read.torch_calls.dimension_atoms import AxisFactor, Dim, all_atoms, resolved_atoms, size
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Kind,
    Operand,
    first_that_fits,
    in_order,
    kind_of,
)

# --- Elementwise formulas of one or two arrays, broadcast as torch does

SCALAR = Signature.parse("() -> ()")


def map_formula(g: DimensionBuilder, x: Operand, formula: str, title: str = "") -> ImportedValue:
    """Adds a formula of one array."""
    x = g.value(x)
    if x.slot.kind != "real":
        return explicit(g, [x], x.dims, formula, title, g.kind)
    return g.elementwise_step(lambda axes, arrays: Map(SCALAR, parse(formula), title), x)


def as_real_numbers(g: DimensionBuilder, x: Operand) -> ImportedValue:
    """Returns whole numbers as real ones."""
    x = g.value(x)
    return x if x.slot.kind == "real" else explicit(g, [g.materialise(x)], x.dims, "$1")


def explicit(
    g: DimensionBuilder,
    values: Sequence[ImportedValue],
    dims: tuple[Dim, ...],
    formula: str,
    title: str = "",
    kind: Kind = "real",
    below: AxisFactor | None = None,
) -> ImportedValue:
    """Adds a formula whose pattern has every axis."""
    atoms, bound = all_atoms(dims), below or g.default_bound(kind)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        wanted = Array(axes(atoms), axes((bound,))[0] if bound is not None else None)
        return full_formula(wanted, arrays, formula, title)

    return g.op(make, values, dims, kind=kind, below=bound)


def full_formula(wanted: Array, arrays: Sequence[Array], formula: str, title: str) -> Term:
    """Returns a formula on every axis; the result has them in the order of the widest array."""
    return Map(Signature(Type(arrays), Type((_widest(wanted, arrays),))), parse(formula), title)


def _widest(wanted: Array, arrays: Sequence[Array]) -> Array:
    most = max(arrays, key=len)
    first = [axis for axis in most if axis.name in wanted.names]
    rest = (axis for axis in wanted if axis.name not in most.names)
    return wanted.with_axes((*rest, *first))


def truth(g: DimensionBuilder, one: Operand, two: Operand, formula: str) -> ImportedValue:
    """Adds a formula of two arrays that is 0 or 1, as a mask."""
    x, y, dims = g.broadcast_pair(g.value(one), g.value(two))
    return explicit(g, [g.materialise(x), g.materialise(y)], dims, formula, kind="bool")


def broadcast(
    g: DimensionBuilder, one: Operand, two: Operand, formula: str, title: str = ""
) -> ImportedValue:
    """Adds a formula of two arrays, broadcast as torch does."""
    x, y, dims = g.broadcast_pair(g.value(one), g.value(two))
    kinds = {x.slot.kind, y.slot.kind}
    held = {*resolved_atoms(x.slot.atoms), *resolved_atoms(y.slot.atoms)}
    atoms = tuple(atom for atom in all_atoms(dims) if atom in held)
    kind: Kind = "real" if "real" in kinds else g.kind
    below = g.default_bound(kind)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        wanted = Array(axes(atoms), axes((below,))[0] if below is not None else None)

        def short() -> Term:
            pair = Signature.parse("(), () -> ()")
            return Add() if formula == "$1 + $2" else Map(pair, parse(formula), title)

        def full() -> Term:
            return full_formula(wanted, arrays, formula, title)

        order = _widest(wanted, arrays)
        return first_that_fits(arrays, order, *((short, full) if kinds == {"real"} else (full,)))

    slot = g.slot((atoms,), kind, below)
    g.step(make, [x, y], [slot], also=all_atoms(dims))
    return ImportedValue(dims, slot)


def bounded_places(g: DimensionBuilder, places: ImportedValue, bound: AxisFactor) -> ImportedValue:
    """Returns whole numbers that are below the size of an axis."""
    below = places.slot.below
    if below is None or resolved_atoms((below,)) == resolved_atoms((bound,)):
        return places
    (root,) = resolved_atoms((below,))
    if root.hint == bound.hint == "bit":
        return places
    if root.hint in ("bound", "whole") and _replace_bound(root, bound):
        return places
    return explicit(g, [places], places.dims, "$1", kind="whole", below=bound)


def _replace_bound(one: AxisFactor, two: AxisFactor) -> bool:
    """Replaces the bound of constant positions by that of a table, if they fit; or a vague one."""
    if (one.hint == "bound" and one.size > two.size) or one.step_numbers & two.step_numbers:
        return False
    one.merged_into = two
    two.step_numbers |= one.step_numbers
    return True


def of_one_kind(g: DimensionBuilder, values: Sequence[ImportedValue]) -> list[ImportedValue]:
    """Returns values of the same kind of numbers: real ones, or below the same bound."""
    below = [value.slot.below for value in values]
    if None in below:
        return [as_real_numbers(g, value) for value in values]
    most = max((one for one in below if one is not None), key=lambda one: size((one,)))
    return [bounded_places(g, value, most) for value in values]


# --- Reads functions of one number, such as activations, and dropout

# Those that take nothing but the array, in torch as in formulas.
UNARY_NAMES = tuple(name for name in ELEMENTWISE if name not in ("elu", "gelu", "softplus"))
AWAY_FROM_0 = "where(abs($1) < 0.001, 1, $1)"
UNARY_FORMULAS: Mapping[str, str] = {
    "neg": "-$1",
    "reciprocal": "1 / $1",
    "square": "$1 ** 2",
    "relu6": "where($1 <= 0, 0, where($1 >= 6, 6, $1))",  # its ends pass no gradient, as clamp's do
    "hardtanh": "where($1 <= {0}, {0}, where($1 >= {1}, {1}, $1))",
    "leaky_relu": "where($1 > 0, $1, {0} * $1)",
    "mish": "$1 * tanh(softplus($1))",
    "hardsigmoid": "where($1 <= -3, 0, where($1 >= 3, 1, $1 / 6 + 1 / 2))",
    "hardswish": "where($1 <= -3, 0, where($1 >= 3, $1, $1 * ($1 / 6 + 1 / 2)))",
    "sinc": "where(abs($1) < 0.001, 1 - (pi * $1) ** 2 / 6 + (pi * $1) ** 4 / 120, "  # its series
    f"sin(pi * {AWAY_FROM_0}) / (pi * {AWAY_FROM_0}))",
    "log2": "log($1) / log(2)",
    "log10": "log($1) / log(10)",
    "exp2": "exp($1 * log(2))",
    "sinh": "(expm1($1) - expm1(-$1)) / 2",  # exact for small numbers as well
    "cosh": "(exp($1) + exp(-$1)) / 2",
    "erfc": "1 - erf($1)",
    "trunc": "sign($1) * floor(abs($1))",
    "frac": "$1 - sign($1) * floor(abs($1))",
    "log_sigmoid": "-softplus(-$1)",
}


USUAL_SETTINGS: Mapping[str, tuple[float, ...]] = {
    "hardtanh": (-1.0, 1.0),
    "leaky_relu": (0.01,),
}


def unary(name: str, g: DimensionBuilder, x: Operand, *settings: float) -> ImportedValue:
    if name in UNARY_NAMES:
        x = g.value(x)
        if x.slot.kind != "real":
            return map_formula(g, x, f"{name}($1)")
        return g.elementwise_step(lambda axes, arrays: Elementwise(name), x)
    usual = USUAL_SETTINGS.get(name, ())
    given = (*settings[: len(usual)], *usual[len(settings) :])
    title = "" if name in ("neg", "reciprocal", "square") else name.replace("_", " ")
    return map_formula(g, x, UNARY_FORMULAS[name].format(*map(formula_number, given)), title)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # of torch.nn.SELU


def elu(
    g: DimensionBuilder, x: Operand, alpha: float = 1, scale: float = 1, inner: float = 1
) -> ImportedValue:
    """Adds a line above 0, and below it a power that comes to rest; so are selu and celu written.

    The power is taken of numbers below 0 alone: above, its gradient would overflow.
    """
    if alpha == scale == inner == 1:
        return unary_named(g, as_real_numbers(g, x), "elu")
    line = "$1" if scale == 1 else f"{formula_number(scale)} * $1"
    below = "min($1, 0)" if inner == 1 else f"min($1, 0) * {formula_number(inner)}"
    curve = f"{formula_number(alpha * scale)} * expm1({below})"
    return map_formula(g, x, f"where($1 > 0, {line}, {curve})", "elu")


def gelu(g: DimensionBuilder, x: Operand, *, approximate: str = "none") -> ImportedValue:
    if approximate == "none":
        return unary_named(g, x, "gelu")
    cube = "$1 / 2 * (1 + tanh(0.7978845608028654 * ($1 + 0.044715 * $1 ** 3)))"
    return map_formula(g, x, cube, "gelu")


def unary_named(g: DimensionBuilder, x: Operand, name: str) -> ImportedValue:
    x = g.value(x)
    return g.elementwise_step(lambda axes, arrays: Elementwise(name), x)


def softplus(
    g: DimensionBuilder, x: Operand, beta: float = 1, threshold: float = 20
) -> ImportedValue:
    if beta == 1 and threshold >= 20:
        return unary_named(g, x, "softplus")
    wide = f"$1 * {formula_number(beta)}"
    curve = f"softplus({wide}) / {formula_number(beta)}"
    return map_formula(
        g, x, f"where({wide} > {formula_number(threshold)}, $1, {curve})", "softplus"
    )


NEAREST = "where($1 - floor($1) == 1 / 2, 2 * floor($1 / 2 + 1 / 2), floor($1 + 1 / 2))"


def round_numbers(g: DimensionBuilder, x: Operand, *, decimals: int = 0) -> ImportedValue:
    """Adds the nearest whole number, the even one of two; or as many digits behind the point."""
    if not decimals:
        return map_formula(g, x, NEAREST, "round")
    moved = map_formula(g, x, f"$1 * {formula_number(10.0**decimals)}")
    return map_formula(
        g, map_formula(g, moved, NEAREST, "round"), f"$1 / {formula_number(10.0**decimals)}"
    )


def clamp(g: DimensionBuilder, x: Operand, min: Any = None, max: Any = None) -> ImportedValue:
    if isinstance(min, ImportedValue | ImportedConstant) or isinstance(
        max, ImportedValue | ImportedConstant
    ):
        found = g.value(x)
        for sign, limit in (("<", min), (">", max)):
            if isinstance(limit, ImportedValue | ImportedConstant):
                found = broadcast(g, found, limit, f"where($1 {sign} $2, $2, $1)", "clamp")
        return found
    if min is not None and max is not None:
        return map_formula(
            g, x, f"clamp($1, {formula_number(min)}, {formula_number(max)})", "clamp"
        )
    formula = (
        f"min($1, {formula_number(max)})" if min is None else f"max($1, {formula_number(min)})"
    )
    return map_formula(g, x, formula, "clamp")


def logit(g: DimensionBuilder, x: Operand, eps: float | None = None) -> ImportedValue:
    """Adds the logarithm of a share over that of the rest, which is kept off the ends by eps."""
    inside = x if eps is None else clamp(g, x, eps, 1 - eps)
    return map_formula(g, inside, "log($1) - log(1 - $1)", "logit")


def power(base: str, exponent: float) -> str:
    """Returns the formula of a power whose gradient at 0 is 0, as torch's norms have it."""
    base_but_0 = f"where({base} == 0, 1, {base})"
    raised = f"sqrt({base_but_0})" if exponent == 1 / 2 else f"{base_but_0} ** {exponent!r}"
    return f"where({base} == 0, 0, {raised})"


def dropout(g: DimensionBuilder, x: Operand, p: float, train: bool) -> ImportedValue:
    x = g.value(x)
    if not train or p == 0:
        return x
    return g.elementwise_step(lambda axes, arrays: Dropout(p), x)


def prelu(g: DimensionBuilder, x: Operand, slope: Any) -> ImportedValue:
    """Adds a function whose slope below 0 is learned, for all numbers or for each channel."""
    row = g.value(slope)
    one = not row.dims or size(row.dims[0]) == 1
    column = ImportedValue(() if one else (*row.dims, *((),) * (len(g.shape) - 2)), row.slot)
    return broadcast(g, x, column, "where($1 > 0, $1, $2 * $1)", "prelu")


def leaky_at_random(
    g: DimensionBuilder,
    x: Operand,
    low: float = 1 / 8,
    high: float = 1 / 3,
    train: bool = False,
    *more: Any,
) -> ImportedValue:
    if train:
        g.reject_call("slopes that are drawn at random")
    return map_formula(g, x, UNARY_FORMULAS["leaky_relu"].format((low + high) / 2), "rrelu")


def alpha_dropout(g: DimensionBuilder, x: Operand, p: float, train: bool) -> ImportedValue:
    """Returns what a dropout of another kind leaves as it is."""
    if train and p:
        g.reject_call("numbers that are drawn at random")
    return g.value(x)


ACTIVATION_CALLS: dict[str, Handler] = {
    **{name: partial(unary, name) for name in (*UNARY_NAMES, *UNARY_FORMULAS)},
    **dict.fromkeys(("dropout", "feature_dropout"), dropout),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), alpha_dropout),
    **dict.fromkeys(("clamp", "clamp_min", "clip"), clamp),
    "clamp_max": lambda g, x, max: clamp(g, x, None, max),
    **dict.fromkeys(("prelu", "_prelu_kernel"), prelu),
    "celu": lambda g, x, alpha=1.0: elu(g, x, alpha, 1, 1 / alpha),
    "elu": elu,
    "selu": lambda g, x: elu(g, x, SELU_ALPHA, SELU_SCALE),
    "round": round_numbers,
    "rrelu": leaky_at_random,
    "gelu": gelu,
    "logit": logit,
    "softplus": softplus,
}


# --- Reads conversions: to another dtype, device or memory layout


def convert_dtype(g: DimensionBuilder, x: Operand, *args: Any, **more: Any) -> Operand:
    """Returns a tensor in another dtype or on another device; real numbers stay real."""
    if isinstance(x, ImportedConstant) and kind_of(x.tensor.dtype) != g.kind:
        x = g.value(x)
    if not isinstance(x, ImportedValue) or x.slot.kind == g.kind:
        return x
    if g.kind == "real":
        return as_real_numbers(g, x)
    x = g.materialise(x)
    if g.kind == "bool":
        return explicit(g, [x], x.dims, "$1 != 0", kind="bool")
    title = str(g.dtype).removeprefix("torch.") if x.slot.kind == "real" else ""
    return explicit(g, [x], x.dims, "$1", title, kind="whole", below=x.slot.below)


def as_whole(g: DimensionBuilder, found: Any, val: Any) -> Any:
    """Returns a result as whole numbers if torch's result has whole numbers."""
    if not isinstance(val, torch.Tensor) or not isinstance(found, ImportedValue):
        return found
    kind = kind_of(val.dtype)
    if kind == "real" or found.slot.kind != "real":
        return found
    return explicit(g, [g.materialise(found)], found.dims, "$1", kind=kind)


def _identity(g: DimensionBuilder, x: Operand, *args: Any, **more: Any) -> Operand:
    return x


CONVERSION_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("contiguous", "alias", "clone", "detach", "lift_fresh_copy"), _identity),
    **dict.fromkeys(("to", "_to_copy", "type_as"), convert_dtype),
}


# --- Reads masks: filled places, causal masks, and choices by a condition

LOWEST = -1e4  # a score below it has no weight after a softmax


def scalar_of(x: Any) -> float | None:
    """Returns the number of a constant that holds one number only."""
    if isinstance(x, ImportedConstant) and not x.name and x.tensor.numel() == 1:
        return float(x.tensor)
    return None


def with_constant_mask(g: DimensionBuilder, scores: Any, mask: Any) -> ImportedValue | None:
    """Returns scores with a constant mask added that forbids later positions; None for others."""
    if not isinstance(mask, ImportedConstant) or mask.name or not isinstance(scores, ImportedValue):
        return None
    if not mask.tensor.is_floating_point():
        return None
    if bool((mask.tensor == 0).all()) and _fits(mask.tensor, scores):
        return scores
    allowed = mask.tensor == 0
    if bool((allowed | (mask.tensor <= LOWEST)).all()) and is_causal(allowed, scores):
        return causal(g, scores)
    return None


def _fits(mask: torch.Tensor, scores: ImportedValue) -> bool:
    """Returns whether a mask is broadcast to the shape of the scores."""
    if mask.dim() > len(scores.dims):
        return False
    ends = scores.shape[len(scores.dims) - mask.dim() :]
    return all(n in (1, have) for n, have in zip(mask.shape, ends, strict=True))


def is_causal(allowed: torch.Tensor, scores: ImportedValue) -> bool:
    """Returns whether each position may see itself and those before, in every matrix alike."""
    if allowed.dim() < 2 or not _fits(allowed, scores):
        return False
    shape = scores.shape[-2:]
    flat = allowed.reshape(-1, *allowed.shape[-2:])
    if tuple(flat.shape[-2:]) != shape or shape[0] != shape[1] or shape[0] == 1:
        return False
    if any(
        len(resolved_atoms(dim)) != 1 or resolved_atoms(dim)[0].group for dim in scores.dims[-2:]
    ):
        return False
    return bool((flat == torch.ones_like(flat[0]).tril()).all())


def causal(g: DimensionBuilder, scores: ImportedValue) -> ImportedValue:
    """Adds the causal mask."""
    y, x = resolved_atoms(scores.dims[-2]), resolved_atoms(scores.dims[-1])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        both, (array,) = axes((*y, *x)), arrays
        placed = array.names.index(both.names[0]) < array.names.index(both.names[1])
        return CausalMask(both) if placed else in_order(array, both, CausalMask(both))

    return g.op(make, [g.materialise(scores)], scores.dims)


def masked_fill(g: DimensionBuilder, x: Operand, mask: Any, value: Any) -> ImportedValue:
    filled = scalar_of(value) if isinstance(value, ImportedConstant) else value
    if not isinstance(filled, int | float):
        g.reject_call("a value that is an array")
    if isinstance(x, ImportedConstant) and isinstance(mask, ImportedValue):
        return _two_valued(g, x, mask, filled)
    scores = g.value(x)
    if isinstance(mask, ImportedConstant):
        if not bool(mask.tensor.any()) and _fits(mask.tensor, scores):
            return scores
        if filled <= LOWEST and is_causal(~mask.tensor.bool(), scores):
            return causal(g, scores)
    return broadcast(g, scores, mask, f"where($2 > 0, {formula_number(filled)}, $1)", "mask")


def _two_valued(
    g: DimensionBuilder, x: ImportedConstant, mask: ImportedValue, filled: float
) -> ImportedValue:
    """Returns an array with one number where a mask is set, and another elsewhere."""
    alike = x.tensor.numel() and bool((x.tensor == x.tensor.reshape(-1)[0]).all())
    if not alike or tuple(x.tensor.shape) != mask.shape:
        g.reject_call("a constant that is filled")
    usual = float(x.tensor.reshape(-1)[0])
    return map_formula(
        g,
        g.materialise(mask),
        f"where($1 > 0, {formula_number(filled)}, {formula_number(usual)})",
        "mask",
    )


def alike(value: Any, g: DimensionBuilder, x: Operand, *args: Any, **more: Any) -> ImportedConstant:
    """Returns an array filled with one number, in the shape of another array."""
    filled = args[-1] if value is None else value
    return ImportedConstant(torch.full(g.shape, filled, dtype=g.dtype))


def choose_by_mask(g: DimensionBuilder, test: Any, yes: Any, no: Any) -> ImportedValue:
    """Adds a choice of numbers by a mask; of two arrays each is 0 where it is not taken."""
    first = scalar_of(yes) if isinstance(yes, ImportedConstant) else yes
    second = scalar_of(no) if isinstance(no, ImportedConstant) else no
    if isinstance(first, int | float) and isinstance(second, int | float):
        chosen = f"where($1 > 0, {formula_number(first)}, {formula_number(second)})"
        return map_formula(g, g.materialise(g.value(test)), chosen, "mask")
    if isinstance(second, int | float) and not isinstance(first, int | float):
        if isinstance(test, ImportedConstant):
            return masked_fill(g, yes, ImportedConstant(~test.tensor.bool()), second)
        return broadcast(g, yes, test, f"where($2 > 0, $1, {formula_number(second)})", "mask")
    if isinstance(first, int | float) and not isinstance(second, int | float):
        return masked_fill(g, no, test, first)
    taken = broadcast(g, yes, test, "where($2 > 0, $1, 0)", "mask")
    return broadcast(g, taken, broadcast(g, no, test, "where($2 > 0, 0, $1)", "mask"), "$1 + $2")


MASK_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("zeros_like", "new_zeros", "empty_like", "new_empty"), partial(alike, 0)),
    **dict.fromkeys(("ones_like", "new_ones"), partial(alike, 1)),
    **dict.fromkeys(("full_like", "new_full"), partial(alike, None)),
    "masked_fill": masked_fill,
    "where": choose_by_mask,
}


# --- Reads sums, products and comparisons of arrays and numbers

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


FULL_NAMES = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div"}


COMPARISON_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def binary(
    name: str, g: DimensionBuilder, one: Any, two: Any, alpha: float = 1, **more: Any
) -> ImportedValue:
    """Adds a sum, difference, product, quotient or power of arrays and numbers."""
    sign = SIGNS[name]
    if more.get("rounding_mode") is not None:
        return quotient_or_remainder(QUOTIENT_FORMULAS[more["rounding_mode"]], g, one, two)
    if isinstance(two, int | float):
        if name in ("mul", "div"):
            return scale_by(g, one, two if name == "mul" else 1 / two)
        amount = two * alpha
        if name in ("add", "sub") and amount == 0:
            return g.value(one)
        return map_formula(g, one, f"$1 {sign} {formula_number(amount)}")
    if isinstance(one, int | float):
        return map_formula(g, two, f"{formula_number(one)} {sign} $1")
    if alpha != 1:
        return broadcast(g, one, two, f"$1 {sign} {formula_number(alpha)} * $2")
    if name == "add" and (masked := with_constant_mask(g, one, two)) is not None:
        return masked
    scalar = scalar_of(two)
    if scalar is not None:
        return binary(name, g, one, scalar)
    return broadcast(g, one, two, f"$1 {sign} $2")


def scale_by(g: DimensionBuilder, x: Operand, factor: float) -> ImportedValue:
    """Multiplies by a number: 1 / √k is written as a power of the size of k."""
    value = g.value(x)
    for atoms in (g.summed_dims.get(value.slot, ()), value.dims[-1] if value.dims else ()):
        found = resolved_atoms(atoms)
        root = len(found) == 1 and not found[0].group and found[0].size > 1
        if root and math.isclose(factor, found[0].size ** -0.5, rel_tol=1e-7):
            return _scale_by_root(g, value, found)
    return map_formula(g, value, f"$1 * {formula_number(factor)}") if factor != 1 else value


def _scale_by_root(g: DimensionBuilder, x: ImportedValue, atoms: Dim) -> ImportedValue:
    atoms[0].is_indivisible = True
    return g.elementwise_step(lambda axes, arrays: Scale(axes(atoms)), x)


def rsub(g: DimensionBuilder, one: Any, two: Any, alpha: float = 1) -> ImportedValue:
    return (
        binary("sub", g, two, one, alpha=alpha) if alpha == 1 else g.reject_call("rsub with alpha")
    )


def comparison(name: str, g: DimensionBuilder, one: Any, two: Any) -> ImportedValue:
    """Adds a comparison; it gives a mask of whole numbers below 2."""
    if not isinstance(two, int | float):
        scalar = scalar_of(two)
        if scalar is None:
            return truth(g, one, two, f"$1 {COMPARISON_SIGNS[name]} $2")
        two = scalar
    return as_mask(
        g, g.materialise(g.value(one)), f"$1 {COMPARISON_SIGNS[name]} {formula_number(two)}"
    )


def as_mask(g: DimensionBuilder, x: ImportedValue, formula: str) -> ImportedValue:
    """Adds a formula that is 0 or 1."""
    return explicit(g, [g.materialise(x)], x.dims, formula, kind="bool")


TEST_FORMULAS = {
    "isnan": "$1 != $1",
    "isinf": "abs($1) == inf",
    "isfinite": "abs($1) < inf",
    "isposinf": "$1 == inf",
    "isneginf": "$1 == -inf",
}
QUOTIENT_FORMULAS = {"floor": "floor($1 / $2)", "trunc": "sign($1 / $2) * floor(abs($1 / $2))"}
REMAINDER_FORMULAS = {
    "fmod": f"$1 - {QUOTIENT_FORMULAS['trunc']} * $2",
    "remainder": f"$1 - {QUOTIENT_FORMULAS['floor']} * $2",
}


def number_test(name: str, g: DimensionBuilder, x: Operand) -> ImportedValue:
    """Adds a mask of the numbers of one kind, such as those that are infinite."""
    return as_mask(g, g.materialise(g.value(x)), TEST_FORMULAS[name])


def quotient_or_remainder(formula: str, g: DimensionBuilder, one: Any, two: Any) -> ImportedValue:
    """Adds a quotient of whole numbers, or what it leaves; of real ones rounding decides it."""
    values = [g.value(x) for x in (one, two) if not isinstance(x, int | float)]
    if any(value.slot.kind == "real" for value in values) or isinstance(one, int | float):
        g.reject_call("a rounded quotient of real numbers")
    if isinstance(two, int | float):
        return map_formula(g, one, formula.replace("$2", formula_number(two)))
    return broadcast(g, one, two, formula)


LOGIC = {"and": "min($1, $2)", "or": "max($1, $2)", "xor": "$1 != $2"}


def logical(name: str, g: DimensionBuilder, one: Operand, two: Any = None) -> ImportedValue:
    """Adds a mask computed from one or two other masks."""
    values = [g.value(x) for x in ((one,) if name == "not" else (one, two))]
    if any(value.slot.kind != "bool" for value in values):
        g.reject_call("bits of whole numbers")
    if name == "not":
        return as_mask(g, values[0], "1 - $1")
    return truth(g, values[0], values[1], LOGIC[name])


def limit(name: str, g: DimensionBuilder, one: Operand, two: Operand) -> ImportedValue:
    """Adds the elementwise maximum or minimum."""
    return broadcast(g, one, two, f"{name}($1, $2)")


ARITHMETIC_CALLS: dict[str, Handler] = {
    **{name: partial(binary, name) for name in SIGNS},
    **{name: partial(comparison, name) for name in COMPARISON_SIGNS},
    **{f"logical_{name}": partial(logical, name) for name in (*LOGIC, "not")},
    "maximum": partial(limit, "max"),
    "minimum": partial(limit, "min"),
    **{name: partial(number_test, name) for name in TEST_FORMULAS},
    **{
        name: partial(quotient_or_remainder, formula)
        for name, formula in REMAINDER_FORMULAS.items()
    },
    "hypot": lambda g, one, two: broadcast(g, one, two, "sqrt($1 ** 2 + $2 ** 2)"),
    "rsub": rsub,
    **{full: partial(binary, name) for full, name in FULL_NAMES.items()},
}
