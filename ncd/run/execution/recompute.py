"""Blocks whose arrays are not saved for the backward pass, but calculated again."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ncd.lang.circuits.circuit import Circuit, Fence, Loop
from ncd.lang.errors import unknown
from ncd.run.execution.program import Part, Parts, Segment, ends, units


def choices(circuit: Circuit) -> tuple[Fence, ...]:
    """Returns the blocks that can be calculated again; of a repetition those of its first body.

    A block inside a scan is not among them, as the scan runs as a whole.
    """
    later = {f.id for loop in circuit.loops for body in loop.bodies[1:] for f in inside(body)}
    return tuple(f for f in circuit.fences if f.id not in later and any(_members(circuit, f)))


def segments(circuit: Circuit, names: Collection[str]) -> tuple[frozenset[str], ...]:
    """Returns the ids of the ops in each block of these ids or titles.

    A block in a repetition stands for that of every body, and a repetition for each of its bodies.
    A block inside another chosen one is left out.

    Raises:
        UnknownNameError: For a name that is none of the blocks.
    """
    alike = _alike(circuit)
    every = {fence.id: fence for fence in circuit.fences}
    known = [f for f in choices(circuit) if f.title.strip() or f.repeats]
    found: dict[frozenset[str], None] = {}
    for name in names:
        fences = [f for f in choices(circuit) if name in (f.id, f.title)]
        if not fences:
            titles = [f.title if f.title.strip() else f.id for f in known]
            raise unknown("block", name, dict.fromkeys(titles), where="recompute")
        for fence in fences:
            for id in alike.get(fence.id, (fence.id,)):
                found.update(dict.fromkeys(_members(circuit, every[id])))
    return tuple(one for one in found if one and not any(one < other for other in found))


def inside(circuit: Circuit) -> Iterator[Fence]:
    """Yields the fences of a circuit and of the loops in it."""
    yield from circuit.own_fences
    for loop in circuit.loops:
        for body in loop.bodies:
            yield from body.own_fences


def _members(circuit: Circuit, fence: Fence) -> list[frozenset[str]]:
    """Returns the ids of the ops of a block, or of each body of a repetition."""
    for loop in circuit.loops:
        if loop.id == fence.id and loop.kind == "repeat":
            inner = {unit.id for unit in units(circuit)}
            parts = [frozenset(unit.id for unit in units(body)) for body in loop.bodies]
            return [part for part in parts if part and part <= inner]
    own = frozenset(unit.id for unit in units(circuit) if fence.id in unit.fences)
    return [own] if own else []


def _alike(circuit: Circuit) -> dict[str, tuple[str, ...]]:
    """Returns for each block of a first body the blocks at its place in all bodies."""
    found: dict[str, tuple[str, ...]] = {}
    for loop in reversed(circuit.loops):  # inner ones first
        bodies = [[fence.id for fence in inside(body)] for body in loop.bodies]
        for same in zip(*bodies, strict=False):
            more = [id for one in same for id in found.get(one, (one,))]
            found[same[0]] = tuple(dict.fromkeys(more))
    return found


def grouped(parts: Parts, circuit: Circuit, wanted: Collection[frozenset[str]]) -> Parts:
    """Returns the steps with those of each segment as one, after all that it needs."""
    home = {id: n for n, segment in enumerate(wanted) for id in segment}
    groups: dict[object, list[Part | Loop | Segment]] = {}
    for part in parts:
        id = part.id if isinstance(part, Loop) else _id(part)
        groups.setdefault(home.get(id, id), []).append(part)
    outside = {value.id for value in circuit.outputs}
    takers: dict[str, set[object]] = {}
    for key, own in groups.items():
        for part in own:
            for id in ends(part)[0]:
                takers.setdefault(id, set()).add(key)
    items = [
        _segment(own, {id for id, at in takers.items() if at - {key}} | outside)
        if isinstance(key, int)
        else own[0]
        for key, own in groups.items()
    ]
    return _ordered(items, {value.id for value in circuit.inputs})


def _id(part: Part | Segment) -> str:
    assert isinstance(part, Part)
    assert part.cell is not None
    return part.cell.id


def _segment(parts: Parts, needed: set[str]) -> Segment:
    made = dict.fromkeys(id for part in parts for id in ends(part)[1])
    taken = dict.fromkeys(id for part in parts for id in ends(part)[0])
    inputs = tuple(id for id in taken if id not in made)
    return Segment(tuple(parts), inputs, tuple(id for id in made if id in needed))


def _ordered(items: Parts, ready: set[str]) -> Parts:
    """Returns the steps in an order in which each comes after those that it needs."""
    waiting = list(items)
    found: list[Part | Loop | Segment] = []
    while waiting:
        at = next(i for i, item in enumerate(waiting) if ready.issuperset(ends(item)[0]))
        item = waiting.pop(at)
        found.append(item)
        ready.update(ends(item)[1])
    return found
