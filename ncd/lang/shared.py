"""Layers that several cells share: a shared repetition, the sides of an equation."""

from __future__ import annotations

from dataclasses import fields

from ncd.lang.circuit import Cell, Circuit
from ncd.lang.errors import MismatchError
from ncd.lang.expr import Expr, Size


def check_shared(circuit: Circuit) -> None:
    """Raises MismatchError if cells of one path are different layers, or of different sizes."""
    known: dict[str, Cell] = {}
    for cell in circuit.cells:
        if not cell.name:
            continue
        first = known.setdefault(cell.path, cell)
        if first is cell or _layer(first) == _layer(cell):
            continue
        raise MismatchError(
            f"it is {cell.op.words(cell.site)}, but the layer {cell.path} "
            f"is {first.op.words(first.site)}",
            where=cell.op.label,
            bound=cell.site.axes,
            cure="another name for one of them, or one body for all",
        ).at(op=cell.op)


def _layer(cell: Cell) -> object:
    """What makes a layer, with its sizes as numbers."""
    initial = cell.op.initial(cell.site)
    shapes = {name: (value.array.shape, value.learned) for name, value in initial.items()}
    return type(cell.op), shapes, _plain(cell.op.layer(cell.site))


def _plain(value: object) -> object:
    if isinstance(value, Size):
        return tuple(axis.numel for axis in value.axes)
    if isinstance(value, Expr):
        parts = (getattr(value, f.name) for f in fields(value))  # type: ignore[arg-type]
        return type(value), tuple(map(_plain, parts))
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value
