"""Changes of dimensions: renamed, aligned, merged and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncd.importing.base.atoms import (
    VAGUE,
    Atom,
    CannotSplit,
    Dim,
    Dims,
    every,
    group_of,
    leaves,
    make_group,
    other_hint,
    refine,
    regrouped,
    size,
    unify,
)
from ncd.importing.base.import_values import Axes, Value
from ncd.importing.base.op_order import SAME, in_order
from ncd.importing.base.spatial_groups import GroupChanges
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Group, Map, Rename, Split


@dataclass(eq=False)
class Builder(GroupChanges):
    """Records steps, and changes the dimensions of values where an op needs it."""

    def call(self, dim: Dim, hint: str) -> None:
        """Suggests a name for the last part of a dimension, unless it has a better one."""
        parts = leaves(dim)
        if parts and parts[-1].hint in VAGUE:
            parts[-1].hint = hint

    def recall(self, dim: Dim, hint: str) -> None:
        """Suggests another name for the side of an image that turns out to be none."""
        for atom in leaves(dim)[-1:]:
            if atom.hint in ("h", "w") and not atom.group:
                atom.hint = hint

    def renamed(self, x: Value, old: Dim, new: Dim) -> Value:
        """Returns the value with other atoms in place of some."""
        ones = size(old) == 1
        pairs = dict(zip(leaves(old), leaves(new), strict=False) if ones else refine(old, new))
        dims = tuple(tuple(pairs.get(leaf, leaf) for leaf in leaves(dim)) for dim in x.dims)
        own = leaves(x.slot.atoms)
        if not set(pairs) & set(own):
            return Value(dims, x.slot)
        slot = x.slot.on(tuple(pairs.get(a, a) for a in own))
        mine = tuple(atom for atom in pairs if atom in own)
        twin = tuple(pairs[atom] for atom in mine)

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            one, two = axes(mine), axes(twin)
            pattern = Signature(Type((one,)), Type((two,)))
            return Rename(pattern) if len(two) == len(one) else Split(pattern)

        self.step(make, [x], [slot])
        return Value(dims, slot)

    def apart(self, x: Value, dim: Dim) -> Value:
        """Returns the value with new atoms in place of those of a dimension."""
        new = {atom: Atom(atom.size, other_hint(atom.hint)) for atom in leaves(dim)}
        for atom in leaves(dim):
            group = group_of(atom)
            if set(group) - set(new):
                self.refuse("one side of a group that is renamed")
            if group and group[0] is atom:
                make_group(tuple(new[one] for one in group))
        return self.renamed(x, dim, tuple(new[atom] for atom in leaves(dim)))

    def same(self, x: Value, old: Dim, new: Dim) -> Value:
        """Returns the value with ``new`` in place of its dimension ``old`` of the same size."""
        at = x.dims.index(old)
        try:
            x = self._with_groups(x, old, new)
            old = x.dims[at]
            return x if unify(new, old) else self.renamed(x, old, new)
        except CannotSplit:
            x = self.shaped(x, at, new)
            old = x.dims[at]
            return x if unify(new, old) else self.renamed(x, old, new)

    def _with_groups(self, x: Value, old: Dim, new: Dim) -> Value:
        """Returns the value with a spatial group in a dimension where another one has it whole.

        Plain atoms that are always together stay: they become one when the dimensions are unified.
        """
        pairs = refine(old, new) if size(old) > 1 else []
        mine, other = (tuple(pair[side] for pair in pairs) for side in (0, 1))
        for plain, grouped in ((mine, other), (other, mine)):
            for i, atom in enumerate(grouped):
                group = group_of(atom)
                part, whole = (some[i : i + len(group)] for some in (plain, grouped))
                if not group or whole != group or any(a.group for a in part):
                    continue
                if not self.always_together(part):
                    x = self.solid(x)
                    x = self.split_group(x, group) if plain is other else self.new_group(x, part)
        return x

    def shaped(self, x: Value, at: int, like: Dim) -> Value:
        """Returns the value with a dimension split into the same sizes as another one."""
        wanted = [atom for atom in leaves(like) if atom.size > 1]
        if len(wanted) == 1 and not wanted[0].group:
            return self.single(x, at)
        x = self.loose(x)
        parts = regrouped((x.dims[at],), [atom.size for atom in wanted])
        x = Value((*x.dims[:at], *parts, *x.dims[at + 1 :]), x.slot)
        for i, part in enumerate(parts):
            if len(leaves(part)) > 1:
                x = self.single(x, at + i)
        own = x.dims[at : at + len(wanted)]
        x = Value((*x.dims[:at], every(own), *x.dims[at + len(wanted) :]), x.slot)
        for i, atom in enumerate(wanted):
            group = group_of(atom)
            if group[:1] == (atom,) and tuple(wanted[i : i + len(group)]) == group:
                x = self.new_group(x, leaves(x.dims[at])[i : i + len(group)])
        return x

    def aligned(self, x: Value, y: Value) -> tuple[Value, Value, Dims]:
        """Returns two values that are broadcast together, and the dimensions of the result."""
        x, y = self._repeatable(x, y), self._repeatable(y, x)
        x, y = self._without_sides(x, y), self._without_sides(y, x)
        rank = max(len(x.dims), len(y.dims))
        out: list[Dim] = []
        for i in range(-rank, 0):
            one = x.dims[i] if -i <= len(x.dims) else ()
            two = y.dims[i] if -i <= len(y.dims) else ()
            if one and two and size(one) == size(two):
                y = self.same(y, two, one)
                two = y.dims[i]
            if two and not one and {*leaves(two)} & {*every(x.dims)}:
                y = self.apart(y, two)
                two = y.dims[i]
            out.append(max(one, two, key=lambda dim: (size(dim), len(leaves(dim)))))
        return x, y, tuple(out)

    def _repeatable(self, x: Value, y: Value) -> Value:
        """Returns the value without the axes of size 1 along which another is longer."""
        longer = {-i for i in range(1, len(y.dims) + 1) if size(y.dims[-i]) > 1}
        ones = [at for at in longer if -at <= len(x.dims) and size(x.dims[at]) == 1]
        return self.without_ones(x, ones)

    def without_ones(self, x: Value, places: Sequence[int]) -> Value:
        """Returns the value without the axes of some dimensions, which have size 1."""
        at = [i % len(x.dims) for i in places]
        if any(group_of(atom) for i in at for atom in leaves(x.dims[i])):
            x = self.ungrouped(x)
        return self.first_of(x, {atom for i in at for atom in leaves(x.dims[i])})

    def without_units(self, x: Value, kept: set[Atom]) -> Value:
        """Returns the value without axes of size 1 that share a dimension with others."""
        wide = [leaves(dim) for dim in x.dims if size(dim) > 1]
        gone = {a for dim in wide for a in dim if a.size == 1 and not a.group} - kept
        return self.first_of(x, gone) if gone else x

    def _without_sides(self, x: Value, y: Value) -> Value:
        """Returns the value without spatial groups of which another has one side by itself."""
        both = range(1, min(len(x.dims), len(y.dims)) + 1)
        plain: Dim = ()  # the atoms that meet sides
        for i in both:
            mine, other = leaves(x.dims[-i]), leaves(y.dims[-i])
            part = any({*group_of(atom)} - {*mine} for atom in mine)
            turned = {*other} & {*every(x.dims)} - {*mine}
            if part and any(atom in turned if atom.group else atom.alone for atom in other):
                return self.ungrouped(x)
            plain = (*(a for a in other if part and a.size > 1 and not a.group), *plain)
        if plain and not self.always_together(plain):
            return self.ungrouped(x)
        long = {-i for i in both if size(x.dims[-i]) == size(y.dims[-i])}
        places = range(-len(x.dims), 0)
        met, rest = ([x.dims[i] for i in places if (i in long) is here] for here in (True, False))
        return self.whole_groups(x, met, rest)

    def solid(self, x: Value) -> Value:
        """Returns the value with every atom of its dimensions in its array."""
        own = set(leaves(x.slot.atoms))
        lacks = tuple(atom for atom in every(x.dims) if atom not in own)
        if not lacks:
            return x

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,) = arrays
            out = Array((*axes(lacks), *array), array.below)
            return Map(Signature(Type((array,)), Type((out,))), SAME)

        return self.op(make, [x], x.dims, kind=x.slot.kind, below=x.slot.below)

    def single(self, x: Value, at: int, alone: bool = True) -> Value:
        """Returns the value with one plain atom for a dimension, merged if it has several.

        It is to be named by itself, unless it is not ``alone``.
        """
        x = self.solid(x)
        at %= len(x.dims)
        if any(set(group_of(atom)) - {*leaves(x.dims[at])} for atom in leaves(x.dims[at])):
            x = self.ungrouped(x)
        dim = leaves(x.dims[at])
        if len(dim) == 1 and not dim[0].group:
            dim[0].sealed, dim[0].alone = True, dim[0].alone or alone
            return x
        if not dim:
            return self._unsqueezed(x, [at], alone)
        places = "m" if any(atom.hint == "c" for atom in dim) else "p"
        hint = dim[0].hint if len(dim) == 1 else places
        new = (Atom(size(dim), hint, sealed=True, alone=alone),)
        dims = (*x.dims[:at], new, *x.dims[at + 1 :])
        rest = tuple(atom for atom in leaves(x.slot.atoms) if atom not in dim)
        slot = x.slot.on((*rest, *new))

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            own = axes(dim)
            term: Term = Group(Signature(Type((own,)), Type((axes(new),))))
            return in_order(arrays[0], own, term)

        self.step(make, [x], [slot])
        return Value(dims, slot)

    def _unsqueezed(self, x: Value, places: Sequence[int], alone: bool = True) -> Value:
        """Returns the value with an axis of size 1 for some dimensions that have none."""
        new = {at: Atom(1, "one", sealed=True, alone=alone) for at in places}
        dims = tuple((new[i],) if i in new else dim for i, dim in enumerate(x.dims))

        def add(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,) = arrays
            out = Array((*array, *axes(new.values())), array.below)
            return Map(Signature(Type((array,)), Type((out,))), SAME, "unsqueeze")

        return self.op(add, [x], dims, kind=x.slot.kind, below=x.slot.below)

    def as_shaped(self, x: Value) -> Value:
        """Returns the value with one axis for each dimension; those of a spatial group are one."""
        x = self.solid(x)
        if ones := [at for at, dim in enumerate(x.dims) if not leaves(dim)]:
            x = self._unsqueezed(x, ones)
        for at in range(len(x.dims)):
            dim = leaves(x.dims[at])
            group = group_of(dim[0]) if len(dim) == 1 else ()
            i = group.index(dim[0]) if group else 0
            around = x.dims[at - i : at - i + len(group)] if at >= i else ()
            if len(dim) != 1 or every(around) != group:
                x = self.single(x, at)
        return x

    def loose(self, x: Value) -> Value:
        """Returns the value with atoms that can be split in place of those that cannot."""
        x = self.ungrouped(x)
        for atom in leaves(x.slot.atoms):
            if atom.sealed:
                x = self.renamed(x, (atom,), (Atom(atom.size, atom.hint),))
        return x

    def ungrouped(self, x: Value) -> Value:
        """Returns the value with plain atoms in place of its spatial groups."""
        x = self.solid(x)
        for atom in leaves(x.slot.atoms):
            group = group_of(atom)
            if group and group[0] is atom:
                x = self.split_group(x, group)
        return x

    def grouped(self, x: Value, places: Sequence[int]) -> Value:
        """Returns the value with a spatial group for some neighbouring dimensions."""
        atoms = tuple(leaf for at in places for leaf in leaves(x.dims[at]))
        if atoms and group_of(atoms[0]) == atoms and len(atoms) == len(places):
            return self.solid(x)
        x = self.ungrouped(x)
        for at in places:
            x = self.single(x, at, alone=False)
        group = tuple(leaves(x.dims[at])[0] for at in places)
        if len(set(group)) < len(group):
            self.refuse("positions that are one and the same axis")
        if self.always_together(group) and not any(atom.alone for atom in group):
            make_group(group)
            return x
        return self.new_group(x, group)
