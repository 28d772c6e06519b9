"""Names for the axes of an imported module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from ncd.importing.base.atoms import Atom, Dim, group_of, leaves
from ncd.importing.base.import_values import Step
from ncd.lang.types.axes import Array, Axis

SEQUENCES = ("t", "s")
# Names to choose from, by the hint of an atom; then they are numbered.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "": ("n", "p", "r", "q", "j", "i", "o", "y", "z"),
    "bit": ("2",),
    "bound": ("p", "o"),
    "c": ("c", "d", "e", "f", "g"),
    "heads": ("h", "g", "q"),
    "hidden": ("d", "f", "k", "e", "g"),  # of a recurrent layer
    "m": ("m", "d", "e", "f", "g", "l"),
    "one": ("u", "w"),
    "out": ("d", "f", "k", "l", "n", "e", "g", "a", "q", "r"),
    "whole": ("i",),
}


class PartOfGroup(ValueError):
    """Some atoms of a spatial group, where only all of them are an axis."""


class AxisNames:
    """Chooses a name for every axis: the same one for atoms of one size that never meet.

    Equal layers get equal names so, and can be recognised as a repetition.
    """

    def __init__(self, inputs: Iterable[Dim], steps: Iterable[Step], given: Mapping[Atom, str]):
        self.names: dict[Atom, str] = {}  # by the first atom of a group
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.users: dict[str, list[Dim]] = {}
        for atom, name in given.items():
            found = leaves((atom,))
            for i, leaf in enumerate(found):
                group = group_of(leaf) or (leaf,)
                own = name if len(found) == 1 else f"{name}_{i + 1}"
                if group[0] not in self.names and self._fits(own, group):
                    self._take(own, group)
        for dim in inputs:
            self._add(dim)
        for step in steps:
            for slot in (*step.takes, *step.gives):
                self._add(slot.atoms)
                if slot.below is not None:
                    self._add((slot.below,))

    def _add(self, atoms: Dim) -> None:
        for atom in leaves(atoms):
            group = group_of(atom) or (atom,)
            if group[0] not in self.names:
                self._take(self._chosen(group), group)

    def _chosen(self, group: Dim) -> str:
        hint = "x" if len(group) > 1 else group[0].hint
        choices = CHOICES.get(hint, (hint,))
        for name in choices:
            if self._fits(name, group):
                return name
        first = "one" if choices[0].isdecimal() else choices[0]
        return next(name for i in count(2) if self._fits(name := f"{first}_{i}", group))

    def _fits(self, name: str, group: Dim) -> bool:
        sizes = tuple(atom.size for atom in group)
        if self.sizes.setdefault(name, sizes) != sizes:
            return False
        places = {place for atom in group for place in atom.places}
        return not any(places & atom.places for other in self.users.get(name, ()) for atom in other)

    def _take(self, name: str, group: Dim) -> None:
        self.names[group[0]] = name
        self.sizes[name] = tuple(atom.size for atom in group)
        self.users.setdefault(name, []).append(group)

    def __call__(self, atoms: Iterable[Atom]) -> Array:
        """Returns the axes of some atoms, in order; a spatial group is one axis.

        Raises PartOfGroup where a group is not complete, or not in order.
        """
        self._add(tuple(atoms := tuple(atoms)))
        found: list[Axis] = []
        waiting = list(leaves(atoms))
        while waiting:
            group = group_of(waiting[0]) or (waiting[0],)
            if tuple(waiting[: len(group)]) != group:
                raise PartOfGroup("one side of a spatial group")
            del waiting[: len(group)]
            name = self.names[group[0]]
            size = tuple(atom.size for atom in group) if len(group) > 1 else group[0].size
            found.append(Axis(name, size, name.split("_")[0] in SEQUENCES))
        return Array(found)
