"""Free axes: the input axes whose sizes an ONNX model with weights inside may leave open.

An axis is free if every op that meets it is the same op at another size: its code differs only in
the size of this axis, its layer does not differ at all, and no other axis changes with it. So the
axes of weights are fixed, and so are those along which a convolution or a concatenation makes an
axis of another length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.lang.errors import NCDError
from ncd.lang.formulas.expr import Expr
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.op import Op
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.site import Site
from ncd.lang.types.axes import Array, Axis, Dim
from ncd.run.execution.program import units

Symbols = tuple[str | None, ...]  # of each dimension of an array; None where its size is fixed


@dataclass(frozen=True)
class FreeAxes:
    """The symbols of every array's dimensions, and why other axes of the inputs are fixed."""

    symbols: dict[str, Symbols]
    fixed: dict[str, str]

    @property
    def free(self) -> tuple[str, ...]:
        """All symbols in use."""
        every = (symbol for symbols in self.symbols.values() for symbol in symbols if symbol)
        return tuple(dict.fromkeys(every))


def free_axes(circuit: Circuit) -> FreeAxes:
    """Returns which sizes of a term's inputs a model may leave open."""
    fixed: dict[str, str] = {}
    while True:
        found = _Search(fixed, circuit)
        begun = len(fixed)
        found.enter(circuit.inputs)
        found.walk(circuit)
        if len(fixed) == begun:
            return FreeAxes(found.symbols, fixed)


def dims_read(cell: Cell) -> list[Dim]:
    """Returns the dimensions whose size an op needs, though they are not of its inputs."""
    own = {dim.key for array in cell.site.ins for dim in array.dims}
    return [dim for axis in cell.site.reads for dim in axis.dims if dim.key not in own]


def symbol(dim: Dim) -> str:
    """Returns the symbol of an input's dimension: the name of its axis.

    >>> symbol(Dim("x", 0, 3)), symbol(Dim("x", 2, 3))
    ('x', 'x_2')
    """
    return f"{dim.name}_{dim.side}" if dim.side else dim.name


class _Search:
    """Carries symbols from the inputs through all ops; adds to ``fixed`` what cannot be free."""

    def __init__(self, fixed: dict[str, str], circuit: Circuit) -> None:
        self.fixed = fixed
        self.inputs = [dim for value in circuit.inputs for dim in value.array.dims]
        blocks = (fence.term for fence in circuit.fences)
        self.local = any(isinstance(term, Block) and term.local for term in blocks)
        self.symbols: dict[str, Symbols] = {}

    def enter(self, inputs: Sequence[Value]) -> None:
        for value in inputs:
            names = map(symbol, value.array.dims)
            self.symbols[value.id] = tuple(None if name in self.fixed else name for name in names)

    def walk(self, circuit: Circuit) -> None:
        for unit in units(circuit):
            if isinstance(unit, Loop):
                self.scan(unit)
            else:
                self.cell(unit)

    def cell(self, cell: Cell) -> None:
        found: dict[tuple[str, int], set[str | None]] = {}
        for value, array in zip(cell.inputs, cell.site.ins, strict=True):
            for dim, mark in zip(array.dims, self.symbols[value.id], strict=True):
                found.setdefault(dim.key, set()).add(mark)
        for dim in dims_read(cell):
            if self.local:  # its name may be that of another axis: any of its size
                same = {symbol(other) for other in self.inputs if other.size == dim.size}
                self.fix(same, cell.op.label)
            elif symbol(dim) not in self.fixed and dim in self.inputs:
                found[dim.key] = {symbol(dim)}
        for each in found.values():
            if len(each) > 1:
                self.fix(each, cell.op.label)
        marks = {key: next(iter(each)) for key, each in found.items()}
        for name in dict.fromkeys(mark for mark in marks.values() if mark):
            keys = {key for key, mark in marks.items() if mark == name}
            if name not in self.fixed and not _same_at_other_sizes(cell, keys):
                self.fix([name], cell.op.label)
        for value, array in zip(cell.outputs, cell.site.outs, strict=True):
            self.symbols[value.id] = tuple(marks.get(dim.key) for dim in array.dims)

    def scan(self, loop: Loop) -> None:
        (body,), n = loop.bodies, loop.states
        along: Symbols = ()
        for i, (outer, inner) in enumerate(zip(loop.inputs, body.inputs, strict=True)):
            marks = self.symbols[outer.id]
            if i >= n:
                dims = loop_dims(outer.array, loop.axis)
                along = tuple(marks[dim] for dim in dims)
                marks = tuple(mark for at, mark in enumerate(marks) if at not in dims)
            self.symbols[inner.id] = marks
        self.walk(body)
        for i, (outer, inner) in enumerate(zip(loop.outputs, body.outputs, strict=True)):
            marks = self.symbols[inner.id]
            if i >= n:
                marks = spread(marks, along, loop_dims(outer.array, loop.axis))
            elif marks != (before := self.symbols[body.inputs[i].id]):
                self.fix({*marks, *before}, f"the state of the loop along {loop.axis}")
            self.symbols[outer.id] = marks

    def fix(self, marks: Any, why: str) -> None:
        self.fixed.update({mark: why for mark in marks if mark and mark not in self.fixed})


def loop_dims(array: Array, axis: str) -> tuple[int, ...]:
    """Returns the dimensions of an axis, counted from the front."""
    return tuple(dim + len(array.dims) for dim in array.position(axis))


def spread(marks: Sequence[Any], along: Sequence[Any], dims: Sequence[int]) -> tuple[Any, ...]:
    """Returns the marks with those of a loop's axis put in at these dimensions."""
    found = list(marks)
    for dim, mark in zip(dims, along, strict=True):
        found.insert(dim, mark)
    return tuple(found)


def _same_at_other_sizes(cell: Cell, keys: set[tuple[str, int]]) -> bool:
    return all(_same_at(cell, keys, change) for change in (lambda n: n + 1, lambda n: 2 * n + 3))


def _same_at(cell: Cell, keys: set[tuple[str, int]], change: Any) -> bool:
    """Returns whether an op is the same where the sizes of these dimensions have changed."""

    def resized(axis: Axis) -> Axis:
        if axis.size is None or not any(dim.key in keys for dim in axis.dims):
            return axis
        shape = tuple(change(dim.size) if dim.key in keys else dim.size for dim in axis.dims)
        return replace(axis, size=shape if axis.spatial else shape[0], label="")

    try:
        op: Op = rewrite(cell.op, resized)
        site = op.site(rewrite(cell.site.ins, resized))
        if rewrite(cell.site.outs, resized) != site.outs:
            return False
        pairs = zip(_answers(cell.op, cell.site), _answers(op, site), strict=True)
        return all(_same(a, b, keys) for a, b in pairs)
    except NCDError:
        return False


def _answers(op: Op, site: Site) -> Iterator[Any]:
    yield op.torch(site)
    yield op.layer(site)
    yield [initial.array for initial in op.initial(site).values()]


def _same(a: Any, b: Any, keys: set[tuple[str, int]]) -> bool:
    """Returns whether two expressions differ in nothing but the sizes of these dimensions."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Dim):
        return bool(a.key == b.key) and (a.key in keys or a.size == b.size)
    if isinstance(a, Axis):
        return _same(a.dims, b.dims, keys)
    if isinstance(a, Array):
        return bool(a == b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(_same(x, y, keys) for x, y in zip(a, b, strict=True))
    if isinstance(a, Expr) and is_dataclass(a):
        return all(_same(getattr(a, f.name), getattr(b, f.name), keys) for f in fields(a))
    return bool(a == b)
