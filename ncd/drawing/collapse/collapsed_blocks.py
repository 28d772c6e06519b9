"""Collapsed blocks: a circuit with a box in place of each block that is not shown.

A box is a cell whose id is that of the block's fence, so that everything else treats it as an op.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.drawing.collapse.subcircuit import Part, gathered
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop, State
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.plain_text import plain_text
from ncd.lang.terms.op import Op, Site
from ncd.lang.types.axes import Type

TIMES = "×"
LEAST = 3  # the fewest ops of a block that may collapse


@dataclass(frozen=True, repr=False, eq=False)
class Box(Op):
    """The box of a collapsed block; ``hidden`` are the ids of the ops in it."""

    title: str
    hidden: tuple[str, ...] = ()
    role: ClassVar[str] = "folded"

    def __post_init__(self) -> None:
        """Skips the parsing of fields, as a box is never written by a user."""

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (range(sum(map(len, arrays))) for arrays in (site.ins, site.outs))
        return Glyph(marks=(Mark("folded", self.title, tuple(ins), tuple(outs)),))

    def words(self, site: Site) -> str:
        title = plain_text(" ".join(self.title.split())).replace(TIMES, "repeated ")
        return f"{title}, folded: ({site.ins}) to ({site.outs})"


@dataclass(frozen=True, repr=False, eq=False)
class Model(Box):
    """The box of a collapsed block that is the whole term."""

    role: ClassVar[str] = "model"


@dataclass(frozen=True)
class Block:
    """A block that can be collapsed; ``parent`` is the one around it, ``name`` its box's text."""

    id: str
    title: str
    name: str
    parent: str


def blocks(circuit: Circuit, least: int = LEAST) -> list[Block]:
    """Returns the blocks and repetitions with at least ``least`` ops, the outermost first.

    Unless ``least`` is 0, a block that is all of a repetition's body collapses with it.
    """
    found: list[Block] = []
    _collect(circuit, least, {"": ""}, found)
    return found


def _collect(
    circuit: Circuit, least: int, parents: dict[str, str], found: list[Block], body: bool = False
) -> None:
    """Adds the blocks of a circuit; ``parents`` maps each fence to the next block around it."""
    loops = {unit.id: unit for unit in circuit.units if isinstance(unit, Loop)}
    inside = _contents(circuit, {fence.id for fence in circuit.own_fences})
    for fence in circuit.own_fences:
        around = parents.get(fence.parent, "")
        named = fence.title.strip() or fence.id in loops or not least
        apart = not (least and body and fence.states == circuit.states)
        if named and apart and _closed(fence) and len(inside[fence.id][1]) >= least:
            says = title(fence, loops.get(fence.id))
            found.append(Block(fence.id, fence.title.strip(), says, around))
            around = fence.id
        parents[fence.id] = around
    for loop in loops.values():
        _collect(loop.bodies[0], least, parents, found, True)


def folded(circuit: Circuit, ids: Collection[str]) -> Circuit:
    """Returns the circuit with a box in place of each outermost of these blocks."""
    chosen = {fence.id: fence for fence in _outermost(circuit, ids)}
    if chosen:
        circuit = gathered(circuit, _boxed(circuit, chosen))
    steps = tuple([tuple([_within(unit, ids) for unit in step]) for step in circuit.steps])
    return replace(circuit, steps=steps)


def _outermost(circuit: Circuit, ids: Collection[str]) -> Iterator[Fence]:
    """Yields the outermost blocks with these ids that one op could take the place of."""
    inside: set[str] = set()
    for fence in circuit.own_fences:  # the outer before the inner
        if fence.parent in inside:
            inside.add(fence.id)
        elif fence.id in ids and _closed(fence):
            inside.add(fence.id)
            yield fence


def _boxed(circuit: Circuit, chosen: Mapping[str, Fence]) -> list[tuple[Part, Cell]]:
    """Returns the part of each block, and the box in its place."""
    loops = {unit.id: unit for unit in circuit.units if isinstance(unit, Loop)}
    every = sum(len(_ops(cell)) for cell in circuit.cells)
    inside = _contents(circuit, chosen)
    found = []
    for fence in chosen.values():
        around, hidden = inside[fence.id]
        says = title(fence, loops.get(fence.id))
        box = _box(fence, says, hidden, around, len(hidden) == every)
        found.append((Part(fence.first, fence.states, fence.id), box))
    return found


def _within(unit: Cell | Loop, ids: Collection[str]) -> Cell | Loop:
    """Returns a loop with blocks of its first body collapsed; other bodies are not drawn."""
    if isinstance(unit, Cell):
        return unit
    return replace(unit, bodies=(folded(unit.bodies[0], ids), *unit.bodies[1:]))


def _closed(fence: Fence) -> bool:
    """Returns whether one op could take the place of a block."""
    return len(fence.states) > 1 and all(fence.states[1:-1]) and any(_ends(fence))


def _ends(fence: Fence) -> tuple[State, State]:
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
    op = (Model if everything and not around else Box)(says, tuple(hidden))
    site = Site(dom=ins, cod=outs, ins=ins, outs=outs)
    return Cell(fence.id, op, site, inputs, outputs, "", around)


def title(fence: Fence, loop: Loop | None = None) -> str:
    """Returns the text of a block's box: its title, and below it its number of repetitions."""
    if loop is None:
        return _broken(fence.title.strip()) or fence.role.capitalize()
    if loop.kind == "scan":
        return fence.title
    body = loop.bodies[0]
    around = next((f for f in body.own_fences if f.states == body.states and f.title.strip()), None)
    called = loop.name.replace("_", " ").capitalize() if len(loop.name) > 1 else "Layer"
    name = around.title.strip() if around else called
    return f"{name}\n{TIMES}{len(loop.bodies)}"


def _broken(title: str) -> str:
    """Puts settings in brackets at the end of a title on a line of their own."""
    before, bracket, after = title.partition(" (")
    return f"{before}\n({after}" if bracket and after.endswith(")") else title
