"""Gaps: how near the wires of a state may come, with what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from ncd.drawing import style
from ncd.drawing.marks import footroom, headroom
from ncd.drawing.plan import Frame, Plan, Port, Unit
from ncd.lang.circuit import Value


@dataclass(frozen=True)
class Item:
    """Wires that move as one: a whole array, or one wire of an array that may be spread."""

    wires: tuple[Port, ...]
    offsets: tuple[float, ...]
    above: float  # the least distance from the last wire of the item before


def items(plan: Plan, titles: Mapping[str, float], spread: Sequence[set[str]]) -> list[list[Item]]:
    """The items of every state from top to bottom; ``titles`` is the room a title needs."""
    return [_items(plan, s, titles, spread[s]) for s in range(len(plan.states))]


def _items(plan: Plan, s: int, titles: Mapping[str, float], spread: set[str]) -> list[Item]:
    found: list[Item] = []
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
            found += [Item((w,), (0.0,), g) for w, g in zip(wires, own, strict=True)]
        else:
            found.append(Item(wires, tuple(steps), gap))
        before = value
    return found


def _offsets(value: Value, wires: Sequence[Port]) -> list[float]:
    """The rows of an array's wires below its first."""
    array, found = value.array, [0.0]
    for (_, i), (_, j) in pairwise(wires):
        wide = array[i].spatial or array[j].spatial
        found.append(found[-1] + style.AXIS_GAP + (style.DOUBLE if wide else 0.0))
    return found


def opened(plan: Plan, s: int, above: Value | None, below: Value | None) -> list[Frame]:
    """The frames around an array that are not around the one over it, or under it."""
    around = plan.around[s]
    inside = around.get(below.id, ()) if below else ()
    others = around.get(above.id, ()) if above else ()
    if not inside or inside == others:
        return []
    ids = {frame.id for frame in others}
    return [frame for frame in inside if frame.id not in ids]


def _between(plan: Plan, s: int, above: Value, below: Value) -> float:
    """The room that the borders of fences need between two arrays."""
    opens, closes = opened(plan, s, above, below), opened(plan, s, below, above)
    need = style.PAD * max(0, len(opens) - 1) + style.PAD * max(0, len(closes) - 1)
    need += style.BETWEEN if opens and closes else 0.0
    return need + room_below(plan, s, above, below)


def room_below(plan: Plan, s: int, above: Value, below: Value) -> float:
    """What stands right under an array: marks, and what brackets that end with it count."""
    closes = opened(plan, s, below, above)
    return sum(style.BRACKET_ROOM for frame in closes if frame.ends) + _footroom(plan, s, above)


def rooms_above(plan: Plan, s: int, titles: Mapping[str, float]) -> Mapping[str, float]:
    """What stands right over each array: titles of fences that begin with it, and marks."""
    found: dict[str, float] = {}
    above: Value | None = None
    for value in plan.states[s]:
        room = sum(_head(frame, titles) for frame in opened(plan, s, above, value))
        found[value.id] = room + _headroom(plan, s, value)
        above = value
    return found


def _head(frame: Frame, titles: Mapping[str, float]) -> float:
    """What stands over the wires in a frame."""
    return titles.get(frame.id, 0.0) + style.BRACKET_ROOM * bool(frame.ends)


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


def _footroom(plan: Plan, s: int, value: Value) -> float:
    """What the marks under an array need, on either side of it."""
    room = 0.0
    if s < len(plan.steps):
        unit = plan.takers[s][value.id]
        room = footroom(unit.glyph) if unit.inputs[-1].id == value.id else 0.0
    if s and value.id in plan.makers[s - 1]:
        unit = plan.makers[s - 1][value.id]
        room = max(room, footroom(unit.glyph) if unit.outputs[-1].id == value.id else 0.0)
    return room


# --- arrays that may be spread -------------------------------------------------------------------


def spreads(plan: Plan) -> list[set[str]]:
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


# --- fences are rectangles -----------------------------------------------------------------------

SIDES = ("top", "bottom")
Border = tuple[str, str]  # a frame's id, and "top" or "bottom": its first or last wire
Room = tuple[Port | Border, Port | Border, float]  # how far the second is under the first


def borders(plan: Plan, titles: Mapping[str, float]) -> list[list[Room]]:
    """For each state, how far what is over and under a frame must be from it.

    A fence is as high as its highest state, while the array over it may come down in another.
    """
    found = [list(_borders(plan, s, titles)) for s in range(len(plan.states))]
    met = {b for state in found for _, b, _ in state if b[1] == "top"}
    met |= {a for state in found for a, _, _ in state if a[1] == "bottom"}
    idle = {end for state in found for room in state for end in room[:2] if end[1] in SIDES} - met
    return [[room for room in state if not idle & {*room[:2]}] for state in found]


def _borders(plan: Plan, s: int, titles: Mapping[str, float]) -> Iterator[Room]:
    state = plan.states[s]
    for above, below in zip((None, *state), (*state, None), strict=True):
        opens, closes = opened(plan, s, above, below), opened(plan, s, below, above)
        if above:
            last = plan.places(above)[-1]
            yield from _under(last, closes)
            clear = style.SKY + style.GROUND + _footroom(plan, s, above) + style.BETWEEN
            for frame in opens:
                yield last, (frame.id, "top"), clear + _head(frame, titles)
        if below:
            first = plan.places(below)[0]
            yield from _over(first, opens, titles)
            for frame in closes:
                yield (frame.id, "bottom"), first, _foot(frame) + style.BELOW
        for frame, other in product(opens, closes):
            if min(frame.last, other.last) > max(frame.first, other.first):
                apart = _foot(other) + style.LETTERS + style.BETWEEN + _head(frame, titles)
                yield (other.id, "bottom"), (frame.id, "top"), apart


def _over(wire: Port, opens: Sequence[Frame], titles: Mapping[str, float]) -> Iterator[Room]:
    """The first wire in frames, the inner ones under the outer."""
    room = 0.0
    for frame in reversed(opens):
        yield (frame.id, "top"), wire, room
        room += _head(frame, titles) + style.INNER


def _under(wire: Port, closes: Sequence[Frame]) -> Iterator[Room]:
    """The last wire in frames, the inner ones over the outer."""
    room = 0.0
    for frame in reversed(closes):
        yield wire, (frame.id, "bottom"), room
        room += _foot(frame) + style.INNER


def _foot(frame: Frame) -> float:
    """What stands under the wires in a frame."""
    return style.GROUND + style.BRACKET_ROOM * bool(frame.ends)
