"""The cells of the inputs that a slice of the output depends on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from ncd.lang.circuits.circuit import Cell, Circuit, Value

Slice = tuple[int | None, ...]  # a position along each axis, or all of them


def touched(circuit: Circuit) -> Mapping[str, Slice]:
    """Returns a slice of each output, at one position of the broadcast axes, and what it needs.

    If ops take a position themselves, the slice is the whole output.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.terms import Id
    >>> from ncd import Function
    >>> dict(touched(elaborate(Id("4 3") >> Function("G", "3 -> 2"))))
    {'v1': (2, None), 'v0': (2, None)}
    """
    if circuit.loops:
        return {value.id: (None,) * len(value.array) for value in _all(circuit)}
    over = _passing(circuit)
    found: dict[str, Slice] = {
        value.id: tuple(
            axis.numel // 2 if over.get((value.id, i)) else None
            for i, axis in enumerate(value.array)
        )
        for value in circuit.outputs
    }
    for cell in reversed(circuit.cells):
        for value, needs in zip(cell.inputs, _needed(cell, found), strict=True):
            before = found.get(value.id)
            found[value.id] = needs if before is None else _both(before, needs)
    return found


def _all(circuit: Circuit) -> tuple[Value, ...]:
    return (*circuit.inputs, *circuit.outputs)


def lifted(circuit: Circuit) -> Mapping[str, str]:
    """Returns the axes over which everything is broadcast: "lift", or "inner" if only some inputs.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.terms import Id
    >>> from ncd import Function
    >>> lifted(elaborate(Id("4 3, 5") >> Function("H", "3, 5 -> 2")))
    {'4': 'inner'}
    """
    if circuit.loops or not circuit.cells:
        return {}
    over = _passing(circuit)
    return {
        axis.name: "lift" if all(axis.name in v.array.names for v in circuit.inputs) else "inner"
        for value in circuit.outputs
        for i, axis in enumerate(value.array)
        if over.get((value.id, i))
    }


def _passing(circuit: Circuit) -> Mapping[tuple[str, int], bool]:
    """Returns the wires that pass over every op from the inputs on; none if ops take a position."""
    if any(_indexes(cell) for cell in circuit.cells):
        return {}
    found = {(v.id, i): True for v in circuit.inputs for i in range(len(v.array))}
    for cell in circuit.cells:
        ins, outs = _wires(cell.inputs), _wires(cell.outputs)
        for i, o in _going_on(cell):
            if found.get(ins[i]):
                found[outs[o]] = True
    return found


def _needed(cell: Cell, found: Mapping[str, Slice]) -> list[Slice]:
    """Returns the slice of each input that the slices of the outputs depend on."""
    outs = [at for value in cell.outputs for at in found[value.id]]
    at: dict[int, int | None] = {}
    for i, o in _going_on(cell):
        at[i] = outs[o] if at.get(i, outs[o]) == outs[o] else None
    at |= _indexes(cell)
    port = count()
    return [tuple(at.get(next(port)) for _ in value.array) for value in cell.inputs]


def _indexes(cell: Cell) -> dict[int, int]:
    """Returns the positions that an op takes, by port: those of its index marks."""
    return {
        port: int(text)
        for mark in cell.op.glyph(cell.site).marks
        if mark.shape == "pentagon"
        for port, text in zip(mark.ins, mark.text.split(","), strict=False)
    }


def _going_on(cell: Cell) -> list[tuple[int, int]]:
    """Returns the wires that an op passes on unchanged."""
    glyph, names = cell.op.glyph(cell.site), {axis.name for axis in cell.site.dom.axes}
    marked = {port for mark in glyph.marks for port in mark.ins}
    axes = [axis.name for array in cell.site.ins for axis in array]
    pairs = (*glyph.through, *glyph.joins, *glyph.splits)
    return [(i, o) for i, o in pairs if i not in marked or axes[i] not in names]


def _wires(values: tuple[Value, ...]) -> list[tuple[str, int]]:
    return [(value.id, i) for value in values for i in range(len(value.array))]


def _both(a: Slice, b: Slice) -> Slice:
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
