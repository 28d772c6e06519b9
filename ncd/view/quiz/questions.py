"""The questions of a quiz: which arrays it can ask for."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.drawing import draw
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.lang.formulas.expr import Arg
from ncd.view.base import hide_sizes, selection
from ncd.view.base.cache import remember
from ncd.view.session.scene import Scene


def askable(circuit: Circuit) -> tuple[str, ...]:
    """Returns the ids of arrays with known sizes, in the order in which they are made."""
    sized = lambda value: all(axis.size is not None for axis in value.array)  # noqa: E731
    return tuple(value.id for value in circuit.values.values() if sized(value))


def array_of(circuit: Circuit, selected: str) -> str:
    """Returns the array that a selection means: the output of a selected op or block."""
    if selected in circuit.values:
        return selected
    units: tuple[Cell | Loop, ...] = (*circuit.cells, *circuit.loops)
    made = {unit.id: unit.outputs for unit in units}
    made |= {fence.id: fence.states[-1] for fence in circuit.fences}
    last = made.get(selected, ())
    return last[0].id if last else ""


def visible_arrays(scene: Scene) -> Mapping[str, tuple[str, ...]]:
    """Returns the drawn arrays except inputs and arrays passed on unchanged.

    Each comes with the names of its axes from the upper wire to the lower.
    """
    folded = selection.folded(scene.circuit)

    def make() -> dict[str, tuple[str, ...]]:
        drawing = draw(scene.term, **hide_sizes.look(scene.look), folded=folded)
        given = {value.id for value in scene.circuit.inputs}
        passed = {v.id for cell in scene.circuit.cells if _passes(cell) for v in cell.outputs}
        wires = sorted((wire for wire in drawing.wires), key=lambda wire: wire.path[0].a.y)
        shown = dict.fromkeys(wire.array for wire in wires if wire.array not in given | passed)
        return {id: tuple(wire.axis for wire in wires if wire.array == id) for id in shown}

    return remember("asked for", scene.term, scene.entry.key, folded, make=make)


def is_given(circuit: Circuit, value: Value) -> bool:
    """Returns whether an array is an input, or an input passed on unchanged."""
    maker = circuit.makers.get(value.id)
    if maker is None:
        return any(value.id == own.id for own in circuit.inputs)
    return _passes(maker) and all(is_given(circuit, own) for own in maker.inputs)


def _passes(cell: Cell) -> bool:
    calls = cell.torch
    return all(isinstance(own, Arg) for own in (calls if isinstance(calls, tuple) else (calls,)))
