"""Scopes of names: which axis a name means, in a whole term or in a block with local names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from operator import is_
from types import MappingProxyType
from typing import Any, NamedTuple

from ncd.lang.errors import SizeError
from ncd.lang.terms.op import Op
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.site import Site
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.axis_kinds import Marked, sized

Sizes = Mapping[str, Marked]


class Arrays:
    """Replaces the axes of arrays."""

    def __init__(self, change: Callable[[Axis], Axis]) -> None:
        self.change = change
        self.axes: dict[Axis, Axis] = {}
        self.arrays: dict[Array, Array] = {}
        # By the id of the old object, which the old circuit keeps alive.
        self.made: dict[int, Array] = {}

    def axis(self, axis: Axis) -> Axis:
        found = self.axes.get(axis)
        if found is None:
            found = self.axes[axis] = self.change(axis)
        return found

    def array(self, array: Array) -> Array:
        found = self.made.get(id(array))
        if found is None:
            found = self.arrays.get(array)
            if found is None:
                found = rewrite(array, self.axis)
                found = self.arrays[array] = array if found == array else found
            self.made[id(array)] = found
        return found

    def type(self, arrays: Type) -> Type:
        return Type([self.array(array) for array in arrays])

    def field(self, value: Any) -> Any:
        """Returns a field of a term that is no term; numbers and text have no axes."""
        match value:
            case Array():
                return self.array(value)
            case tuple():
                new = tuple(map(self.field, value))
                return value if all(map(is_, new, value)) else type(value)(new)
            case Signature():
                dom, cod = self.field(value.dom), self.field(value.cod)
                same = dom is value.dom and cod is value.cod
                return value if same else Signature(dom, cod)
        return value


class Solved(NamedTuple):
    """The axes of names whose sizes follow from those given, and the names of several sizes.

    ``slots`` are the axes of the arrays of a circuit, by their ids and the places in them.
    """

    axes: Mapping[str, Axis]
    several: Collection[str] = ()
    slots: Mapping[tuple[object, object], Axis] = MappingProxyType({})


class Whole:
    """The scope of the whole term, whose names have the given sizes."""

    def __init__(self, sizes: Sizes, formulas: Collection[str], solved: Solved) -> None:
        self.sizes, self.formulas, self.solved = sizes, formulas, solved.axes
        self.free = {*formulas, *solved.axes, *solved.several}
        self.made: dict[int, Any] = {}  # terms and values, by the ids of the old ones
        self.sited: dict[tuple[int, int], tuple[Op, Site]] = {}  # by the old ones' ids
        self.placed = self.written = self.stated = Arrays(self._placed)
        if self.free:
            self.written, self.stated = Arrays(self._written), Arrays(self._stated)

    def is_open(self, axis: Axis) -> bool:
        return axis.size is None and axis.name in self.free

    def _placed(self, axis: Axis) -> Axis:
        if axis.size is None and axis.name in self.solved:
            found = self.solved[axis.name]
            return replace(axis, size=found.size, sequence=axis.sequence or found.sequence)
        found = sized(axis, self.sizes)
        if found.size is None or (axis.size is not None and axis.name in self.formulas):
            raise SizeError(f"the size of {axis.name} must be solved for")
        return found

    def _written(self, axis: Axis) -> Axis:
        found = self._placed(axis)
        return replace(axis, size=found.size) if axis.name in self.solved else found

    def _stated(self, axis: Axis) -> Axis:
        if not self.is_open(axis):
            return self.placed.axis(axis)
        return replace(self._placed(axis), size=None) if axis.name in self.formulas else axis


class Local:
    """The scope of a block with local names, each of which stands for an axis of the one around.

    The arrays at the places of ops have the sizes and kinds of the axes around the block, the
    ``written`` patterns of ops only the sizes, and the ``stated`` types of blocks neither.
    """

    def __init__(self, outer: Whole | Local, names: Mapping[str, Axis]) -> None:
        self.outer, self.names = outer, names
        self.made: dict[int, Any] = {}  # terms and values, by the ids of the old ones
        self.sited: dict[tuple[int, int], tuple[Op, Site]] = {}  # by the old ones' ids
        self.placed, self.written = Arrays(self._placed), Arrays(self._written)
        self.stated = Arrays(self._stated)

    def is_open(self, axis: Axis) -> bool:
        own = axis.name in self.names
        return axis.size is None if own else self.outer.is_open(axis)

    def _around(self, axis: Axis) -> Axis:
        """Returns the axis around the block that a local one stands for, with its size."""
        unsized = self.names[axis.name]
        found = self.outer.placed.axis(unsized)
        sequence = axis.sequence or unsized.sequence
        if axis.size not in (None, found.size) or (sequence and not found.sequence):
            raise SizeError(f"the size of {axis.name} must be solved for")
        return found

    def _placed(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.placed.axis(axis)
        around = self._around(axis)
        sequence, label = axis.sequence or around.sequence, around.label or axis.label
        return replace(axis, size=around.size, sequence=sequence, label=label)

    def _written(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.written.axis(axis)
        return replace(axis, size=self._around(axis).size)

    def _stated(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.stated.axis(axis)
        if axis.size is not None:
            self._around(axis)
        return axis


Scope = Whole | Local
