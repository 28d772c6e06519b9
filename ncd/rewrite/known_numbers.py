"""Numbers of a term's arrays that are known without its inputs: positions, and masks of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ncd.formulas.formula import Name, Operand
from ncd.language.axes import Axis
from ncd.language.op import ArrayHandle, TilingRule
from ncd.ops import Cut, Einsum, Given, Group, Index, Rename, Softmax, Split
from ncd.ops.elementwise import FormulaOp
from ncd.rewrite.position_masks import (
    HIDDEN,
    KnownValue,
    Leaf,
    MaskReader,
    Numbers,
    PositionSum,
    changes_nothing,
    distances_around,
)
from ncd.rewrite.position_steps import PositionAxes, PositionStep, StepList

UNKNOWN_NUMBER = np.asarray(np.nan)
CONSTANTS = {"e": math.e, "inf": math.inf, "pi": math.pi}
KEEPING = (Cut, Group, Index, Split)  # ops whose results are some of their input's numbers


class KnownNumbers:
    """Known numbers of arrays: a sum of their positions, or numbers by their distance.

    Args:
        steps: The steps of a term.
        positions: Which axes are positions of the sequence.
    """

    def __init__(self, steps: StepList, positions: PositionAxes) -> None:
        self.steps, self.positions = steps, positions
        every = [slot for step in steps.steps for slot in (*step.takes, *step.gives)]
        sizes = [a.numel for slot in every for a in slot.axes if a.name in positions.names(slot)]
        self.most = max((positions.length, *sizes))
        self.distances: tuple[int, ...] = (0,)
        self.turns: set[int] = set()
        self.hides_unknown = False  # whether inputs decide where a number such as -1e9 stands
        self.known: dict[ArrayHandle, KnownValue] = {}
        self._read_all()  # finds where comparisons turn
        tables = [slot for slot in steps.weights if len(positions.names(slot)) == 2]
        self.distances = (
            tuple(range(1 - self.most, self.most))
            if tables
            else distances_around(self.turns, self.most)
        )
        self._read_all()

    def numbers(self, slot: ArrayHandle, pair: tuple[str, str]) -> Numbers:
        """Returns the numbers of an array by the distance of two of its axes."""
        known = self._align(slot, pair)
        if isinstance(known, PositionSum):
            return UNKNOWN_NUMBER if known.factors else np.asarray(float(known.constant))
        return np.asarray(known)

    def hidden(self, rule: TilingRule, numbers: Numbers) -> NDArray[np.bool_]:
        """Returns the distances at which a number has no influence on what an op joins.

        A number such as -1e9 has none if every position sees another one, as it sees itself.
        """
        strict = changes_nothing(rule, numbers)
        if self.hides_unknown:
            return strict
        found = np.broadcast_to(changes_nothing(rule, numbers, HIDDEN), len(self.distances))
        return strict if found[self.distances.index(0)] else found

    def _align(self, slot: ArrayHandle, pair: tuple[str, str]) -> KnownValue:
        known = self.known.get(slot, UNKNOWN_NUMBER)
        if isinstance(known, PositionSum) or not np.ndim(known):
            return known
        own = self.positions.names(slot)
        if own == pair:
            return known
        return known[::-1] if own == pair[::-1] else UNKNOWN_NUMBER

    def _read_all(self) -> None:
        self.known = {}
        for slot, weight in self.steps.weights.items():
            op = weight.op
            if isinstance(op, Given) and len(self.positions.names(slot)) == len(slot.axes) == 2:
                self.known[slot] = self._by_distance(op, slot)
        for step in self.steps.steps:
            for slot in step.gives:
                known = self._result(step, slot)
                if known is not None:
                    self.known[slot] = known

    def _by_distance(self, op: Given, slot: ArrayHandle) -> Numbers:
        """Returns the numbers of a table that are the same wherever the distance is."""
        table = np.asarray(op.numbers).reshape([axis.numel for axis in slot.axes])
        found = np.full(len(self.distances), np.nan)
        for i, distance in enumerate(self.distances):
            own = np.diagonal(table, distance)  # of no numbers far outside
            if own.size and (own == own[0]).all():
                found[i] = own[0]
        return found

    def _result(self, step: PositionStep, slot: ArrayHandle) -> KnownValue | None:
        """Returns what is known of a step's result; None for nothing."""
        op, own = step.term, self.positions.names(slot)
        if isinstance(op, FormulaOp):
            return self._formula(step, op, slot) if len(own) <= 2 else None
        if isinstance(op, Rename):
            return self._rename(step, op)
        if len(own) != 2:
            return None
        pair = (own[0], own[1])
        if isinstance(op, Softmax) and op.axis[0].name in pair:
            rule = op.tiling_rule(step.site, op.axis[0].name)
            hidden = self.hidden(rule, self.numbers(step.takes[0], pair))
            return np.where(hidden, 0.0, np.nan)
        if isinstance(op, Einsum) and not op.contracted_axes(step.site):
            return self._product(step, pair)
        if isinstance(op, KEEPING) and len(step.takes) == 1:
            kept = self.positions.names(step.takes[0]) == own
            return self.known.get(step.takes[0]) if kept else None
        return None

    def _product(self, step: PositionStep, pair: tuple[str, str]) -> Numbers:
        return self.product([self.numbers(slot, pair) for slot in step.takes])

    @staticmethod
    def product(factors: list[Numbers]) -> Numbers:
        """Returns the product of numbers of which some are not known; 0 where one of them is."""
        found = np.asarray(1.0)
        for factor in factors:
            found = np.where((found == 0) | (factor == 0), 0.0, found * factor)
        return found

    def _rename(self, step: PositionStep, op: Rename) -> KnownValue | None:
        known, names = self.known.get(step.takes[0]), dict(op.pairs)
        if isinstance(known, PositionSum):
            factors = {names.get(name, name): by for name, by in known.factors.items()}
            return PositionSum(factors, known.constant)
        return known

    def _formula(self, step: PositionStep, op: FormulaOp, slot: ArrayHandle) -> KnownValue:
        own = self.positions.names(slot)
        pair = (own[0], own[1]) if len(own) == 2 else ("", "")
        reader = MaskReader(pair, self.distances)
        operands = [self._align(taken, pair) for taken in step.takes]
        leaf = formula_leaves(op, operands, own, step.site.axes_by_name)
        known = reader.read(op.defining_formula, leaf)
        self.turns |= reader.turns
        self.hides_unknown |= reader.hides_unknown
        if slot.axes.below is None:
            return known
        if isinstance(known, PositionSum):
            every = (*known.factors.values(), known.constant)
            return known if all(number.denominator == 1 for number in every) else UNKNOWN_NUMBER
        return np.trunc(known)


def formula_leaves(
    op: FormulaOp, operands: list[KnownValue], positions: tuple[str, ...], axes: Mapping[str, Axis]
) -> Leaf:
    """Returns what is known of the names and operands of a formula."""

    def leaf(part: Name | Operand) -> KnownValue:
        if isinstance(part, Operand):
            return operands[part.number - 1]
        kind, axis = op.meanings[part.text]
        if kind == "constant":
            return np.float64(CONSTANTS[axis])
        if kind == "size":
            known = axis in axes and axis not in positions
            return PositionSum({}, Fraction(axes[axis].numel)) if known else UNKNOWN_NUMBER
        return PositionSum({axis: Fraction(1)}) if axis in positions else UNKNOWN_NUMBER

    return leaf
