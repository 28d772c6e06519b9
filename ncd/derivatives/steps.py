"""Writes the steps of a term one by one, on arrays that are known by what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from ncd.derivatives.parameters import Parameters
from ncd.lang.formulas.formula import Apply, Formula, Name, Operand, leaves, parse
from ncd.lang.terms.op import Op, Site
from ncd.lang.terms.step_wires import Step
from ncd.lang.terms.step_writer import Rule, Slot, Slots
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.ops import Einsum, Index, Map, Param, Rename, Scatter, Split


class Steps:
    """A term while it is written: its steps, and the parameters that they need."""

    def __init__(self, parameters: Parameters) -> None:
        self.steps: list[Step] = []
        self.parameters = parameters
        self.learned: dict[str, Slot] = {}  # each parameter as torch stores it, by its path
        self.reads: tuple[Axis, ...] = ()  # axes whose sizes formulas may use

    def call(self, term: Term, *slots: Slot) -> tuple[Slot, ...]:
        made = tuple(Slot(array) for array in term.lift(Type(slot.axes for slot in slots)))
        self.steps.append(Step(term, slots, made))
        return made

    def product(self, slots: Slots, out: Array) -> Slot:
        known = {axis.name for slot in slots for axis in slot.axes}
        inner = Array(axis for axis in out if axis.name in known)
        (found,) = slots if len(slots) == 1 else (None,)
        if found is None or found.axes.names != inner.names:
            pattern = Signature(Type(slot.axes for slot in slots), Type((inner,)))
            (found,) = self.call(Einsum(pattern), *slots)
        return found if len(inner) == len(out) else self.map("$1", (found,), Array(out))

    def map(self, formula: str | Formula, slots: Slots, out: Array, title: str = "") -> Slot:
        rule = parse(formula) if isinstance(formula, str) else formula
        used = sorted({leaf.number for leaf in leaves(rule) if isinstance(leaf, Operand)})
        rule = _renumbered(rule, {number: i for i, number in enumerate(used, start=1)})
        taken = [slots[number - 1] for number in used]
        names = {leaf.text for leaf in leaves(rule) if isinstance(leaf, Name)}
        reads = (a for a in self.reads if f"n_{a.identifier}" in names and a.name not in out.names)
        pattern = Signature(Type(slot.axes for slot in taken), Type((out,)))
        (made,) = self.call(Map(pattern, rule, title, Array(reads)), *taken)
        return made

    def renamed(self, slot: Slot, old: Array, new: Array) -> Slot:
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a.name != b.name]
        if not pairs:
            return slot
        if {axis.name for axis, _ in pairs} & {axis.name for _, axis in pairs}:  # they are swapped
            between = _fresh(new, {*slot.axes.names, *old.names, *new.names})
            return self.renamed(self.renamed(slot, old, between), between, new)
        before, after = (Type((Array(side),)) for side in zip(*pairs, strict=True))
        (made,) = self.call(Rename(Signature(before, after)), slot)
        return made

    def scattered(self, places: Slot, values: Slot, out: Array) -> Slot:
        pattern = Signature(Type((places.axes, values.axes)), Type((out,)))
        (made,) = self.call(Scatter(pattern), places, values)
        return made

    def reversed(self, slot: Slot, axis: Axis) -> Slot:
        """Adds an array in the opposite order along an axis."""
        name = f"{axis.name}_r"
        while name in slot.axes.names:
            name += "_"
        turned = replace(axis, name=name, label="")
        order = Array((turned,), axis)
        places = self.map(f"{axis.numel - 1} - {turned.identifier}", (), order, "reverse")
        out = slot.axes.with_axes(turned if a.name == axis.name else a for a in slot.axes)
        lookup = Index(Signature(Type((order, slot.axes)), Type((out,))))
        (found,) = self.call(lookup, places, slot)
        return self.renamed(found, Array((turned,)), Array((axis,)))

    @property
    def count(self) -> int:
        return 0

    def ruled(self, since: int, slot: Slot, made: Slot, rule: Rule) -> None:
        """Does nothing, as no pullback is recorded here."""

    def zeros(self, array: Array) -> Slot:
        """Adds an array of zeros."""
        return self.map("0", (), array)

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> Slot:
        raise NotImplementedError


class Record(Protocol):
    """A part of the forward pass that has a pullback."""

    @property
    def ins(self) -> Slots:
        """The arrays that it takes."""

    @property
    def outs(self) -> Slots:
        """The arrays that it gives."""

    def pull(self, steps: Steps, grads: Slots) -> tuple[Slot | None, ...]:
        """Returns the gradient of each input from those of the outputs."""


@dataclass(frozen=True)
class OpRecord:
    """An op of the forward pass, with its arrays."""

    op: Op
    site: Site
    ins: Slots
    outs: Slots

    def pull(self, steps: Steps, grads: Slots) -> tuple[Slot | None, ...]:
        steps.reads = tuple(self.site.reads)
        return self.op.pullback(self.site, steps, self.ins, self.outs, grads)


@dataclass(frozen=True)
class RuleRecord:
    """Steps of the forward pass from one array to another, whose pullback is one rule."""

    ins: Slots
    outs: Slots
    rule: Rule

    def pull(self, steps: Steps, grads: Slots) -> tuple[Slot | None, ...]:
        return (self.rule(steps, grads[0]),)


class Recording(Steps):
    """The forward pass, written in ops that have a pullback, all of which are recorded."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.records: list[Record] = []
        self.path = ""  # of the op that is written
        self.written: Op | None = None

    def call(self, term: Term, *slots: Slot) -> tuple[Slot, ...]:
        if not isinstance(term, Op):
            return super().call(term, *slots)
        site = term.site(Type(slot.axes for slot in slots))
        reads, self.reads = self.reads, tuple(site.reads)
        found = term.written_out(site, self, slots)
        self.reads = reads
        if found is not None:
            return found
        made = super().call(term, *slots)
        self.records.append(OpRecord(term, site, slots, made))
        return made

    @property
    def count(self) -> int:
        return len(self.records)

    def ruled(self, since: int, slot: Slot, made: Slot, rule: Rule) -> None:
        self.records[since:] = [RuleRecord((slot,), (made,), rule)]

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> Slot:
        path = f"{self.path}.{name}" if name else self.path
        merged = _merged(groups, kept)
        if path not in self.learned:
            array = Array((*merged, *kept), kept.below)
            self.learned[path] = self.stored(path, array)
        slot = self.learned[path]
        for flat, group in zip(merged, groups, strict=True):
            if not group:  # of size 1 in torch, and no axis here
                slot = self.product((slot,), Array(a for a in slot.axes if a is not flat))
            elif (flat,) != tuple(group):
                pattern = Signature(Type((Array((flat,)),)), Type((group,)))
                (slot,) = self.call(Split(pattern), slot)
        return slot

    def stored(self, path: str, array: Array) -> Slot:
        """Returns a parameter, as an array that a step before all others gives."""
        own, last = self.written, path.rpartition(".")[2]
        assert own is not None
        if hasattr(own, "array"):  # a parameter or a constant already
            self.parameters.ops[path] = replace(own, array=array, name=last)  # type: ignore
        else:
            self.parameters.ops[path] = Param(array, last)
        return Slot(array)


def _fresh(array: Array, taken: set[str]) -> Array:
    """Returns an array whose axes have names that nothing else has."""
    axes: list[Axis] = []
    for axis in array:
        name = f"{axis.name}_"
        while name in taken:
            name += "_"
        taken.add(name)
        axes.append(replace(axis, name=name, label=""))
    return Array(axes)


def _merged(groups: Sequence[Array], kept: Array) -> list[Axis]:
    """Returns an axis for each group, as torch stores it, with names that all differ."""
    taken = {name for array in (*groups, kept) for name in array.names}
    found: list[Axis] = []
    for group in groups:
        if len(group) == 1 and not group[0].spatial:
            found.append(group[0])
            continue
        name = "".join(axis.identifier for axis in group) or "one"
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(Axis(name, prod(axis.numel for axis in group)))
    return found


def _renumbered(formula: Formula, numbers: dict[int, int]) -> Formula:
    """Returns a formula with other numbers for its operands."""
    if isinstance(formula, Operand):
        return Operand(numbers[formula.number])
    if isinstance(formula, Apply):
        parts = tuple(_renumbered(part, numbers) for part in formula.parts)
        return Apply(formula.operation, parts)
    return formula
