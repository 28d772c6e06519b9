"""The parts of a circuit that become classes of the source: bodies, and loops over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ncd.axes import Axis, Type
from ncd.circuit import Cell, Circuit, Fence, Value
from ncd.op import Site
from ncd.terms import Beside, Block, Id, Repeat, Term, Then, rewrite

Names = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Body:
    """What one class computes: its cells in order, and what goes in and comes out.

    ``depth`` counts the repetitions around it.
    """

    cells: tuple[Cell, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    depth: int = 0
    title: str = ""
    names: Names = ()  # new names for axes

    @property
    def axes(self) -> dict[str, Axis]:
        arrays = [value.array for value in (*self.inputs, *self.outputs)]
        sites = [axis for cell in self.cells for axis in cell.site.axes]
        return {axis.name: axis for axis in (*Type(arrays).axes, *sites)}

    def like(self, other: Body) -> Body:
        """The same with the other's names for its axes, matched in the order they appear."""
        names = tuple(zip(self.axes, other.axes, strict=False))

        def renamed(cell: Cell) -> Cell:
            site = cell.site
            types = [_renamed(t, names) for t in (site.dom, site.cod, site.ins, site.outs)]
            return replace(cell, op=_renamed(cell.op, names), site=Site(*types))

        return replace(
            self,
            cells=tuple(map(renamed, self.cells)),
            inputs=_values(self.inputs, names),
            outputs=_values(self.outputs, names),
            names=names,
        )


def _renamed(value: Any, names: Names) -> Any:
    new = dict(names)
    return rewrite(value, lambda axis: replace(axis, name=new.get(axis.name, axis.name)))


def _values(values: tuple[Value, ...], names: Names) -> tuple[Value, ...]:
    return tuple(Value(value.id, _renamed(value.array, names)) for value in values)


@dataclass(frozen=True)
class Loop:
    """A repetition: its fence, and its bodies one after the other."""

    fence: Fence
    bodies: tuple[Body, ...]
    name: str

    @property
    def single(self) -> str:
        """What one of its bodies is called: ``layer`` of ``layers``."""
        return self.name.removesuffix("s") or self.name

    @property
    def even(self) -> bool:
        """Whether every body takes and gives the same number of arrays, all that there are."""
        count = len(self.inputs)
        return all(len(b.inputs) == len(b.outputs) == count for b in self.bodies)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for body in self.bodies for cell in body.cells)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.fence.states[0]

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.fence.states[-1]


def units(circuit: Circuit, body: Body) -> Iterator[Cell | Loop]:
    """The cells of a body in order, those of an inner repetition together."""
    fences = {fence.id: fence for fence in circuit.fences}
    seen: set[str] = set()
    for cell in body.cells:
        repeats = [f for f in cell.fences if fences[f].repeats]
        if len(repeats) <= body.depth:
            yield cell
        elif repeats[body.depth] not in seen:
            fence = fences[repeats[body.depth]]
            seen.add(fence.id)
            own = tuple(c for c in body.cells if fence.id in c.fences)
            bodies = tuple(_bodies(fence, own, body))
            yield Loop(fence, bodies, own[0].scope[body.depth][0])


def _bodies(fence: Fence, cells: tuple[Cell, ...], around: Body) -> Iterator[Body]:
    assert isinstance(fence.term, Repeat)
    state, at = fence.states[0], 0
    for index, term in enumerate(fence.term.bodies):
        at += _columns(term)
        after, taken = fence.states[at], len(term.dom)
        own = tuple(cell for cell in cells if cell.scope[around.depth][1] == index)
        title = term.title if isinstance(term, Block) else ""
        left = len(after) - (len(state) - taken)
        ins, outs = (_values(values, around.names) for values in (state[:taken], after[:left]))
        yield Body(own, ins, outs, around.depth + 1, title, around.names)
        state = after


def _columns(term: Term) -> int:
    match term:
        case Id():
            return 0
        case Then(steps=parts) | Repeat(bodies=parts):
            return sum(map(_columns, parts))
        case Beside(parts=parts):
            return max(map(_columns, parts), default=0)
        case Block(body=body):
            return _columns(body)
    return 1
