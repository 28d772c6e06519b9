"""Layers that several cells share, in a shared repetition or the sides of an equation."""

from __future__ import annotations

from dataclasses import fields

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Expr, Size


def check_shared(circuit: Circuit) -> None:
    """Raises MismatchError if cells of one path have different layers or sizes."""
    known: dict[str, Cell] = {}
    for cell in circuit.cells:
        if not cell.name:
            continue
        first = known.setdefault(cell.path, cell)
        if first is cell or _layer(first) == _layer(cell):
            continue
        raise MismatchError(
            f"the layer {cell.path} is {_words(first)} at one place and {_words(cell)} at another",
            where=cell.op.label,
            cure="another name for one of them, or one body for all",
        ).at(op=cell.op)


def _layer(cell: Cell) -> object:
    """Returns everything that determines a layer, with its sizes as numbers."""
    initial = cell.initial
    shapes = {name: (value.array.shape, value.learned) for name, value in initial.items()}
    return type(cell.op), shapes, _plain(cell.layer)


def _words(cell: Cell) -> str:
    """Returns the class of the op and the sizes of its weights, in words."""
    arrays = [value.array for value in cell.initial.values() if value.learned]
    sizes = ", ".join("×".join(axis.size_text for axis in array) for array in arrays)
    return f"{type(cell.op).__name__} {sizes}".strip()


def _plain(value: object) -> object:
    if isinstance(value, Size):
        return tuple(axis.numel for axis in value.axes)
    if isinstance(value, Expr):
        parts = (getattr(value, f.name) for f in fields(value))  # type: ignore[arg-type]
        return type(value), tuple(map(_plain, parts))
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value
