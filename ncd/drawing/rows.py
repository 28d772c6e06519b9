"""Rows: the y of every wire in every state.

Each wire wants the y of what it continues, and no two may come closer than the minimum gaps. Sweeps
go forward, back towards the consumers, and forward again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ncd.drawing import style
from ncd.drawing.isotonic import WEAK, Item, Rows, placed, stacked
from ncd.drawing.marks import headroom
from ncd.drawing.plan import SCALAR, Frame, Plan, Port, Unit
from ncd.lang.circuit import Value

START = 0.5  # the weight of a wire that begins at a mark
SWEEPS = 3


def rows(plan: Plan, titles: Mapping[str, float]) -> list[Rows]:
    """The y of every wire, a dictionary for each state; ``titles`` is the room a title needs."""
    spreads = _spreads(plan)
    items = [_items(plan, s, titles, spreads[s]) for s in range(len(plan.states))]
    flows = [[_Flow(unit) for unit in step] for step in plan.steps]
    place = [stacked(state) for state in items]
    for _ in range(SWEEPS):
        before = list(place)
        _forward(items, flows, place)
        for s in reversed(range(len(place) - 1)):
            wants = [flow.backward(place[s + 1]) for flow in flows[s]]
            place[s] = placed(items[s], wants, place[s])
        if place == before:
            break
    _forward(items, flows, place)
    return place


def _forward(
    items: Sequence[Sequence[Item]], flows: Sequence[Sequence[_Flow]], place: list[Rows]
) -> None:
    for s in range(1, len(place)):
        wants = [flow.forward(place[s - 1]) for flow in flows[s - 1]]
        place[s] = placed(items[s], wants, place[s])


# --- gaps ----------------------------------------------------------------------------------------


def _items(plan: Plan, s: int, titles: Mapping[str, float], spread: set[str]) -> list[Item]:
    items: list[Item] = []
    rooms = rooms_above(plan, s, titles)
    before: Value | None = None
    for value in plan.states[s]:
        gap = 0.0
        if before is not None:
            gap = style.ARRAY_GAP + _between(plan, s, before, value) + rooms[value.id]
        wires = plan.places(value)
        steps = _offsets(value, wires)
        if value.id in spread:
            own = [steps[i] - steps[i - 1] if i else gap for i in range(len(wires))]
            items += [Item((w,), (0.0,), g) for w, g in zip(wires, own, strict=True)]
        else:
            items.append(Item(wires, tuple(steps), gap))
        before = value
    return items


def _offsets(value: Value, wires: Sequence[Port]) -> list[float]:
    """The rows of an array's wires below its first."""
    array, found = value.array, [0.0]
    for (_, i), (_, j) in pairwise(wires):
        wide = array[i].spatial or array[j].spatial
        found.append(found[-1] + style.AXIS_GAP + (style.DOUBLE if wide else 0.0))
    return found


def _opened(plan: Plan, s: int, above: Value | None, below: Value) -> list[Frame]:
    """The frames around an array that are not around the one over it."""
    around = plan.around[s]
    others = {frame.id for frame in around.get(above.id, ())} if above else set()
    return [frame for frame in around.get(below.id, ()) if frame.id not in others]


def _between(plan: Plan, s: int, above: Value, below: Value) -> float:
    """The room that the borders of fences need between two arrays."""
    opened, closed = _opened(plan, s, above, below), _opened(plan, s, below, above)
    need = style.PAD * max(0, len(opened) - 1) + style.PAD * max(0, len(closed) - 1)
    need += style.BETWEEN if opened and closed else 0.0
    return need + room_below(plan, s, above, below)


def room_below(plan: Plan, s: int, above: Value, below: Value) -> float:
    """What stands right under an array: what brackets that end with it count."""
    closed = _opened(plan, s, below, above)
    return sum(style.BRACKET_ROOM for frame in closed if frame.ends)


def rooms_above(plan: Plan, s: int, titles: Mapping[str, float]) -> Mapping[str, float]:
    """What stands right over each array: titles of fences that begin with it, and marks."""
    found: dict[str, float] = {}
    above: Value | None = None
    for value in plan.states[s]:
        opened = _opened(plan, s, above, value)
        room = sum(titles.get(f.id, 0.0) + style.BRACKET_ROOM * bool(f.ends) for f in opened)
        found[value.id] = room + _headroom(plan, s, value)
        above = value
    return found


def _headroom(plan: Plan, s: int, value: Value) -> float:
    """What the marks over an array need, on either side of it."""
    room = 0.0
    if s < len(plan.steps):
        unit = plan.takers[s][value.id]
        room = headroom(unit.glyph) if unit.inputs[0].id == value.id else 0.0
    if s and value.id in plan.makers[s - 1]:
        unit = plan.makers[s - 1][value.id]
        room = max(room, headroom(unit.glyph) if unit.outputs[0].id == value.id else 0.0)
    return room


def _spreads(plan: Plan) -> list[set[str]]:
    """For each state the arrays that may stand apart: those straight until a contraction."""
    found: list[set[str]] = [set()]
    for step in reversed(plan.steps):
        found.append({v.id for unit in step for v in unit.inputs if _spread(unit, found[-1])})
    return found[::-1]


