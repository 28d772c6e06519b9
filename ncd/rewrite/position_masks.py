"""Masks: numbers of an array that follow from the distance of two positions alone.

A comparison of positions, such as ``x <= y`` or ``y - x < 4``, is decided for all sizes at once:
it changes only at a few distances d = x - y. So a formula is worked out at those distances and
beside them; what depends on unknown numbers is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncd.formulas.formula import (
    COMPARISONS,
    SIGNS,
    Application,
    Formula,
    Name,
    Number,
    Operand,
    parse,
)
from ncd.language.op import TilingRule

Numbers = NDArray[np.float64]  # one for each distance, or one for all; NaN where it is not known
NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf, "product": 1.0}
HIDDEN = -1e9  # scores from here on downwards have a weight of 0 beside one that is not so low
_UNKNOWN_NUMBER = np.float64(np.nan)
_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    **{"abs": np.abs, "ceil": np.ceil, "exp": np.exp, "floor": np.floor, "sqrt": np.sqrt},
    **{"log": np.log, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)},
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@dataclass(frozen=True)
class PositionSum:
    """A sum of positions, each times a number, and a constant: ``x - y + 3``.

    Args:
        factors: The factor of each axis; none is 0.
        constant: What is added.
    """

    factors: Mapping[str, Fraction]
    constant: Fraction = Fraction(0)

    def plus(self, other: PositionSum, times: Fraction = Fraction(1)) -> PositionSum:
        """Returns the sum with another one times a number."""
        names = {*self.factors, *other.factors}
        every = {n: self.factors.get(n, 0) + times * other.factors.get(n, 0) for n in names}
        kept = {name: Fraction(factor) for name, factor in every.items() if factor}
        return PositionSum(kept, self.constant + times * other.constant)

    def times(self, factor: Fraction) -> PositionSum:
        """Returns the sum times a number."""
        return PositionSum({}).plus(self, factor)


KnownValue = PositionSum | Any  # Any: numbers by distance
Leaf = Callable[[Name | Operand], KnownValue]


class MaskReader:
    """Works formulas out at distances of two positions.

    Args:
        pair: The axes of the two positions; the distance is that of the second less the first.
        distances: The distances, in order.
    """

    def __init__(self, pair: tuple[str, str] = ("", ""), distances: Iterable[int] = (0,)) -> None:
        self.pair = pair
        self.distances = np.fromiter(distances, dtype=float)
        self.turns: set[int] = set()  # distances at which a comparison changes
        self.hides_unknown = False  # whether unknown numbers decide what a large number hides

    def read(self, formula: Formula, leaf: Leaf) -> KnownValue:
        """Returns what is known of a formula; ``leaf`` gives it for its names and operands."""
        with np.errstate(all="ignore"):
            return self._read(formula, leaf)

    def _as_numbers(self, known: KnownValue) -> Numbers:
        if not isinstance(known, PositionSum):
            return np.asarray(known, dtype=float)
        return np.asarray(_UNKNOWN_NUMBER if known.factors else float(known.constant))

    def _read(self, formula: Formula, leaf: Leaf) -> KnownValue:
        if isinstance(formula, Number):
            value = formula.value
            return PositionSum({}, Fraction(value)) if math.isfinite(value) else np.float64(value)
        if not isinstance(formula, Application):
            return leaf(formula)
        parts = [self._read(part, leaf) for part in formula.parts]
        if all(isinstance(part, PositionSum) for part in parts):
            exact = self._exact(formula.operation, parts)
            if exact is not None:
                return exact
        numbers = [self._as_numbers(part) for part in parts]
        if formula.operation in ("where", "*"):
            chosen, *others = numbers
            both = [(chosen, other) for other in others]
            both += [(other, chosen) for other in others if formula.operation == "*"]
            self.hides_unknown |= any(np.isnan(a).any() and _is_large(b) for a, b in both)
        return _apply(formula.operation, numbers)

    def _exact(self, operation: str, parts: list[Any]) -> KnownValue | None:
        """Returns the result for sums of positions; None if it is no such sum."""
        if len(parts) == 1:
            return parts[0].times(Fraction(-1)) if operation == "-" else None
        if len(parts) != 2:
            return None
        a, b = parts
        if operation in ("+", "-"):
            return a.plus(b, Fraction(1 if operation == "+" else -1))
        if operation == "*" and not (a.factors and b.factors):
            return a.times(b.constant) if not b.factors else b.times(a.constant)
        if operation == "/" and not b.factors and b.constant:
            return a.times(1 / b.constant)
        return (
            self._compare(operation, a.plus(b, Fraction(-1))) if operation in COMPARISONS else None
        )

    def _compare(self, sign: str, difference: PositionSum) -> KnownValue:
        """Returns where a sum of positions compares so with 0."""
        if not difference.factors:
            return np.float64(SIGNS[sign](difference.constant, 0))
        first, second = (difference.factors.get(name, Fraction(0)) for name in self.pair)
        if {*difference.factors} != {*self.pair} or first != -second:
            return _UNKNOWN_NUMBER  # it does not depend on the distance alone
        turn = -difference.constant / second
        self.turns |= {math.floor(turn), math.ceil(turn)}
        left = self.distances if second > 0 else -self.distances
        return SIGNS[sign](left, float(turn if second > 0 else -turn)) * 1.0


def _is_large(numbers: Numbers) -> bool:
    """Returns whether one of the numbers would hide a score, though it is finite."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) >= -HIDDEN)).any())


