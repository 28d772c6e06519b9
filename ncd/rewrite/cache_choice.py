"""The choice of the arrays that a causal term keeps from position to position: a minimum cut.

At each position the outputs need arrays of other positions, such as all keys so far. Each of these
arrays is kept, or computed again from others that are. Numbers that are kept cost memory; those
that are computed again cost work. The cheapest choice is a cut of the graph of both.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op
from ncd.ops import Cumulative
from ncd.rewrite.causality import Causality
from ncd.rewrite.position_steps import PositionStep, reaches

# --- Which positions of an array are needed


class Span(NamedTuple):
    """Positions from one offset to another, beside the position that is computed.

    ``start`` is minus infinity for all positions so far.
    """

    start: float
    end: float

    @property
    def is_everything(self) -> bool:
        """Whether it holds all positions so far."""
        return math.isinf(self.start)

    @property
    def size(self) -> int:
        """The number of positions."""
        return int(self.end - self.start) + 1

    def union(self, other: Span) -> Span:
        """Returns the span of both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


Form = tuple[tuple[str, Span], ...]  # the span of each axis of positions, in their order
Need = tuple[ArrayHandle, Form]


class Demand:
    """The positions of each array that the outputs of one position need.

    Args:
        causality: The term, which is causal.
    """

    def __init__(self, causality: Causality) -> None:
        self.causality, self.steps = causality, causality.steps
        self.positions, self.dependences = causality.positions, causality.dependences
        self._spread: dict[PositionStep, dict[tuple[int, str, int], tuple[str, float, float]]] = {}

    def now(self, slot: ArrayHandle) -> Form:
        """Returns the form of an array at the one position at which it is computed."""
        at = self.offset(slot)
        return tuple((name, Span(at, at)) for name in self.positions.names(slot))

    def offset(self, slot: ArrayHandle) -> float:
        """Returns how far behind the new position an array is computed; 0 for most."""
        lags = [lag for lag in self.dependences[slot].lags.values() if lag > 0]
        return -max(lags, default=0.0)

    def is_past(self, slot: ArrayHandle, form: Form) -> bool:
        """Returns whether other positions of a sequence are needed than the one computed now."""
        return self.dependences[slot].moving and len(form) == 1 and form != self.now(slot)

    def is_once(self, slot: ArrayHandle) -> bool:
        """Returns whether an array depends on inputs other than the sequence, and is kept whole."""
        found = self.dependences[slot]
        return found.context and not found.moving and not self.positions.names(slot)

    def needs(self, step: PositionStep, slot: ArrayHandle, form: Form) -> list[Need]:
        """Returns what a step needs of its inputs, for this form of its output."""
        if isinstance(step.term, Scan):
            return [(each, self.now(each)) for each in step.takes]
        spans, target = dict(form), step.gives.index(slot)
        sights = self.causality.sights.get(step, {})
        table = self._table(step)
        found = []
        for source, each in enumerate(step.takes):
            own = []
            for name in self.positions.names(each):
                if name in sights:
                    sight, row = sights[name], spans[sights[name].row]
                    span = Span(row.start + sight.start, row.end + sight.end)
                elif self._is_running_table(step, slot, name):
                    span = Span(-math.inf, 0)
                else:
                    axis, first, last = table[source, name, target]
                    span = Span(spans[axis].start + first, spans[axis].end + last)
                own.append((name, self.limit(span)))
            found.append((each, tuple(own)))
        return found

    def _is_running_table(self, step: PositionStep, slot: ArrayHandle, name: str) -> bool:
        """Returns whether a sum over positions is known without the sequence: it is made whole."""
        op = step.term
        return (
            isinstance(op, Cumulative)
            and op.axis[0].name == name
            and not self.dependences[slot].moving
        )

    def limit(self, span: Span) -> Span:
        """Returns all positions for a span that is as long as the sequence."""
        length = self.causality.length
        long = not span.is_everything and 1 < span.size >= length
        return Span(-math.inf, span.end) if long else span

    def _table(self, step: PositionStep) -> Mapping[tuple[int, str, int], tuple[str, float, float]]:
        if step not in self._spread:
            self._spread[step] = {
                (source, name, target): (reach.axis, 0, 0)
                if reach.is_carried
                else (reach.axis, reach.start, reach.end)
                for source, target, name, reach in reaches(step)
            }
        return self._spread[step]

    def can_repeat(self, slot: ArrayHandle) -> bool:
        """Returns whether an array can be computed again for other positions, from its inputs."""
        step = self.steps.maker.get(slot)
        if step is None or isinstance(step.term, Cumulative):
            return False
        if not self.dependences[slot].moving:
            return True
        if isinstance(step.term, Scan) or step in self.causality.sights:
            return False
        return all(len(self.positions.names(each)) < 2 for each in step.takes)


