"""A box in place of each block that is not shown.

A box is a cell whose id is that of the block's fence, so that everything else treats it as an op.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.circuit.circuit import Boundary, Cell, Circuit, Fence, Loop, ScanLoop, Unit
from ncd.language.axes import Type
from ncd.language.cached_property import lazy_property
from ncd.language.op import Glyph, Mark, Op, Site
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
class CollapsedBox(Op):
    """The box of a collapsed block; ``hidden`` are the ids of the ops in it."""

    title: str
    hidden: tuple[str, ...] = ()
    role: ClassVar[str] = "folded"

    def __post_init__(self) -> None:
        """Skips the parsing of fields, as a box is never written by a user."""

    @property
    def display_name(self) -> str:
        """The word for it in descriptions, whatever its class is called."""
        return "Box"

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (range(sum(map(len, arrays))) for arrays in (site.inputs, site.outputs))
        return Glyph(marks=(Mark("folded", self.title, tuple(ins), tuple(outs)),))

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
    """Puts settings in brackets at the end of a title on a line of their own."""
    before, bracket, after = title.partition(" (")
    return f"{before}\n({after}" if bracket and after.endswith(")") else title
