"""Wires of a mark side by side, and the least distances between the wires of a state.

A letter, a bar or a cap needs adjacent wires. If other wires lie between, the wires change rows
before the mark and change back after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise, product
from typing import NamedTuple

from ncd.circuit.circuit import Value
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan, PlanFence, PlanItem, Port
from ncd.drawing.elements.routing import chains
from ncd.drawing.marks.marks import footroom, headroom, wants_neighbours
from ncd.drawing.placement.thumbnail_places import LABEL, NOWHERE, ThumbnailPlaces
from ncd.language.cached_property import lazy_property
from ncd.language.op import Glyph, Ports

# --- Makes the wires of a mark adjacent, by crossings before and after it

_Block = tuple[Ports, Ports]  # inputs that stay adjacent, and the outputs that they become
_Slots = tuple[tuple[int, int], ...]
MAX_CAP_WIRES = 4  # wires between the arrays of a cap that are tried both above and below it


def mark_order(unit: PlanItem) -> tuple[Mapping[Port, Port], Mapping[Port, Port]]:
    """Returns whose row each input wire takes at the marks, and each output wire when it leaves.

    Wires that stay in their own row are left out.
    """
    reached, left = _orders(unit.glyph, *unit.arrays)
    return (
        {unit.ins[port]: unit.ins[slot] for port, slot in reached},
        {unit.outs[port]: unit.outs[slot] for port, slot in left},
    )


def at_marks(
    unit: PlanItem, ins: Sequence[float], outs: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Returns the rows of the inputs at the marks, and of the outputs where they leave."""
    reached, left = _orders(unit.glyph, *unit.arrays)
    return _rows_at_slots(ins, reached), _rows_at_slots(outs, left)


def _rows_at_slots(rows: Sequence[float], slots: Sequence[tuple[int, int]]) -> list[float]:
    found = list(rows)
    for port, slot in slots:
        found[port] = rows[slot]
    return found


@lru_cache(maxsize=4096)
def _orders(glyph: Glyph, ins: tuple[Ports, ...], outs: tuple[Ports, ...]) -> tuple[_Slots, _Slots]:
    """Returns the ports that change places, and whose place each takes: inputs, then outputs."""
    above, below = tuple(chain(*ins)), tuple(chain(*outs))
    within = [(_sorted_ports(cap, ins), ()) for cap in glyph.caps if _in_one(cap, ins)]
    if glyph.caps and not within:
        return _slots(above, _nested_order(glyph, ins)), ()
    blocks: list[_Block] = [*_blocks(glyph, ins, outs), *within]
    if all(_neighbours(i, above) and _neighbours(o, below) for i, o in blocks):
        return (), ()
    ended = {port for i, _ in blocks for port in i}
    after = dict(glyph.through)
    order: list[_Block] = [
        ((port,), (after[port],)) for port in above if port in after.keys() - ended
    ]
    for block in blocks:
        tries = [[*order[:k], block, *order[k:]] for k in range(len(order) + 1)]
        order = min(tries, key=lambda tried: _crossings(tried, above, below))
    return (
        _slots(above, [port for i, _ in order for port in i]),
        _slots(below, [port for _, o in order for port in o]),
    )


def _slots(before: Ports, after: Sequence[int]) -> _Slots:
    """Returns whose place each port takes in the new order."""
    places = [port for port in before if port in after]
    return tuple((port, slot) for port, slot in zip(after, places, strict=True) if port != slot)


# --- marks ---------------------------------------------------------------------------------------


def _blocks(glyph: Glyph, ins: tuple[Ports, ...], outs: tuple[Ports, ...]) -> list[_Block]:
    """Returns the wires of each mark that needs adjacent ones, all of one array."""
    found = []
    for mark in glyph.marks:
        own, new = _sorted_ports(mark.ins, ins), _sorted_ports(mark.outs, outs)
        if own and wants_neighbours(mark) and _in_one(own, ins) and _in_one(new, outs):
            found.append((own, new))
    return found


def _in_one(own: Ports, arrays: tuple[Ports, ...]) -> bool:
    return sum(any(port in array for port in own) for array in arrays) < 2


def _sorted_ports(own: Ports, arrays: tuple[Ports, ...]) -> Ports:
    """Returns ports from top to bottom."""
    return tuple(port for port in chain(*arrays) if port in own)


def _neighbours(own: Ports, order: Ports) -> bool:
    return all(order.index(b) == order.index(a) + 1 for a, b in pairwise(own))


