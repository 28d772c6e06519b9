"""Arrays that are saved and loaded by notes instead of long wires.

An array that each body leaves ends at a note ``→ C_λ``; a body that takes one starts it at a note
``C_{5-λ} →``. An array that no repetition takes is loaded shortly before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, Literal

from ncd.circuit.circuit import Boundary, Cell, Circuit, Fence, Loop, RepeatLoop, Unit, Value
from ncd.drawing.plan.collapse import drop_empty_columns
from ncd.language.axes import Type
from ncd.language.op import Glyph, Mark, Op, Site
from ncd.words import plain_text

# --- The arrays that a repetition saves for another one, and their names in memory

LETTERS = "CDEFGHJK"

_SavedNames = Mapping[
    str, tuple[str, int, int]
]  # for each array its letter, its number, of how many


class SavedArrayNames:
    """The arrays that the loops of a circuit save and load, with their names."""

    def __init__(self, circuit: Circuit) -> None:
        self.saved: _SavedNames
        loops = [u for u in circuit.units if isinstance(u, RepeatLoop)]
        letters = iter(LETTERS)
        left = {loop.id: dict(_saved_arrays(loop, letters)) for loop in loops}
        self.saved = {id: at for own in left.values() for id, at in own.items()}
        self.loaders = [loop for loop in loops if not left[loop.id] and self.calls_of(loop)]
        self.calls = {id: at for loop in self.loaders for id, at in self.calls_of(loop).items()}
        self.loaded = {v.id for loop in self.loaders for v in loop.inputs if v.id in self.saved}
        elsewhere = {v.id for u in circuit.units if isinstance(u, Loop) for v in u.inputs}
        elsewhere -= self.loaded  # a loop that takes them in another way
        self.savers = [
            loop
            for loop in loops
            if left[loop.id].keys() & self.loaded and not left[loop.id].keys() & elsewhere
        ]
        self.saved = {id: at for loop in self.savers for id, at in left[loop.id].items()}
        self.dropped = {
            unit.inputs[0].id: unit.id
            for unit in circuit.units
            if not unit.outputs and len(unit.inputs) == 1 and unit.inputs[0].id in self.saved
        }
        number = {unit.id: s for s, step in enumerate(circuit.columns) for unit in step}
        self.loaders = [
            loop for loop in self.loaders if any(v.id in self.saved for v in loop.inputs)
        ]
        self.after = {id: number[loop.id] + 1 for loop in self.savers for id in left[loop.id]}

    def calls_of(self, loop: RepeatLoop) -> Mapping[str, str]:
        """Returns the names of the arrays that the first body loads, if all bodies load alike."""
        found: list[list[tuple[str, int, int]]] = []
        for body in loop.bodies:
            found.append([self.saved[v.id] for v in body.inputs if v.id in self.saved])
        if not found[0] or len({len(one) for one in found}) > 1:
            return {}
        first = [v.id for v in loop.bodies[0].inputs if v.id in self.saved]
        calls = [_loaded_name([one[k] for one in found]) for k in range(len(first))]
        return dict(zip(first, calls, strict=True)) if all(calls) else {}


def _saved_arrays(
    loop: RepeatLoop, letters: Iterator[str]
) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yields the arrays that every body leaves behind, with their letters and indexes."""
    more = {len(body.outputs) - len(body.inputs) for body in loop.bodies}
    if len(loop.bodies) < 2 or len(more) > 1 or min(more) < 1 or loop.memory:
        return
    outside = {value.id for value in loop.outputs}
    for k in range(min(more)):
        own = [body.outputs[len(body.inputs) + k].id for body in loop.bodies]
        letter = next(letters, "")
        if letter and outside.issuperset(own):
            for n, id in enumerate(own, start=1):
                yield id, (letter, n, len(own))


def _loaded_name(loaded: Sequence[tuple[str, int, int]]) -> str:
    """Returns the name that body λ loads: C_λ, or an index from the other end."""
    letters, numbers = {letter for letter, _, _ in loaded}, [number for _, number, _ in loaded]
    if len(letters) > 1:
        return ""
    (letter,), steps = letters, range(1, len(loaded) + 1)
    shift = numbers[0] - 1
    if all(number == numbers[0] + 1 - n for number, n in zip(numbers, steps, strict=True)):
        return f"{letter}_{{{numbers[0] + 1}-λ}}"
    if all(number == n + shift for number, n in zip(numbers, steps, strict=True)):
        return f"{letter}_{{λ+{shift}}}" if shift else f"{letter}_λ"
    return ""


# --- Memory notes: arrays that one repetition leaves for another are saved and loaded, not routed

COPY_SUFFIX = "~"


