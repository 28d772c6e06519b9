"""Matches patterns of axes against arrays, binds their names, and checks the form of a pattern."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from operator import is_

from ncd.errors import MismatchError, ParseError
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.words import near_name

# --- Checks of the patterns of ops: their form, and the kinds of numbers in them

UNBOUNDED_COUNT = 99  # axes or arrays
_Counts = tuple[tuple[int, int], ...]  # the minimum and maximum of axes of each array


def check_form(kind: str, given: Array | Signature, form: str) -> None:
    """Raises ParseError unless the pattern of an op has the form of its class.

    In a form ``m*`` is any number of axes, ``m+`` one or more, and a last array ``d…`` any number
    of arrays.
    """
    sides = (Type((given,)),) if isinstance(given, Array) else (given.dom, given.cod)
    if not all(_fits(*side) for side in zip(sides, _form(form), strict=True)):
        example = form.translate(str.maketrans("", "", "*+…"))
        cure = f'something like {kind}("{example}")'
        raise ParseError(f'"{given}" is not of the form "{example}"', where=kind, cure=cure)


@lru_cache
def _form(text: str) -> tuple[_Counts, ...]:
    """Returns the permitted numbers of axes of each array, on each side of a form."""
    return tuple(tuple(map(_counts, side.split(","))) for side in text.split("->"))


def _counts(array: str) -> tuple[int, int]:
    words = array.split()
    least = len(words) - ("*" in array)
    most = UNBOUNDED_COUNT if any(word[-1] in "*+" for word in words) else len(words)
    return (-least, most) if "…" in array else (least, most)


def _fits(arrays: Type, counts: _Counts) -> bool:
    """Returns whether the arrays have the numbers of axes that the form permits."""
    if counts and counts[-1][0] < 0:  # the last array stands for any number
        least, most = counts[-1]
        counts = (*counts[:-1], *((-least, most),) * (len(arrays) - len(counts) + 1))
    return len(arrays) == len(counts) and all(
        least <= len(a) <= most for a, (least, most) in zip(arrays, counts, strict=True)
    )


def check_kinds(signature: Signature, any_kind: bool) -> None:
    """Raises MismatchError for a pattern of whole numbers that the op cannot take or give.

    An op of any kind of numbers gives whole numbers only if it takes numbers below the same axis.
    """
    dom, cod = signature.dom, signature.cod
    given = {array.below.name for array in dom if array.below} if any_kind else set()
    for array in cod if any_kind else (*dom, *cod):
        if array.below and array.below.name not in given:
            raise MismatchError(
                f"({array}) holds {array.kind}, but nothing that it takes does"
                if any_kind
                else f"({array}) holds {array.kind}, which is not what it works on",
                cure=f'"{Array(array)}"' + ("" if any_kind else ", or Map to make real ones"),
            )


# --- Matching patterns of axes against arrays, and binding their names to axes


class Binding(dict[str, Axis]):
    """The axis that each name is bound to while a type is inferred."""

    def unify(self, pattern: Axis, given: Axis) -> None:
        """Binds the name of ``pattern`` to ``given``; raises MismatchError for two sizes."""
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
        candidates = [axis for axis in (given, pattern, known) if axis]
        best = next((axis for axis in candidates if axis.size is not None), given)
        sequence = any(axis.sequence for axis in candidates)
        label = next((axis.label for axis in candidates if axis.label), "")
        if (best.sequence, best.label, best.name) != (sequence, label, pattern.name):
            best = replace(best, name=pattern.name, sequence=sequence, label=label)
        self[pattern.name] = best

    def size(self, name: str) -> int | None:
        """Returns the number of positions of the axis of this name; None if it is unknown."""
        axis = self.get(name)
        return None if axis is None or axis.size is None else axis.numel

    def bind_size(self, name: str, size: int | tuple[int, ...]) -> None:
        """Binds a size that follows from others; raises MismatchError if it has another."""
        known = self.get(name) or Axis(name)
        self.unify(known, replace(known, size=size))

    def with_known_sizes(self, array: Array) -> Array:
        """Returns the array with the sizes that are known so far.

        >>> known = Binding()
        >>> known.bind_size("v", 9)
        >>> known.with_known_sizes(Array((Axis("t", 3),), Axis("v"))).spec
        't:3#v:9'
        """
        below = array.below and self.axis(array.below)
        axes = list(map(self.axis, array))
        same = below is array.below and all(map(is_, axes, array))
        return array if same else Array(axes, below)

    def resolve_pattern_axes(self, pattern: Array, given: Array) -> Array:
        """Returns ``given`` with known sizes for those axes that ``pattern`` names."""
        below = self.axis(given.below) if pattern.below and given.below else given.below
        named = (self.axis(axis) if axis.name in pattern.names else axis for axis in given)
        return Array(named, below)

    def axis(self, axis: Axis) -> Axis:
        """Returns the axis with its size, if that is known so far."""
        known = self.get(axis.name)
        return axis if known is None or known.size is None else known


def _says_no_more(pattern: Axis, given: Axis) -> bool:
    """Returns whether the axis already has the size, the label and the kind of the pattern."""
    return (
        pattern.name == given.name
        and (pattern.size is None or pattern.size == given.size)
        and (given.sequence or not pattern.sequence)
        and bool(given.label or not pattern.label)
    )


def match_axes(pattern: Array, given: Array, binding: Binding) -> tuple[Array, Array] | None:
    """Binds the axes of ``pattern``, which stand in ``given`` in this order.

    Returns the other axes, before and after the first of them: those that an op is broadcast over.
    Returns None if ``given`` does not contain the pattern.
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
        binding.unify(axis, given[at])
    before = given[: places[0]]
    after = [a for i, a in enumerate(given) if i > places[0] and i not in places]
    return Array(before) if before else NO_AXES, Array(after) if after else NO_AXES


