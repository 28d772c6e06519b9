"""Collapse: boxes in place of blocks, and notes for saved and loaded arrays in place of wires."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, Literal

from ncd.circuit.circuit import (
    Boundary,
    Cell,
    Circuit,
    Fence,
    Loop,
    RepeatLoop,
    ScanLoop,
    Unit,
    Value,
)
from ncd.language.axes import Type
from ncd.language.cached_property import lazy_property
from ncd.language.op import DrawnBox, DrawnOp, Glyph, Mark, Site
from ncd.words import plain_text

# --- Replaces a part of a circuit by one unit, and removes the columns that become empty


@dataclass(frozen=True)
class Subcircuit:
    """A part of a circuit between two states; ``states`` are its arrays from ``first_state`` on.

    The arrays are adjacent in each state. ``fence`` is the innermost fence around the part.
    """

    first_state: int
    states: tuple[Boundary, ...]
    fence: str = ""

    @property
    def last_state(self) -> int:
        return self.first_state + len(self.states) - 1

    def holds(self, s: int, unit: Unit) -> bool:
        """Returns whether a unit of step s takes or makes arrays of the part."""
        if not self.first_state <= s < self.last_state:
            return False
        before, after = (self.ids(n) for n in (s, s + 1))
        return any(v.id in before for v in unit.inputs) or any(v.id in after for v in unit.outputs)

    def ids(self, s: int) -> set[str]:
        return self._ids[s - self.first_state]

    @lazy_property
    def _ids(self) -> list[set[str]]:
        return [{value.id for value in state} for state in self.states]


def replace_subcircuits(circuit: Circuit, parts: Sequence[tuple[Subcircuit, Unit]]) -> Circuit:
    """Returns the circuit with one unit in place of each part; the parts share no arrays.

    A unit is placed where its part began; its outputs wait until where the part ended.
    """
    steps = [[*step] for step in circuit.columns]
    states, fences = [*circuit.states], [*circuit.own_fences]
    for part, unit in parts:
        at = next(
            (s for s in range(part.first_state, part.last_state) if steps[s]), part.first_state
        )
        for s in range(part.first_state, part.last_state):
            steps[s] = [other for other in steps[s] if not part.holds(s, other)]
        steps[at].append(unit)
        for s in range(part.first_state + 1, part.last_state + 1):
            states[s] = _replaced_state(part, s, states[s])
        inside = {unit.id, *_inner_fence_ids(fences, part)}
        fences = [_replaced_fence(part, fence) for fence in fences if fence.id not in inside]
    return drop_empty_columns(circuit, states, steps, fences)


def _replaced_fence(part: Subcircuit, fence: Fence) -> Fence:
    """Returns a fence with the part's outputs in place of its arrays."""
    if fence.last_state <= part.first_state or part.last_state < fence.first_state:
        return fence
    states = enumerate(fence.states, fence.first_state)
    return replace(fence, states=tuple([_replaced_state(part, s, state) for s, state in states]))


def _inner_fence_ids(fences: Sequence[Fence], part: Subcircuit) -> set[str]:
    """Returns the ids of the fences inside the part."""
    found: set[str] = set()
    for fence in fences:  # the outer before the inner
        if fence.parent in found:
            found.add(fence.id)
        if (
            fence.parent != part.fence
            or not part.first_state <= fence.first_state <= fence.last_state <= part.last_state
        ):
            continue
        states = enumerate(fence.states, fence.first_state)
        if all({v.id for v in state} <= part.ids(s) for s, state in states):
            found.add(fence.id)
    return found


def _replaced_state(part: Subcircuit, s: int, state: Boundary) -> Boundary:
    """Returns a state with the part's outputs in place of its arrays."""
    if not part.first_state < s <= part.last_state:
        return state
    own = part.ids(s)
    at = next((n for n, value in enumerate(state) if value.id in own), None)
    if at is None or not own <= {value.id for value in state}:
        return state
    return (*state[:at], *part.states[-1], *state[at + len(own) :])


def drop_empty_columns(
    circuit: Circuit,
    states: Sequence[Boundary],
    steps: Sequence[Sequence[Unit]],
    fences: Sequence[Fence],
) -> Circuit:
    """Returns the circuit without empty steps."""
    keep = [s for s, step in enumerate(steps) if step]
    new = [0]
    for step in steps:
        new.append(new[-1] + bool(step))
    kept = [states[s] for s in keep] + [states[-1]]
    moved = []
    for fence in fences:
        at = {new[s]: state for s, state in enumerate(fence.states, fence.first_state)}
        moved.append(replace(fence, first_state=new[fence.first_state], states=tuple(at.values())))
    return replace(
        circuit,
        states=tuple(kept),
        columns=tuple(tuple(steps[s]) for s in keep),
        own_fences=tuple(moved),
    )


