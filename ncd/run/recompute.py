"""Blocks whose arrays are not saved for the backward pass, but calculated again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ncd.circuit.circuit import Circuit, Fence, Loop, RepeatLoop, ScanLoop
from ncd.errors import unknown_name_error
from ncd.run.program import Parts, Segment, UnboundInstruction, input_output_ids

LAYERS = re.compile(r"(\d{1,4})(?::(\d{1,4}))?", re.ASCII)  # "2" or "0:3"


def choices(circuit: Circuit) -> tuple[Fence, ...]:
    """Returns the blocks that can be calculated again; of a repetition those of its first body.

    A block inside a scan is not among them, as the scan runs as a whole.
    """
    later = {f.id for loop in circuit.loops for body in loop.bodies[1:] for f in all_fences(body)}
    return tuple(f for f in circuit.fences if f.id not in later and any(_members(circuit, f)))


def segments(circuit: Circuit, names: Collection[str]) -> tuple[frozenset[str], ...]:
    """Returns the ids of the ops in each block of these ids or titles, or in these layers.

    A block in a repetition stands for that of every body, and a repetition for each of its bodies.
    ``"layers.2"`` is one body, and ``"layers.0:3"`` the first three as one segment. Segments that
    share ops are one.

    Raises:
        UnknownNameError: For a name that is none of these.
    """
    alike, blocks = _alike(circuit), choices(circuit)
    every = {fence.id: fence for fence in circuit.fences}
    found: list[frozenset[str]] = []
    for name in names:
        parts = [
            part
            for fence in blocks
            if name in (fence.id, fence.title)
            for id in alike.get(fence.id, (fence.id,))
            for part in _members(circuit, every[id])
        ] or layers(circuit, name)
        if not parts:
            raise unknown_name_error("block", name, _block_names(circuit), where="recompute")
        for part in parts:
            shared = [one for one in found if one & part]
            found = [one for one in found if not one & part] + [part.union(*shared)]
    return tuple(found)


def path(loop: Loop) -> str:
    """Returns the place of a repetition's layers in the module, such as ``encoder.layers``."""
    return ".".join((*loop.scope, loop.name))


def layers(circuit: Circuit, name: str) -> list[frozenset[str]]:
    """Returns the ops of the layers that a name such as ``layers.0:3`` says, as one segment."""
    stack, _, places = name.rpartition(".")
    found = LAYERS.fullmatch(places)
    if not found:
        return []
    first = int(found[1])
    last = int(found[2] or first + 1)
    stacks = [_bodies(circuit, loop) for loop in circuit.loops if stack in (path(loop), loop.id)]
    parts = [own[first:last] for own in stacks if first < last <= len(own)]
    return [segment for part in parts if (segment := frozenset[str]().union(*part))]


def _block_names(circuit: Circuit) -> dict[str, None]:
    """Returns the names that stand for blocks, and for the first layer of each repetition."""
    blocks = [f for f in choices(circuit) if f.title.strip() or f.repeats]
    titles = [f.title if f.title.strip() else f.id for f in blocks]
    layers = [f"{path(loop)}.0" for loop in circuit.loops if _bodies(circuit, loop)]
    return dict.fromkeys([*titles, *layers])


def all_fences(circuit: Circuit) -> Iterator[Fence]:
    """Yields the fences of a circuit and of the loops in it."""
    yield from circuit.own_fences
    for loop in circuit.loops:
        for body in loop.bodies:
            yield from body.own_fences


def _members(circuit: Circuit, fence: Fence) -> list[frozenset[str]]:
    """Returns the ids of the ops of a block, or of each body of a repetition."""
    for loop in circuit.loops:
        if loop.id == fence.id and isinstance(loop, RepeatLoop):
            return [part for part in _bodies(circuit, loop) if part]
    own = frozenset(unit.id for unit in circuit.run_order if fence.id in unit.fences)
    return [own] if own else []


def _bodies(circuit: Circuit, loop: Loop) -> list[frozenset[str]]:
    """Returns the ids of the ops in each body of a repetition; of one in a scan none."""
    inner = {unit.id for unit in circuit.run_order}
    parts = [frozenset(unit.id for unit in body.run_order) for body in loop.bodies]
    return parts if isinstance(loop, RepeatLoop) and all(part <= inner for part in parts) else []


def _alike(circuit: Circuit) -> dict[str, tuple[str, ...]]:
    """Returns for each block of a first body the blocks at its place in all bodies."""
    found: dict[str, tuple[str, ...]] = {}
    for loop in reversed(circuit.loops):  # inner ones first
        bodies = [[fence.id for fence in all_fences(body)] for body in loop.bodies]
        for same in zip(*bodies, strict=False):
            more = [id for one in same for id in found.get(one, (one,))]
            found[same[0]] = tuple(dict.fromkeys(more))
    return found


def group_segments(parts: Parts, circuit: Circuit, wanted: Collection[frozenset[str]]) -> Parts:
    """Returns the steps with those of each segment as one, after all that it needs."""
    home = {id: n for n, segment in enumerate(wanted) for id in segment}
    groups: dict[object, list[UnboundInstruction | ScanLoop | Segment]] = {}
    for part in parts:
        id = part.id if isinstance(part, ScanLoop) else _id(part)
        groups.setdefault(home.get(id, id), []).append(part)
    outside = {value.id for value in circuit.outputs}
    takers: dict[str, set[object]] = {}
    for key, own in groups.items():
        for part in own:
            for id in input_output_ids(part)[0]:
                takers.setdefault(id, set()).add(key)
    items = [
        _segment(own, {id for id, at in takers.items() if at - {key}} | outside)
        if isinstance(key, int)
        else own[0]
        for key, own in groups.items()
    ]
    return _dependency_order(items, {value.id for value in circuit.inputs})


def _id(part: UnboundInstruction | Segment) -> str:
    assert isinstance(part, UnboundInstruction)
    assert part.cell is not None
    return part.cell.id


def _segment(parts: Parts, needed: set[str]) -> Segment:
    made = dict.fromkeys(id for part in parts for id in input_output_ids(part)[1])
    taken = dict.fromkeys(id for part in parts for id in input_output_ids(part)[0])
    inputs = tuple(id for id in taken if id not in made)
    return Segment(tuple(parts), inputs, tuple(id for id in made if id in needed))


def _dependency_order(items: Parts, ready: set[str]) -> Parts:
    """Returns the steps in an order in which each comes after those that it needs."""
    waiting = list(items)
    found: list[UnboundInstruction | ScanLoop | Segment] = []
    while waiting:
        at = next(
            i for i, item in enumerate(waiting) if ready.issuperset(input_output_ids(item)[0])
        )
        item = waiting.pop(at)
        found.append(item)
        ready.update(input_output_ids(item)[1])
    return found
