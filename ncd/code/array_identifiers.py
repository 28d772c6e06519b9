"""Readable names for the arrays of a method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ncd.code.identifiers import AMBIGUOUS, TAKEN, Allotted, plain, unique, variable
from ncd.code.scopes import Body, Part
from ncd.code.simplify import Steps
from ncd.lang.circuits.circuit import Cell, Value
from ncd.lang.types.axes import Axis

GENERIC = ("", "x")


class Known(Protocol):
    """Facts about cells and axes that names are chosen by."""

    dims: Allotted

    def steps(self, cell: Cell) -> Steps: ...


class Naming:
    """The variables of one method: the name of each array by id, and how long it is in use."""

    def __init__(self, known: Known, body: Body) -> None:
        self.known, self.body = known, body
        self.names: dict[str, str] = {}  # of values, by their ids
        self.busy: dict[str, int] = {}  # names, and when what they hold is last needed
        self.real: dict[str, bool] = {}  # names, and whether they hold real numbers
        self._numbers: dict[str, int] = {}
        self._look_ahead()
        self._name_inputs()

    def _look_ahead(self) -> None:
        """Finds when each array is last used, and the names given to it later."""
        self.roots: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.last: dict[str, int] = {}
        self.times: list[int] = []
        now = 0
        for unit in self.body.units:
            self.times.append(now)
            if self.stated(unit):  # what is only copied or dropped is not needed for that
                self.last.update((self.root(value), now) for value in unit.inputs)
            if isinstance(unit, Cell):
                self._alias(unit)
            elif unit.kind == "repeat":  # each body has a time of its own
                for body in unit.bodies:
                    self.last.update((self.root(value), now) for value in body.inputs)
                    now += 1
            now += 1
        self.last.update((self.root(value), now) for value in self.body.outputs)

    def root(self, value: Value) -> str:
        return self.roots.get(value.id, value.id)

    def _alias(self, cell: Cell) -> None:
        steps = self.known.steps(cell)
        for value, source in steps.aliases(cell):
            self.roots[value.id] = self.root(source)
        name = cell.op.out(cell.site) if not steps.stated else ""
        if name and len(cell.outputs) == 1:
            self.given.setdefault(self.root(cell.outputs[0]), variable(name.lower()))

    def stated(self, unit: Cell | Part) -> bool:
        return isinstance(unit, Part) or self.known.steps(unit).stated

    def _name_inputs(self) -> None:
        several = len(self.body.inputs) > 1
        for value in self.body.inputs:
            axes = value.array if several else ()
            wanted = self._by_axis(axes[0]) if axes else "x"
            self.hold(value, self.choose([self.given.get(value.id, wanted)], -1))
            name = self.names[value.id]
            self.busy[name] = max(self.busy[name], 0)  # two inputs have two names
        self.arguments = tuple(self.names[value.id] for value in self.body.inputs)

    def _by_axis(self, axis: Axis) -> str:
        name = self.known.dims.of((axis.name, 0), plain(axis.name))
        return variable(name)

    # names ----------------------------------------------------------------------------------------

    def choose(self, wanted: Sequence[str], time: int, block: Iterable[str] = ()) -> str:
        """Returns the first name that is free, or the first with a number.

        Whatever is given this name hides the tensor that had it before, and need not be a tensor:
        a loop's variable may be a layer.
        """
        name = self._choose(wanted, time, set(block))
        self.real.pop(name, None)
        return name

    def _choose(self, wanted: Sequence[str], time: int, blocked: set[str]) -> str:
        wanted = [name if name.isidentifier() else _bare(name) for name in wanted]
        for name in wanted:
            if self.free(name, time, blocked):
                return name
        base = unique(wanted[0], {wanted[0]}).rpartition("_")[0]
        count = self._numbers.get(base, 2)
        count = count if count > 50 else 2  # not to try them all again where there are so many
        while not self.free(f"{base}_{count}", time, blocked):
            count += 1
        self._numbers[base] = count
        return f"{base}_{count}"

    def free(self, name: str, time: int, blocked: set[str]) -> bool:
        return name not in TAKEN and name not in blocked and self.busy.get(name, -1) <= time

    def hold(self, value: Value, name: str) -> None:
        self.names[value.id] = name
        self.busy[name] = self.last.get(self.root(value), -1)
        self.real[name] = value.array.below is None

    def wanted(self, cell: Cell, place: int) -> list[str]:
        """Yields possible names for a result, the best first."""
        value, op = cell.outputs[place], cell.op
        given = self.given.get(self.root(value))
        if given:
            return [given]
        words = [word.strip() for word in op.out(cell.site).split(",")]
        out = words[place] if place < len(words) else ""
        more = [name.lower() for name in (cell.name, type(op).__name__) if name]
        more = [name for name in map(plain, more) if name not in AMBIGUOUS | TAKEN]
        layer = cell.name.lower() if cell.name[-1:].isdecimal() else ""
        if out not in (*GENERIC, layer):
            return [variable(out), *more]
        if len(cell.outputs) > 1:
            return [self._by_axis(axis) for axis in _new_axes(cell, place)[:1]] or ["x", *more]
        ins = [self.names[value.id] for value in cell.inputs]
        if len(ins) == 1:
            same = cell.site.ins[0].names == cell.site.outs[0].names
            same = same or self.known.steps(cell).reshapes
            return [*(ins if same else []), "x", "out", *more]
        alike = zip(ins, cell.site.ins, strict=True)
        kept = [name for name, array in alike if array.names == cell.site.outs[0].names]
        return ["x", *kept, "out", *more]


def _new_axes(cell: Cell, place: int) -> list[Axis]:
    """The axes of an output that are in no input."""
    known = {name for array in cell.site.dom for name in array.names}
    return [axis for axis in cell.site.cod[place] if axis.name not in known]


def _bare(name: str) -> str:
    """Returns a variable name for an attribute: ``wte`` for ``self.wte``."""
    last = name.rpartition(".")[2]
    return variable(last) if last.isidentifier() else "x"
