"""The interface on which an op writes itself in simpler ops, and its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ncd.lang.formulas.formula import Formula
from ncd.lang.types.axes import NO_AXES, Array, Axis


@dataclass(frozen=True, eq=False)
class Slot:
    """An array of a term that is being written: its axes, and which one it is."""

    axes: Array

    @property
    def real(self) -> bool:
        """Whether it holds real numbers, which have a gradient."""
        return self.axes.below is None


Slots = Sequence[Slot]


Rule = Callable[["StepWriter", Slot], Slot]


class StepWriter(Protocol):
    """Adds steps on arrays to a term; each method returns the arrays that its step makes."""

    def call(self, term: Any, *slots: Slot) -> tuple[Slot, ...]:
        """Adds any term."""

    def product(self, slots: Slots, out: Array) -> Slot:
        """Adds a product of arrays, summed to the axes of ``out``; new axes are copies."""

    def map(self, formula: str | Formula, slots: Slots, out: Array, title: str = "") -> Slot:
        """Adds a formula of arrays, of which it may leave some out, for every place of ``out``."""

    def renamed(self, slot: Slot, old: Array, new: Array) -> Slot:
        """Adds other names for some axes, if they differ."""

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> Slot:
        """Adds a parameter of the op that is written.

        In torch it has one dimension for each of the groups, which may have several axes or none,
        and then those of the ``kept`` axes.
        """

    def ruled(self, since: int, slot: Slot, made: Slot, rule: Rule) -> None:
        """Makes one rule the pullback of all steps since a count, from one array to another.

        ``rule`` takes the writer of the backward pass and the gradient of ``made``, and gives that
        of ``slot``. Nothing else may use what the steps in between make.
        """

    @property
    def count(self) -> int:
        """The number of steps so far that have a pullback."""

    def reversed(self, slot: Slot, axis: Axis) -> Slot:
        """Adds an array in the opposite order along an axis."""

    def scattered(self, places: Slot, values: Slot, out: Array) -> Slot:
        """Adds a sum of numbers into the places of an array."""
