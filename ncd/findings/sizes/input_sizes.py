"""The sizes of inputs that work: of each axis alone, or of those that must be equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ncd.findings.sizes.input_axes import InputAxis
from ncd.findings.sizes.probe import Outcome, Probe, Shapes
from ncd.findings.sizes.ranges import Range, working_range

MOST = 12  # axes that are tried


@dataclass(frozen=True)
class Group:
    """Axes that have one size, and the sizes that work; ``failure`` is where others fail."""

    axes: tuple[InputAxis, ...]
    range: Range
    failure: Outcome


def groups(probe: Probe, axes: list[InputAxis], hints: list[int]) -> Iterator[Group]:
    """Yields the sizes that work for each axis, and for axes that have to change together."""
    left = axes[:MOST]
    while left:
        axis = left[0]
        together = (axis,) if _moves(probe, (axis,)) else _partners(probe, left)
        left = [one for one in left if one not in together]
        size = axis.size
        works = _works(probe, together)
        if (found := working_range(works, size, hints)) is not None:
            named = together if found.is_free else tuple(map(_without_role, together))
            yield Group(named, found, _failure(probe, together, found))


def _without_role(axis: InputAxis) -> InputAxis:
    """Returns an axis that is no batch, as it is not free: it may be a sequence without one."""
    return replace(axis, plain="axis 0") if axis.is_batch else axis


def moved(shapes: Shapes, axes: Sequence[InputAxis], size: int) -> Shapes:
    """Returns shapes of inputs where some axes have another size."""
    places = {(axis.array, axis.place) for axis in axes}
    return tuple(
        tuple(size if (i, j) in places else n for j, n in enumerate(shape))
        for i, shape in enumerate(shapes)
    )


def _works(probe: Probe, axes: tuple[InputAxis, ...]) -> Callable[[int], bool | None]:
    return lambda size: probe.works(moved(probe.inputs, axes, size))


def _moves(probe: Probe, axes: tuple[InputAxis, ...]) -> bool:
    """Returns whether axes may have another size, as far as a few tries show."""
    size, works = axes[0].size, _works(probe, axes)
    return bool(works(size + 1) or works(2 * size) or (size > 2 and works(size - 1)))


def _partners(probe: Probe, left: list[InputAxis]) -> tuple[InputAxis, ...]:
    """Returns the axes that may change together with the first one; it alone if none do."""
    first, *others = [axis for axis in left if axis.size == left[0].size]
    same = [axis for axis in others if axis.place == first.place]
    tries = [(first, *some) for some in (same, others) if some]
    tries += [(first, other) for other in others]
    fitting = [some for some in tries if _moves(probe, some)]
    return min(fitting, key=len, default=(first,))


def _failure(probe: Probe, axes: tuple[InputAxis, ...], found: Range) -> Outcome:
    """Returns where the model fails at a size that does not work."""
    outside = (
        found.high + found.step if found.high else 0,
        found.low - found.step,
        axes[0].size + 1,
    )
    for size in outside:
        if size > 0:
            outcome = probe.outcome(moved(probe.inputs, axes, size))
            if outcome.works is False:
                return outcome
    return Outcome(True)
