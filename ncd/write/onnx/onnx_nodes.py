"""Nodes and tensors of an ONNX graph, windows, and the settings of layers.

A size in a shape is a number, or one that was computed from sizes that the model leaves open
(:mod:`ncd.formulas.traced_sizes`); the model computes that when it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ncd.formulas.traced_sizes import Atom, Product, Sum, is_symbolic
from ncd.language.torch_code import Call
from ncd.run.evaluate import function, static_value

# --- The nodes of an ONNX graph, each tensor with its kind of numbers and its shape

Kind = Literal["real", "whole", "truth"]
Shape = tuple[int, ...]
TYPES: dict[Kind, int] = {
    "real": TensorProto.FLOAT,
    "whole": TensorProto.INT64,
    "truth": TensorProto.BOOL,
}
NUMPY: dict[Kind, type] = {"real": np.float32, "whole": np.int64, "truth": np.bool_}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph by its name."""

    name: str
    kind: Kind
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class ConstantValue:
    """A plain value that needs no tensor."""

    value: Any


def plain_value(x: Any) -> Any:
    """Returns the value of what is known, and a tensor as it is."""
    return x.value if isinstance(x, ConstantValue) else x


def same_shape(one: Shape, two: Shape) -> bool:
    """Returns whether two shapes are the same at all sizes."""
    return [*map(_total, one)] == [*map(_total, two)]


def _total(size: int) -> int | Sum:
    return size.total if is_symbolic(size) else size


def broadcast(*shapes: Shape) -> Shape:
    """Returns the shape of an elementwise operation on tensors of these shapes."""
    rank = max(map(len, shapes))
    wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(
        next((size for size in sizes if is_symbolic(size) or size != 1), 1)
        for sizes in zip(*wide, strict=True)
    )


@dataclass
class GraphConstants:
    """The constants of a graph and of the graphs inside it, and a count for names.

    ``sizes`` are the open sizes that are computed with.
    """

    constants: dict[tuple[Any, ...], TensorProto] = field(default_factory=dict)
    sizes: dict[str, None] = field(default_factory=dict)
    count: int = 0