def match_or_raise(
    pattern: Array, given: Array, binding: Binding, *, any_kind: bool = False
) -> tuple[Array, Array]:
    """Binds as :func:`match_axes` does, and raises MismatchError if ``given`` lacks the pattern.

    With ``any_kind`` a pattern of real numbers accepts whole numbers as well.
    """
    others = match_axes(pattern, given, binding)
    if others is None:
        missing = [axis.name for axis in pattern if axis.name not in given.names]
        fact = f"it takes ({pattern}), but the array that meets it is ({given})"
        near = near_name(missing[0], given.names) if missing else ""
        if near:
            cure = f"{near} in place of {missing[0]}"
        elif missing:
            cure = f"an array that has {' and '.join(missing)}, such as ({pattern})"
        else:
            cure = f'Einsum("{given} -> {pattern}") before it, to put the axes in this order'
        raise MismatchError(fact, cure=cure)
    if pattern.below and given.below:
        binding.unify(pattern.below, given.below)
    elif (pattern.below or given.below) and not (any_kind and pattern.below is None):
        raise MismatchError(
            f"it takes {pattern.kind}, but the array that meets it, ({given}), holds {given.kind}",
            cure=f"an array of {pattern.kind}, such as ({pattern})"
            if pattern.below
            else "Index to look the numbers up, or Map to make real ones of them",
        )
    return others


def union(arrays: Iterable[Array]) -> Array:
    """Returns the axes of all arrays, each name once, in order of their first appearance.

    Raises MismatchError for a name with two sizes.
    """
    axes: dict[str, Axis] = {}
    for array in arrays:
        for axis in array:
            kept = axes.setdefault(axis.name, axis)
            if kept.size is None and axis.size is not None:
                axes[axis.name] = axis
            elif kept.size is not None and axis.size not in (None, kept.size):
                raise MismatchError(
                    f"axis {axis.name} is {kept.size_text} in one array "
                    f"and {axis.size_text} in another",
                    cure=f"{axis.name} = {kept.size_text} in both",
                )
    return Array(axes.values())
