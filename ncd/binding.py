"""Binding: which axes the names of a pattern stand for in the arrays that it meets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ncd.axes import Array, Axis
from ncd.errors import MismatchError


class Binding(dict[str, Axis]):
    """Names bound to axes while a type is inferred; two sizes for one name do not meet."""

    def meet(self, pattern: Axis, given: Axis) -> None:
        known = self.get(pattern.name)
        for other in (pattern, known):
            if other and other.size is not None and given.size not in (None, other.size):
                raise MismatchError(
                    f"axis {pattern.name} is {other.size_text} on one side "
                    f"and {given.size_text} on the other",
                    cure=f"{pattern.name} = {given.size_text} on both",
                    axis=pattern.name,
                )
        sized = next((a for a in (given, pattern, known) if a and a.size is not None), given)
        marked = any(a.sequence for a in (given, pattern, known) if a)
        self[pattern.name] = sized if sized.sequence == marked else replace(sized, sequence=marked)

    def resolve(self, array: Array) -> Array:
        return Array(self._merge(axis) for axis in array)

    def _merge(self, axis: Axis) -> Axis:
        known = self.get(axis.name)
        if known is None or known.size is None:
            return axis
        return known


def take(pattern: Array, given: Array, binding: Binding) -> tuple[Array, Array] | None:
    """Finds ``pattern`` in ``given``, in order; returns the axes left over before and after it.

    The left-over axes are the ones that an op is broadcast over. None if the pattern is not there.
    """
    if not pattern:
        return Array(), given
    places: list[int] = []
    start = 0
    for axis in pattern:
        at = next((i for i in range(start, len(given)) if given[i].name == axis.name), None)
        if at is None:
            return None
        places.append(at)
        start = at + 1
    for axis, at in zip(pattern, places, strict=True):
        binding.meet(axis, given[at])
    before = Array(given[: places[0]])
    after = Array(a for i, a in enumerate(given) if i > places[0] and i not in places)
    return before, after


def match(pattern: Array, given: Array, binding: Binding) -> tuple[Array, Array]:
    """The axes left over before and after ``pattern`` in ``given``; raises MismatchError."""
    found = take(pattern, given, binding)
    if found is None:
        missing = [axis.name for axis in pattern if axis.name not in given.names]
        fact = f"it takes ({pattern}), but the array that meets it is ({given})"
        if missing:
            cure = f"an array that has {' and '.join(missing)}, such as ({pattern})"
        else:
            cure = f'Einsum("{given} -> {pattern}") before it, to put the axes in this order'
        raise MismatchError(fact, cure=cure)
    return found


def union(arrays: Iterable[Array]) -> Array:
    """The axes of all arrays, each name once, in the order they first appear."""
    found: dict[str, Axis] = {}
    for array in arrays:
        for axis in array:
            kept = found.setdefault(axis.name, axis)
            if kept.size is not None and axis.size not in (None, kept.size):
                raise MismatchError(
                    f"axis {axis.name} is {kept.size_text} in one array "
                    f"and {axis.size_text} in another",
                    cure=f"{axis.name} = {kept.size_text} in both",
                )
    return Array(found.values())
