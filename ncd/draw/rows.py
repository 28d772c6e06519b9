"""Rows: the y of every wire in every state.

Each wire wants the y of what it continues, and no two may come closer than the minimum gaps. The
nearest rows that keep the gaps are an isotonic regression (pool adjacent violators), here with
medians, so that the wires of a pool that can stay straight do. Sweeps go forward, back towards the
consumers, and forward again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncd.axes import Array
from ncd.circuit import Fence, Value
from ncd.draw import style
from ncd.draw.plan import Plan, Unit, Wire
from ncd.ops.einsum import Einsum
from ncd.ops.spec import Mark

Rows = dict[Wire, float]
Targets = Mapping[Wire, tuple[float, float]]  # the y that a wire wants, and how much

WEAK, START = 0.01, 0.5
HEADROOM = {"elementwise": 22.0, "plus": 16.0, "arrow": 24.0}


@dataclass(frozen=True)
class _Item:
    """Wires that move as one: a whole array, or one wire of an array that may be spread."""

    wires: tuple[Wire, ...]
    offsets: tuple[float, ...]
    above: float  # the least distance from the last wire of the item before


def rows(plan: Plan, titles: Mapping[str, float]) -> list[Rows]:
    """The y of every wire, a dictionary for each state; ``titles`` is the room a title needs."""
    items = [_items(plan, s, titles) for s in range(len(plan.states))]
    place = [_stacked(state) for state in items]
    for _ in range(3):
        for s in range(1, len(place)):
            place[s] = _place(items[s], _forward(plan, s, place[s - 1]), place[s])
        for s in reversed(range(len(place) - 1)):
            place[s] = _place(items[s], _backward(plan, s, place[s + 1]), place[s])
    for s in range(1, len(place)):
        place[s] = _place(items[s], _forward(plan, s, place[s - 1]), place[s])
    return place


# --- gaps ----------------------------------------------------------------------------------------


def _items(plan: Plan, s: int, titles: Mapping[str, float]) -> list[_Item]:
    items: list[_Item] = []
    before: Value | None = None
    for value in plan.states[s]:
        gap = style.ARRAY_GAP + _between(plan, s, before, value, titles) if before else 0.0
        wires = plan.drawn(value)
        if not wires:
            continue
        steps = _offsets(plan, s, value)
        if _spread(plan, s, value):
            own = [steps[i] - steps[i - 1] if i else gap for i in range(len(wires))]
            items += [_Item((w,), (0.0,), g) for w, g in zip(wires, own, strict=True)]
        else:
            items.append(_Item(wires, tuple(steps), gap))
        before = value
    return items


def _offsets(plan: Plan, s: int, value: Value) -> list[float]:
    """The rows of an array's wires below its first."""
    array: Array = value.array
    found = [0.0]
    for (_, i), (_, j) in zip(plan.drawn(value), plan.drawn(value)[1:], strict=False):
        wide = array[i].spatial or array[j].spatial
        found.append(found[-1] + style.AXIS_GAP + (style.DOUBLE if wide else 0.0))
    return found


def _between(plan: Plan, s: int, above: Value, below: Value, titles: Mapping[str, float]) -> float:
    """The room that titles, fence borders and marks need between two arrays."""
    need = 0.0
    opened = [
        f
        for f in plan.fences
        if f.first <= s <= f.last and _holds(f, s, below) and not _holds(f, s, above)
    ]
    closed = [
        f
        for f in plan.fences
        if f.first <= s <= f.last and _holds(f, s, above) and not _holds(f, s, below)
    ]
    need += style.PAD * max(0, len(opened) - 1) + style.PAD * max(0, len(closed) - 1)
    need += 4.0 if opened and closed else 0.0
    need += sum(20.0 for f in closed if f.repeats)
    return need + room_above(plan, s, above, below, titles)


def room_above(
    plan: Plan, s: int, above: Value, below: Value, titles: Mapping[str, float]
) -> float:
    """What stands right over an array: the titles of fences that begin with it, and marks."""
    opened = [
        f
        for f in plan.fences
        if f.first <= s <= f.last and _holds(f, s, below) and not _holds(f, s, above)
    ]
    brackets = sum(20.0 for f in opened if f.repeats)
    return sum(titles.get(f.id, 0.0) for f in opened) + brackets + _headroom(plan, s, below)


def _holds(fence: Fence, s: int, value: Value) -> bool:
    return any(v.id == value.id for v in fence.states[s - fence.first])


def _headroom(plan: Plan, s: int, value: Value) -> float:
    """What the marks over an array need, on either side of it."""
    units = [*plan.steps[s : s + 1], *(plan.steps[s - 1 : s] if s else ())]
    rooms = [0.0]
    for step in units:
        for unit in step:
            if unit.cell and value in (*unit.inputs[:1], *unit.outputs[:1]):
                rooms += [_mark_room(mark) for mark in unit.glyph.marks]
    return max(rooms)


def _mark_room(mark: Mark) -> float:
    alone = mark.shape == "letter" and not (mark.ins or mark.outs)
    return 28.0 if alone else HEADROOM.get(mark.shape, 0.0)


