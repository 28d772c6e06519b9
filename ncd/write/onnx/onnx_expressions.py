"""An op's expressions, torch's functions and its layers as ONNX nodes.

Batch norm uses the statistics of its batch, as a compiled module does; dropout drops nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from ncd.errors import MismatchError
from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import SIGNS
from ncd.formulas.traced_sizes import is_symbolic
from ncd.language import torch_code as ex
from ncd.run.evaluate import MODULES, equation
from ncd.write.onnx.onnx_nodes import (
    ConstantValue,
    Kind,
    Nodes,
    Settings,
    Shape,
    Tensor,
    broadcast,
    max_pool,
    pad,
    plain_value,
    settings,
    transposed_convolution,
    unfold,
    window_convolution,
    window_count,
)

# --- The functions and methods of torch that ops call, as ONNX nodes: a line of a table for each

NodeInput = Tensor | ConstantValue
Function = Callable[..., Any]


def _unary(op: str) -> Function:
    """Returns a function of real numbers that ONNX has."""
    return lambda nodes, x: nodes.real(op, plain_value(x))


def _unary_keeping_kind(op: str) -> Function:
    """Returns a function that also takes whole numbers."""
    return lambda nodes, x: nodes.elementwise(op, x.kind, x)


def _gelu(nodes: Nodes, x: Tensor) -> Tensor:
    inner = nodes.real("Erf", nodes.real("Mul", x, math.sqrt(0.5)))
    return nodes.real("Mul", nodes.real("Mul", x, 0.5), nodes.real("Add", inner, 1.0))


def _silu(nodes: Nodes, x: Tensor) -> Tensor:
    return nodes.real("Mul", x, nodes.real("Sigmoid", x))


def _expm1(nodes: Nodes, x: Tensor) -> Tensor:
    """Returns eˣ − 1 as tanh(x / 2) (eˣ + 1), which is exact for small numbers as well."""
    more = nodes.real("Add", nodes.real("Exp", x), 1.0)
    return nodes.real("Mul", nodes.real("Tanh", nodes.real("Mul", x, 0.5)), more)


def _log1p(nodes: Nodes, x: Tensor) -> Tensor:
    """Returns log(1 + x): of small numbers as 2 artanh(x / (x + 2)), which is exact."""
    small = nodes.real("Atanh", nodes.real("Div", x, nodes.real("Add", x, 2.0)))
    near = nodes.elementwise("Less", "real", nodes.real("Abs", x), 0.5, to="truth")
    return _where_node(
        nodes, near, nodes.real("Mul", small, 2.0), nodes.real("Log", nodes.real("Add", x, 1.0))
    )


def _rsqrt(nodes: Nodes, x: Tensor) -> Tensor:
    return nodes.real("Reciprocal", nodes.real("Sqrt", x))


def _common(*given: NodeInput) -> Any:
    """Returns the kind of numbers of several tensors and plain numbers."""
    kinds = [x.kind if isinstance(x, Tensor) else _known_kind(x.value) for x in given]
    return next((kind for kind in ("real", "whole") if kind in kinds), "truth")


def _known_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    return "whole" if isinstance(value, int) else "real"


def _extreme(op: str) -> Function:
    return lambda nodes, a, b: nodes.elementwise(op, _common(a, b), plain_value(a), plain_value(b))


def _clamp(
    nodes: Nodes, x: NodeInput, min: ConstantValue | None = None, max: ConstantValue | None = None
) -> Any:
    for op, limit in (("Max", min), ("Min", max)):
        if limit is not None:
            x = _extreme(op)(nodes, x, limit)
    return x


def _where_node(nodes: Nodes, test: Tensor, yes: NodeInput, no: NodeInput) -> Tensor:
    kind = _common(yes, no)
    parts = [
        nodes.cast(x, kind) if isinstance(x, Tensor) else nodes.constant(x.value, kind)
        for x in (yes, no)
    ]
    shape = broadcast(test.shape, *(x.shape for x in parts))
    return nodes.add("Where", [test, *parts], kind, shape)


def _div(nodes: Nodes, a: NodeInput, b: NodeInput, rounding_mode: ConstantValue) -> Tensor:
    assert rounding_mode.value == "floor"
    return nodes.real("Floor", nodes.real("Div", plain_value(a), plain_value(b)))


def _reduce(op: str) -> Function:
    def reduced(nodes: Nodes, x: Tensor, dim: ConstantValue) -> Tensor:
        dims = dim.value if isinstance(dim.value, tuple) else (dim.value,)
        return nodes.add_reduction(op, x, dims)

    return reduced


def _softmax(nodes: Nodes, x: Tensor, dim: ConstantValue) -> Tensor:
    return nodes.add("Softmax", [x], "real", x.shape, axis=dim.value % x.rank)


def _cumsum(nodes: Nodes, x: Tensor, dim: ConstantValue) -> Tensor:
    axis = nodes.constant(dim.value % x.rank, "whole")
    return nodes.add("CumSum", [x, axis], x.kind, x.shape)


def _cumprod(nodes: Nodes, x: Tensor, dim: ConstantValue) -> Tensor:
    """Multiplies each number with all before it, which stand in a triangle of a square of them."""
    axis = dim.value % x.rank
    size = x.shape[axis]
    order = [i for i in range(x.rank) if i != axis]
    last = nodes.transpose(x, [*order, axis])
    lead = last.shape[:-1]
    square = nodes.reshape(last, (*lead, 1, size))
    place = nodes.places(size)
    before = nodes.elementwise(
        "LessOrEqual", "whole", nodes.reshape(place, (1, size)), nodes.reshape(place, (size, 1)),
        to="truth",
    )  # fmt: skip
    kept = _where_node(nodes, before, square, ConstantValue(1.0 if x.kind == "real" else 1))
    found = nodes.add_reduction("ReduceProd", kept, [-1])
    back = sorted(range(x.rank), key=lambda i: [*order, axis][i])
    return nodes.transpose(found, back)


def _cat(nodes: Nodes, parts: Sequence[Tensor], dim: ConstantValue) -> Tensor:
    kind, axis = _common(*parts), dim.value % parts[0].rank
    total = sum(x.shape[axis] for x in parts)
    shape = (*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :])
    given = [nodes.cast(x, kind) for x in parts]
    return nodes.add("Concat", given, kind, shape, axis=axis)


def _split(nodes: Nodes, x: Tensor, sizes: ConstantValue, dim: ConstantValue) -> list[Tensor]:
    axis = dim.value % x.rank
    shapes = [(x.kind, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes.value]
    return nodes.add_multi_output("Split", [x, nodes.vector(sizes.value)], shapes, axis=axis)


def _topk(nodes: Nodes, x: Tensor, count: ConstantValue, dim: ConstantValue) -> list[Tensor]:
    axis = dim.value % x.rank
    shape = (*x.shape[:axis], count.value, *x.shape[axis + 1 :])
    outputs: list[tuple[Kind, Shape]] = [(x.kind, shape), ("whole", shape)]
    return nodes.add_multi_output("TopK", [x, nodes.vector((count.value,))], outputs, axis=axis)


def _roll(nodes: Nodes, x: Tensor, shifts: ConstantValue, dims: ConstantValue) -> Tensor:
    pairs = [(shifts.value, dims.value)]
    if isinstance(dims.value, tuple):
        pairs = list(zip(shifts.value, dims.value, strict=True))
    for shift, dim in pairs:
        axis = dim % x.rank
        size = x.shape[axis]
        back = nodes.elementwise("Sub", "whole", nodes.places(size), shift)
        index = nodes.elementwise("Mod", "whole", back, size)
        x = nodes.add("Gather", [x, index], x.kind, x.shape, axis=axis)
    return x


def _index_select(nodes: Nodes, x: Tensor, dim: ConstantValue, index: Tensor) -> Tensor:
    axis = dim.value % x.rank
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return nodes.add("Gather", [x, index], x.kind, shape, axis=axis)


def _linear_function(nodes: Nodes, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    shape = (*x.shape[:-1], weight.shape[0])
    turned = nodes.transpose(weight, [1, 0])
    found = nodes.add("MatMul", [x, turned], "real", shape)
    return found if bias is None else nodes.real("Add", found, bias)


_WITH_OPERATOR = [function for function in ELEMENTWISE.values() if function.onnx]
FUNCTIONS: Mapping[str, Function] = {
    "F.gelu": _gelu,
    "F.hardtanh": lambda nodes, x, low, high: _clamp(nodes, x, low, high),
    "F.linear": _linear_function,
    "F.pad": pad,
    "F.silu": _silu,
    **{f"F.conv_transpose{n}d": transposed_convolution for n in (1, 2, 3)},
    **{f"F.max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{
        row.torch: (_unary_keeping_kind if row.keeps_whole else _unary)(row.onnx)
        for row in _WITH_OPERATOR
    },
    **{
        row.torch.replace("torch", "math"): _unary(row.onnx)
        for row in _WITH_OPERATOR
        if row.is_in_math and not row.keeps_whole
    },
    "torch.amax": _reduce("ReduceMax"),
    "torch.amin": _reduce("ReduceMin"),
    "torch.cat": _cat,
    "torch.clamp": _clamp,
    "torch.cumprod": _cumprod,
    "torch.cumsum": _cumsum,
    "torch.div": _div,
    "torch.expm1": _expm1,
    "torch.log1p": _log1p,
    "torch.maximum": _extreme("Max"),
    "torch.mean": _reduce("ReduceMean"),
    "torch.minimum": _extreme("Min"),
    "torch.prod": _reduce("ReduceProd"),
    "torch.roll": _roll,
    "torch.rsqrt": _rsqrt,
    "torch.sum": _reduce("ReduceSum"),
    "torch.topk": _topk,
    "torch.where": _where_node,
}
METHODS: Mapping[str, Function] = {
    "index_select": _index_select,
    "softmax": _softmax,
    "split": _split,
    "unfold": unfold,
}


# --- The layers of torch that ops have, as ONNX nodes; settings are read from the call of a layer

Weights = Mapping[str, Tensor]
LayerWriter = Callable[[Nodes, Settings, Weights, Tensor], Tensor]


def _linear_layer(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    found: Tensor = FUNCTIONS["F.linear"](nodes, x, weights["weight"], weights.get("bias"))
    return found


def _in_batch(writer: LayerWriter) -> LayerWriter:
    """Returns the writer of a convolution that also takes an array without a batch."""

    def written(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
        if x.rank == len(layer.kernel_size) + 2:
            return writer(nodes, layer, weights, x)
        found = writer(nodes, layer, weights, nodes.reshape(x, (1, *x.shape)))
        return nodes.reshape(found, found.shape[1:])

    return written


def _convolution(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    spans, steps, pads, apart = layer.kernel_size, layer.stride, layer.padding, layer.dilation
    if any(map(is_symbolic, (layer.groups, *spans, *steps, *pads, *apart))):
        return window_convolution(nodes, layer, weights["weight"], weights.get("bias"), x)
    ends = [
        window_count(size, far * (span - 1) + 1, step, pad)
        for size, far, span, step, pad in zip(x.shape[2:], apart, spans, steps, pads, strict=True)
    ]
    attributes = {"kernel_shape": spans, "strides": steps, "pads": pads * 2, "dilations": apart}
    given = [x, *(weights[name] for name in ("weight", "bias") if name in weights)]
    shape = (x.shape[0], layer.out_channels, *ends)
    return nodes.add("Conv", given, "real", shape, group=layer.groups, **attributes)


def _transposed_convolution(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    return transposed_convolution(
        nodes,
        x,
        weights["weight"],
        weights.get("bias"),
        layer.stride,
        layer.padding,
        layer.output_padding,
        layer.groups,
        layer.dilation,
    )


def _layer_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    axis = x.rank - len(layer.normalized_shape)
    ones = nodes.expand(nodes.constant(1, "real"), x.shape[axis:])
    scale = weights.get("weight", ones)
    given = [x, scale, weights["bias"]] if "bias" in weights else [x, scale]
    return nodes.add(
        "LayerNormalization", given, "real", x.shape, axis=axis, epsilon=float(layer.eps)
    )


def _rms_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    dims = range(-len(layer.normalized_shape), 0)
    eps = torch.finfo(torch.float32).eps if layer.eps is None else layer.eps
    mean = nodes.add_reduction("ReduceMean", nodes.real("Mul", x, x), dims, keep=True)
    size = nodes.real("Sqrt", nodes.real("Add", mean, float(eps)))
    found = nodes.real("Div", x, size)
    return nodes.real("Mul", found, weights["weight"]) if "weight" in weights else found


def _standardise(nodes: Nodes, x: Tensor, dims: Iterable[int], eps: float) -> Tensor:
    """Subtracts the mean over some dimensions and divides by the standard deviation."""
    centred = nodes.real("Sub", x, nodes.add_reduction("ReduceMean", x, dims, keep=True))
    squares = nodes.real("Mul", centred, centred)
    variance = nodes.add_reduction("ReduceMean", squares, dims, keep=True)
    return nodes.real("Div", centred, nodes.real("Sqrt", nodes.real("Add", variance, float(eps))))


def _by_channel(nodes: Nodes, weights: Weights, x: Tensor) -> Tensor:
    """Multiplies each channel, the second dimension, by a weight and adds a bias."""
    for op, name in (("Mul", "weight"), ("Add", "bias")):
        if name in weights:
            shape = (weights[name].shape[0], *(1,) * (x.rank - 2))
            x = nodes.real(op, x, nodes.reshape(weights[name], shape))
    return x


def _batch_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    dims = [dim for dim in range(x.rank) if dim != 1]
    return _by_channel(nodes, weights, _standardise(nodes, x, dims, layer.eps))


def _group_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    members = layer.num_channels // layer.num_groups * math.prod(x.shape[2:])
    parts = nodes.reshape(x, (x.shape[0], layer.num_groups, members))
    found = nodes.reshape(_standardise(nodes, parts, [-1], layer.eps), x.shape)
    return _by_channel(nodes, weights, found)


LAYERS: Mapping[str, LayerWriter] = {
    **{f"BatchNorm{n}d": _batch_norm for n in (1, 2, 3)},
    **{f"Conv{n}d": _in_batch(_convolution) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _in_batch(_transposed_convolution) for n in (1, 2, 3)},
    "GroupNorm": _group_norm,
    "LayerNorm": _layer_norm,
    "Linear": _linear_layer,
    "RMSNorm": _rms_norm,
    "Dropout": lambda nodes, layer, weights, x: x,
}


# --- Writes an op's expressions as ONNX nodes; one method for each kind of expression

Result = Any  # a tensor, a plain number (Known), or a list of results
_CONSTANT_OPERATORS = {**SIGNS, "&": operator.and_, "|": operator.or_}
_INTEGER_SIGNS = ("+", "-", "*", "//", "%")  # what whole numbers are closed under
_COMPARISONS = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}
_ARITHMETIC = {"+": "Add", "-": "Sub", "*": "Mul"}


class NodeWriter:
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
        self.done: dict[tuple[ex.TorchExpr, str], Result] = {}

    def tensor(self, expr: ex.TorchExpr) -> Tensor:
        """Returns an expression as a tensor."""
        found = self.read(expr)
        if isinstance(found, ConstantValue):
            whole = isinstance(found.value, int)
            found = self.nodes.constant(found.value, "whole" if whole else "real")
        assert isinstance(found, Tensor), expr
        return found

    def read(self, expr: ex.TorchExpr) -> Result:
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

    def _const(self, expr: ex.Const) -> ConstantValue:
        return ConstantValue(expr.value)

    def _size(self, expr: ex.Size) -> ConstantValue:
        return ConstantValue(math.prod(self.size(dim) for axis in expr.axes for dim in axis.dims))

    def _call(self, expr: ex.Call) -> Result:
        args = [self.read(part) for part in expr.args]
        named = {name: self.read(part) for name, part in expr.kwargs}
        if expr.function.startswith("math.") and all(map(_plain_number, args)):
            function = getattr(MODULES["math"], expr.function.removeprefix("math."))
            return ConstantValue(function(*(x.value for x in args)))
        if expr.function not in FUNCTIONS:
            raise untranslatable(expr.function)
        return FUNCTIONS[expr.function](self.nodes, *args, **named)

    def _method(self, expr: ex.Method) -> Result:
        if expr.name not in METHODS:
            raise untranslatable(f"Tensor.{expr.name}")
        args = [self.read(part) for part in (expr.operand, *expr.args)]
        return METHODS[expr.name](self.nodes, *args)

    def _infix(self, expr: ex.Infix) -> Result:
        a, b = self.read(expr.left), self.read(expr.right)
        both = isinstance(a, ConstantValue) and isinstance(b, ConstantValue)
        if both and (expr.sign in _INTEGER_SIGNS or (_plain_number(a) and _plain_number(b))):
            return ConstantValue(_CONSTANT_OPERATORS[expr.sign](a.value, b.value))
        return infix(self.nodes, expr.sign, a, b)

    def _prefix(self, expr: ex.Prefix) -> Result:
        x = self.read(expr.operand)
        if isinstance(x, ConstantValue):
            return ConstantValue(-x.value if expr.sign == "-" else not x.value)
        op = "Neg" if expr.sign == "-" else "Not"
        return self.nodes.elementwise(op, x.kind, x)

    def _tuple(self, expr: ex.Tuple) -> Result:
        items = [self.read(item) for item in expr.items]
        if all(isinstance(item, ConstantValue) for item in items):
            return ConstantValue(tuple(item.value for item in items))
        return items

    def _item(self, expr: ex.Item) -> Result:
        return self.read(expr.operand)[expr.index]

    def _select(self, expr: ex.Select) -> Tensor:
        x = self.tensor(expr.operand)
        dim = expr.dim % x.rank
        shape = x.shape[:dim] + x.shape[dim + 1 :]
        index = self.nodes.constant(expr.index, "whole")
        return self.nodes.add("Gather", [x, index], x.kind, shape, axis=dim)

    def _layer(self, expr: ex.Layer) -> Tensor:
        assert self.own is not None
        name = self.own.function.removeprefix("nn.")
        if name not in LAYERS:
            raise untranslatable(f"nn.{name}")
        (x,) = (self.tensor(part) for part in expr.args)
        return LAYERS[name](self.nodes, settings(self.own), self.weights, x)

    def _weight(self, expr: ex.Weight) -> Tensor:
        return self.weights[""]

    def _lookup(self, expr: ex.Lookup) -> Tensor:
        index, table = self.tensor(expr.index), self.tensor(expr.table)
        lead = table.rank - expr.trailing_rank - 1
        shape = index.shape + table.shape[lead + 1 :]
        if lead == 0:
            return self.nodes.add("Gather", [table, index], table.kind, shape, axis=0)
        index = self.nodes.expand(index, table.shape[:lead] + index.shape[lead:])
        shape = index.shape + table.shape[lead + 1 :]
        places = self.nodes.reshape(index, (*index.shape, 1))
        return self.nodes.add("GatherND", [table, places], table.kind, shape, batch_dims=lead)

    def _scattered(self, expr: ex.Scattered) -> Tensor:
        index, values, nodes = self.tensor(expr.index), self.tensor(expr.values), self.nodes
        lead = values.shape[: values.rank - expr.index_rank - expr.trailing_rank]
        places = math.prod(index.shape[len(lead) :])
        ends = values.shape[values.rank - expr.trailing_rank :]
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
        x = self.tensor(expr.operand)
        old = [dim for group in expr.source_dims for dim in group]
        new = [dim for group in expr.target_dims for dim in group]
        x = self.nodes.reshape(x, self.shape(old))
        x = self.nodes.transpose(x, [old.index(dim) for dim in new])
        return self.nodes.reshape(
            x, tuple(math.prod(self.shape(group)) for group in expr.target_dims)
        )

    def _contract(self, expr: ex.Contract) -> Tensor:
        args = [self.tensor(part) for part in expr.args]
        kind: Kind = "real" if any(x.kind == "real" for x in args) else args[0].kind
        args = [self.nodes.cast(x, kind) for x in args]
        text = equation(expr).replace("...", "")
        return self.nodes.add("Einsum", args, kind, self.shape(expr.target_dims), equation=text)

    def _align(self, expr: ex.Align) -> Tensor:
        x = self.tensor(expr.operand)
        order = [dim for dim in expr.target_dims if dim in expr.source_dims]
        x = self.nodes.transpose(x, [expr.source_dims.index(dim) for dim in order])
        return self.nodes.reshape(
            x, tuple(self.size(dim) if dim in order else 1 for dim in expr.target_dims)
        )

    def _position(self, expr: ex.Position) -> Tensor:
        size, ones = (
            self.size(expr.dim),
            len(expr.target_dims) - 1 - expr.target_dims.index(expr.dim),
        )
        return self.nodes.reshape(self.nodes.places(size), (size, *(1,) * ones))

    def _filled(self, expr: ex.Filled) -> Tensor:
        return self.nodes.expand(self.nodes.constant(0, "real"), self.shape(expr.dims))

    def _cast(self, expr: ex.Cast) -> Tensor:
        return self.nodes.cast(self.tensor(expr.operand), expr.target_kind)


def _plain_number(x: Result) -> bool:
    """Returns whether a value is known and does not follow a size."""
    return isinstance(x, ConstantValue) and not is_symbolic(x.value)


def untranslatable(what: str) -> MismatchError:
    """Returns the error for a function of torch that has no translation."""
    cure = "ncd.source, which writes it in PyTorch"
    return MismatchError(f"{what} has no translation to ONNX", cure=cure)


def infix(nodes: Nodes, sign: str, a: Tensor | ConstantValue, b: Tensor | ConstantValue) -> Tensor:
    """Returns a binary operation, in numbers of the kind that torch would choose."""
    real = any(
        x.kind == "real" if isinstance(x, Tensor) else isinstance(x.value, float) for x in (a, b)
    )
    given = [x.value if isinstance(x, ConstantValue) else x for x in (a, b)]
    if sign in "&|":
        return nodes.elementwise("And" if sign == "&" else "Or", "truth", *given)
    kind: Kind = "real" if real or sign == "/" else "whole"
    if sign in _COMPARISONS:
        return nodes.elementwise(_COMPARISONS[sign], kind, *given, to="truth")
    if sign in ("==", "!="):
        same = nodes.elementwise("Equal", kind, *given, to="truth")
        return same if sign == "==" else nodes.elementwise("Not", "truth", same)
    if sign == "**":
        negative = isinstance(b, ConstantValue) and b.value < 0
        return nodes.elementwise("Pow", "real" if real or negative else "whole", *given)
    if sign == "/":
        return nodes.real("Div", *given)
    if sign in ("//", "%"):
        return _quotient_or_remainder(nodes, sign, kind, given)
    return nodes.elementwise(_ARITHMETIC[sign], kind, *given)


def _quotient_or_remainder(nodes: Nodes, sign: str, kind: Any, given: Sequence[Any]) -> Tensor:
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