# --- The arrays between which is chosen


@dataclass(frozen=True)
class CacheCandidate:
    """An array that may be kept.

    Args:
        slot: The array.
        span: Which of its positions are needed; None for one that is the same at all positions.
        numbers: How many numbers it has: of a position, or in all if it has no positions.
        flops: The operations of computing it again: of a position, or in all.
        work: The same with one for each number that is made, so that no work is free.
        sources: The arrays from which it is computed again.
        must_keep: Whether it must be kept, as it cannot be computed again.
        passing: Whether it must not be kept, as it is needed before it is there.
    """

    slot: ArrayHandle
    span: Span | None
    numbers: int
    flops: float
    work: float
    sources: tuple[ArrayHandle, ...]
    must_keep: bool
    passing: bool

    def entries(self, context: int) -> int:
        """Returns how many positions of it are kept, for a sequence of this length."""
        if self.span is None:
            return 1
        return context if self.span.is_everything else min(context, int(-self.span.start))


class Candidates:
    """The arrays of other positions that one position needs, and those they are made of.

    Args:
        demand: The needs of the term.

    Raises:
        LookAheadError: If scores of all pairs of positions would be needed.
    """

    def __init__(self, demand: Demand) -> None:
        self.demand, self.steps = demand, demand.steps
        self.wanted: dict[ArrayHandle, Span | None] = {}
        self.forms: dict[ArrayHandle, Form] = {}  # of arrays of pairs of positions
        self._walk()
        self.found: dict[ArrayHandle, CacheCandidate] = {}
        self._collect()

    def _walk(self) -> None:
        demand, seen = self.demand, set[Need]()
        todo: deque[Need] = deque((slot, demand.now(slot)) for slot in self.steps.outputs)
        while todo:
            slot, form = todo.popleft()
            if (slot, form) in seen:
                continue
            seen.add((slot, form))
            if demand.is_once(slot):
                self.wanted[slot] = None
                continue
            if demand.is_past(slot, form):
                self._want(slot, form[0][1])
                todo.append((slot, demand.now(slot)))
                continue
            step = self.steps.maker.get(slot)
            if step is None:
                continue
            if len(form) == 2 and demand.dependences[slot].moving:
                self._check_pairs(step, slot, form)
                self.forms[slot] = form
            todo += demand.needs(step, slot, form)

    def _check_pairs(self, step: PositionStep, slot: ArrayHandle, form: Form) -> None:
        if all(span.size > 1 if not span.is_everything else True for _, span in form):
            raise self.demand.causality.refusal(
                step, slot, f"the array ({slot.axes}) would be needed for all pairs of positions"
            )

    def _want(self, slot: ArrayHandle, span: Span) -> None:
        old = self.wanted.get(slot)
        self.wanted[slot] = self.demand.limit(span.union(old) if old else span)

    def _collect(self) -> None:
        """Adds every wanted array, and those from which it can be computed again."""
        spans: dict[ArrayHandle, Span | None] = dict(self.wanted)
        order = [slot for step in reversed(self.steps.steps) for slot in step.gives]
        for slot in (*order, *self.steps.inputs):
            if slot in spans:
                span = spans[slot]
                sources = tuple(self._sources(slot, span, spans))
                self.found[slot] = self._candidate(slot, span, sources)

    def _sources(
        self, slot: ArrayHandle, span: Span | None, spans: dict[ArrayHandle, Span | None]
    ) -> Iterator[ArrayHandle]:
        """Yields what an array is computed again from, and notes which positions of it."""
        demand = self.demand
        if not demand.can_repeat(slot):
            return
        step = self.steps.maker[slot]
        form = tuple((name, span) for name in demand.positions.names(slot)) if span else ()
        for each, own in demand.needs(step, slot, form):
            if demand.is_once(each):
                spans[each] = None
                yield each
            elif demand.dependences[each].moving:
                ((_, wide),) = own
                old = spans.get(each)
                spans[each] = demand.limit(wide.union(old) if old else wide)
                yield each

    def _candidate(
        self, slot: ArrayHandle, span: Span | None, sources: tuple[ArrayHandle, ...]
    ) -> CacheCandidate:
        demand = self.demand
        names = demand.positions.names(slot)
        numbers = math.prod(a.numel for a in slot.axes if a.name not in names)
        length = demand.causality.length
        flops = work = 0.0
        step = self.steps.maker.get(slot)
        if step is not None and isinstance(step.term, Op) and sources:
            flops = step.term.flops(step.site) / (length if span else 1)
            moves = step.term.role in ("reshape", "concat")
            work = flops + (0 if moves else numbers)
        fixed = not demand.can_repeat(slot) or not sources
        passing = span is not None and span.end > demand.offset(slot)
        return CacheCandidate(slot, span, numbers, flops, work, sources, fixed, passing)