@dataclass(frozen=True, repr=False, eq=False)
class MemoryNote(Op):
    """A note where an array is saved to memory or loaded from it, under a name.

    ``hidden`` are the ids of the ops that only rename or drop the array there.
    """

    kind: Literal["save", "load"]
    place: str
    hidden: tuple[str, ...] = ()
    role: ClassVar[str] = "note"

    def __post_init__(self) -> None:
        """Skips the parsing of fields, as a note is never written by a user."""

    def glyph(self, site: Site) -> Glyph:
        array = (*site.inputs, *site.outputs)[0]
        ports = tuple(range(len(array)))
        ins, outs = (ports, ()) if self.kind == "save" else ((), ports)
        return Glyph(marks=(Mark(self.kind, self.place, ins, outs),))

    def description(self, site: Site) -> str:
        done = "saved to memory as" if self.kind == "save" else "loaded from memory,"
        array = (*site.inputs, *site.outputs)[0]
        return f"({array}) {done} {plain_text(self.place)}"


def with_memory_notes(circuit: Circuit) -> Circuit:
    """Returns the circuit with notes where repetitions save arrays for other ones."""
    places = SavedArrayNames(circuit)
    for loop in places.savers:
        changed = _saving(loop, places)
        circuit = _with_loop(circuit, changed)
    for loop in places.loaders:
        kept = tuple(v for v in loop.inputs if v.id not in places.saved)
        circuit = _with_loop(circuit, replace(_loading(loop, places), inputs=kept))
    around = _outer_fence_ids(circuit)
    for id, (letter, number, _) in places.saved.items():
        if id in places.loaded or id in places.dropped:
            circuit = _remove_array(circuit, id, 0, len(circuit.states))
            circuit = _remove_cell(circuit, places.dropped.get(id, ""))
        else:
            circuit = _load(circuit, id, f"{letter}_{number}", around, places.after[id])
            circuit = _rename_array(circuit, id)
    return circuit


def original(id: str) -> str:
    """Returns the id of an array that is drawn twice, where it is saved and where it is loaded."""
    return id.removesuffix(COPY_SUFFIX)


def _rename_array(circuit: Circuit, id: str) -> Circuit:
    """Renames an array that also occurs in a loop, as each occurrence is a wire."""

    def state(values: Boundary) -> Boundary:
        return tuple(replace(v, id=id + COPY_SUFFIX) if v.id == id else v for v in values)

    def unit(old: Unit) -> Unit:
        return replace(old, inputs=state(old.inputs), outputs=state(old.outputs))

    steps = tuple(tuple(map(unit, step)) for step in circuit.columns)
    return replace(_map_states(circuit, lambda _, values: state(values)), columns=steps)


def _map_states(circuit: Circuit, change: Callable[[int, Boundary], Boundary]) -> Circuit:
    """Returns the circuit with ``change(s, state)`` in place of each state s."""
    fences = tuple(
        replace(f, states=tuple(map(change, count(f.first_state), f.states)))
        for f in circuit.own_fences
    )
    states = tuple(map(change, count(), circuit.states))
    return replace(circuit, states=states, own_fences=fences)


def _outer_fence_ids(circuit: Circuit) -> tuple[str, ...]:
    """Returns the fences around a whole circuit."""
    own = {fence.id for fence in circuit.own_fences}
    return next((tuple(f for f in u.fences if f not in own) for u in circuit.units), ())


def _with_loop(circuit: Circuit, loop: RepeatLoop) -> Circuit:
    steps = tuple(
        tuple(loop if unit.id == loop.id else unit for unit in step) for step in circuit.columns
    )
    return replace(circuit, columns=steps)


def _saving(loop: RepeatLoop, places: SavedArrayNames) -> RepeatLoop:
    """Returns the loop with a save note in its first body for each array that it leaves."""
    body = loop.bodies[0]
    for value in body.outputs:
        if value.id in places.saved:
            letter = places.saved[value.id][0]
            ids = (id for id, at in places.saved.items() if at[0] == letter)
            hidden = tuple(places.dropped[id] for id in ids if id in places.dropped)
            body = _save(body, value.id, f"{letter}_λ", (*loop.fences, loop.id), hidden)
    outputs = tuple(v for v in loop.outputs if v.id not in places.saved)
    return replace(loop, bodies=(body, *loop.bodies[1:]), outputs=outputs)


def _loading(loop: RepeatLoop, places: SavedArrayNames) -> RepeatLoop:
    """Returns the loop with a load note in its first body for each array that it takes."""
    body = loop.bodies[0]
    for value in body.inputs:
        if value.id in places.saved:
            body = _load(body, value.id, places.calls[value.id], (*loop.fences, loop.id), 0)
            if places.saved[value.id][1] == 1:  # it is also drawn where it is saved
                body = _rename_array(body, value.id)
    return replace(loop, bodies=(body, *loop.bodies[1:]))


# --- notes in a circuit --------------------------------------------------------------------------


def _save(
    circuit: Circuit, id: str, place: str, around: tuple[str, ...], hidden: tuple[str, ...]
) -> Circuit:
    """Ends an array at a save note where it begins."""
    s = next(s for s, state in enumerate(circuit.states) if _find(state, id))
    if s == len(circuit.columns):
        circuit = _column(circuit, s, id)
    value = _find(circuit.states[s], id)
    assert value is not None
    note = _note("save", value, place, (*around, *_holding(circuit, s, id)), hidden)
    return _remove_array(_put(circuit, s, note), id, s + 1, len(circuit.states))


