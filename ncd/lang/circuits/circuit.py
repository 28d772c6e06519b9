"""The circuit of a term: its arrays, cells and fences, in columns.

The structure of a term is resolved once, in :mod:`ncd.lang.circuits.elaborate`. Drawing, run,
source, cost and autograd walk the cells of the circuit and share their ids: ``v3`` is an array,
``n2`` an op, ``f1`` a fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncd.lang.circuits.circuit_parts import Cell as Cell
from ncd.lang.circuits.circuit_parts import Fence as Fence
from ncd.lang.circuits.circuit_parts import State as State
from ncd.lang.circuits.circuit_parts import Value as Value
from ncd.lang.errors import UnknownNameError
from ncd.lang.once import once
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Axis, Type


@dataclass(frozen=True)
class Loop:
    """A repetition or a scan in a circuit, with a circuit for each body.

    In a repetition the first body takes the inputs of the loop, and each later one the outputs of
    the one before and arrays that are left; the last ``memory`` inputs go to all. A scan has one
    body, whose arrays are those of one position.

    Args:
        id: The id of its fence, such as ``f1``.
        kind: ``"repeat"`` or ``"scan"``.
        term: The ``Repeat`` or ``Scan``.
        inputs: The arrays that it takes.
        outputs: The arrays that it gives.
        bodies: The circuit of each body.
        name: The name of its submodule; empty if it has none.
        fences: The ids of the fences around it, from the outermost.
        scope: The submodules around it.
        shared: Whether all bodies have the same weights.
        memory: How many of the last inputs go to every body.
        axis: The name of the axis that a scan runs along.
        states: How many states a scan has.

    Source: Notebook, figures 26 and 27, for repetitions.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.loops import Repeat
    >>> from ncd.ops import Linear
    >>> (loop,) = elaborate(Repeat((Linear("m:2 -> m", "L"),) * 3)).loops
    >>> loop.kind, [cell.path for body in loop.bodies for cell in body.cells]
    ('repeat', ['layers.0.L', 'layers.1.L', 'layers.2.L'])
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
class Circuit:
    """Columns of states (arrays from the top) and of steps (cells between two states).

    Args:
        term: The term, with all sizes that are known.
        states: The arrays of each state, one state more than steps.
        steps: The cells and loops of each step.
        own_fences: The fences of this circuit, without those inside loops.

    Raises:
        UnknownNameError: From :meth:`cell`, for an id that does not exist.

    Source: Notebook, section 2.3: columns of data alternate with columns of operations.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Linear, Softmax
    >>> circuit = elaborate(Linear("m:3 -> k:2", "Q") >> Softmax("k"))
    >>> [cell.op.label for cell in circuit.cells], list(circuit.values)
    (['Linear Q', 'Softmax'], ['v0', 'v1', 'v2'])
    """

    term: Term
    states: tuple[State, ...]
    steps: tuple[tuple[Cell | Loop, ...], ...]
    own_fences: tuple[Fence, ...]

    @property
    def inputs(self) -> State:
        """The arrays that it takes."""
        return self.states[0]

    @property
    def outputs(self) -> State:
        """The arrays that it gives."""
        return self.states[-1]

    @once
    def units(self) -> tuple[Cell | Loop, ...]:
        """The cells and loops of this circuit, each after those it depends on."""
        return tuple([unit for step in self.steps for unit in step])

    @once
    def cells(self) -> tuple[Cell, ...]:
        """All cells, also inside loops, each after those it depends on."""
        cells: list[Cell] = []
        for unit in self.units:
            if isinstance(unit, Loop):
                cells += [cell for body in unit.bodies for cell in body.cells]
            else:
                cells.append(unit)
        return tuple(cells)

    @once
    def loops(self) -> tuple[Loop, ...]:
        """All loops, outer ones before inner ones."""
        loops: list[Loop] = []
        for unit in self.units:
            if isinstance(unit, Loop):
                loops += [unit, *(loop for body in unit.bodies for loop in body.loops)]
        return tuple(loops)

    @once
    def fences(self) -> tuple[Fence, ...]:
        """All fences, also inside loops, outer ones before inner ones."""
        inner = (f for loop in self.loops for body in loop.bodies for f in body.own_fences)
        every = (*self.own_fences, *inner)
        return tuple(sorted(every, key=lambda fence: int(fence.id[1:])))

    @once
    def values(self) -> dict[str, Value]:
        """All arrays by their ids, with the names of axes where they are made."""
        values = {value.id: value for value in self.inputs}
        for unit in self.units:
            if isinstance(unit, Loop):
                for body in unit.bodies:
                    for id, value in body.values.items():
                        values.setdefault(id, value)
            for value in unit.outputs:
                values.setdefault(value.id, value)
        return values

    @once
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all arrays, with repetitions, and those that bound whole numbers."""
        return Type(value.array for value in self.values.values()).axes

    @once
    def by_id(self) -> dict[str, Cell]:
        """All cells by their ids."""
        return {cell.id: cell for cell in self.cells}

    def cell(self, id: str) -> Cell:
        """Returns the cell of this id; raises UnknownNameError if there is none."""
        if id not in self.by_id:
            raise UnknownNameError(f"there is no op {id!r}", cure="an id such as n0")
        return self.by_id[id]

    @once
    def inside(self) -> dict[str, tuple[str, ...]]:
        """The ids of the cells within each fence, also within inner ones, by the fence's id."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            for fence in cell.fences:
                found.setdefault(fence, []).append(cell.id)
        return {fence: tuple(ids) for fence, ids in found.items()}

    @once
    def takers(self) -> dict[str, Cell]:
        """The cell that takes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.inputs}

    @once
    def makers(self) -> dict[str, Cell]:
        """The cell that makes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.outputs}
