"""Binding: which axes the names of a pattern stand for in the arrays that it meets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import is_

from ncd.lang.errors import MismatchError
from ncd.lang.types.axes import NO_AXES, Array, Axis


class Binding(dict[str, Axis]):
    """Names bound to axes while a type is inferred; two sizes for one name do not meet."""

    def meet(self, pattern: Axis, given: Axis) -> None:
        """Notes that ``pattern`` stands for ``given``."""
        known = self.get(pattern.name)
        if known is given and (pattern is given or pattern.size is None):
            return
        if known is None and pattern is given:
            self[pattern.name] = given
            return
        if (known is None or known == given) and _says_no_more(pattern, given):
            self[pattern.name] = given
            return
        for other in (pattern, known):
            if other and other.size is not None and given.size not in (None, other.size):
                raise MismatchError(
                    f"axis {pattern.name} is {other.size_text} on one side "
                    f"and {given.size_text} on the other",
                    cure=f"{pattern.name} = {given.size_text} on both",
                    axis=pattern.name,
                )
        every = [axis for axis in (given, pattern, known) if axis]
        found = next((axis for axis in every if axis.size is not None), given)
        marked = any(axis.sequence for axis in every)
        label = next((axis.label for axis in every if axis.label), "")
        if (found.sequence, found.label, found.name) != (marked, label, pattern.name):
            found = replace(found, name=pattern.name, sequence=marked, label=label)
        self[pattern.name] = found

    def size(self, name: str) -> int | None:
        """How many positions the axis of this name has, if that is known."""
        axis = self.get(name)
        return None if axis is None or axis.size is None else axis.numel

    def learn(self, name: str, size: int | tuple[int, ...]) -> None:
        """Binds the size of an axis that follows from others; raises if it has another."""
        known = self.get(name) or Axis(name)
        self.meet(known, replace(known, size=size))

    def resolve(self, array: Array) -> Array:
        """The array with the sizes that are known by now."""
        below = array.below and self.axis(array.below)
        axes = list(map(self.axis, array))
        same = below is array.below and all(map(is_, axes, array))
        return array if same else Array(axes, below)

    def own(self, pattern: Array, given: Array) -> Array:
        """The array with the sizes of the axes that its pattern names; others stay as they are."""
        below = self.axis(given.below) if pattern.below and given.below else given.below
        named = (self.axis(axis) if axis.name in pattern.names else axis for axis in given)
        return Array(named, below)

    def axis(self, axis: Axis) -> Axis:
        """The axis with its size, where that is known by now."""
        known = self.get(axis.name)
        return axis if known is None or known.size is None else known


def _says_no_more(pattern: Axis, given: Axis) -> bool:
    """Whether the pattern adds nothing to what is known of the axis that it stands for."""
    return (
        pattern.name == given.name
        and (pattern.size is None or pattern.size == given.size)
        and (given.sequence or not pattern.sequence)
        and bool(given.label or not pattern.label)
    )


def take(pattern: Array, given: Array, binding: Binding) -> tuple[Array, Array] | None:
    """Finds ``pattern`` in ``given``, in order; returns the axes left over before and after it.

    The left-over axes are the ones that an op is broadcast over. None if the pattern is not there.
    """
    if not pattern:
        return NO_AXES, Array(given)
    places: list[int] = []
    start, names = 0, given.names
    for axis in pattern:
        try:
            at = names.index(axis.name, start)
        except ValueError:
            return None
        places.append(at)
        start = at + 1
    for axis, at in zip(pattern, places, strict=True):
        binding.meet(axis, given[at])
    before = given[: places[0]]
    after = [a for i, a in enumerate(given) if i > places[0] and i not in places]
    return Array(before) if before else NO_AXES, Array(after) if after else NO_AXES


def match(
    pattern: Array, given: Array, binding: Binding, *, any_kind: bool = False
) -> tuple[Array, Array]:
    """The axes left over before and after ``pattern`` in ``given``; raises MismatchError.

    With ``any_kind`` a pattern that says nothing of whole numbers takes them as well.
    """
    found = take(pattern, given, binding)
    if found is None:
        missing = [axis.name for axis in pattern if axis.name not in given.names]
        fact = f"it takes ({pattern}), but the array that meets it is ({given})"
        if missing:
            cure = f"an array that has {' and '.join(missing)}, such as ({pattern})"
        else:
            cure = f'Einsum("{given} -> {pattern}") before it, to put the axes in this order'
        raise MismatchError(fact, cure=cure)
    if pattern.below and given.below:
        binding.meet(pattern.below, given.below)
    elif (pattern.below or given.below) and not (any_kind and pattern.below is None):
        want = "#" if pattern.below else ""
        raise MismatchError(
            f"it takes {pattern.kind}, but the array that meets it, ({given}), holds {given.kind}",
            cure="Index to look the numbers up, or Map to make real ones of them"
            if not want
            else f"an array of {pattern.kind}, such as ({pattern})",
        )
    return found


def union(arrays: Iterable[Array]) -> Array:
    """The axes of all arrays, each name once, in the order they first appear."""
    found: dict[str, Axis] = {}
    for array in arrays:
        for axis in array:
            kept = found.setdefault(axis.name, axis)
            if kept.size is None and axis.size is not None:
                found[axis.name] = axis
            elif kept.size is not None and axis.size not in (None, kept.size):
                raise MismatchError(
                    f"axis {axis.name} is {kept.size_text} in one array "
                    f"and {axis.size_text} in another",
                    cure=f"{axis.name} = {kept.size_text} in both",
                )
    return Array(found.values())