@dataclass
class Nodes:
    """The nodes of one graph, in order."""

    graph_constants: GraphConstants = field(default_factory=GraphConstants)
    nodes: list[NodeProto] = field(default_factory=list)
    size_vectors: dict[Any, str] = field(default_factory=dict)  # vectors of sizes, computed once

    def add(
        self, op: str, inputs: Sequence[Tensor | str], kind: Kind, shape: Shape, **attributes: Any
    ) -> Tensor:
        """Adds a node with one output, and returns it."""
        (found,) = self.add_multi_output(op, inputs, [(kind, shape)], **attributes)
        return found

    def add_multi_output(
        self,
        op: str,
        inputs: Sequence[Tensor | str],
        outputs: Sequence[tuple[Kind, Shape]],
        **attributes: Any,
    ) -> list[Tensor]:
        """Adds a node with several outputs, and returns them."""
        made = [Tensor(self.name(), *output) for output in outputs]
        names = [x.name if isinstance(x, Tensor) else x for x in inputs]
        known = {name: _attribute(value) for name, value in attributes.items()}
        self.nodes.append(helper.make_node(op, names, [x.name for x in made], **known))
        return made

    def name(self) -> str:
        """Returns a new name."""
        self.graph_constants.count += 1
        return f"t{self.graph_constants.count}"

    def rename(self, tensor: Tensor, name: str) -> Tensor:
        """Returns the tensor under another name."""
        self.nodes.append(helper.make_node("Identity", [tensor.name], [name]))
        return Tensor(name, tensor.kind, tensor.shape)

    def constant(self, value: Any, kind: Kind) -> Tensor:
        """Returns a tensor of known numbers, or of one size; equal ones are one."""
        if is_symbolic(value):
            return self.cast(self.number(value), kind)
        array: Any = np.asarray(value, NUMPY[kind])
        key = kind, array.shape, array.tobytes()
        if key not in self.graph_constants.constants:
            name = f"c{len(self.graph_constants.constants)}"
            self.graph_constants.constants[key] = numpy_helper.from_array(array, name)
        return Tensor(self.graph_constants.constants[key].name, kind, array.shape)

    # shapes --------------------------------------------------------------------------------------

    def vector(self, sizes: Shape) -> str:
        """Returns the name of a vector of sizes."""
        if not any(map(is_symbolic, sizes)):
            return self.constant(sizes, "whole").name
        if sizes not in self.size_vectors:
            parts = [self._length(size) for size in sizes]
            whole = self.add("Concat", parts, "whole", (len(parts),), axis=0).name
            self.size_vectors[sizes] = whole if len(parts) > 1 else parts[0]
        return self.size_vectors[sizes]

    def _length(self, size: int) -> str:
        """Returns the name of a vector of one size."""
        return self._sum(size.total) if is_symbolic(size) else self.constant([size], "whole").name

    def _sum(self, total: Sum) -> str:
        if total not in self.size_vectors:
            self.size_vectors[total] = reduce(
                partial(self._combine, "Add"), map(self._product, total)
            )
        return self.size_vectors[total]

    def _product(self, counted: tuple[Product, int]) -> str:
        atoms, count = counted
        parts = [*map(self._atom, atoms)]
        if count != 1 or not parts:
            parts.append(self.constant([count], "whole").name)
        return reduce(partial(self._combine, "Mul"), parts)

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            self.graph_constants.sizes[atom] = None
            return size_of(atom)
        a, b = map(self._sum, atom[1:])
        rest = self._combine("Mod", a, b)
        return rest if atom[0] == "%" else self._combine("Div", self._combine("Sub", a, rest), b)

    def _combine(self, op: str, a: str, b: str) -> str:
        return self.add(op, [a, b], "whole", (1,)).name

    def number(self, size: Any) -> Tensor:
        """Returns a size as a number without axes."""
        empty = self.constant(np.zeros(0), "whole")
        return self.add("Reshape", [self.vector((size,)), empty], "whole", ())

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        """Returns the tensor in another shape; one unknown size is left to the runtime."""
        if same_shape(x.shape, shape):
            return x
        unknown = [i for i, size in enumerate(shape) if is_symbolic(size)]
        if len(unknown) == 1:
            target = self.constant(
                [-1 if i in unknown else size for i, size in enumerate(shape)], "whole"
            ).name
        else:
            target = self.vector(shape)
        return self.add("Reshape", [x, target], x.kind, shape)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """Returns the tensor with its dimensions in this order."""
        if list(order) == list(range(x.rank)):
            return x
        shape = tuple(x.shape[i] for i in order)
        return self.add("Transpose", [x], x.kind, shape, perm=list(order))

    def expand(self, x: Tensor, shape: Shape) -> Tensor:
        """Returns the tensor broadcast to a shape."""
        if same_shape(x.shape, shape):
            return x
        return self.add("Expand", [x, self.vector(shape)], x.kind, shape)

    def cast(self, x: Tensor, kind: Kind) -> Tensor:
        """Returns the tensor with numbers of this kind."""
        return x if x.kind == kind else self.add("Cast", [x], kind, x.shape, to=TYPES[kind])

    def places(self, size: Any) -> Tensor:
        """Returns the whole numbers from 0 up to a size."""
        known = not is_symbolic(size)
        if known:
            return self.constant(range(size), "whole")
        ends = self.constant(0, "whole"), self.number(size), self.constant(1, "whole")
        return self.add("Range", ends, "whole", (size,))

    # arithmetic ----------------------------------------------------------------------------------

    def real(self, op: str, *inputs: Tensor | float, **attributes: Any) -> Tensor:
        """Adds an elementwise operation on real numbers."""
        return self.elementwise(op, "real", *inputs, **attributes)

    def elementwise(
        self,
        op: str,
        kind: Kind,
        *inputs: Tensor | float,
        to: Kind | None = None,
        **attributes: Any,
    ) -> Tensor:
        """Adds an elementwise operation on tensors or numbers; ``to`` is the result's kind."""
        given = [
            self.cast(x, kind) if isinstance(x, Tensor) else self.constant(x, kind) for x in inputs
        ]
        shape = broadcast(*(x.shape for x in given))
        return self.add(op, given, to or kind, shape, **attributes)

    def add_reduction(self, op: str, x: Tensor, dims: Iterable[int], keep: bool = False) -> Tensor:
        """Adds a reduction over some dimensions."""
        axes = sorted({dim % x.rank for dim in dims})
        shape = tuple(
            1 if i in axes else size for i, size in enumerate(x.shape) if keep or i not in axes
        )
        given = [x, self.constant(axes, "whole")]
        return self.add(op, given, x.kind, shape, keepdims=int(keep))


def size_of(symbol: str) -> str:
    """Returns the name of the tensor that holds a symbol's size."""
    return f"size.{symbol}"


def _attribute(value: Any) -> Any:
    """Returns the value of an attribute, which cannot follow a size: a trace notes that."""
    if isinstance(value, tuple | list):
        return [*map(_attribute, value)]
    return int(value) if isinstance(value, int) else value


# --- The settings of a layer and the shapes of its weights, which may follow open sizes

