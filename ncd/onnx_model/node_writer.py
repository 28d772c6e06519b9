"""Writes an op's expressions as ONNX nodes; one method for each kind of expression."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ncd.lang.errors import MismatchError
from ncd.lang.formulas import expr as ex
from ncd.lang.formulas.operators import SIGNS
from ncd.lang.formulas.traced_sizes import traced
from ncd.onnx_model.functions import FUNCTIONS, METHODS
from ncd.onnx_model.layer_settings import settings
from ncd.onnx_model.layers import LAYERS
from ncd.onnx_model.nodes import Kind, Known, Nodes, Shape, Tensor
from ncd.run.execution.evaluate import MODULES
from ncd.run.execution.tensor_ops import equation

Result = Any  # a tensor, a plain number (Known), or a list of results
_PLAIN = {**SIGNS, "&": operator.and_, "|": operator.or_}
_WHOLE = ("+", "-", "*", "//", "%")  # what whole numbers are closed under
_COMPARED = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}
_ARITHMETIC = {"+": "Add", "-": "Sub", "*": "Mul"}


class Writer:
    """Writes the expressions of one op.

    Args:
        nodes: The graph.
        args: The op's inputs.
        sizes: The sizes of the dimensions that are free.
        own: The call of its layer, if it has one.
        weights: The tensors of its layer by their names; "" is its own parameter.
    """

    def __init__(
        self,
        nodes: Nodes,
        args: Sequence[Tensor],
        sizes: Mapping[tuple[str, int], int],
        own: ex.Call | None,
        weights: Mapping[str, Tensor],
    ) -> None:
        self.nodes, self.args, self.sizes = nodes, args, sizes
        self.own, self.weights = own, weights
        self.done: dict[tuple[ex.Expr, str], Result] = {}

    def tensor(self, expr: ex.Expr) -> Tensor:
        """Returns an expression as a tensor."""
        found = self.read(expr)
        if isinstance(found, Known):
            whole = isinstance(found.value, int)
            found = self.nodes.constant(found.value, "whole" if whole else "real")
        assert isinstance(found, Tensor), expr
        return found

    def read(self, expr: ex.Expr) -> Result:
        """Returns an expression as a tensor, a plain number or a list; each is written once."""
        key = expr, repr(expr)  # as 2 and 2.0 are equal
        if key not in self.done:
            writer: Callable[[Any], Result] = getattr(self, f"_{type(expr).__name__.lower()}")
            self.done[key] = writer(expr)
        return self.done[key]

    def size(self, dim: ex.Dim) -> int:
        return self.sizes.get(dim.key, dim.size)

    def shape(self, dims: Sequence[ex.Dim]) -> Shape:
        return tuple(map(self.size, dims))

    # one method a kind of expression ----------------------------------------------------

    def _arg(self, expr: ex.Arg) -> Tensor:
        return self.args[expr.index]

    def _const(self, expr: ex.Const) -> Known:
        return Known(expr.value)

    def _size(self, expr: ex.Size) -> Known:
        return Known(math.prod(self.size(dim) for axis in expr.axes for dim in axis.dims))

    def _call(self, expr: ex.Call) -> Result:
        args = [self.read(part) for part in expr.args]
        named = {name: self.read(part) for name, part in expr.kwargs}
        if expr.function.startswith("math.") and all(map(_plain_number, args)):
            function = getattr(MODULES["math"], expr.function.removeprefix("math."))
            return Known(function(*(x.value for x in args)))
        if expr.function not in FUNCTIONS:
            raise unwritten(expr.function)
        return FUNCTIONS[expr.function](self.nodes, *args, **named)

    def _method(self, expr: ex.Method) -> Result:
        if expr.name not in METHODS:
            raise unwritten(f"Tensor.{expr.name}")
        args = [self.read(part) for part in (expr.on, *expr.args)]
        return METHODS[expr.name](self.nodes, *args)

    def _infix(self, expr: ex.Infix) -> Result:
        a, b = self.read(expr.left), self.read(expr.right)
        both = isinstance(a, Known) and isinstance(b, Known)
        if both and (expr.sign in _WHOLE or (_plain_number(a) and _plain_number(b))):
            return Known(_PLAIN[expr.sign](a.value, b.value))
        return infix(self.nodes, expr.sign, a, b)

    def _prefix(self, expr: ex.Prefix) -> Result:
        x = self.read(expr.on)
        if isinstance(x, Known):
            return Known(-x.value if expr.sign == "-" else not x.value)
        op = "Neg" if expr.sign == "-" else "Not"
        return self.nodes.elementwise(op, x.kind, x)

    def _tuple(self, expr: ex.Tuple) -> Result:
        items = [self.read(item) for item in expr.items]
        if all(isinstance(item, Known) for item in items):
            return Known(tuple(item.value for item in items))
        return items

    def _item(self, expr: ex.Item) -> Result:
        return self.read(expr.on)[expr.index]

    def _select(self, expr: ex.Select) -> Tensor:
        x = self.tensor(expr.on)
        dim = expr.dim % x.rank
        shape = x.shape[:dim] + x.shape[dim + 1 :]
        index = self.nodes.constant(expr.index, "whole")
        return self.nodes.add("Gather", [x, index], x.kind, shape, axis=dim)

    def _layer(self, expr: ex.Layer) -> Tensor:
        assert self.own is not None
        name = self.own.function.removeprefix("nn.")
        if name not in LAYERS:
            raise unwritten(f"nn.{name}")
        (x,) = (self.tensor(part) for part in expr.args)
        return LAYERS[name](self.nodes, settings(self.own), self.weights, x)

    def _weight(self, expr: ex.Weight) -> Tensor:
        return self.weights[""]

    def _lookup(self, expr: ex.Lookup) -> Tensor:
        index, table = self.tensor(expr.index), self.tensor(expr.table)
        lead = table.rank - expr.rest - 1
        shape = index.shape + table.shape[lead + 1 :]
        if lead == 0:
            return self.nodes.add("Gather", [table, index], table.kind, shape, axis=0)
        index = self.nodes.expand(index, table.shape[:lead] + index.shape[lead:])
        shape = index.shape + table.shape[lead + 1 :]
        places = self.nodes.reshape(index, (*index.shape, 1))
        return self.nodes.add("GatherND", [table, places], table.kind, shape, batch_dims=lead)

    def _scattered(self, expr: ex.Scattered) -> Tensor:
        index, values, nodes = self.tensor(expr.index), self.tensor(expr.values), self.nodes
        lead = values.shape[: values.rank - expr.own - expr.rest]
        places = math.prod(index.shape[len(lead) :])
        ends = values.shape[values.rank - expr.rest :]
        wide = (*lead, places, math.prod(ends))
        index = nodes.expand(index, (*lead, *index.shape[len(lead) :]))
        index = nodes.expand(nodes.reshape(index, (*lead, places, 1)), wide)
        whole = (*lead, expr.size, math.prod(ends))
        zeros = nodes.expand(nodes.constant(0, values.kind), whole)
        given = [zeros, index, nodes.reshape(values, wide)]
        out = nodes.add(
            "ScatterElements", given, values.kind, whole, axis=len(lead), reduction="add"
        )
        return nodes.reshape(out, (*lead, expr.size, *ends))

    def _rearrange(self, expr: ex.Rearrange) -> Tensor:
        x = self.tensor(expr.on)
        old = [dim for group in expr.before for dim in group]
        new = [dim for group in expr.after for dim in group]
        x = self.nodes.reshape(x, self.shape(old))
        x = self.nodes.transpose(x, [old.index(dim) for dim in new])
        return self.nodes.reshape(x, tuple(math.prod(self.shape(group)) for group in expr.after))

    def _contract(self, expr: ex.Contract) -> Tensor:
        args = [self.tensor(part) for part in expr.args]
        kind: Kind = "real" if any(x.kind == "real" for x in args) else args[0].kind
        args = [self.nodes.cast(x, kind) for x in args]
        text = equation(expr).replace("...", "")
        return self.nodes.add("Einsum", args, kind, self.shape(expr.after), equation=text)

    def _align(self, expr: ex.Align) -> Tensor:
        x = self.tensor(expr.on)
        order = [dim for dim in expr.after if dim in expr.before]
        x = self.nodes.transpose(x, [expr.before.index(dim) for dim in order])
        return self.nodes.reshape(
            x, tuple(self.size(dim) if dim in order else 1 for dim in expr.after)
        )

    def _position(self, expr: ex.Position) -> Tensor:
        size, ones = self.size(expr.dim), len(expr.after) - 1 - expr.after.index(expr.dim)
        return self.nodes.reshape(self.nodes.places(size), (size, *(1,) * ones))

    def _filled(self, expr: ex.Filled) -> Tensor:
        return self.nodes.expand(self.nodes.constant(0, "real"), self.shape(expr.dims))

    def _cast(self, expr: ex.Cast) -> Tensor:
        return self.nodes.cast(self.tensor(expr.on), expr.to)


def _plain_number(x: Result) -> bool:
    """Returns whether a value is known and does not follow a size."""
    return isinstance(x, Known) and not traced(x.value)


def unwritten(what: str) -> MismatchError:
    """Returns the error for a function of torch that has no translation."""
    cure = "ncd.source, which writes it in PyTorch"
    return MismatchError(f"{what} has no translation to ONNX", cure=cure)


def infix(nodes: Nodes, sign: str, a: Tensor | Known, b: Tensor | Known) -> Tensor:
    """Returns a binary operation, in numbers of the kind that torch would choose."""
    real = any(
        x.kind == "real" if isinstance(x, Tensor) else isinstance(x.value, float) for x in (a, b)
    )
    given = [x.value if isinstance(x, Known) else x for x in (a, b)]
    if sign in "&|":
        return nodes.elementwise("And" if sign == "&" else "Or", "truth", *given)
    kind: Kind = "real" if real or sign == "/" else "whole"
    if sign in _COMPARED:
        return nodes.elementwise(_COMPARED[sign], kind, *given, to="truth")
    if sign in ("==", "!="):
        same = nodes.elementwise("Equal", kind, *given, to="truth")
        return same if sign == "==" else nodes.elementwise("Not", "truth", same)
    if sign == "**":
        negative = isinstance(b, Known) and b.value < 0
        return nodes.elementwise("Pow", "real" if real or negative else "whole", *given)
    if sign == "/":
        return nodes.real("Div", *given)
    if sign in ("//", "%"):
        return _divided(nodes, sign, kind, given)
    return nodes.elementwise(_ARITHMETIC[sign], kind, *given)


def _divided(nodes: Nodes, sign: str, kind: Any, given: Sequence[Any]) -> Tensor:
    """Returns a floor of a quotient, or what is left; both round down, as Python does."""
    a, b = given
    if kind == "whole":
        rest = nodes.elementwise("Mod", kind, a, b)  # with the sign of b
        whole = nodes.elementwise("Sub", kind, a, rest)
        return rest if sign == "%" else nodes.elementwise("Div", kind, whole, b)
    floor = nodes.real("Floor", nodes.real("Div", a, b))
    if sign == "//":
        return floor
    return nodes.real("Sub", a, nodes.real("Mul", floor, b))
