"""Chooses which blocks are expanded: as many as are readable at a width, the outermost first.

Sizes are estimated for whole plans. The blocks of one level are expanded in order as far as they
fit, by bisection, so the number of estimates grows with the levels, not with the blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ncd.drawing.base import style
from ncd.drawing.base.label import sans
from ncd.drawing.base.plan_types import Plan
from ncd.drawing.base.primitives import Picture
from ncd.drawing.collapse import shown
from ncd.drawing.collapse.collapsed_blocks import Block, blocks
from ncd.drawing.fit.row_breaks import breaks, torn
from ncd.drawing.fit.size_estimate import Estimate, estimate
from ncd.drawing.placement.axis_labels import Labels
from ncd.drawing.plan.build_plan import plan
from ncd.lang.circuits.circuit import Circuit


@dataclass(frozen=True)
class Room:
    """A picture ``width`` pixels wide; estimates may fill these shares of its width and height."""

    width: float
    along: float = 1.0
    down: float = 1.0

    def widest(self, least: float) -> float:
        """Returns the longest row, in drawing units, at which text of this size is readable."""
        return self.along * self.width * max(1.0, least / style.READABLE)

    def high(self, wide: float) -> float:
        """Returns the largest height, in drawing units, of a picture of a given width."""
        return self.down * style.TALLEST * max(1.0, wide / self.width)

    def filled(self, drawing: Picture) -> tuple[float, float]:
        """Returns the shares of the width and the height that a drawing takes."""
        sizes = [span.size for text in drawing.texts for span in text.label.spans]
        least = min(sizes, default=style.NAME)  # scripts are smaller than their names
        wide, high = drawing.box.width, drawing.box.height
        return wide / self.widest(least), high / self.high(wide)

    def tighter(self, along: float, down: float) -> Room:
        """Returns the room for the next try, after one that filled these shares.

        Rows that an earlier try made too short are longer again, as fewer are less high.
        """
        least = style.TIGHTER
        if down > 1 > along and self.along < 1:
            return replace(self, along=min(1.0, self.along / along) - least)
        return replace(
            self,
            along=self.along / along - least if along > 1 else self.along,
            down=self.down / down - least if down > 1 else self.down,
        )


@dataclass(frozen=True)
class Sized:
    """A plan with its estimate and its row breaks."""

    plan: Plan
    sizes: Estimate
    widest: float
    at: Sequence[int]

    def fits(self, room: Room) -> bool:
        """Returns whether the rows are short enough and together not too high."""
        rows = list(pairwise(self.at))
        wide = max(self.sizes.wide(a, b) for a, b in rows)
        high = sum(self.sizes.high(a, b) + style.ROW_GAP for a, b in rows)
        return wide <= self.widest and high <= room.high(wide)

    @property
    def torn(self) -> set[str]:
        """Returns the blocks that are broken though they nearly fit in one row."""
        return torn(self.plan, self.sizes, self.at, self.widest)


def _least(planned: Plan) -> float:
    """Returns the size of the smallest text of a plan."""
    if any(mark.note for step in planned.steps for unit in step for mark in unit.glyph.marks):
        return style.NOTE
    boxed = (cell.op for cell in planned.circuit.cells if cell.op.role in ("folded", "model"))
    titles = {*(getattr(op, "title", "") for op in boxed), *(f.title for f in planned.frames)}
    spans = (span for title in titles - {""} for span in sans(title, style.TITLE).spans)
    return min((span.size for span in spans), default=style.NAME)


@dataclass
class Plans:
    """The plans of a circuit with their estimates, by the blocks that are collapsed in them."""

    circuit: Circuit
    labels: Labels
    made: dict[frozenset[str], tuple[Plan, Estimate]] = field(default_factory=dict)

    def sized(self, shut: frozenset[str], room: Room) -> Sized:
        """Returns the plan with these blocks collapsed, broken into rows for a room."""
        if shut not in self.made:
            planned = plan(shown(self.circuit, shut))
            self.made[shut] = planned, estimate(planned, self.labels)
        planned, sizes = self.made[shut]
        widest = room.widest(_least(planned))
        return Sized(planned, sizes, widest, breaks(planned, sizes, widest))


@dataclass
class Opener:
    """Expands the blocks of one circuit within a room."""

    plans: Plans
    room: Room
    tried: dict[frozenset[str], Sized] = field(default_factory=dict)

    def best(self) -> Sized:
        """Returns the plan with as many blocks expanded as fit, except those collapsed by role."""
        circuit = self.plans.circuit
        levels = _levels(blocks(circuit))
        every = [block for level in levels for block in level]
        parents = {block.parent for block in every}
        kept = {fence.id for fence in circuit.fences if fence.role == "folded"}
        inner = {block.id for block in every if block.id not in parents}
        if not kept and self.fits(frozenset(), inner):
            return self.sized(frozenset())
        shut = frozenset(block.id for block in every)
        outer = [block.id for level in levels[:1] for block in level]
        if len(outer) == 1 and outer[0] not in kept:
            shut = self.outermost(shut, outer[0])
        for level in levels:
            may = self.sized(shut).torn | {block.id for block in level}
            reached = [b.id for b in level if b.parent not in shut and b.id not in kept]
            shut = self.open(shut, reached, may)
        return self.sized(shut)

    def outermost(self, shut: frozenset[str], only: str) -> frozenset[str]:
        """Expands the only block also in a higher picture, as little stands beside its box."""
        beside = [cell for cell in self.sized(shut).plan.circuit.cells if cell.op.role != "copy"]
        if len(beside) > style.BARE:
            return shut
        higher = replace(self.room, down=self.room.down * style.OUTERMOST)
        return shut - {only} if self.sized(shut - {only}).fits(higher) else shut

    def open(self, shut: frozenset[str], ids: Sequence[str], may: set[str]) -> frozenset[str]:
        """Expands these blocks as far as they fit; one that does not fit is skipped."""
        left = list(ids)
        for _ in range(style.REFUSALS):
            low, high = 0, len(left)
            while low < high:
                middle = (low + high + 1) // 2
                if self.fits(shut - set(left[:middle]), may):
                    low = middle
                else:
                    high = middle - 1
            shut, left = shut - set(left[:low]), left[low + 1 :]
        return shut

    def fits(self, shut: frozenset[str], may: set[str]) -> bool:
        """Returns whether a picture with these blocks collapsed is readable; ``may`` can break."""
        sized = self.sized(shut)
        return sized.fits(self.room) and sized.torn <= may

    def sized(self, shut: frozenset[str]) -> Sized:
        if shut not in self.tried:
            self.tried[shut] = self.plans.sized(shut, self.room)
        return self.tried[shut]


def _levels(every: Iterable[Block]) -> list[list[Block]]:
    """Groups blocks by how many others are around them."""
    depth: dict[str, int] = {"": -1}
    levels: list[list[Block]] = []
    for block in every:  # the outer before the inner
        depth[block.id] = depth[block.parent] + 1
        levels += [[] for _ in range(depth[block.id] + 1 - len(levels))]
        levels[depth[block.id]].append(block)
    return levels


def wanted(circuit: Circuit, names: Collection[str]) -> frozenset[str]:
    """Returns the ids of the blocks with these ids or titles."""
    known: Mapping[str, Block] = {block.id: block for block in blocks(circuit, least=0)}
    return frozenset(
        block.id
        for block in known.values()
        if names and (block.id in names or block.title in names or block.name in names)
    )
