"""The steps of a walk through a circuit: its inputs, then every op in running order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ncd.circuit.circuit import Cell, Circuit, ScanLoop, Value
from ncd.drawing.equation import sides
from ncd.language.blocks import Equation
from ncd.language.torch_code import Arg
from ncd.site import markup


@dataclass(frozen=True)
class Stop:
    """A step of the forward walk: an input, an op, or the end of a scan.

    ``ids`` are the op and the arrays that it makes, ``arrays`` the arrays that are shown.
    """

    ids: tuple[str, ...]
    arrays: tuple[Value, ...]
    unit: Cell | ScanLoop | None = None


def stops(circuit: Circuit) -> tuple[Stop, ...]:
    """Returns the steps: the inputs, then every op in running order.

    An op that only names an array, or passes it to the sides of an equation, belongs to the step
    that made the array.
    """
    drawn, sided = drawn_ids(circuit), by_side(circuit)
    shared = {cell.id for cell in circuit.cells if sided and cell.id not in sided}
    made: dict[str, list[str]] = {}  # the ids of each stop, by the first array made there
    found: list[tuple[tuple[Value, ...], Cell | ScanLoop | None, list[str]]] = []

    def stop(values: tuple[Value, ...], unit: Cell | ScanLoop | None = None) -> None:
        ids = [*([unit.id] if unit else []), *(value.id for value in values)]
        made.update((value.id, ids) for value in values)
        found.append((values, unit, ids))

    if circuit.inputs:
        stop(circuit.inputs)
    for unit in _units(circuit):
        handed = _passed_arrays(unit) if len(unit.outputs) == 1 or unit.id in shared else {}
        if not handed or not made.keys() >= set(handed.values()):  # a scan's inputs have no stop
            stop(unit.outputs, unit)
            continue
        for id, source in handed.items():
            made[id] = made[source]
            made[id] += [unit.id, id]
    return tuple(
        Stop(tuple(dict.fromkeys(drawn.get(id, id) for id in ids)), values, unit)
        for values, unit, ids in found
    )


def _units(circuit: Circuit) -> Iterator[Cell | ScanLoop]:
    """Yields all ops in running order, and each scan after the ops inside it."""
    for unit in circuit.units:
        if isinstance(unit, Cell):
            yield unit
            continue
        for body in unit.bodies:
            yield from _units(body)
        if isinstance(unit, ScanLoop):
            yield unit


def _passed_arrays(unit: Cell | ScanLoop) -> dict[str, str]:
    """Returns a map from output to input for an op that only passes arrays on."""
    said = None if isinstance(unit, ScanLoop) else unit.op.torch_code(unit.site)
    args = [part for part in said if isinstance(part, Arg)] if isinstance(said, tuple) else []
    if not args or len(args) != len(unit.outputs):
        return {}
    pairs = zip(unit.outputs, args, strict=True)
    return {value.id: unit.inputs[arg.index].id for value, arg in pairs}


def drawn_ids(circuit: Circuit) -> dict[str, str]:
    """Maps arrays and ops in later bodies of a repetition to those in the first, which is drawn."""
    found: dict[str, str] = {}
    for loop in circuit.loops:
        ends = {value.id for value in loop.outputs}
        for body in loop.bodies[1:]:
            own = ends | {value.id for value in body.inputs}
            pairs = [*zip(body.values, loop.bodies[0].values, strict=False)]
            pairs += [(a.id, b.id) for a, b in zip(body.cells, loop.bodies[0].cells, strict=False)]
            found.update(pair for pair in pairs if pair[0] not in own)
    return {id: _drawn_id(found, id) for id in found}


def _drawn_id(found: Mapping[str, str], id: str) -> str:
    """Follows an id through nested repetitions to the one that is drawn."""
    while found.get(id, id) != id:
        id = found[id]
    return id


def by_side(circuit: Circuit) -> dict[str, str]:
    """Returns the side of each op of an equation, such as "side 1"."""
    if not isinstance(circuit.term, Equation):
        return {}
    every = enumerate(sides(circuit), 1)
    return {cell.id: f"side {n}" for n, side in every for cell in side.cells}


def scanned_ids(circuit: Circuit) -> frozenset[str]:
    """Returns the ops that run at every position of a scan."""
    bodies = (body for scan in circuit.scans for body in scan.bodies)
    return frozenset(cell.id for body in bodies for cell in body.cells)


def step_words(
    stop: Stop, side: Mapping[str, str], scanned: Collection[str], note: str, dark: bool | None
) -> tuple[str, str]:
    """Returns the title of a step and what it does, both as HTML.

    ``note`` is added for the ops that are ``scanned``; ``dark`` is as in :func:`markup.role`.
    """
    unit = stop.unit
    if unit is None:
        return "What goes in", ""
    if isinstance(unit, ScanLoop):
        along = markup.text(unit.axis)
        words = (
            f"<p>What came out at every position of {along}, in a row, and the state after the "
            "last.</p>"
        )
        return "The end of the scan", words
    where = " · ".join(filter(None, [side.get(unit.id, ""), ".".join(unit.module_path)]))
    path = f' <span class="muted">{markup.text(where)}</span>' if where else ""
    title = f"{markup.role(unit.op.role, dark)}{markup.text(unit.op.display_name)}{path}"
    words, again = unit.description, note if unit.id in scanned else ""
    return title, f"<p>{markup.text(words[:1].upper() + words[1:])}.{again}</p>"
