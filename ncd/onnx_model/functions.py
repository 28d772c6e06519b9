"""The functions and methods of torch that ops call, as ONNX nodes: a line of a table for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ncd.lang.formulas.elementwise_functions import ELEMENTWISE
from ncd.onnx_model.nodes import Kind, Known, Nodes, Shape, Tensor, broadcast, plain
from ncd.onnx_model.window_nodes import max_pool, pad, transposed, unfold

Given = Tensor | Known
Function = Callable[..., Any]


def _unary(op: str) -> Function:
    """Returns a function of real numbers that ONNX has."""
    return lambda nodes, x: nodes.real(op, plain(x))


def _kept(op: str) -> Function:
    """Returns a function that also takes whole numbers."""
    return lambda nodes, x: nodes.elementwise(op, x.kind, x)


def _gelu(nodes: Nodes, x: Tensor) -> Tensor:
    inner = nodes.real("Erf", nodes.real("Mul", x, math.sqrt(0.5)))
    return nodes.real("Mul", nodes.real("Mul", x, 0.5), nodes.real("Add", inner, 1.0))


def _silu(nodes: Nodes, x: Tensor) -> Tensor:
    return nodes.real("Mul", x, nodes.real("Sigmoid", x))


def _rsqrt(nodes: Nodes, x: Tensor) -> Tensor:
    return nodes.real("Reciprocal", nodes.real("Sqrt", x))


def _common(*given: Given) -> Any:
    """Returns the kind of numbers of several tensors and plain numbers."""
    kinds = [x.kind if isinstance(x, Tensor) else _known_kind(x.value) for x in given]
    return next((kind for kind in ("real", "whole") if kind in kinds), "truth")


def _known_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    return "whole" if isinstance(value, int) else "real"


def _extreme(op: str) -> Function:
    return lambda nodes, a, b: nodes.elementwise(op, _common(a, b), plain(a), plain(b))


def _clamp(nodes: Nodes, x: Given, min: Known | None = None, max: Known | None = None) -> Any:
    for op, limit in (("Max", min), ("Min", max)):
        if limit is not None:
            x = _extreme(op)(nodes, x, limit)
    return x


def _where(nodes: Nodes, test: Tensor, yes: Given, no: Given) -> Tensor:
    kind = _common(yes, no)
    parts = [
        nodes.cast(x, kind) if isinstance(x, Tensor) else nodes.constant(x.value, kind)
        for x in (yes, no)
    ]
    shape = broadcast(test.shape, *(x.shape for x in parts))
    return nodes.add("Where", [test, *parts], kind, shape)


def _div(nodes: Nodes, a: Given, b: Given, rounding_mode: Known) -> Tensor:
    assert rounding_mode.value == "floor"
    return nodes.real("Floor", nodes.real("Div", plain(a), plain(b)))


def _reduce(op: str) -> Function:
    def reduced(nodes: Nodes, x: Tensor, dim: Known) -> Tensor:
        dims = dim.value if isinstance(dim.value, tuple) else (dim.value,)
        return nodes.reduced(op, x, dims)

    return reduced


def _softmax(nodes: Nodes, x: Tensor, dim: Known) -> Tensor:
    return nodes.add("Softmax", [x], "real", x.shape, axis=dim.value % x.rank)


def _cumsum(nodes: Nodes, x: Tensor, dim: Known) -> Tensor:
    axis = nodes.constant(dim.value % x.rank, "whole")
    return nodes.add("CumSum", [x, axis], x.kind, x.shape)


def _cumprod(nodes: Nodes, x: Tensor, dim: Known) -> Tensor:
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
    kept = _where(nodes, before, square, Known(1.0 if x.kind == "real" else 1))
    found = nodes.reduced("ReduceProd", kept, [-1])
    back = sorted(range(x.rank), key=lambda i: [*order, axis][i])
    return nodes.transpose(found, back)


def _cat(nodes: Nodes, parts: Sequence[Tensor], dim: Known) -> Tensor:
    kind, axis = _common(*parts), dim.value % parts[0].rank
    total = sum(x.shape[axis] for x in parts)
    shape = (*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :])
    given = [nodes.cast(x, kind) for x in parts]
    return nodes.add("Concat", given, kind, shape, axis=axis)


def _split(nodes: Nodes, x: Tensor, sizes: Known, dim: Known) -> list[Tensor]:
    axis = dim.value % x.rank
    shapes = [(x.kind, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes.value]
    return nodes.several("Split", [x, nodes.vector(sizes.value)], shapes, axis=axis)


def _topk(nodes: Nodes, x: Tensor, count: Known, dim: Known) -> list[Tensor]:
    axis = dim.value % x.rank
    shape = (*x.shape[:axis], count.value, *x.shape[axis + 1 :])
    outputs: list[tuple[Kind, Shape]] = [(x.kind, shape), ("whole", shape)]
    return nodes.several("TopK", [x, nodes.vector((count.value,))], outputs, axis=axis)


def _roll(nodes: Nodes, x: Tensor, shifts: Known, dims: Known) -> Tensor:
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


def _index_select(nodes: Nodes, x: Tensor, dim: Known, index: Tensor) -> Tensor:
    axis = dim.value % x.rank
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return nodes.add("Gather", [x, index], x.kind, shape, axis=axis)


def _linear(nodes: Nodes, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    shape = (*x.shape[:-1], weight.shape[0])
    turned = nodes.transpose(weight, [1, 0])
    found = nodes.add("MatMul", [x, turned], "real", shape)
    return found if bias is None else nodes.real("Add", found, bias)


_WITH_OPERATOR = [function for function in ELEMENTWISE.values() if function.onnx]
FUNCTIONS: Mapping[str, Function] = {
    "F.gelu": _gelu,
    "F.hardtanh": lambda nodes, x, low, high: _clamp(nodes, x, low, high),
    "F.linear": _linear,
    "F.pad": pad,
    "F.silu": _silu,
    **{f"F.conv_transpose{n}d": transposed for n in (1, 2, 3)},
    **{f"F.max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{row.torch: (_kept if row.keeps_whole else _unary)(row.onnx) for row in _WITH_OPERATOR},
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
    "torch.maximum": _extreme("Max"),
    "torch.mean": _reduce("ReduceMean"),
    "torch.minimum": _extreme("Min"),
    "torch.prod": _reduce("ReduceProd"),
    "torch.roll": _roll,
    "torch.rsqrt": _rsqrt,
    "torch.sum": _reduce("ReduceSum"),
    "torch.topk": _topk,
    "torch.where": _where,
}
METHODS: Mapping[str, Function] = {
    "index_select": _index_select,
    "softmax": _softmax,
    "split": _split,
    "unfold": unfold,
}