def _load(circuit: Circuit, id: str, place: str, around: tuple[str, ...], least: int) -> Circuit:
    """Starts an array at a load note one step before it is taken, in step ``least`` or later.

    If an op only renames it there, it starts with its new name.
    """
    hidden: list[str] = []
    while (cell := _renamer(circuit, id)) is not None:
        hidden.append(cell.id)
        circuit = _remove_renaming(circuit, id, cell)
        id = cell.outputs[0].id
    taken = (s for s, step in enumerate(circuit.columns) if any(_find(u.inputs, id) for u in step))
    s = next(taken, len(circuit.columns)) - 1
    if s < least:
        s += 1
        circuit = _column(circuit, s, id)
    value = _find(circuit.states[s + 1], id)
    assert value is not None
    fences = (*around, *_holding(circuit, s, id))
    note = _note("load", value, place, fences, tuple(hidden))
    return _remove_array(_put(circuit, s, note), id, 0, s + 1)


def _renamer(circuit: Circuit, id: str) -> Cell | None:
    """Returns the op that takes an array if it does nothing but rename it, else None."""
    unit = next((u for u in circuit.units if _find(u.inputs, id)), None)
    if not isinstance(unit, Cell) or len(unit.inputs) != 1 or len(unit.outputs) != 1:
        return None
    wires = tuple((n, n) for n in range(len(unit.inputs[0].array)))
    return unit if unit.glyph == Glyph(through=wires) else None


def _remove_renaming(circuit: Circuit, id: str, cell: Cell) -> Circuit:
    """Removes a cell that renames an array, which then has its new name from the start."""
    (new,) = cell.outputs

    def state(_: int, values: Boundary) -> Boundary:
        return tuple(new if value.id == id else value for value in values)

    return _remove_cell(_map_states(circuit, state), cell.id)


def _remove_cell(circuit: Circuit, id: str) -> Circuit:
    """Removes a cell, and its column if that is then empty."""
    if not any(unit.id == id for unit in circuit.units):
        return circuit
    steps = [[unit for unit in step if unit.id != id] for step in circuit.columns]
    return drop_empty_columns(circuit, circuit.states, steps, circuit.own_fences)


def _find(state: Boundary, id: str) -> Value | None:
    return next((value for value in state if value.id == id), None)


def _holding(circuit: Circuit, s: int, id: str) -> Iterator[str]:
    """Yields the fences that contain an array before and after a step."""
    for fence in circuit.own_fences:
        if fence.first_state <= s < fence.last_state:
            before, after = fence.states[s - fence.first_state : s - fence.first_state + 2]
            if _find(before, id) and _find(after, id):
                yield fence.id


def _put(circuit: Circuit, s: int, cell: Cell) -> Circuit:
    steps = list(circuit.columns)
    steps[s] = (*steps[s], cell)
    return replace(circuit, columns=tuple(steps))


def _remove_array(circuit: Circuit, id: str, start: int, stop: int) -> Circuit:
    """Removes an array from a range of states."""

    def kept(s: int, state: Boundary) -> Boundary:
        return tuple(v for v in state if v.id != id) if start <= s < stop else state

    return _map_states(circuit, kept)


def _column(circuit: Circuit, s: int, id: str) -> Circuit:
    """Inserts a step after a state, inside the fences that contain an array."""
    states = (*circuit.states[: s + 1], *circuit.states[s:])
    steps = (*circuit.columns[:s], (), *circuit.columns[s:])
    fences = tuple(_stretch_fence(fence, s, id) for fence in circuit.own_fences)
    return replace(circuit, states=states, columns=steps, own_fences=fences)


def _stretch_fence(fence: Fence, s: int, id: str) -> Fence:
    if fence.first_state <= s <= fence.last_state:
        n = s - fence.first_state
        if fence.first_state < s < fence.last_state or _find(fence.states[n], id):
            return replace(fence, states=(*fence.states[: n + 1], *fence.states[n:]))
    return replace(fence, first_state=fence.first_state + 1) if fence.first_state >= s else fence


def _note(
    kind: Literal["save", "load"],
    value: Value,
    place: str,
    fences: Sequence[str],
    hidden: tuple[str, ...] = (),
) -> Cell:
    own, none = Type((value.array,)), Type()
    saves = kind == "save"
    ins, outs = (own, none) if saves else (none, own)
    site = Site(own_inputs=ins, own_outputs=outs, inputs=ins, outputs=outs)
    inputs, outputs = ((value,), ()) if saves else ((), (value,))
    return Cell(
        f"{kind}-{value.id}",
        MemoryNote(kind, place, hidden),
        site,
        inputs,
        outputs,
        "",
        tuple(fences),
    )