def _spread(unit: Unit, behind: set[str]) -> bool:
    if not unit.passes and len(unit.inputs) > 1 and unit.glyph.caps:
        return True
    alone = len(unit.inputs) == len(unit.outputs) == 1
    return alone and unit.outputs[0].id in behind


def crowded(plan: Plan, rows: Sequence[Rows], titles: Mapping[str, float]) -> dict[str, float]:
    """How much more room the fences need that lie over wires above them.

    A fence is as high as its highest state, while the array over it may come down in another.
    """
    tops: dict[str, float] = {}
    bottoms: dict[str, float] = {}
    for s, state in enumerate(plan.states):
        for above, value in zip((None, *state), state, strict=False):
            here = rows[s][plan.places(value)[0]]
            for frame in _opened(plan, s, above, value):
                tops[frame.id] = min(here, tops.get(frame.id, here))
                if above is not None:
                    last = rows[s][plan.places(above)[-1]]
                    bottoms[frame.id] = max(last, bottoms.get(frame.id, last))
    found = {}
    for frame in plan.frames:
        if frame.id in bottoms:
            room = style.BRACKET_ROOM if frame.ends else titles.get(frame.id, 0.0)
            need = bottoms[frame.id] + style.SKY - (tops[frame.id] - room - style.BETWEEN)
            if need > 0:
                found[frame.id] = need
    return found


# --- what each wire wants ------------------------------------------------------------------------


class _Flow:
    """What the wires of a unit want, worked out once for all sweeps."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        glyph, ins, outs = unit.glyph, unit.ins, unit.outs
        self.weight = WEAK if glyph.caps else 1.0
        self.through = [(ins[i], outs[o]) for i, o in glyph.through]
        self.lowered = _lowered(unit)
        order_in = {port: n for n, port in enumerate(unit.in_places)}
        order_out = {port: n for n, port in enumerate(unit.out_places)}
        went, came = {o for _, o in self.through}, {i for i, _ in self.through}
        self.begins: list[tuple[list[Port], Sequence[Port]]] = []
        self.ends: list[tuple[list[Port], Sequence[Port]]] = []
        for mark in glyph.marks:
            own_in, own_out = [ins[i] for i in mark.ins], [outs[o] for o in mark.outs]
            new = sorted((o for o in own_out if o not in went), key=order_out.__getitem__)
            old = sorted((i for i in own_in if i not in came), key=order_in.__getitem__)
            if new and (own_in or ins):
                self.begins.append((new, own_in or ins))
            if old and own_out and not glyph.caps:
                self.ends.append((old, own_out))
        self.scalars_in = [p for p in unit.in_places if p[1] == SCALAR]
        self.scalars_out = [p for p in unit.out_places if p[1] == SCALAR]

    def forward(self, ys: Rows) -> dict[Port, tuple[float, float]]:
        """What the wires behind it want, from the rows before it."""
        targets = {o: (ys[self.lowered.get(i, i)], 1.0) for i, o in self.through}
        for new, old in self.begins:
            slots = _slots([ys[port] for port in old], len(new))
            targets |= {port: (y, START) for port, y in zip(new, slots, strict=True)}
        if self.scalars_out and self.unit.in_places:
            middle = _middle([ys[port] for port in self.unit.in_places])
            targets |= dict.fromkeys(self.scalars_out, (middle, START))
        return targets

    def backward(self, ys: Rows) -> dict[Port, tuple[float, float]]:
        """What the wires before it want, from the rows behind it."""
        targets = {i: (ys[o], self.weight) for i, o in self.through}
        for old, new in self.ends:
            slots = _slots([ys[port] for port in new], len(old))
            targets |= {port: (y, START) for port, y in zip(old, slots, strict=True)}
        if self.scalars_in and self.unit.passes:
            targets |= {port: (ys[port], 1.0) for port in self.scalars_in}
        return targets


def lowered(unit: Unit, ys: Mapping[Port, float]) -> list[float]:
    """The rows of the wires that go in, as they are where its caps close."""
    at = _lowered(unit)
    return [ys[at.get(port, port)] for port in unit.ins]


def _lowered(unit: Unit) -> Mapping[Port, Port]:
    """In whose row each wire is after a contraction has drawn its own to the top of lower arrays.

    The wire that is contracted changes places with the ones above it (the transpose of figure 20).
    """
    lower = {unit.ins[j] for _, j in unit.glyph.caps}
    found: dict[Port, Port] = {}
    for value in unit.inputs if lower else ():
        own = [port for port in unit.in_places if port[0] == value.id]
        order = [p for p in own if p in lower] + [p for p in own if p not in lower]
        found |= dict(zip(order, own, strict=True))
    return found


def _slots(rows: list[float], count: int) -> list[float]:
    """Rows for the wires on the other side of a mark; as in the figures, the first is straight."""
    if len(rows) == count:
        return sorted(rows)
    return [min(rows) + n * style.AXIS_GAP for n in range(count)]


def _middle(rows: list[float]) -> float:
    return (min(rows) + max(rows)) / 2
