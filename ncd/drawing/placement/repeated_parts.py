"""Repeated parts of a plan: only the first of equal parts is laid out.

The plan is cut where a single array passes. Parts between cuts that are equal except for their ids
get the same layout, moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ncd.drawing.elements.plan_columns import Plan, PlanFence, PlanItem
from ncd.drawing.placement.axis_labels import Names
from ncd.language.cached_property import lazy_property

_Ids = dict[str, str]


@dataclass(frozen=True)
class RepeatedPart:
    """The states from ``first_state`` to ``last_state``, which equal those from ``model`` on.

    ``ids`` maps ids here to ids in the model. The two end states also belong to the neighbours.
    """

    first_state: int
    last_state: int
    model: int
    ids: Mapping[str, str]

    @property
    def steps(self) -> range:
        return range(self.first_state, self.last_state)

    @property
    def inner(self) -> range:
        """The states that belong to it alone."""
        return range(self.first_state + 1, self.last_state)

    @property
    def back(self) -> int:
        """The distance to its model, in states."""
        return self.first_state - self.model

    @lazy_property
    def ids_from_model(self) -> Mapping[str, str]:
        """The ids here, by those in the model."""
        return {theirs: ours for ours, theirs in self.ids.items()}


def repeats(plan: Plan, names: Sequence[Names], cuts: Sequence[int]) -> list[RepeatedPart]:
    """Returns the parts between these cuts that equal an earlier one."""
    found: list[RepeatedPart] = []
    models: dict[tuple[int, ...], list[int]] = {}
    for first, last in pairwise(cuts):
        shape = tuple([len(step) for step in plan.steps[first:last]])
        known = models.setdefault(shape, [])
        for model in known:
            ids = _Comparison(plan, names, first, last, model).ids()
            if ids is not None:
                found.append(RepeatedPart(first, last, model, ids))
                break
        else:
            known.append(first)
    return found


class _Comparison:
    """Compares two parts and maps the ids of one to those of the other."""

    def __init__(
        self, plan: Plan, names: Sequence[Names], first: int, last: int, model: int
    ) -> None:
        self.plan, self.names = plan, names
        self.first, self.last, self.back = first, last, first - model
        self.known: _Ids = {}

    def ids(self) -> _Ids | None:
        """Returns the map of ids, or None if the parts differ otherwise."""
        same = all(map(self.state, range(self.first, self.last + 1)))
        same = same and all(map(self.step, range(self.first, self.last)))
        same = same and all(map(self.has_same_names, range(self.first + 1, self.last)))
        return self.known if same and self.has_same_fences() else None

    def state(self, s: int) -> bool:
        ours, theirs = self.plan.states[s], self.plan.states[s - self.back]
        return len(ours) == len(theirs) and all(
            self.known.setdefault(a.id, b.id) == b.id and (a.array is b.array or a.array == b.array)
            for a, b in zip(ours, theirs, strict=True)
        )

    def step(self, s: int) -> bool:
        ours, theirs = self.plan.steps[s], self.plan.steps[s - self.back]
        return len(ours) == len(theirs) and all(map(self.unit, ours, theirs))

    def unit(self, a: PlanItem, b: PlanItem) -> bool:
        if a.glyph != b.glyph or bool(a.node) != bool(b.node):
            return False
        if a.node and self.known.setdefault(a.node, b.node) != b.node:
            return False
        roles = [unit.cell and unit.cell.op.role for unit in (a, b)]
        return roles[0] == roles[1] and self.arrays(a, b)

    def arrays(self, a: PlanItem, b: PlanItem) -> bool:
        """Returns whether two units take and make corresponding arrays."""
        given = zip((a.inputs, a.outputs), (b.inputs, b.outputs), strict=True)
        return all([self.known[v.id] for v in x] == [v.id for v in y] for x, y in given)

    def has_same_names(self, s: int) -> bool:
        ours, theirs = self.names[s], self.names[s - self.back]
        return len(ours) == len(theirs) and all(
            theirs.get((self.known[id], i)) == label for (id, i), label in ours.items()
        )

    def has_same_fences(self) -> bool:
        """Returns whether both contain the same fences, except those around the whole part."""
        start, stop = self.first - self.back, self.last - self.back
        ours, theirs = (
            list(self.overlapping_fences(self.first, self.last)),
            list(self.overlapping_fences(start, stop)),
        )
        return len(ours) == len(theirs) and all(map(self.are_alike, ours, theirs))

    def overlapping_fences(self, first: int, last: int) -> Iterator[PlanFence]:
        for fence in self.plan.fences:
            whole = fence.first_column <= first and last <= fence.last_column
            alone = (fence.first_column, fence.last_column) == (first, last)
            if fence.first_column < last and fence.last_column > first and (alone or not whole):
                yield fence

    def are_alike(self, a: PlanFence, b: PlanFence) -> bool:
        if a.first_column < self.first or a.last_column > self.last:
            return False
        if (a.first_column - b.first_column, a.last_column - b.last_column) != (
            self.back,
            self.back,
        ):
            return False
        self.known[a.id] = b.id
        look = [(fence.title, fence.role, fence.ends) for fence in (a, b)]
        inside = self.known.get(a.parent, b.parent) == b.parent
        held = [{self.known[id] for id in ids} for ids in a.holds]
        return inside and look[0] == look[1] and held == list(b.holds)
