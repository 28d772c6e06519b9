"""The names of attributes and methods of a submodule's class."""

from __future__ import annotations

from collections.abc import Callable

from ncd.code.identifiers import TAKEN, unique
from ncd.code.scopes import Body, Scope
from ncd.lang.circuits.circuit import Cell, Value
from ncd.lang.reserved_names import MODULE
from ncd.lang.types.axes import Type


class Attributes:
    """Chooses names for layers and methods, including those without a name of their own.

    ``layers`` are by the ids of their cells, ``methods`` by the identity of their bodies;
    ``bodies`` are those that have a method each, ``keys`` say what their code depends on.
    """

    def __init__(self, scope: Scope, batched: Callable[[Value], bool]) -> None:
        cells = [u for body in scope.bodies for u in body.units if isinstance(u, Cell)]
        self.taken = {*scope.children, *(cell.name for cell in cells)}
        self.layers = {cell.id: self._layer(cell) for cell in cells}
        self.methods: dict[int, str] = {}
        self.bodies: list[Body] = []
        self.keys: dict[object, str] = {}
        for body in scope.bodies:
            key = _key(body, batched)
            if key not in self.keys:
                self.keys[key] = self._method(body)
                self.bodies.append(body)
            self.methods[id(body)] = self.keys[key]

    def _layer(self, cell: Cell) -> str:
        if cell.name or cell.layer is None:
            return cell.name
        name = unique(type(cell.op).__name__.lower(), self.taken | TAKEN | MODULE)
        self.taken.add(name)
        return name

    def _method(self, body: Body) -> str:
        if not body.step and "forward" not in self.keys.values():
            return "forward"
        name = unique("step" if body.step else "forward", self.taken | MODULE)
        self.taken.add(name)
        return name


def _key(body: Body, batched: Callable[[Value], bool]) -> object:
    """Returns a key; bodies with equal keys have equal code."""
    arrays = Type(value.array for value in body.inputs)
    layers = tuple(cell.name for cell in body.cells)
    return body.term, arrays, layers, tuple(map(batched, body.inputs))