# --- Collapsed blocks: a circuit with a box in place of each block that is not shown

TIMES = "×"
MIN_BLOCK_OPS = 3  # the fewest ops of a block that may collapse


@dataclass(frozen=True, repr=False, eq=False)
class CollapsedBox(DrawnBox):
    """The box of a collapsed block; ``hidden`` are the ids of the ops in it."""

    hidden: tuple[str, ...] = ()

    @property
    def display_name(self) -> str:
        """The word for it in descriptions, whatever its class is called."""
        return "Box"

    def description(self, site: Site) -> str:
        title = plain_text(" ".join(self.title.split())).replace(TIMES, "repeated ")
        return f"{title}, folded: ({site.inputs}) to ({site.outputs})"


@dataclass(frozen=True, repr=False, eq=False)
class CollapsedTerm(CollapsedBox):
    """The box of a collapsed block that is the whole term."""

    role: ClassVar[str] = "model"


@dataclass(frozen=True)
class CollapsibleBlock:
    """A block that can be collapsed; ``parent`` is the one around it, ``name`` its box's text."""

    id: str
    title: str
    name: str
    parent: str


def blocks(circuit: Circuit, least: int = MIN_BLOCK_OPS) -> list[CollapsibleBlock]:
    """Returns the blocks and repetitions with at least ``least`` ops, the outermost first.

    Unless ``least`` is 0, a block that is all of a repetition's body collapses with it.
    """
    found: list[CollapsibleBlock] = []
    _collect(circuit, least, {"": ""}, found)
    return found


def _collect(
    circuit: Circuit,
    least: int,
    parents: dict[str, str],
    found: list[CollapsibleBlock],
    body: bool = False,
) -> None:
    """Adds the blocks of a circuit; ``parents`` maps each fence to the next block around it."""
    loops = {unit.id: unit for unit in circuit.units if isinstance(unit, Loop)}
    inside = _contents(circuit, {fence.id for fence in circuit.own_fences})
    for fence in circuit.own_fences:
        around = parents.get(fence.parent, "")
        named = fence.title.strip() or fence.id in loops or not least
        apart = not (least and body and fence.states == circuit.states)
        if named and apart and _is_collapsible(fence) and len(inside[fence.id][1]) >= least:
            says = title(fence, loops.get(fence.id))
            found.append(CollapsibleBlock(fence.id, fence.title.strip(), says, around))
            around = fence.id
        parents[fence.id] = around
    for loop in loops.values():
        _collect(loop.bodies[0], least, parents, found, True)


def collapse_blocks(circuit: Circuit, ids: Collection[str]) -> Circuit:
    """Returns the circuit with a box in place of each outermost of these blocks."""
    chosen = {fence.id: fence for fence in _outermost(circuit, ids)}
    if chosen:
        circuit = replace_subcircuits(circuit, _collapsed_boxes(circuit, chosen))
    steps = tuple(
        [tuple([_collapsed_loop(unit, ids) for unit in step]) for step in circuit.columns]
    )
    return replace(circuit, columns=steps)


def _outermost(circuit: Circuit, ids: Collection[str]) -> Iterator[Fence]:
    """Yields the outermost blocks with these ids that one op could take the place of."""
    inside: set[str] = set()
    for fence in circuit.own_fences:  # the outer before the inner
        if fence.parent in inside:
            inside.add(fence.id)
        elif fence.id in ids and _is_collapsible(fence):
            inside.add(fence.id)
            yield fence


def _collapsed_boxes(
    circuit: Circuit, chosen: Mapping[str, Fence]
) -> list[tuple[Subcircuit, Cell]]:
    """Returns the part of each block, and the box in its place."""
    loops = {unit.id: unit for unit in circuit.units if isinstance(unit, Loop)}
    every = sum(len(_ops(cell)) for cell in circuit.cells)
    inside = _contents(circuit, chosen)
    found = []
    for fence in chosen.values():
        around, hidden = inside[fence.id]
        says = title(fence, loops.get(fence.id))
        box = _box(fence, says, hidden, around, len(hidden) == every)
        found.append((Subcircuit(fence.first_state, fence.states, fence.id), box))
    return found


def _collapsed_loop(unit: Unit, ids: Collection[str]) -> Unit:
    """Returns a loop with blocks of its first body collapsed; other bodies are not drawn."""
    if isinstance(unit, Cell):
        return unit
    return replace(unit, bodies=(collapse_blocks(unit.bodies[0], ids), *unit.bodies[1:]))


def _is_collapsible(fence: Fence) -> bool:
    """Returns whether one op could take the place of a block."""
    return len(fence.states) > 1 and all(fence.states[1:-1]) and any(_ends(fence))


