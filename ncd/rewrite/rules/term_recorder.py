"""Writes a term step by step, on arrays that are known by what they are, with its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias, Union

from ncd.circuit.elaborate import elaborate
from ncd.formulas.formula import Application, Formula, Name, Operand, leaves, parse
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type, unused_name
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.op import ArrayHandle, Op, PullbackRule, Slots
from ncd.language.step_wires import AppliedTerm
from ncd.language.terms import Beside, Id, Term
from ncd.ops import Einsum, Index, Map, Rename, Scatter

# --- The parameters of a term as arrays, under the names that its module gives them

Tree: TypeAlias = dict[str, Union[Op, "Tree"]]


@dataclass
class Parameters:
    """Learned and constant arrays by their paths, such as ``layers.0.Q.weight``."""

    ops: dict[str, Op] = field(default_factory=dict)

    def term(self) -> tuple[Term, list[str]]:
        """Returns a term without inputs that gives every array, and their paths in its order."""
        tree: Tree = {}
        for path, op in self.ops.items():
            *scopes, name = path.split(".")
            inner = tree
            for scope in scopes:
                found = inner.setdefault(scope, {})
                assert isinstance(found, dict), path
                inner = found
            inner[name] = op
        whole = _join_beside(_parts(tree))
        circuit = elaborate(whole)
        made = {value.id: cell.path for cell in circuit.cells for value in cell.outputs}
        return whole, [made[value.id] for value in circuit.outputs]


def _parts(tree: Tree) -> Iterable[Term]:
    """Yields a term for each module and each array of a tree."""
    for name, part in tree.items():
        if isinstance(part, Op):
            yield part
        elif all(key.isdecimal() for key in part):
            yield Repeat(_bodies(part), name)
        else:
            yield Block(_join_beside(_parts(part)), name=name)


def _bodies(tree: Mapping[str, Op | Tree]) -> tuple[Term, ...]:
    """Returns a body for each number of a repetition, also for those without an array."""
    bodies = []
    for index in range(1 + max(map(int, tree))):
        part = tree.get(str(index), {})
        assert isinstance(part, dict)
        bodies.append(_join_beside(_parts(part)))
    return tuple(bodies)


def _join_beside(terms: Iterable[Term]) -> Term:
    """Returns terms without inputs one after the other; each leaves its arrays on top."""
    every = tuple(terms)
    if not every:
        return Id(Type())
    return every[0] if len(every) == 1 else Beside(*every)


# --- Writes the steps of a term one by one, on arrays that are known by what they are


class TermRecorder:
    """A term while it is written: its steps, and the parameters that they need."""

    def __init__(self, parameters: Parameters) -> None:
        self.steps: list[AppliedTerm] = []
        self.parameters = parameters
        self.learned: dict[str, ArrayHandle] = {}  # each parameter as torch stores it, by its path
        self.reads: tuple[Axis, ...] = ()  # axes whose sizes formulas may use

    def call(self, term: Term, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        made = tuple(
            ArrayHandle(array) for array in term.infer_outputs(Type(slot.axes for slot in slots))
        )
        self.steps.append(AppliedTerm(term, slots, made))
        return made

    def product(self, slots: Slots, out: Array) -> ArrayHandle:
        known = {axis.name for slot in slots for axis in slot.axes}
        inner = Array(axis for axis in out if axis.name in known)
        (found,) = slots if len(slots) == 1 else (None,)
        if found is None or found.axes.names != inner.names:
            pattern = Signature(Type(slot.axes for slot in slots), Type((inner,)))
            (found,) = self.call(Einsum(pattern), *slots)
        return found if len(inner) == len(out) else self.map("$1", (found,), Array(out))

    def map(self, formula: str | Formula, slots: Slots, out: Array, title: str = "") -> ArrayHandle:
        rule = parse(formula) if isinstance(formula, str) else formula
        used = sorted({leaf.number for leaf in leaves(rule) if isinstance(leaf, Operand)})
        rule = _renumber_operands(rule, {number: i for i, number in enumerate(used, start=1)})
        taken = [slots[number - 1] for number in used]
        names = {leaf.text for leaf in leaves(rule) if isinstance(leaf, Name)}
        reads = (a for a in self.reads if f"n_{a.identifier}" in names and a.name not in out.names)
        pattern = Signature(Type(slot.axes for slot in taken), Type((out,)))
        (made,) = self.call(Map(pattern, rule, title, Array(reads)), *taken)
        return made

    def rename(self, slot: ArrayHandle, old: Array, new: Array) -> ArrayHandle:
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a.name != b.name]
        if not pairs:
            return slot
        if {axis.name for axis, _ in pairs} & {axis.name for _, axis in pairs}:  # they are swapped
            between = _fresh(new, {*slot.axes.names, *old.names, *new.names})
            return self.rename(self.rename(slot, old, between), between, new)
        before, after = (Type((Array(side),)) for side in zip(*pairs, strict=True))
        (made,) = self.call(Rename(Signature(before, after)), slot)
        return made

    def scatter_add(self, places: ArrayHandle, values: ArrayHandle, out: Array) -> ArrayHandle:
        pattern = Signature(Type((places.axes, values.axes)), Type((out,)))
        (made,) = self.call(Scatter(pattern), places, values)
        return made

    def reverse(self, slot: ArrayHandle, axis: Axis) -> ArrayHandle:
        """Adds an array in the opposite order along an axis."""
        name = unused_name(f"{axis.name}_r", slot.axes.names)
        turned = replace(axis, name=name, label="")
        order = Array((turned,), axis)
        places = self.map(f"{axis.numel - 1} - {turned.identifier}", (), order, "reverse")
        out = slot.axes.with_axes(turned if a.name == axis.name else a for a in slot.axes)
        lookup = Index(Signature(Type((order, slot.axes)), Type((out,))))
        (found,) = self.call(lookup, places, slot)
        return self.rename(found, Array((turned,)), Array((axis,)))

    def write_out(self, op: Op, slots: Slots) -> tuple[ArrayHandle, ...] | None:
        """Adds an op in simpler ones; returns None, and adds nothing, for one that stays."""
        site = op.apply_to(Type(slot.axes for slot in slots))
        reads, self.reads = self.reads, tuple(site.reads)
        made = op.written_out(site, self, slots)
        self.reads = reads
        return made

    @property
    def count(self) -> int:
        return 0

    def override_pullback(
        self, since: int, slot: ArrayHandle, made: ArrayHandle, rule: PullbackRule
    ) -> None:
        """Does nothing, as no pullback is recorded here."""

    def zeros(self, array: Array) -> ArrayHandle:
        """Adds an array of zeros."""
        return self.map("0", (), array)

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> ArrayHandle:
        raise NotImplementedError


def _fresh(array: Array, taken: set[str]) -> Array:
    """Returns an array whose axes have names that nothing else has."""
    axes: list[Axis] = []
    for axis in array:
        name = unused_name(f"{axis.name}_", taken)
        taken.add(name)
        axes.append(replace(axis, name=name, label=""))
    return Array(axes)


def merged_axes(groups: Sequence[Array], kept: Array) -> list[Axis]:
    """Returns an axis for each group, as torch stores it, with names that all differ."""
    taken = {name for array in (*groups, kept) for name in array.names}
    found: list[Axis] = []
    for group in groups:
        if len(group) == 1 and not group[0].spatial:
            found.append(group[0])
            continue
        name = unused_name("".join(axis.identifier for axis in group) or "one", taken)
        taken.add(name)
        found.append(Axis(name, prod(axis.numel for axis in group)))
    return found


def _renumber_operands(formula: Formula, numbers: dict[int, int]) -> Formula:
    """Returns a formula with other numbers for its operands."""
    if isinstance(formula, Operand):
        return Operand(numbers[formula.number])
    if isinstance(formula, Application):
        parts = tuple(_renumber_operands(part, numbers) for part in formula.parts)
        return Application(formula.operation, parts)
    return formula