def _spread(plan: Plan, s: int, value: Value) -> bool:
    """Whether an array may stand apart: its wires stay straight until its next contraction."""
    state = s
    while state < len(plan.steps):
        unit = next(u for u in plan.steps[state] if value in u.inputs)
        if unit.cell is not None:
            if isinstance(unit.cell.op, Einsum) and len(unit.inputs) > 1:
                return bool(unit.glyph.caps)
            if len(unit.inputs) != 1 or len(unit.outputs) != 1:
                return False
        value, state = unit.outputs[0], state + 1
    return False


# --- what each wire wants ------------------------------------------------------------------------


def _forward(plan: Plan, s: int, before: Rows) -> Targets:
    targets: dict[Wire, tuple[float, float]] = {}
    for unit in plan.steps[s - 1]:
        ys = [before[wire] for wire in unit.ins]
        targets |= _continued(unit, ys)
    return targets


def _continued(unit: Unit, ys: list[float]) -> dict[Wire, tuple[float, float]]:
    glyph, outs = unit.glyph, unit.outs
    lifted = lowered(unit, ys)
    targets = {outs[o]: (lifted[i], 1.0) for i, o in glyph.through}
    for mark in glyph.marks:
        fresh = [o for o in mark.outs if outs[o] not in targets]
        ins = [ys[i] for i in mark.ins] or ys
        if not fresh or not ins:
            continue
        slots = _slots(ins, len(fresh))
        ordered = [w for v in unit.outputs for w in unit.drawn(v)]
        fresh.sort(key=lambda o: ordered.index(outs[o]))
        targets |= {outs[o]: (y, START) for o, y in zip(fresh, slots, strict=True)}
    return targets


def lowered(unit: Unit, ys: list[float]) -> list[float]:
    """The rows after a contraction has drawn its wires to the top of the lower arrays.

    The wire that is contracted changes places with the ones above it (the transpose of figure 20).
    """
    if not unit.glyph.caps:
        return ys
    found = list(ys)
    lower = {j for _, j in unit.glyph.caps}
    start = 0
    for value in unit.inputs:
        ports = [start + i for _, i in unit.drawn(value)]
        start += len(ports)
        slots = sorted(ys[p] for p in ports)
        order = [p for p in ports if p in lower] + [p for p in ports if p not in lower]
        if any(p in lower for p in ports):
            for port, y in zip(order, slots, strict=True):
                found[port] = y
    return found


def _backward(plan: Plan, s: int, after: Rows) -> Targets:
    targets: dict[Wire, tuple[float, float]] = {}
    for unit in plan.steps[s]:
        glyph, ins = unit.glyph, unit.ins
        ys = [after[wire] for wire in unit.outs]
        if glyph.caps:
            targets |= {ins[i]: (ys[o], WEAK) for i, o in glyph.through}
            continue
        targets |= {ins[i]: (ys[o], 1.0) for i, o in glyph.through}
        for mark in glyph.marks:
            ends = [i for i in mark.ins if ins[i] not in targets]
            outs = [ys[o] for o in mark.outs]
            if not ends or not outs:
                continue
            ordered = [w for v in unit.inputs for w in unit.drawn(v)]
            ends.sort(key=lambda i: ordered.index(ins[i]))
            slots = _slots(outs, len(ends))
            targets |= {ins[i]: (y, START) for i, y in zip(ends, slots, strict=True)}
    return targets


def _slots(rows: list[float], count: int) -> list[float]:
    """Rows for the wires on the other side of a mark; as in the figures, the first is straight."""
    if len(rows) == count:
        return sorted(rows)
    return [min(rows) + n * style.AXIS_GAP for n in range(count)]


# --- isotonic regression -------------------------------------------------------------------------


def _stacked(items: list[_Item]) -> Rows:
    y, found = 0.0, Rows()
    for item in items:
        y += item.above
        found |= {w: y + d for w, d in zip(item.wires, item.offsets, strict=True)}
        y += item.offsets[-1]
    return found


def _place(items: list[_Item], targets: Targets, old: Rows) -> Rows:
    """The rows nearest to the targets that keep the gaps; wires without a target stay put."""
    pools: list[tuple[list[tuple[float, float]], int]] = []
    shifts, at = [], 0.0
    for item in items:
        at += item.above
        shifts.append(at)
        wants = [
            (targets.get(w, (old[w], WEAK))[0] - d - at, targets.get(w, (0.0, WEAK))[1])
            for w, d in zip(item.wires, item.offsets, strict=True)
        ]
        pools.append((wants, 1))
        while len(pools) > 1 and _median(pools[-2][0]) > _median(pools[-1][0]):
            wants_below, count_below = pools.pop()
            wants_above, count_above = pools.pop()
            pools.append((wants_above + wants_below, count_above + count_below))
        at += item.offsets[-1]
    levels = [_median(wants) for wants, count in pools for _ in range(count)]
    found = Rows()
    for item, level, shift in zip(items, levels, shifts, strict=True):
        found |= {w: level + shift + d for w, d in zip(item.wires, item.offsets, strict=True)}
    return found


def _median(wants: list[tuple[float, float]]) -> float:
    """The weighted median; where two would do the one further down, as the figures bend."""
    ordered = sorted(wants)
    half, seen = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        seen += weight
        if seen > half + 1e-9:
            return value
    return ordered[-1][0]