Settings = SimpleNamespace  # the arguments of a class of torch, by their names


def settings(call: Call) -> Settings:
    """Returns the arguments of a call, with the defaults of torch; windows as tuples.

    >>> from ncd.language.torch_code import call
    >>> found = settings(call("nn.Conv2d", 3, 8, 5, padding=2))
    >>> found.kernel_size, found.stride, found.groups
    ((5, 5), (1, 1), 1)
    """
    kind = function(call.function)
    given = {name: _value(value) for name, value in call.kwargs}
    bound = inspect.signature(kind).bind(*map(_value, call.args), **given)
    bound.apply_defaults()
    found = Settings(**bound.arguments)
    if hasattr(found, "kernel_size"):
        for name in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
            value = getattr(found, name, 0)
            spread = value if isinstance(value, tuple) else (value,) * int(call.function[-2])
            setattr(found, name, spread)
    if hasattr(found, "normalized_shape") and isinstance(found.normalized_shape, int):
        found.normalized_shape = (found.normalized_shape,)
    return found


def shapes(call: Call) -> Mapping[str, Shape]:
    """Returns the shapes of a layer's weight and bias.

    >>> from ncd.language.torch_code import call
    >>> shapes(call("nn.Linear", 3, 4))
    {'weight': (4, 3), 'bias': (4,)}
    """
    kind = call.function.removeprefix("nn.").rstrip("123d")
    return _SHAPES[kind](settings(call)) if kind in _SHAPES else {}


def _value(expr: Any) -> Any:
    found = static_value(expr)
    assert found is not None, expr
    return found.value