def _ends(fence: Fence) -> tuple[Boundary, Boundary]:
    """Returns the arrays that a block takes and makes; arrays that pass through go around it."""
    before, after = fence.states[0], fence.states[-1]
    passing = {v.id for v in before} & {v.id for v in after}
    kept = [tuple(v for v in state if v.id not in passing) for state in (before, after)]
    return kept[0], kept[1]


def _contents(
    circuit: Circuit, wanted: Container[str]
) -> dict[str, tuple[tuple[str, ...], list[str]]]:
    """Returns for each fence the fences around it, the outermost first, and the ids of its ops."""
    found: dict[str, tuple[tuple[str, ...], list[str]]] = {}
    for unit in circuit.units:
        chain = (*unit.fences, unit.id) if isinstance(unit, Loop) else unit.fences
        known = [(n, id) for n, id in enumerate(chain) if id in wanted]
        if not known:
            continue
        cells = (
            [c for body in unit.bodies for c in body.cells] if isinstance(unit, Loop) else [unit]
        )
        ops = [id for cell in cells for id in _ops(cell)]
        for n, id in known:
            found.setdefault(id, (chain[:n], []))[1].extend(ops)
    return found


def _ops(cell: Cell) -> tuple[str, ...]:
    """Returns the id of an op, or those of the ops that a box or a note already stands for."""
    hidden: tuple[str, ...] = getattr(cell.op, "hidden", (cell.id,))
    return hidden


def _box(
    fence: Fence, says: str, hidden: list[str], around: tuple[str, ...], everything: bool
) -> Cell:
    inputs, outputs = _ends(fence)
    ins, outs = (Type(value.array for value in state) for state in (inputs, outputs))
    op = (CollapsedTerm if everything and not around else CollapsedBox)(says, tuple(hidden))
    site = Site(own_inputs=ins, own_outputs=outs, inputs=ins, outputs=outs)
    return Cell(fence.id, op, site, inputs, outputs, "", around)


def title(fence: Fence, loop: Loop | None = None) -> str:
    """Returns the text of a block's box: its title, and below it its number of repetitions."""
    if loop is None:
        return _two_line_title(fence.title.strip()) or fence.role.capitalize()
    if isinstance(loop, ScanLoop):
        return fence.title
    body = loop.bodies[0]
    around = next((f for f in body.own_fences if f.states == body.states and f.title.strip()), None)
    called = loop.name.replace("_", " ").capitalize() if len(loop.name) > 1 else "Layer"
    name = around.title.strip() if around else called
    return f"{name}\n{TIMES}{len(loop.bodies)}"


def _two_line_title(title: str) -> str:
    """Puts settings in brackets at the end of a title on a line of their own.

    >>> [_two_line_title(title) for title in ("Norm (eps 1)", "Norm (a) b", "f(x)")]
    ['Norm\\n(eps 1)', 'Norm (a) b', 'f(x)']
    """
    before, bracket, after = title.partition(" (")
    return f"{before}\n({after}" if bracket and after.endswith(")") else title


# --- Arrays that are saved and loaded by notes instead of long wires

# An array that each body leaves ends at a note ``→ C_λ``; a body that takes one starts it at a note
# ``C_{5-λ} →``. An array that no repetition takes is loaded shortly before it is needed.


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
    """Returns the name that body λ loads: C_λ, or an index from the other end.

    >>> [_loaded_name([("C", n, 9) for n in own]) for own in ((1, 2), (3, 4), (3, 2), (2, 4))]
    ['C_λ', 'C_{λ+2}', 'C_{4-λ}', '']
    >>> _loaded_name([("C", 1, 9), ("D", 2, 9)])
    ''
    """
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


# --- The notes themselves

COPY_SUFFIX = "~"


@dataclass(frozen=True, repr=False, eq=False)
class MemoryNote(DrawnOp):
    """A note where an array is saved to memory or loaded from it, under a name.

    ``hidden`` are the ids of the ops that only rename or drop the array there.
    """

    kind: Literal["save", "load"]
    place: str
    hidden: tuple[str, ...] = ()
    role: ClassVar[str] = "note"

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

    def without_array(s: int, state: Boundary) -> Boundary:
        return tuple(v for v in state if v.id != id) if start <= s < stop else state

    return _map_states(circuit, without_array)


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


# --- Blocks and saved arrays of a circuit, both abbreviated


def collapsed(circuit: Circuit, shut: Collection[str]) -> Circuit:
    """Returns the circuit with these blocks collapsed, and notes for saved and loaded arrays.

    Where only one of the repetitions that hand arrays over is collapsed, its notes are inside it;
    where all are, the arrays are wires between their boxes.
    """
    places = SavedArrayNames(circuit)
    partners = {loop.id for loop in (*places.savers, *places.loaders)}
    if partners <= {*shut}:
        return collapse_blocks(circuit, shut)
    return collapse_blocks(
        with_memory_notes(collapse_blocks(circuit, {*shut} - partners)), partners & {*shut}
    )
