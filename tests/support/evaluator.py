"""An evaluator of its own, in 64 bits: what a term means, by brute force.

It walks the term, not the circuit, and carries every array with the names of its axes. An op is
computed on its own axes only, one position of all other axes after the other: that is what
broadcasting means. Only the weights are the module's. It shares no code with ``ncd.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from torch import nn

from ncd import (
    Array,
    Axis,
    Beside,
    Block,
    Cell,
    Circuit,
    Equation,
    Id,
    Op,
    Repeat,
    Scan,
    Term,
    Then,
    elaborate,
)
from tests.support.op_meanings import MEANINGS, WHOLE, Undecided

Own = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Named:
    """Numbers with a dimension for every axis; a spatial group is one dimension here."""

    axes: tuple[Axis, ...]
    data: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    def at(self, place: Mapping[str, int]) -> Named:
        """What is left at the positions along some axes."""
        index = tuple(place.get(name, slice(None)) for name in self.names)
        left = tuple(axis for axis in self.axes if axis.name not in place)
        return Named(left, self.data[index])

    def ordered(self, names: tuple[str, ...]) -> np.ndarray:
        return self.data.transpose([self.names.index(name) for name in names])

    def called(self, names: Mapping[str, str]) -> Named:
        axes = (Axis(names.get(a.name, a.name), a.size) for a in self.axes)
        return Named(tuple(axes), self.data)


def evaluated(term: Term, module: nn.Module, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a term, with the weights of a module, in the shapes of its codomain."""
    circuit = elaborate(term)
    arrays = [_read(array, x) for array, x in zip(circuit.term.dom, inputs, strict=True)]
    outputs = _Evaluator(circuit, module).term(circuit.term, arrays)
    for array, out in zip(circuit.term.cod, outputs, strict=True):
        assert array.names == out.names, (array, out.names)
    return [x.data.reshape(array.shape) for array, x in zip(term.cod, outputs, strict=True)]


def _read(array: Array, x: np.ndarray) -> Named:
    data = np.asarray(x, dtype=np.int64 if array.below else np.float64)
    return Named(tuple(array), data.reshape([axis.numel for axis in array]))


class _Evaluator:
    """One method a kind of structure; cells are numbered in the order in which terms stand."""

    def __init__(self, circuit: Circuit, module: nn.Module) -> None:
        self.cells = {cell.id: cell for cell in circuit.cells}
        self.state = {name: x.detach().double().numpy() for name, x in module.state_dict().items()}
        self.count = 0

    def term(self, term: Term, arrays: list[Named]) -> list[Named]:
        match term:
            case Id():
                return arrays
            case Then():
                for step in term.steps:
                    n = len(step.dom)
                    arrays = [*self.term(step, arrays[:n]), *arrays[n:]]
                return arrays
            case Beside():
                shares = list(_shares([len(part.dom) for part in term.parts], arrays))
                found = [self.term(p, own) for p, own in zip(term.parts, shares, strict=True)]
                return [array for part in found for array in part]
            case Block():
                return self.block(term, arrays)
            case Repeat():
                return self.repeat(term, arrays)
            case Scan():
                return self.scan(term, arrays)
            case Equation():
                self.count += 1  # the copy that it stands behind
                return [array for side in term.sides for array in self.term(side, list(arrays))]
            case Op():
                return self.op(term, arrays)
        raise TypeError(term)

    def block(self, term: Block, arrays: list[Named]) -> list[Named]:
        if not term.local:
            return self.term(term.body, arrays)
        outer: dict[str, str] = {}
        given = []
        for pattern, array in zip(term.dom, arrays, strict=True):
            last = array.names[len(array.names) - len(pattern) :]
            outer |= zip(pattern.names, last, strict=True)
            own = dict(zip(last, pattern.names, strict=True))
            given.append(array.called(own))
        return [array.called(outer) for array in self.term(term.body, given)]

    def repeat(self, term: Repeat, arrays: list[Named]) -> list[Named]:
        split = len(arrays) - term.memory
        state, memory = arrays[:split], arrays[split:]
        for body in term.bodies:
            own = len(body.dom) - term.memory
            state = [*self.term(body, [*state[:own], *memory]), *state[own:]]
        return state

    def scan(self, term: Scan, arrays: list[Named]) -> list[Named]:
        n, t = term.states, term.axis[0].name
        states, inputs = arrays[:n], arrays[n:]
        (axis,) = {a for x in inputs[:1] for a in x.axes if a.name == t}
        place, start, rows = inputs[0].names.index(t), self.count, []
        for i in range(axis.numel):
            self.count = start
            out = self.term(term.body, [*states, *(x.at({t: i}) for x in inputs)])
            states = out[:n]
            rows.append(out[n:])
        given = []
        for row in zip(*rows, strict=True):
            axes = (*row[0].axes[:place], axis, *row[0].axes[place:])
            given.append(Named(axes, np.stack([x.data for x in row], place)))
        return [*states, *given]

    def op(self, op: Op, arrays: list[Named]) -> list[Named]:
        cell = self.cells[f"n{self.count}"]
        self.count += 1
        kind = type(op).__name__
        weights = self.weights(cell)
        if kind in WHOLE:
            return [Named(*found) for found in WHOLE[kind](cell, arrays, weights)]
        if kind not in MEANINGS:  # its samples still compare it with torch
            raise Undecided(f"nobody has written down what {kind} means")
        return _broadcast(cell, arrays, lambda own: MEANINGS[kind](cell, own, weights))

    def weights(self, cell: Cell) -> dict[str, np.ndarray]:
        """The cell's parameters and buffers, a dimension for every axis."""
        layered = cell.op.layer_call(cell.site) is not None
        return {
            name: self.state[f"{cell.path}.{name}" if layered else cell.path].reshape(
                [axis.numel for axis in initial.array]
            )
            for name, initial in cell.op.initial_values(cell.site).items()
        }


def _shares(counts: list[int], arrays: list[Named]) -> Iterator[list[Named]]:
    for n in counts:
        yield arrays[:n]
        arrays = arrays[n:]


def _broadcast(
    cell: Cell, arrays: list[Named], meaning: Callable[[Own], tuple[np.ndarray, ...]]
) -> list[Named]:
    """The op on its own axes, at every position of the others; in the order of its type."""
    dom, cod = cell.site.own_inputs, cell.site.own_outputs
    rest: dict[str, Axis] = {}
    for pattern, array in zip(dom, arrays, strict=True):
        rest |= {axis.name: axis for axis in array.axes if axis.name not in pattern.names}
    outs: list[np.ndarray] = []
    sizes = [axis.numel for axis in rest.values()]
    for index in product(*map(range, sizes)):
        place = dict(zip(rest, index, strict=True))
        own = tuple(
            array.at(place).ordered(pattern.names)
            for pattern, array in zip(dom, arrays, strict=True)
        )
        found = meaning(own)
        if not outs:
            outs = [np.empty((*sizes, *x.shape), x.dtype) for x in found]
        for whole, x in zip(outs, found, strict=True):
            whole[index] = x
    made = [Named((*rest.values(), *own), x) for own, x in zip(cod, outs, strict=True)]
    return [_arranged(x, out.names) for x, out in zip(made, cell.site.outputs, strict=True)]


def _arranged(array: Named, names: tuple[str, ...]) -> Named:
    axes = {axis.name: axis for axis in array.axes}
    assert axes.keys() == set(names), (array.names, names)
    return Named(tuple(axes[name] for name in names), array.ordered(names))