def _crossings(blocks: Sequence[_Block], above: Ports, below: Ports) -> int:
    """Returns how many wires cross before and after the marks."""
    ins = [above.index(port) for i, _ in blocks for port in i]
    outs = [below.index(port) for _, o in blocks for port in o]
    return sum(a > b for order in (ins, outs) for a, b in combinations(order, 2))


# --- caps ----------------------------------------------------------------------------------------


def _nested_order(glyph: Glyph, ins: tuple[Ports, ...]) -> list[int]:
    """Returns an order in which caps are nested or apart and continuing wires lie outside them.

    A wire between the arrays of a cap goes above or below it, whichever gives fewer crossings.
    """
    above = tuple(chain(*ins))
    caught = _cap_order(glyph, ins, frozenset())[1][:MAX_CAP_WIRES]
    tries = [
        frozenset(port for port, is_up in zip(caught, ups, strict=True) if is_up)
        for ups in product((False, True), repeat=len(caught))
    ]
    orders = [_cap_order(glyph, ins, up)[0] for up in tries]
    return min(orders, key=lambda order: _tangle(glyph, above, order))


def _cap_order(
    glyph: Glyph, ins: tuple[Ports, ...], up: frozenset[int]
) -> tuple[list[int], list[int]]:
    """Returns the order, and the wires caught between the arrays of a cap; ``up`` go above it.

    For each array: first closing wires, innermost cap first, then continuing ones, then opening
    ones. A wire that joins one further down may stay inside, as it leaves at a right angle.
    """
    ended = {port for mark in glyph.marks for port in mark.ins}
    strung = chains(glyph)
    opens, closes, middle = _roles(strung)
    ends = [next(n for n, own in enumerate(ins) if ports[-1] in own) for ports in strung]
    joining = {port for port, _ in glyph.joins}
    order: list[int] = []
    stack: list[int] = []  # open caps, the outermost first
    caught: list[int] = []
    below: list[int] = []  # wires that are placed once they are closed
    for own in ins:
        wires = [port for port in own if port not in ended]
        order += sorted((p for p in wires if p in closes), key=lambda p: -stack.index(closes[p]))
        stack = [cap for cap in stack if cap not in {closes.get(port) for port in wires}]
        order += [port for port in wires if port in middle]
        starting = sorted((p for p in wires if p in opens), key=lambda p: -ends[opens[p]])
        kept = [p for p in wires if p not in opens and p not in closes and p not in middle]
        if stack:
            caught += kept
            at = order.index(strung[stack[0]][0])
            order[at:at] = [port for port in kept if port in up]
            below += [port for port in kept if port not in up]
            inner = []
        else:  # a joining wire may stay inside if it is below all opening ones
            last = max(map(own.index, starting), default=len(own))
            inner = [p for p in kept if p in joining and own.index(p) > last]
            order += [*below, *(port for port in kept if port not in inner)]
            below = []
        order += [*starting, *inner]
        stack += [opens[port] for port in starting]
    return [*order, *below], caught


def _roles(strung: Sequence[Ports]) -> tuple[dict[int, int], dict[int, int], set[int]]:
    """Returns the cap that each port opens, the one that each closes, and the ports between."""
    opens = {ports[0]: n for n, ports in enumerate(strung)}
    closes = {ports[-1]: n for n, ports in enumerate(strung)}
    return opens, closes, {port for ports in strung for port in ports[1:-1]}


def _tangle(glyph: Glyph, above: Ports, order: Sequence[int]) -> int:
    """Returns the number of crossings on the way to an order, inside, and after it."""
    at = {port: n for n, port in enumerate(order)}
    target = {o: at[i] for i, o in glyph.through}
    spans = [(at[ports[0]], at[ports[-1]]) for ports in chains(glyph)]
    first = [above.index(port) for port in order]
    last = [o for _, o in sorted((at[i], o) for i, o in glyph.through)]
    count = sum(a > b for places in (first, last) for a, b in combinations(places, 2))
    for i, o in glyph.joins:
        a, b = sorted((at[i], target[o]))
        count += sum(a < place < b for place in target.values())
        count += sum((x < at[i] < y) and not x < target[o] < y for x, y in spans)
    return count


# --- The minimum distances between the wires of a state, given what stands between them

SIDES = ("top", "bottom")
Border = tuple[str, str]  # a fence's id, and "top" or "bottom": its first or last wire
Room = tuple[
    Port | Border, Port | Border, float
]  # the least distance of the second below the first
_Edge = tuple[Sequence[PlanFence], Sequence[PlanFence]]


class WireGroup(NamedTuple):
    """Wires that move together: a whole array, or one wire of an array that may be spread."""

    wires: tuple[Port, ...]
    offsets: tuple[float, ...]
    min_gap: float  # the least distance from the last wire of the item above


