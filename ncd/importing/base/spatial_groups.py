"""Spatial groups: made of plain atoms, split into them, and kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncd.importing.base.atoms import Atom, Dim, every, group_of, leaves, make_group, size
from ncd.importing.base.import_values import Axes, Value
from ncd.importing.base.op_order import in_order
from ncd.importing.base.recorder import Recorder
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Group, Split


@dataclass(eq=False)
class GroupChanges(Recorder):
    """Records the steps that make spatial groups, and that split them."""

    def whole_groups(self, x: Value, *parts: Iterable[Dim]) -> Value:
        """Returns the value with plain atoms for each spatial group that no part has whole."""
        sets = [{*every(part)} for part in parts]
        held = leaves(x.slot.atoms)
        for atom in held:
            group = group_of(atom)
            first = group and group[0] is atom and {*group} <= {*held}
            if first and not any({*group} <= some for some in sets):
                x = self.split_group(x, group)
        return x

    def split_group(self, x: Value, group: Dim) -> Value:
        """Returns the value with plain atoms in place of a spatial group."""
        new = tuple(Atom(atom.size, atom.hint) for atom in group)
        pairs = dict(zip(group, new, strict=True))
        dims = tuple(tuple(pairs.get(a, a) for a in leaves(dim)) for dim in x.dims)
        own = tuple(pairs.get(a, a) for a in leaves(x.slot.atoms))
        slot = x.slot.on(own)

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            return Split(Signature(Type((axes(group),)), Type((axes(new),))))

        self.step(make, [x], [slot])
        return Value(dims, slot)

    def always_together(self, atoms: Dim) -> bool:
        """Returns whether every array so far has all of these atoms or none; inputs, in order."""
        slots = [slot for step in self.steps for slot in (*step.takes, *step.gives)]
        slots += self.inputs
        if any(len(set(atoms) & set(leaves(s.atoms))) not in (0, len(atoms)) for s in slots):
            return False
        given = [leaves(s.atoms) for s in self.inputs]
        ordered = (own[own.index(atoms[0]) :] for own in given if atoms[0] in own)
        return all(own[: len(atoms)] == atoms for own in ordered)

    def new_group(self, x: Value, group: Dim) -> Value:
        """Returns the value with a new spatial group in place of some plain atoms."""
        new = tuple(Atom(atom.size, atom.hint) for atom in group)
        make_group(new)
        flat = (Atom(size(group)),)
        pairs = dict(zip(group, new, strict=True))
        dims = tuple(tuple(pairs.get(a, a) for a in leaves(dim)) for dim in x.dims)
        rest = tuple(a for a in leaves(x.slot.atoms) if a not in group)

        def merge(axes: Axes, arrays: Sequence[Array]) -> Term:
            own = axes(group)
            term: Term = Group(Signature(Type((own,)), Type((axes(flat),))))
            return in_order(arrays[0], own, term)

        def part(axes: Axes, arrays: Sequence[Array]) -> Term:
            return Split(Signature(Type((axes(flat),)), Type((axes(new),))))

        middle, slot = x.slot.on((*rest, *flat)), x.slot.on((*rest, *new))
        self.step(merge, [x], [middle])
        self.step(part, [Value((), middle)], [slot])
        return Value(dims, slot)