def distances_around(turns: Iterable[int], most: int) -> tuple[int, ...]:
    """Returns the distances at which comparisons that turn there are decided, and their mirrors.

    Between two neighbours of them nothing changes. None is farther than ``most``.

    >>> distances_around((0,), 9)
    (-9, -1, 0, 1, 9)
    """
    found = {at + side for turn in (*turns, 0) for at in (turn, -turn) for side in (-1, 0, 1)}
    return tuple(sorted({at for at in found if abs(at) < most} | {-most, most}))


def _apply(operation: str, parts: list[Numbers]) -> Numbers:
    """Returns the result for numbers of which some are not known."""
    if operation == "where":
        return _apply_where(*parts)
    if operation in ("and", "or"):
        return _logic(operation, *parts)
    if operation == "not":
        return np.where(np.isnan(parts[0]), np.nan, (parts[0] == 0) * 1.0)
    if operation in COMPARISONS:
        a, b = parts
        return np.where(np.isnan(a) | np.isnan(b), np.nan, SIGNS[operation](a, b) * 1.0)
    if len(parts) == 2 and operation in _ARITHMETIC:
        return _ARITHMETIC[operation](*parts)
    if operation == "-":
        return -parts[0]
    if operation in SIGNS:
        return np.asarray(SIGNS[operation](*parts), dtype=float)
    if operation in ("max", "min"):
        return (np.maximum if operation == "max" else np.minimum)(*parts)
    if operation in _FUNCTIONS:
        return np.asarray(_FUNCTIONS[operation](parts[0]), dtype=float)
    return np.full(np.broadcast_shapes(*(part.shape for part in parts)), np.nan)


def _apply_where(chosen: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    same = (yes == no) | (np.isnan(yes) & np.isnan(no))
    either = np.where(same, yes, np.nan)
    return np.where(np.isnan(chosen), either, np.where(chosen != 0, yes, no))


def _logic(operation: str, a: Numbers, b: Numbers) -> Numbers:
    sure = operation == "or"  # the truth of one part that decides
    unknown = np.isnan(a) | np.isnan(b)
    decided = (~np.isnan(a) & ((a != 0) == sure)) | (~np.isnan(b) & ((b != 0) == sure))
    return np.where(decided, float(sure), np.where(unknown, np.nan, float(not sure)))


def _plus(a: Numbers, b: Numbers) -> Numbers:
    """Adds; a hidden score stays hidden whatever is added to it."""
    low = np.minimum(np.where(np.isnan(a), 0, a), np.where(np.isnan(b), 0, b))
    known = a + b
    return np.where(np.isnan(known) & (low <= HIDDEN), low, known)


def _times(a: Numbers, b: Numbers) -> Numbers:
    zero = ((a == 0) & ~np.isinf(b)) | ((b == 0) & ~np.isinf(a))
    return np.where(zero, 0.0, a * b)


def _divide(a: Numbers, b: Numbers) -> Numbers:
    return np.where((a == 0) & np.isnan(b), 0.0, a / b)


_ARITHMETIC: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "+": _plus,
    "-": lambda a, b: _plus(a, -b),
    "*": _times,
    "/": _divide,
}


# --- Where a number changes nothing in what is joined along an axis


def changes_nothing(
    rule: TilingRule, numbers: Numbers, hidden: float = -math.inf
) -> NDArray[np.bool_]:
    """Returns where a number has no influence on what an op joins along an axis.

    It is asked of the op's rule for tiles: 0 for a sum, minus infinity for a maximum, and for a
    softmax what adds 0 to its total and has the weight 0. Numbers down from ``hidden`` are taken
    for minus infinity.

    >>> from ncd.ops import Softmax
    >>> rule = Softmax("x").tiling_rule(Softmax("x").apply_to(Softmax("x:3").dom), "x")
    >>> changes_nothing(rule, np.array([-math.inf, 0.0])).tolist()
    [True, False]
    """
    if rule.tile_reduction:
        return np.asarray(numbers == NEUTRAL[rule.tile_reduction])
    if not rule.parts:
        return np.zeros(np.shape(numbers), dtype=bool)
    tile = np.where(numbers <= hidden, -math.inf, numbers)
    good = np.ones(np.shape(numbers), dtype=bool)
    for formula, neutral in _summands(rule):
        good &= MaskReader().read(parse(formula), _tile_leaves(tile)) == neutral
    return good


def _summands(rule: TilingRule) -> Iterator[tuple[str, float]]:
    yield from ((state.tile_formula, NEUTRAL[state.reduction]) for state in rule.statistics)
    yield from ((part.tile_formula, 0.0) for part in rule.parts)


def _tile_leaves(numbers: Numbers) -> Leaf:
    """Returns the leaves of a formula of a tile: its numbers, and names that are not known."""
    return lambda leaf: numbers if isinstance(leaf, Operand) else _UNKNOWN_NUMBER