class Gaps:
    """The contents between the arrays of a plan; ``titles`` are the heights of titles."""

    def __init__(
        self,
        plan: Plan,
        titles: Mapping[str, float],
        thumbnails: ThumbnailPlaces = NOWHERE,
    ) -> None:
        self.plan, self.titles, self.thumbnails = plan, titles, thumbnails
        self.edges = [_edges(plan, s) for s in range(len(plan.states))]
        self.over: list[dict[str, float]] = [{} for _ in plan.states]
        self.under: list[dict[str, float]] = [{} for _ in plan.states]
        for s, step in enumerate(plan.steps):
            for unit in step:
                if unit.glyph.marks:
                    self._stand(s, unit)
        for s, state in enumerate(plan.states) if thumbnails else ():
            for value in state:
                if not self._holds_thumbnail(s, value):
                    room = max(self.under[s].get(value.id, 0.0), thumbnails.height(value, s))
                    self.under[s][value.id] = room

    def _stand(self, s: int, unit: PlanItem) -> None:
        """Reserves room for marks above the first array and below the last, on both sides."""
        high, low = headroom(unit.glyph), footroom(unit.glyph)
        for at, state in ((s, unit.inputs), (s + 1, unit.outputs)):
            if state:
                head, foot = state[0].id, state[-1].id
                over, under = self.over[at], self.under[at]
                over[head] = max(over.get(head, 0.0), high)
                under[foot] = max(under.get(foot, 0.0), low)

    def _holds_thumbnail(self, s: int, value: Value) -> bool:
        """Returns whether an array's wires may part to hold its thumbnail between them."""
        return value.id in self.spread[s] and len(self.plan.places(value)) > 1

    @lazy_property
    def spread(self) -> list[set[str]]:
        """For each state, the arrays whose wires may stand apart."""
        return spreads(self.plan)

    def count(self, s: int) -> int:
        """Returns the number of items in a state."""
        spread = self.spread[s]
        state = self.plan.states[s]
        return sum([len(self.plan.places(v)) if v.id in spread else 1 for v in state])

    def items(self, s: int) -> list[WireGroup]:
        """Returns the items of a state from top to bottom."""
        found: list[WireGroup] = []
        spread = self.spread[s]
        for n, value in enumerate(self.plan.states[s]):
            gap = (
                style.ARRAY_GAP + self._border_height(s, n) + self.height_above(s, n) if n else 0.0
            )
            wires = self.plan.places(value)
            steps = _offsets(value, wires)
            if value.id in spread:
                own = [steps[i] - steps[i - 1] if i else gap for i in range(len(wires))]
                if len(own) > 1 and self.thumbnails.stands_at(value, s):
                    own[1] = max(own[1], self.thumbnails.height(value, s) + LABEL)
                found += [WireGroup((w,), (0.0,), g) for w, g in zip(wires, own, strict=True)]
            else:
                found.append(WireGroup(wires, tuple(steps), gap))
        return found

    def _border_height(self, s: int, n: int) -> float:
        """Returns the height of the fence borders above the nth array."""
        opens, closes = self.edges[s][n]
        need = style.PAD * max(0, len(opens) - 1) + style.PAD * max(0, len(closes) - 1)
        need += style.FENCE_GAP if opens and closes else 0.0
        return need + self.height_below(s, n - 1)

    def height_below(self, s: int, n: int) -> float:
        """Returns the height right below the nth array: marks, and counts of closing brackets."""
        room = self.under[s].get(self.plan.states[s][n].id, 0.0)
        return room + sum([style.BRACKET_ROOM for fence in self.closes(s, n) if fence.ends])

    def height_above(self, s: int, n: int) -> float:
        """Returns the height right above the nth array: titles of opening fences, and marks."""
        room = self.over[s].get(self.plan.states[s][n].id, 0.0)
        return room + sum([self._head(fence) for fence in self.edges[s][n][0]])

    def closes(self, s: int, n: int) -> Sequence[PlanFence]:
        """Returns the fences that end below the nth array."""
        return self.edges[s][n + 1][1]

    def _head(self, fence: PlanFence) -> float:
        """Returns the height above the wires in a fence."""
        return self.titles.get(fence.id, 0.0) + style.BRACKET_ROOM * bool(fence.ends)

    # Fences are rectangles -----------------------------------------------------------------------

    @lazy_property
    def rooms(self) -> list[list[Room]]:
        """Returns for each state the distances that must be kept from fences.

        A fence is as high as in its highest state, even where the array above it comes down.
        """
        found = [list(self._borders(s)) for s in range(len(self.plan.states))]
        met = {b for state in found for _, b, _ in state if b[1] == "top"}
        met |= {a for state in found for a, _, _ in state if a[1] == "bottom"}
        ends = (end for state in found for room in state for end in room[:2])
        idle = {end for end in ends if end[1] in SIDES} - met
        return [[r for r in state if r[0] not in idle and r[1] not in idle] for state in found]

    @lazy_property
    def cuts(self) -> list[int]:
        """Returns the states at which the parts before and after may be moved independently."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for s, state in enumerate(self.rooms):
            for border in (end for room in state for end in room[:2] if end[1] in SIDES):
                first.setdefault(border[0], s)
                last[border[0]] = s
        joined = {s for id, begin in first.items() for s in range(begin + 1, last[id])}
        return [s for s in range(len(self.rooms)) if s not in joined and self.count(s) < 2]

    def _borders(self, s: int) -> Iterator[Room]:
        state = self.plan.states[s]
        for n, (opens, closes) in enumerate(self.edges[s]):
            if not opens and not closes:
                continue
            if n:
                yield from self._distances_below(s, state[n - 1], opens, closes)
            if n < len(state):
                yield from self._distances_above(self.plan.places(state[n])[0], opens, closes)
            for fence, other in product(opens, closes):
                if min(fence.last_column, other.last_column) > max(
                    fence.first_column, other.first_column
                ):
                    apart = _foot(other) + style.LETTERS + style.FENCE_GAP + self._head(fence)
                    yield (other.id, "bottom"), (fence.id, "top"), apart

    def _distances_below(
        self, s: int, value: Value, opens: Sequence[PlanFence], closes: Sequence[PlanFence]
    ) -> Iterator[Room]:
        """Yields the distances below an array in fences that end there."""
        last, room = self.plan.places(value)[-1], 0.0
        if not self._holds_thumbnail(s, value):
            room = self.thumbnails.height(value, s)
        for fence in reversed(closes):
            yield last, (fence.id, "bottom"), room
            room += _foot(fence) + style.INNER
        clear = style.SKY + style.GROUND + self.under[s].get(value.id, 0.0) + style.FENCE_GAP
        for fence in opens:
            yield last, (fence.id, "top"), clear + self._head(fence)

    def _distances_above(
        self, wire: Port, opens: Sequence[PlanFence], closes: Sequence[PlanFence]
    ) -> Iterator[Room]:
        """Yields the distances above a wire in fences that begin there."""
        room = 0.0
        for fence in reversed(opens):
            yield (fence.id, "top"), wire, room
            room += self._head(fence) + style.INNER
        for fence in closes:
            yield (fence.id, "bottom"), wire, _foot(fence) + style.FENCE_CLEARANCE


def _edges(plan: Plan, s: int) -> list[_Edge]:
    """Returns the fences that begin and end above each array of a state and below the last."""
    around = plan.enclosing_fences[s]
    inside = [(), *(around.get(value.id, ()) for value in plan.states[s]), ()]
    return [_edge(above, below) for above, below in pairwise(inside)]


def _edge(above: Sequence[PlanFence], below: Sequence[PlanFence]) -> _Edge:
    if above == below:
        return (), ()
    over, under = {fence.id for fence in above}, {fence.id for fence in below}
    return [f for f in below if f.id not in over], [f for f in above if f.id not in under]


def _foot(fence: PlanFence) -> float:
    """Returns the height below the wires in a fence."""
    return style.GROUND + style.BRACKET_ROOM * bool(fence.ends)


def _offsets(value: Value, wires: Sequence[Port]) -> list[float]:
    """Returns the rows of an array's wires relative to its first."""
    array, found = value.array, [0.0]
    for _, (_, i) in pairwise(wires):
        wide = array[i].spatial  # its name stands higher over both its lines
        found.append(found[-1] + style.AXIS_GAP + (style.DOUBLE if wide else 0.0))
    return found


# --- arrays that may be spread -------------------------------------------------------------------


def spreads(plan: Plan) -> list[set[str]]:
    """Returns for each state the arrays that may be spread: straight until a contraction."""
    found: list[set[str]] = [set()]
    for step in reversed(plan.steps):
        found.append({v.id for unit in step for v in unit.inputs if _spread(unit, found[-1])})
    return found[::-1]


def _spread(unit: PlanItem, behind: set[str]) -> bool:
    if not unit.passes and len(unit.inputs) > 1 and unit.glyph.caps:
        return True
    alone = len(unit.inputs) == len(unit.outputs) == 1
    return alone and unit.outputs[0].id in behind
