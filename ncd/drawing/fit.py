"""The choice of open blocks and of the ends of rows, for a width on screen or paper.

Breaks are cheap where few wires and fences cross them, and rows of similar length are preferred:
dynamic programming finds the breaks with the least total cost.

Sizes are estimated for whole plans. The blocks of one level are expanded in order as far as they
fit, by bisection, so the number of estimates grows with the levels, not with the blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import ceil, inf
from types import MappingProxyType

from ncd.circuit.circuit import Circuit
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.tikz import UNIT
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import sans
from ncd.drawing.elements.plan_columns import Plan, PlanFence, PlanItem
from ncd.drawing.elements.primitives import DrawingData, Thumbnail, fast_replace
from ncd.drawing.elements.routing import bend_width
from ncd.drawing.marks.marks import headroom, mark_width, names_its_array, takes_cap
from ncd.drawing.placement.axis_labels import axis_label
from ncd.drawing.placement.thumbnail_places import thumbnail_places
from ncd.drawing.plan.build_plan import plan
from ncd.drawing.plan.collapse import CollapsibleBlock, blocks
from ncd.drawing.plan.collapse import collapsed as collapse_shown
from ncd.errors import SizeError, short_repr
from ncd.language.arguments import Labels
from ncd.language.axes import Axis
from ncd.language.op import Glyph

# --- Drawings for paper, where labels keep their size: only what fits no other way is shrunk

# Points of TeX in each of its units (Knuth 1984, "The TeXbook", chapter 10).
UNITS = {
    "pt": 1.0,
    "bp": 72.27 / 72,
    "pc": 12.0,
    "in": 72.27,
    "cm": 72.27 / 2.54,
    "mm": 7.227 / 2.54,
}
WIDTH_PATTERN = re.compile(rf"(\d{{1,5}}(?:\.\d{{1,9}})?)\s*({'|'.join(UNITS)})")
TRIES = 5  # drawings at most, each narrower than the one before it
STEP = 0.95  # the largest share of the last width that the next try has


def drawing_units(width: str) -> float:
    """Returns a width in TeX units, such as ``12cm``, in drawing units.

    Raises SizeError for any other text.

    >>> round(drawing_units("12cm")), drawing_units("100 pt")
    (683, 200.0)
    """
    found = WIDTH_PATTERN.fullmatch(width.strip())
    size = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not size:
        units = ", ".join(UNITS)
        raise SizeError(
            f"{short_repr(width)} is no width in TeX units ({units})",
            cure='width="12cm"',
            where="draw",
        )
    return size / UNIT


def fit_width(drawn: Callable[[float], Drawing], most: float) -> Drawing:
    """Returns the first of narrower and narrower drawings that takes at most this width on paper.

    Drawings for a screen may be wider than asked for, as they are shrunk while their text can be
    read. If none fits, it is the narrowest, and only then its labels are smaller.
    """
    tried: list[Drawing] = []
    room = most
    for _ in range(TRIES):
        tried.append(drawn(room))
        wide = tried[-1].box.width
        if wide <= most:
            return fast_replace(tried[-1], paper_unit=UNIT)
        room *= min(STEP, most / wide)
    narrowest = min(tried, key=lambda drawing: drawing.box.width)
    return fast_replace(narrowest, paper_unit=UNIT * most / narrowest.box.width)


# --- Estimates the width and height of a plan without placing it


@dataclass(frozen=True)
class Estimate:
    """The x at which each state starts, its width, and its height."""

    starts: tuple[float, ...]
    widths: tuple[float, ...]
    heights: tuple[float, ...]

    def width_between(self, a: int, b: int) -> float:
        """Returns the width from state a to state b."""
        inside = self.starts[b] + self.widths[b] - self.starts[a]
        return style.ROUGH * inside + 2 * style.MARGIN

    def height_between(self, a: int, b: int) -> float:
        """Returns the height from state a to state b."""
        return max(self.heights[a : b + 1]) + 2 * style.MARGIN


def estimate(
    plan: Plan, labels: Labels, thumbnails: Mapping[str, Thumbnail] = MappingProxyType({})
) -> Estimate:
    """Returns the estimate of a plan."""
    depths = _depths(plan)
    steps = [
        max([style.STEP, *(_item_width(unit, depths) for unit in step)]) for step in plan.steps
    ]
    states, heights = _states(plan, labels), _heights(plan)
    (places,) = thumbnail_places([plan], thumbnails)
    for s, state in enumerate(plan.states) if places else ():
        states[s] = max(states[s], places.width(s))
        heights[s] += sum(places.height(value, s) for value in state)
    both = [a + b for a, b in zip(states, [*steps, 0.0], strict=True)]
    starts = tuple(accumulate(both[:-1], initial=0.0))
    return Estimate(starts, tuple(states), tuple(heights))


def _depths(plan: Plan) -> Mapping[str, float]:
    """Returns how far down each array lies in the state with the most arrays above it."""
    found: dict[str, float] = {}
    for s, state in enumerate(plan.states):
        y = 0.0
        for value in state:
            found[value.id] = max(y, found.get(value.id, 0.0))
            y += style.AXIS_GAP * max(0, len(value.array) - 1) + style.ARRAY_GAP
            if s < len(plan.steps) and value.id in plan.consumers[s]:
                y += headroom(plan.consumers[s][value.id].glyph)
    return found


def _item_width(unit: PlanItem, depths: Mapping[str, float]) -> float:
    if unit.cell is None:
        return 0.0
    glyph, wide = unit.glyph, mark_width(unit.glyph)
    if glyph.caps:
        return wide + style.CAP_ROOM
    ends = ((unit.ins[i][0], unit.outs[o][0]) for i, o in (*glyph.splits, *glyph.joins))
    return max([wide, *(bend_width(depths[b] - depths[a]) for a, b in ends)])


def _states(plan: Plan, labels: Labels) -> list[float]:
    """Returns the widths of states: the names of new arrays, and the borders of fences."""
    borders = [style.PAD * (closing + opening) for closing, opening in plan.borders]
    named = [_label_width((axis for v in plan.states[0] for axis in v.array), labels)]
    named += [
        _label_width((a for unit in step for a in _new_axes(unit)), labels) for step in plan.steps
    ]
    return [a + b for a, b in zip(borders, named, strict=True)]


def _new_axes(unit: PlanItem) -> Iterator[Axis]:
    """Yields the axes that begin at a unit."""
    axes = (axis for value in unit.outputs for axis in value.array)
    return (axis for o, axis in enumerate(axes) if o not in unit.continued_inputs)


def _label_width(axes: Iterable[Axis], labels: Labels) -> float:
    widths = [axis_label(axis, labels).width for axis in axes]
    return max(widths) + style.LABEL_GAP if widths else 0.0


def _heights(plan: Plan) -> list[float]:
    """Returns the heights of states: wires, gaps, marks above them, and titles."""
    over = [0.0] * len(plan.states)
    for s, step in enumerate(plan.steps):
        room = max((headroom(unit.glyph) for unit in step), default=0.0)
        over[s], over[s + 1] = max(over[s], room), room
    for fence in plan.fences:
        title = style.LEADING + style.TITLE_ROOM[1] if fence.title else 0.0
        room = title + (2 * style.BRACKET_ROOM if fence.ends else style.PAD)
        for s in range(fence.first_column, fence.last_column + 1):
            over[s] += room
    return [
        sum(style.AXIS_GAP * max(0, len(v.array) - 1) for v in state)
        + style.ARRAY_GAP * len(state)
        + over[s]
        for s, state in enumerate(plan.states)
    ]


# --- Row breaks: where a long diagram is split into rows, each a plan of its own

# Costs of a break; the squared relative deviation of a row's length is added.
WIRE_COST, ARRAY_COST = 0.02, 0.06  # for each wire and each array that it cuts
RENAMED_COST = 0.05  # right before axes are renamed
FENCE_COST, TORN_COST = 0.15, 1.0  # for each fence that it cuts: a long one, and another
SHORT_FENCE_ROWS = 1.3  # the length of a fence, in rows, up to which it should not be cut
ROW_COST = 0.25  # for each row
EXTRA_ROWS = 2  # rows beyond the fewest possible that are tried


def breaks(plan: Plan, sizes: Estimate, width: float) -> list[int]:
    """Returns the states where rows begin and end, no wider than ``width`` if possible."""
    last = len(plan.states) - 1
    total = sizes.width_between(0, last)
    if total <= width or not last:
        return [0, last]
    costs = _costs(plan, sizes, width)
    return _cheapest(sizes, costs, width, ceil(total / width)) or _greedy(sizes, costs, width)


def _cheapest(
    sizes: Estimate, costs: Sequence[float], width: float, fewest: int
) -> list[int] | None:
    """Returns the cheapest breaks into ``fewest`` rows or a few more, or None."""
    last = len(costs) - 1
    share = sizes.width_between(0, last) / fewest
    places = [s for s, cost in enumerate(costs) if cost < inf]
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, -1)}]
    for left in range(fewest + EXTRA_ROWS, 0, -1):
        here: dict[int, tuple[float, int]] = {}
        for a, (cost, _) in best[-1].items():
            if (
                sizes.width_between(a, last) > left * width
            ):  # the rows that are left cannot hold the rest
                continue
            for b in places[bisect_right(places, a) :]:
                wide = sizes.width_between(a, b)
                if wide > width:
                    break
                new = cost + (wide / share - 1) ** 2 + costs[b]
                if b not in here or new < here[b][0]:
                    here[b] = (new, a)
        best.append(here)
    ends = [(at[last][0] + ROW_COST * n, n) for n, at in enumerate(best) if last in at]
    if not ends:
        return None
    way = [last]
    for at in reversed(best[1 : min(ends)[1] + 1]):
        way.append(at[way[-1]][1])
    return way[::-1]


def _greedy(sizes: Estimate, costs: Sequence[float], width: float) -> list[int]:
    """Returns rows as long as possible, for plans with a step wider than a row."""
    way, last = [0], len(costs) - 1
    allowed = [b for b in range(1, last + 1) if costs[b] < inf or b == last]
    for b, after in zip(allowed, [*allowed[1:], last], strict=True):
        if b == last or sizes.width_between(way[-1], after) > width:
            way.append(b)
    return way


def _costs(plan: Plan, sizes: Estimate, width: float) -> list[float]:
    """Returns the cost of a break at each state; the ends cost nothing."""
    costs = [
        sum(ARRAY_COST + WIRE_COST * len(value.array) for value in state) for state in plan.states
    ]
    for fence in plan.fences:
        cost = (
            TORN_COST
            if sizes.width_between(fence.first_column, fence.last_column)
            <= SHORT_FENCE_ROWS * width
            else FENCE_COST
        )
        for s in range(fence.first_column + 1, fence.last_column):
            costs[s] += cost
    for s, step in enumerate(plan.steps):
        named = any(takes_cap(unit.glyph) or names_its_array(unit.glyph) for unit in step)
        if named or all(unit.passes or _draws_nothing(unit) for unit in step):
            costs[s] = inf  # a row does not begin with a name, a bracket, or names of another loop
        elif any(_renames(unit) for unit in step):
            costs[s] += RENAMED_COST
    costs[0] = costs[-1] = 0.0
    return costs


def _renames(unit: PlanItem) -> bool:
    """Returns whether a unit only renames an array."""
    wires = tuple((n, n) for n in range(len(unit.outs)))
    return unit.cell is not None and unit.glyph == Glyph(through=wires)


def _draws_nothing(unit: PlanItem) -> bool:
    """Returns whether a unit is the end of a loop, or only renames an array."""
    return unit.cell is None or _renames(unit)


def broken_fences(plan: Plan, sizes: Estimate, at: Sequence[int], width: float) -> set[str]:
    """Returns the fences that contain a break though they are hardly longer than a row."""
    inner = at[1:-1]
    return {
        fence.id
        for fence in plan.fences
        if any(fence.first_column < s < fence.last_column for s in inner)
        and sizes.width_between(fence.first_column, fence.last_column) <= SHORT_FENCE_ROWS * width
    }


def rows_of(plan: Plan, at: Sequence[int]) -> list[Plan]:
    """Returns the rows between breaks."""
    return [_row(plan, a, b) for a, b in pairwise(at)]


def _row(plan: Plan, a: int, b: int) -> Plan:
    if (a, b) == (0, len(plan.states) - 1):
        return plan
    fences = [
        _clip_fence(fence, a, b)
        for fence in plan.fences
        if fence.first_column < b and a < fence.last_column  # it holds a step of the row
    ]
    known = {fence.id for fence in fences}
    parents = {fence.id: fence.parent for fence in plan.fences}
    for n, fence in enumerate(fences):
        parent = fence.parent
        while parent and parent not in known:
            parent = parents.get(parent, "")
        fences[n] = replace(fence, parent=parent)
    return replace(plan, states=plan.states[a : b + 1], steps=plan.steps[a:b], fences=tuple(fences))


def _clip_fence(fence: PlanFence, a: int, b: int) -> PlanFence:
    first, last = max(fence.first_column, a), min(fence.last_column, b)
    holds = fence.holds[first - fence.first_column : last - fence.first_column + 1]
    over = (fence.first_column < a, b < fence.last_column)
    return replace(fence, first_column=first - a, last_column=last - a, holds=holds, goes_on=over)


# --- Chooses which blocks are expanded: as many as are readable at a width, the outermost first


@dataclass(frozen=True)
class PageLimits:
    """A picture ``width`` pixels wide; estimates may fill these shares of its width and height."""

    width: float
    width_share: float = 1.0
    height_share: float = 1.0

    def widest(self, least: float) -> float:
        """Returns the longest row, in drawing units, at which text of this size is readable."""
        return self.width_share * self.width * max(1.0, least / style.READABLE)

    def max_height(self, wide: float) -> float:
        """Returns the largest height, in drawing units, of a picture of a given width."""
        return self.height_share * style.TALLEST * max(1.0, wide / self.width)

    def used_shares(self, drawing: DrawingData) -> tuple[float, float]:
        """Returns the shares of the width and the height that a drawing takes."""
        sizes = [span.size for text in drawing.texts for span in text.label.spans]
        least = min(sizes, default=style.NAME)  # scripts are smaller than their names
        wide, high = drawing.box.width, drawing.box.height
        return wide / self.widest(least), high / self.max_height(wide)

    def tighter(self, along: float, down: float) -> PageLimits:
        """Returns the room for the next try, after one that filled these shares.

        Rows that an earlier try made too short are longer again, as fewer are less high.
        """
        least = style.TIGHTER
        if down > 1 > along and self.width_share < 1:
            return replace(self, width_share=min(1.0, self.width_share / along) - least)
        return replace(
            self,
            width_share=self.width_share / along - least if along > 1 else self.width_share,
            height_share=self.height_share / down - least if down > 1 else self.height_share,
        )


@dataclass(frozen=True)
class FittedPlan:
    """A plan with its estimate and its row breaks."""

    plan: Plan
    sizes: Estimate
    widest: float
    row_breaks: Sequence[int]

    def fits(self, room: PageLimits) -> bool:
        """Returns whether the rows are short enough and together not too high."""
        rows = list(pairwise(self.row_breaks))
        wide = max(self.sizes.width_between(a, b) for a, b in rows)
        high = sum(self.sizes.height_between(a, b) + style.ROW_GAP for a, b in rows)
        return wide <= self.widest and high <= room.max_height(wide)

    @property
    def broken_blocks(self) -> set[str]:
        """Returns the blocks that are broken though they nearly fit in one row."""
        return broken_fences(self.plan, self.sizes, self.row_breaks, self.widest)


def _smallest_text_size(planned: Plan) -> float:
    """Returns the size of the smallest text of a plan."""
    if any(mark.note for step in planned.steps for unit in step for mark in unit.glyph.marks):
        return style.NOTE
    boxed = (cell.op for cell in planned.circuit.cells if cell.op.role in ("folded", "model"))
    titles = {*(getattr(op, "title", "") for op in boxed), *(f.title for f in planned.fences)}
    spans = (span for title in titles - {""} for span in sans(title, style.TITLE).spans)
    return min((span.size for span in spans), default=style.NAME)


@dataclass
class Plans:
    """The plans of a circuit with their estimates, by the blocks that are collapsed in them."""

    circuit: Circuit
    labels: Labels
    thumbnails: Mapping[str, Thumbnail] = field(default_factory=dict)
    estimated_plans: dict[frozenset[str], tuple[Plan, Estimate]] = field(default_factory=dict)

    def fitted_plan(self, shut: frozenset[str], room: PageLimits) -> FittedPlan:
        """Returns the plan with these blocks collapsed, broken into rows for a room."""
        if shut not in self.estimated_plans:
            planned = plan(collapse_shown(self.circuit, shut))
            self.estimated_plans[shut] = planned, estimate(planned, self.labels, self.thumbnails)
        planned, sizes = self.estimated_plans[shut]
        widest = room.widest(_smallest_text_size(planned))
        return FittedPlan(planned, sizes, widest, breaks(planned, sizes, widest))


@dataclass
class BlockExpander:
    """Expands the blocks of one circuit within a room."""

    plans: Plans
    room: PageLimits
    fitted_plans: dict[frozenset[str], FittedPlan] = field(default_factory=dict)

    def best(self) -> FittedPlan:
        """Returns the plan with as many blocks expanded as fit, except those collapsed by role."""
        circuit = self.plans.circuit
        levels = _levels(blocks(circuit))
        every = [block for level in levels for block in level]
        parents = {block.parent for block in every}
        kept = {fence.id for fence in circuit.fences if fence.role == "folded"}
        inner = {block.id for block in every if block.id not in parents}
        if not kept and self.fits(frozenset(), inner):
            return self.fitted_plan(frozenset())
        shut = frozenset(block.id for block in every)
        outer = [block.id for level in levels[:1] for block in level]
        if len(outer) == 1 and outer[0] not in kept:
            shut = self.outermost(shut, outer[0])
        for level in levels:
            may = self.fitted_plan(shut).broken_blocks | {block.id for block in level}
            reached = [b.id for b in level if b.parent not in shut and b.id not in kept]
            shut = self.expand(shut, reached, may)
        return self.fitted_plan(shut)

    def outermost(self, shut: frozenset[str], only: str) -> frozenset[str]:
        """Expands the only block also in a higher picture, as little stands beside its box."""
        beside = [
            cell for cell in self.fitted_plan(shut).plan.circuit.cells if cell.op.role != "copy"
        ]
        if len(beside) > style.MAX_BARE_OPS:
            return shut
        higher = replace(self.room, height_share=self.room.height_share * style.OUTERMOST)
        return shut - {only} if self.fitted_plan(shut - {only}).fits(higher) else shut

    def expand(self, shut: frozenset[str], ids: Sequence[str], may: set[str]) -> frozenset[str]:
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
        """Returns whether a picture with these blocks collapsed is readable; ``may`` can break.

        With thumbnails all may, as a collapsed block shows no values.
        """
        sized = self.fitted_plan(shut)
        return sized.fits(self.room) and (bool(self.plans.thumbnails) or sized.broken_blocks <= may)

    def fitted_plan(self, shut: frozenset[str]) -> FittedPlan:
        if shut not in self.fitted_plans:
            self.fitted_plans[shut] = self.plans.fitted_plan(shut, self.room)
        return self.fitted_plans[shut]


def _levels(every: Iterable[CollapsibleBlock]) -> list[list[CollapsibleBlock]]:
    """Groups blocks by how many others are around them."""
    depth: dict[str, int] = {"": -1}
    levels: list[list[CollapsibleBlock]] = []
    for block in every:  # the outer before the inner
        depth[block.id] = depth[block.parent] + 1
        levels += [[] for _ in range(depth[block.id] + 1 - len(levels))]
        levels[depth[block.id]].append(block)
    return levels


def matching_block_ids(circuit: Circuit, names: Collection[str]) -> frozenset[str]:
    """Returns the ids of the blocks with these ids or titles."""
    known: Mapping[str, CollapsibleBlock] = {block.id: block for block in blocks(circuit, least=0)}
    return frozenset(
        block.id
        for block in known.values()
        if names and (block.id in names or block.title in names or block.name in names)
    )
