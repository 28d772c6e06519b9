"""The arithmetic of one number: the numbers that an op made it from, and the formula.

Numbers are read from the trace of a run, in 64 bits; nothing is computed again. The formula follows
from the op's torch code (:mod:`ncd.lang.formulas.expr`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from ncd.lang.circuits.circuit import Cell
from ncd.lang.formulas import expr as ex
from ncd.lang.formulas.formula import FUNCTIONS
from ncd.run.execution.evaluate import Like, code, known
from ncd.run.execution.module import CircuitModule
from ncd.run.execution.program import expressions
from ncd.run.explain.arithmetic_kinds import (
    MOST,
    REDUCTIONS,
    Chosen,
    Each,
    How,
    Index,
    Made,
    Numbers,
    Products,
    Same,
    Share,
    Span,
    counted,
    exact,
    grid,
    moved,
    reduced_dims,
    taken,
    whole,
    windowed,
)
from ncd.run.explain.layer_arithmetic import LAYERS

POINTWISE = (
    ex.Arg,
    ex.Align,
    ex.Call,
    ex.Cast,
    ex.Const,
    ex.Filled,
    ex.Infix,
    ex.Method,
    ex.Position,
    ex.Prefix,
    ex.Size,
)
SEVERAL = {"clamp", "div", "maximum", "minimum", "where"}  # functions of more than one number


def made(
    module: CircuitModule, values: Mapping[str, Tensor], id: str, index: Sequence[int]
) -> Made:
    """Returns how a number of an array came about: by the last op that did not just pass it on.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> values = ncd.trace(module, *inputs).values
    >>> (out,) = module.circuit.outputs
    >>> found = made(module, values, out.id, (3, 5))
    >>> found.cell.op.label, len(found.how.terms), abs(found.how.value - found.value) < 1e-6
    ('Linear O', 64, True)
    """
    circuit, place = module.circuit, tuple(index)
    through: list[Cell] = []
    value = float(values[id][place].detach())
    while (cell := circuit.makers.get(id)) is not None:
        output = next(n for n, v in enumerate(cell.outputs) if v.id == id)
        found = arithmetic(module, values, cell, output, place)
        if not isinstance(found, Same):
            return Made(id, place, value, cell, found, tuple(through))
        through.append(cell)
        id, place = cell.inputs[found.source].id, tuple(map(int, found.index))
    return Made(id, place, value, through=tuple(through))


def arithmetic(
    module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, output: int, index: Index
) -> How | Same | None:
    """Returns how an op made one number of an output; None if unknown, as for a parameter."""
    said = expressions(cell)
    if len(said) < len(cell.outputs):
        return _piece(cell, output, index, said[0])
    return Reader(module, values, cell, index).read(said[output], index)


def _piece(cell: Cell, output: int, index: Index, said: ex.Expr) -> Same | None:
    """Returns the place in an array that was cut into pieces."""
    if not isinstance(said, ex.Method) or said.name != "split":
        return None
    sizes, dim = (known(part) for part in said.args)
    assert sizes is not None and dim is not None
    place = list(index)
    place[dim.value] += sum(sizes.value[:output])
    return Same(0, tuple(place))


class Reader:
    """Reads one number of an expression; one method for each kind that is not a plain formula."""

    def __init__(
        self, module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, index: Index
    ) -> None:
        self.cell, self.index = cell, index
        self.given = [values[value.id].detach() for value in cell.inputs]
        self.made = values[cell.outputs[0].id]
        layer = cell.layer
        self.called = layer.function if layer is not None else ""
        self.own: Any = module.get_submodule(cell.path) if layer is not None else None

    def read(self, expr: ex.Expr, index: Index) -> How | Same | None:
        """Returns how the number at ``index`` of an expression came about."""
        reader: Callable[[Any, Index], How | Same | None] | None
        reader = getattr(self, type(expr).__name__.lower(), None)
        found = reader(expr, index) if reader is not None else None
        return self._each(expr) if found is None else found

    def tensor(self, expr: ex.Expr) -> Tensor:
        """Returns all numbers of an expression."""
        ranks = tuple(len(array.shape) for array in self.cell.site.ins)
        x: Tensor = code(expr, ranks)(self.given, None, Like(self.made.device, self.made.dtype))
        return x

    def groups(self, expr: ex.Expr) -> tuple[ex.Group, ...]:
        """Returns the dimensions that each torch dimension of an expression stands for."""
        if isinstance(expr, ex.Rearrange):
            return expr.after
        assert isinstance(expr, ex.Arg), expr
        return tuple((dim,) for dim in self.cell.site.ins[expr.index].dims)

    # One method a kind of expression ------------------------------------------------------------

    def arg(self, expr: ex.Arg, index: Index) -> Same:
        return Same(expr.index, index)

    def rearrange(self, expr: ex.Rearrange, index: Index) -> How | Same | None:
        return self.read(expr.on, moved(index, expr.after, expr.before))

    def select(self, expr: ex.Select, index: Index) -> How | Same | None:
        at = len(index) + 1 + expr.dim
        size = self.tensor(expr.on).shape[expr.dim]
        return self.read(expr.on, (*index[:at], expr.index % size, *index[at:]))

    def lookup(self, expr: ex.Lookup, index: Index) -> How | Same | None:
        places = self.tensor(expr.index)
        shared, n = places.dim() - expr.own, places.dim()
        place = int(places[index[:n]])
        return self.read(expr.table, (*index[:shared], place, *index[n:]))

    def contract(self, expr: ex.Contract, index: Index) -> How | Same | None:
        fixed = {dim.key: at for dim, at in zip(expr.after, index, strict=True)}
        inner = dict.fromkeys(d for group in expr.before for d in group if d.key not in fixed)
        if len(expr.args) == 1 and not inner:  # it only puts the axes in another order
            (dims,) = expr.before
            return self.read(expr.args[0], tuple(fixed[dim.key] for dim in dims))
        spans = whole(tuple(inner))
        if counted(spans) > MOST:
            return None
        at = fixed | dict(zip((span.dim.key for span in spans), grid(spans), strict=True))
        factors = tuple(
            Numbers(_source(arg), taken(self.tensor(arg), [at[d.key] for d in group], spans))
            for arg, group in zip(expr.args, expr.before, strict=True)
        )
        return Products(spans, factors)

    def method(self, expr: ex.Method, index: Index) -> Share | None:
        if expr.name != "softmax":
            return None
        (dim,) = expr.args
        assert isinstance(dim, ex.Const) and isinstance(dim.value, int)
        x, at = self.tensor(expr.on), dim.value % len(index)
        spans = whole(self.groups(expr.on)[at])
        scores = exact(x[(*index[:at], slice(None), *index[at + 1 :])])
        return Share(spans, scores, int(index[at]))

    def call(self, expr: ex.Call, index: Index) -> How | Same | None:
        if expr.function == "torch.cat":
            return self._joined(expr, index)
        if expr.function in REDUCTIONS:
            return self._reduced(expr, index)
        if expr.function == "torch.cumsum":
            return self._so_far(expr, index)
        if expr.function == "torch.roll":
            return self._rolled(expr, index)
        if expr.function.startswith("F.max_pool"):
            return self._pooled(expr, index)
        return None

    def layer(self, expr: ex.Layer, index: Index) -> How | None:
        (on,) = expr.args
        kind = self.called.removeprefix("nn.").rstrip("123d")
        reader = LAYERS.get(kind)
        if reader is None:
            return None
        return reader(self.own, self.tensor(on), self.groups(on), tuple(map(int, index)))

    # What is called -----------------------------------------------------------------------------

    def _joined(self, expr: ex.Call, index: Index) -> How | Same | None:
        (arrays,), ((_, dim),) = expr.args, expr.kwargs
        assert (
            isinstance(arrays, ex.Tuple)
            and isinstance(dim, ex.Const)
            and isinstance(dim.value, int)
        )
        place, at = list(index), dim.value % len(index)
        for part in arrays.items:
            size = self.tensor(part).shape[at]
            if place[at] < size:
                return self.read(part, tuple(place))
            place[at] -= size
        return None

    def _reduced(self, expr: ex.Call, index: Index) -> Chosen | None:
        on, gone = reduced_dims(expr)
        x = self.tensor(on)
        at = sorted(dim % x.dim() for dim in gone)
        if math.prod(x.shape[dim] for dim in at) > MOST:
            return None
        place: list[Any] = list(index)
        for dim in at:
            place.insert(dim, slice(None))
        spans = whole(tuple(dim for i in at for dim in self.groups(on)[i]))
        return Chosen(spans, exact(x[tuple(place)]).flatten(), REDUCTIONS[expr.function])

    def _so_far(self, expr: ex.Call, index: Index) -> Chosen | None:
        (on,), ((_, dim),) = expr.args, expr.kwargs
        along = known(dim)
        assert along is not None
        x, at = self.tensor(on), int(along.value) % len(index)
        count = int(index[at]) + 1
        found = exact(x[(*index[:at], slice(count), *index[at + 1 :])])
        (way,) = self.groups(on)[at]
        return Chosen((Span(way, count),), found, "sum")

    def _rolled(self, expr: ex.Call, index: Index) -> How | Same | None:
        (on,), ((_, shifts), (_, dims)) = expr.args, expr.kwargs
        far, along = known(shifts), known(dims)
        assert far is not None and along is not None
        ways = [
            value if isinstance(value, tuple) else (value,) for value in (far.value, along.value)
        ]
        shape, place = self.tensor(on).shape, list(index)
        for shift, dim in zip(*ways, strict=True):
            place[dim] = (place[dim] - shift) % shape[dim]
        return self.read(on, tuple(place))

    def _pooled(self, expr: ex.Call, index: Index) -> Chosen:
        on, kernel, stride = expr.args
        size, step = (known(part) for part in (kernel, stride))
        pad = known(dict(expr.kwargs)["padding"]) if expr.kwargs else None
        assert size is not None and step is not None
        x, n = self.tensor(on), int(expr.function[-2])
        sizes, steps, pads = (_each_side(v.value if v else 0, n) for v in (size, step, pad))
        first = [int(i) * s - p for i, s, p in zip(index[-n:], steps, pads, strict=True)]
        dims = [dim for group in self.groups(on)[-n:] for dim in group]
        spans = tuple(Span(*each) for each in zip(dims, sizes, first, strict=True))
        lead = index[: len(index) - n]
        return Chosen(spans, windowed(x[lead], spans, -math.inf), "max", n)

    def _each(self, expr: ex.Expr) -> Each | None:
        """Returns a formula of the numbers at one place, if the expression is one."""
        site = self.cell.site
        alone = not any((*site.dom, *site.cod))  # an op without own axes is broadcast over all
        if not all(isinstance(p, POINTWISE) and (alone or _plain(p)) for p in expr.walk()):
            return None
        at = {dim.key: i for dim, i in zip(site.outs[0].dims, self.index, strict=True)}
        indices = tuple(tuple(at[dim.key] for dim in array.dims) for array in site.ins)
        if any(isinstance(i, Tensor) for i in self.index):
            return Each(expr, (), {}, indices, math.nan)
        numbers = tuple(float(x[i]) for x, i in zip(self.given, indices, strict=True))
        places = {key: int(i) for key, i in at.items()}
        return Each(expr, numbers, places, indices, float(self.made[self.index]))


def _each_side(value: Any, n: int) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,) * n


def _source(expr: ex.Expr) -> int | str:
    """Returns the index of the op's input that an expression reads, or "unit"."""
    return next((part.index for part in expr.walk() if isinstance(part, ex.Arg)), "unit")


def _plain(part: ex.Expr) -> bool:
    """Returns whether a call is known to work number by number."""
    name = part.function.rpartition(".")[2] if isinstance(part, ex.Call) else "abs"
    return (name in FUNCTIONS or name in SEVERAL) and not isinstance(part, ex.Method)