# --- The choice


@dataclass(frozen=True)
class CacheChoice:
    """Arrays that are kept.

    Args:
        arrays: The arrays that are kept.
        repeats: The arrays that are computed again at each position.
    """

    arrays: tuple[CacheCandidate, ...]
    repeats: tuple[CacheCandidate, ...]

    def numbers(self, context: int) -> int:
        """Returns how many numbers are kept, for a sequence of this length."""
        return sum(each.numbers * each.entries(context) for each in self.arrays)

    def work(self, context: int) -> float:
        """Returns the operations of computing again, at one position."""
        return sum(each.work * each.entries(context) for each in self.repeats)


UNPREFERRED_FACTOR = 1e9  # how much dearer an array is that nobody has asked for
TINY = 1e-9  # the price of an array that is only moved, so that the sooner one of two is kept


def choose(
    candidates: Candidates,
    rate: float,
    context: int,
    preferred: Collection[ArrayHandle] | None = None,
) -> CacheChoice:
    """Returns the choice that costs least.

    Args:
        candidates: The arrays.
        rate: What an operation costs, where a number that is kept costs 1; infinity for the least
            work.
        context: The length of the sequence.
        preferred: Arrays that are kept wherever they suffice; by default there are none.
    """
    edges: dict[tuple[Hashable, Hashable], float] = {}
    for slot, each in candidates.found.items():
        entries = each.entries(context)
        price = math.inf if each.passing else float(each.numbers * entries)
        if preferred is not None and slot not in preferred:
            price *= UNPREFERRED_FACTOR
        edges[(slot, "in"), (slot, "out")] = price
        again = each.work * entries * rate if each.work else TINY * each.numbers * entries
        edges["source", (slot, "in")] = math.inf if each.must_keep else again
        for source in each.sources:
            edges[(source, "out"), (slot, "in")] = math.inf
        if slot in candidates.wanted:
            edges[(slot, "out"), "sink"] = math.inf
    near = min_cut(edges, "source", "sink")
    found = candidates.found
    kept = tuple(
        each for slot, each in found.items() if (slot, "in") in near and (slot, "out") not in near
    )
    repeated = _repeated_candidates(candidates, {each.slot for each in kept})
    return CacheChoice(kept, repeated)