def _convolution(found: Settings) -> Mapping[str, Shape]:
    weight = (found.out_channels, found.in_channels // found.groups, *found.kernel_size)
    return {"weight": weight, "bias": (found.out_channels,)}


def _transposed_shapes(found: Settings) -> Mapping[str, Shape]:
    weight = (found.in_channels, found.out_channels // found.groups, *found.kernel_size)
    return {"weight": weight, "bias": (found.out_channels,)}


_SHAPES: Mapping[str, Callable[[Settings], Mapping[str, Shape]]] = {
    "BatchNorm": lambda found: dict.fromkeys(("weight", "bias"), (found.num_features,)),
    "Conv": _convolution,
    "ConvTranspose": _transposed_shapes,
    "GroupNorm": lambda found: dict.fromkeys(("weight", "bias"), (found.num_channels,)),
    "LayerNorm": lambda found: dict.fromkeys(("weight", "bias"), found.normalized_shape),
    "Linear": lambda found: {
        "weight": (found.out_features, found.in_features),
        "bias": (found.out_features,),
    },
    "RMSNorm": lambda found: {"weight": found.normalized_shape},
}


# --- Padding, windows and convolutions as ONNX nodes


ONNX_MODES = {"reflect": "reflect", "replicate": "edge"}  # by those of torch


def pad(
    nodes: Nodes,
    x: Tensor,
    sides: ConstantValue,
    value: ConstantValue | None = None,
    mode: ConstantValue | None = None,
) -> Tensor:
    """Pads the last dimensions; torch names the sides of the last one first."""
    pairs = list(zip(sides.value[::2], sides.value[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.rank - len(pairs)) + pairs
    shape = tuple(a + size + b for size, (a, b) in zip(x.shape, pairs, strict=True))
    if mode is not None and mode.value == "circular":
        for axis, (before, after) in enumerate(pairs):
            x = _wrap(nodes, x, axis, before, after) if before or after else x
        return x
    ends = nodes.vector((*(a for a, _ in pairs), *(b for _, b in pairs)))
    if mode is not None:
        return nodes.add("Pad", [x, ends], x.kind, shape, mode=ONNX_MODES[mode.value])
    return nodes.add(
        "Pad", [x, ends, nodes.constant(value.value if value else 0, x.kind)], x.kind, shape
    )


def _wrap(nodes: Nodes, x: Tensor, axis: int, before: int, after: int) -> Tensor:
    """Puts the last places of an axis before it and its first behind it (opset 19 has a mode)."""

    def part(first: int, end: int, count: int) -> Tensor:
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        places = [nodes.vector((n,)) for n in (first, end, axis)]
        return nodes.add("Slice", [x, *places], x.kind, shape)

    last = [part(-before, 2**62, before)] if before else []
    parts = [*last, x, *([part(0, after, after)] if after else [])]
    shape = (*x.shape[:axis], before + x.shape[axis] + after, *x.shape[axis + 1 :])
    return nodes.add("Concat", parts, x.kind, shape, axis=axis)


def unfold(
    nodes: Nodes,
    x: Tensor,
    dim: ConstantValue,
    size: ConstantValue,
    step: ConstantValue,
    apart: int = 1,
) -> Tensor:
    """Gathers each window of a dimension as a new last dimension."""
    axis, width = dim.value % x.rank, size.value
    count = window_count(x.shape[axis], apart * (width - 1) + 1, step.value, 0)
    first = nodes.elementwise("Mul", "whole", nodes.places(count), step.value)
    first = nodes.reshape(first, (count, 1))
    offsets = nodes.elementwise("Mul", "whole", nodes.places(width), apart)
    index = nodes.elementwise("Add", "whole", first, offsets)
    shape = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    found = nodes.add("Gather", [x, index], x.kind, shape, axis=axis)
    order = [i for i in range(found.rank) if i != axis + 1]
    return nodes.transpose(found, [*order, axis + 1])


def sides(value: Any, count: int) -> tuple[int, ...]:
    """Returns a setting of a window for each of its dimensions."""
    value = plain_value(value)
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


def window_count(size: int, span: int, step: int, pad: int) -> int:
    """Returns the number of places of a window."""
    return (size + 2 * pad - span) // step + 1


def window_convolution(
    nodes: Nodes, layer: Settings, weight: Tensor, bias: Tensor | None, x: Tensor
) -> Tensor:
    """Returns a convolution as products of gathered windows, whose settings may follow sizes.

    The node ``Conv`` holds its settings as plain numbers.
    """
    n, groups = x.rank - 2, layer.groups
    around = tuple(side for each in reversed(layer.padding) for side in (each, each))
    x = pad(nodes, x, ConstantValue(around)) if around != (0,) * len(around) else x
    windows = zip(layer.kernel_size, layer.stride, layer.dilation, strict=True)
    for dim, (span, step, apart) in enumerate(windows, 2):
        x = unfold(nodes, x, ConstantValue(dim), ConstantValue(span), ConstantValue(step), apart)
    batch, channels, *rest = x.shape
    parts = nodes.reshape(x, (batch, groups, channels // groups, *rest))
    made, *inner = weight.shape
    own = nodes.reshape(weight, (groups, made // groups, *inner))
    places, offsets = "pqr"[:n], "ijk"[:n]
    text = f"bgc{places}{offsets},gdc{offsets}->bgd{places}"
    shape = (batch, groups, made // groups, *rest[:n])
    found = nodes.add("Einsum", [parts, own], "real", shape, equation=text)
    found = nodes.reshape(found, (batch, made, *rest[:n]))
    if bias is None:
        return found
    return nodes.real("Add", found, nodes.reshape(bias, (made, *(1,) * n)))


def max_pool(n: int) -> Callable[..., Tensor]:
    """Returns max pooling over the last ``n`` dimensions."""

    def pooled(
        nodes: Nodes, x: Tensor, kernel: ConstantValue, stride: ConstantValue, padding: Any = 0
    ) -> Tensor:
        if x.rank == n + 1:
            found = pooled(nodes, nodes.reshape(x, (1, *x.shape)), kernel, stride, padding)
            return nodes.reshape(found, found.shape[1:])
        spans, steps, pads = sides(kernel, n), sides(stride, n), sides(padding, n)
        ends = [
            window_count(size, span, step, pad)
            for size, span, step, pad in zip(x.shape[2:], spans, steps, pads, strict=True)
        ]
        attributes = {"kernel_shape": spans, "strides": steps, "pads": pads * 2}
        return nodes.add("MaxPool", [x], "real", (*x.shape[:2], *ends), **attributes)

    return pooled


def transposed_convolution(
    nodes: Nodes,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Tensor:
    """Returns a transposed convolution."""
    n = x.rank - 2
    steps, pads, more, apart = (sides(v, n) for v in (stride, padding, output_padding, dilation))
    spans = weight.shape[2:]
    ends = [
        (size - 1) * step - 2 * room + far * (span - 1)
        + extra + 1
        for size, step, room, far, span, extra in zip(
            x.shape[2:], steps, pads, apart, spans, more, strict=True
        )
    ]  # fmt: skip
    channels = weight.shape[1] * plain_value(groups)
    shape: Shape = (x.shape[0], channels, *ends)
    given = [x, weight] if bias is None else [x, weight, bias]
    kernel = {} if any(map(is_symbolic, spans)) else {"kernel_shape": spans}  # else the weight's
    return nodes.add(
        "ConvTranspose",
        given,
        "real",
        shape,
        **kernel,
        strides=steps,
        pads=pads * 2,
        output_padding=more,
        dilations=apart,
        group=plain_value(groups),
    )
