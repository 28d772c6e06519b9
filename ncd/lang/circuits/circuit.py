"""The circuit of a term: its wires, its cells and its fences, laid out in columns.

Structure (then, beside, blocks, repetitions) is resolved once, in
:mod:`ncd.lang.circuits.elaborate`. Every interpreter - drawing, run, source, cost, autograd - walks
the cells, so that all of them speak of the same wires and ops by the same ids: ``v3`` is an array,
``n2`` an op, ``f1`` a fence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ncd.lang.errors import UnknownNameError
from ncd.lang.formulas.expr import Call, Expr
from ncd.lang.glyph import Glyph
from ncd.lang.once import once
from ncd.lang.terms.op import Initial, Op, Site
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis, Type


@dataclass(frozen=True)
class Value:
    """An array on its way from the op that makes it to the op that takes it.

    Inside a block whose names are local the same array has other names for its axes: the id is what
    counts.
    """

    id: str
    array: Array


State = tuple[Value, ...]


@dataclass(frozen=True)
class Cell:
    """An op at its place: the arrays it takes and gives, the fences around it, its module name.

    ``scope`` are the submodules around its layer, ``("encoder", "0", "self_attn")``. ``times`` says
    how often it runs in one forward pass.
    """

    id: str
    op: Op
    site: Site
    inputs: State
    outputs: State
    name: str
    fences: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    times: int = 1

    @property
    def path(self) -> str:
        """The layer's name in the compiled module, such as ``Q`` or ``layers.0.conv``."""
        return ".".join((*self.scope, self.name))

    @once
    def glyph(self) -> Glyph:
        """How it is drawn."""
        return self.op.glyph(self.site)

    @once
    def words(self) -> str:
        """What it does, in words that read well aloud."""
        return self.op.words(self.site)

    @once
    def torch(self) -> Expr | tuple[Expr, ...]:
        """What it does in torch: one expression, or one for each array that it gives."""
        return self.op.torch(self.site)

    @once
    def layer(self) -> Call | None:
        """How its layer is made, if it has one."""
        return self.op.layer(self.site)

    @once
    def initial(self) -> Mapping[str, Initial]:
        """How each of its parameters and buffers begins."""
        return self.op.initial(self.site)


@dataclass(frozen=True)
class Loop:
    """A repetition or a scan, folded: one cell of the circuit, with a circuit for each body.

    The arrays of a repetition are those of its bodies: the first body takes the loop's inputs, each
    next one what the one before gives and what waits; the last ``memory`` inputs go to all. A scan
    has one body and runs it at each position of ``axis``, with ``states`` states; the arrays of its
    body are those of one position. ``id`` is that of its fence.
    """

    id: str
    kind: Literal["repeat", "scan"]
    term: Term
    inputs: State
    outputs: State
    bodies: tuple[Circuit, ...]
    name: str
    fences: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    shared: bool = False
    memory: int = 0
    axis: str = ""
    states: int = 0


@dataclass(frozen=True)
class Fence:
    """A block at its place, with the arrays inside it at each of its states.

    ``first`` is the state of its own circuit at which it begins; ``repeats`` the number of bodies
    if it is a repetition, else 0; ``scope`` the path of its submodule if the block has a name.
    """

    id: str
    title: str
    role: str
    first: int
    states: tuple[State, ...]
    parent: str = ""
    repeats: int = 0
    term: Term | None = None
    scope: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The state at which it ends; ``first`` is the one at which it begins."""
        return self.first + len(self.states) - 1


@dataclass(frozen=True)
class Circuit:
    """Columns of states (arrays, top to bottom) and steps (the cells between two states).

    ``own_fences`` are those of this circuit, ``fences`` those of the loops in it as well.
    """

    term: Term
    states: tuple[State, ...]
    steps: tuple[tuple[Cell | Loop, ...], ...]
    own_fences: tuple[Fence, ...]

    @property
    def inputs(self) -> State:
        return self.states[0]

    @property
    def outputs(self) -> State:
        return self.states[-1]

    @once
    def units(self) -> tuple[Cell | Loop, ...]:
        """The cells and loops of this circuit, each after the ones it needs."""
        return tuple([unit for step in self.steps for unit in step])

    @once
    def cells(self) -> tuple[Cell, ...]:
        """All cells, also those in loops, each after the ones it needs."""
        return tuple(_cells(self))

    @once
    def loops(self) -> tuple[Loop, ...]:
        """All loops, the outer before the inner."""
        return tuple(_loops(self))

    @once
    def fences(self) -> tuple[Fence, ...]:
        """All fences, the outer before the inner."""
        inner = (f for loop in self.loops for body in loop.bodies for f in body.own_fences)
        every = (*self.own_fences, *inner)
        return tuple(sorted(every, key=lambda fence: int(fence.id[1:])))

    @once
    def values(self) -> dict[str, Value]:
        """All arrays by their ids, by the names that they have where they are made."""
        found = {value.id: value for value in self.inputs}
        for unit in self.units:
            if isinstance(unit, Loop):
                for body in unit.bodies:
                    for id, value in body.values.items():
                        found.setdefault(id, value)
            for value in unit.outputs:
                found.setdefault(value.id, value)
        return found

    @once
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all arrays, as often as an array has them, and those that bound numbers."""
        return Type(value.array for value in self.values.values()).axes

    @once
    def _by_id(self) -> dict[str, Cell]:
        return {cell.id: cell for cell in self.cells}

    def cell(self, id: str) -> Cell:
        """The cell of this id; raises UnknownNameError if there is none."""
        found = self._by_id.get(id)
        if found is None:
            raise UnknownNameError(f"there is no op {id!r}", cure="an id such as n0")
        return found

    @once
    def takers(self) -> dict[str, Cell]:
        """The cell that takes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.inputs}

    @once
    def makers(self) -> dict[str, Cell]:
        """The cell that makes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.outputs}


def _cells(circuit: Circuit) -> Iterator[Cell]:
    for unit in circuit.units:
        if isinstance(unit, Loop):
            for body in unit.bodies:
                yield from body.cells
        else:
            yield unit


def _loops(circuit: Circuit) -> Iterator[Loop]:
    for unit in circuit.units:
        if isinstance(unit, Loop):
            yield unit
            for body in unit.bodies:
                yield from body.loops