def _repeated_candidates(
    candidates: Candidates, kept: set[ArrayHandle]
) -> tuple[CacheCandidate, ...]:
    """Returns the arrays that are computed again from those that are kept."""
    seen: dict[ArrayHandle, None] = {}
    todo = [slot for slot in candidates.wanted if slot not in kept]
    while todo:
        slot = todo.pop()
        if slot not in seen:
            seen[slot] = None
            todo += [each for each in candidates.found[slot].sources if each not in kept]
    return tuple(candidates.found[slot] for slot in seen)


def choices(candidates: Candidates, context: int) -> list[CacheChoice]:
    """Returns every choice that is best at some price of an operation, the least work first."""
    every = sum(each.work * each.entries(context) for each in candidates.found.values())
    least = 0.5 / max(every, 1.0)  # so small a price that no work outweighs a number
    fast, small = (choose(candidates, rate, context) for rate in (math.inf, least))
    found = [fast]
    _choices_between(candidates, context, fast, small, found)
    if small.numbers(context) < fast.numbers(context):
        found.append(small)
    found.sort(key=lambda each: each.work(context))
    return found


MOST_CHOICES = 8


def _choices_between(
    candidates: Candidates,
    context: int,
    fast: CacheChoice,
    small: CacheChoice,
    found: list[CacheChoice],
) -> None:
    """Adds the choices between two, where the prices of both are the same."""
    saved = fast.numbers(context) - small.numbers(context)
    more = small.work(context) - fast.work(context)
    if saved <= 0 or more <= 0 or len(found) >= MOST_CHOICES:
        return
    rate = saved / more
    middle = choose(candidates, rate, context)
    price = middle.numbers(context) + rate * middle.work(context)
    if price >= (fast.numbers(context) + rate * fast.work(context)) * (1 - 1e-9):
        return
    found.append(middle)
    _choices_between(candidates, context, fast, middle, found)
    _choices_between(candidates, context, middle, small, found)


# --- A minimum cut


Edges = Mapping[tuple[Hashable, Hashable], float]


def min_cut(edges: Edges, source: Hashable, sink: Hashable) -> set[Hashable]:
    """Returns the nodes on the side of the source in a cut of the least capacity.

    Source: Dinic 1970, "Algorithm for solution of a problem of maximum flow in networks".

    >>> min_cut({("s", "a"): 3.0, ("a", "t"): 2.0}, "s", "t") == {"s", "a"}
    True
    """
    left: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
    for (one, two), capacity in edges.items():
        left[one][two] = left[one].get(two, 0) + capacity
        left[two].setdefault(one, 0)
    while True:
        level = _levels(left, source)
        if sink not in level:
            return {*level}
        rests = {node: iter([*left[node]]) for node in level}
        while path := _path(left, level, rests, source, sink):
            flow = min(left[one][two] for one, two in path)
            if math.isinf(flow):
                raise ValueError("no cut has a finite capacity")
            for one, two in path:
                left[one][two] -= flow
                left[two][one] += flow


Flow = Mapping[Hashable, dict[Hashable, float]]
LEAST_CAPACITY = 1e-12  # a capacity below which an edge is full


def _levels(left: Flow, source: Hashable) -> dict[Hashable, int]:
    """Returns how far each node is from the source, along edges that are not full."""
    level, todo = {source: 0}, deque([source])
    while todo:
        node = todo.popleft()
        for other, capacity in left[node].items():
            if capacity > LEAST_CAPACITY and other not in level:
                level[other] = level[node] + 1
                todo.append(other)
    return level


def _path(
    left: Flow,
    level: Mapping[Hashable, int],
    rests: Mapping[Hashable, Iterator[Hashable]],
    source: Hashable,
    sink: Hashable,
) -> list[tuple[Hashable, Hashable]]:
    """Returns a way from the source to the sink whose edges are not full; empty for none."""
    path: list[tuple[Hashable, Hashable]] = []
    node = source
    while node != sink:
        for other in rests[node]:
            if left[node][other] > LEAST_CAPACITY and level.get(other) == level[node] + 1:
                path.append((node, other))
                node = other
                break
        else:
            if not path:
                return []
            node = path.pop()[0]
    return path
