"""The operations of one position of a cached pass, for any number of positions before it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import elaborate
from ncd.language.axes import Type
from ncd.language.cached_property import lazy_property
from ncd.language.op import Op, Site
from ncd.language.terms import Id
from ncd.rewrite.cache_choice import CacheChoice, Candidates
from ncd.rewrite.position_steps import PositionStep


class PassFlops:
    """The operations of one position: those of every op, shared out over its positions.

    Args:
        candidates: The arrays that one position needs of others.
    """

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.causality = candidates.demand.causality

    @lazy_property
    def parts(self) -> list[tuple[float, float]]:
        """For each op its operations for a pair of positions, and how many it pairs with; or 1."""
        found = []
        for step in self._moving():
            count = step_flops(step)
            if count:
                columns, width = self._columns(step)
                found.append((count / self.causality.length / columns, width))
        return found

    def _moving(self) -> list[PositionStep]:
        known = self.causality.dependences
        return [s for s in self.causality.steps.steps if known[s.gives[0]].moving]

    def _columns(self, step: PositionStep) -> tuple[int, float]:
        """Returns how many positions an op pairs with each, and how many of them are needed."""
        for slot in (*step.takes, *step.gives):
            form = self.candidates.forms.get(slot)
            if form is not None:
                wide = [(n, s) for n, s in form if s.is_everything or s.size > 1]
                name, span = (wide or form)[-1]
                return step.site.size(name), math.inf if span.is_everything else span.size
        return 1, 1

    def count(self, context: int) -> int:
        """Returns the operations of one position after so many, with nothing computed again."""
        return round(sum(part * min(context, width) for part, width in self.parts))

    def of_choice(self, choice: CacheChoice, context: int) -> int:
        """Returns the operations of one position with these arrays kept."""
        again = sum(each.flops * each.entries(context) for each in choice.repeats)
        return self.count(context) + round(again)

    @lazy_property
    def weights(self) -> int:
        """The learned numbers that one position reads, each layer once."""
        found: dict[str, int] = {}
        weights = self.causality.steps.weights
        for step in self._moving():
            for slot in step.takes:
                if slot in weights:
                    found[weights[slot].path] = slot.axes.numel
            for path, op, site in _learned_ops(step):
                for name, value in op.initial_values(site).items():
                    if value.is_learned:
                        found[f"{path}.{name}"] = value.array.numel
        return sum(found.values())


def _learned_ops(step: PositionStep) -> Iterator[tuple[str, Op, Site]]:
    if isinstance(step.term, Op):
        yield step.path, step.term, step.site
    else:
        for cell in _scan_cells(step):
            yield f"{step.path}.{cell.path}", cell.op, cell.site


def step_flops(step: PositionStep) -> int:
    """Returns the operations of a step for all positions."""
    if isinstance(step.term, Op):
        return step.term.flops(step.site)
    return sum(cell.flops for cell in _scan_cells(step))


def _scan_cells(step: PositionStep) -> tuple[Cell, ...]:
    arrays = Type(slot.axes for slot in step.takes)
    return elaborate(Id(arrays) >> step.term).cells
