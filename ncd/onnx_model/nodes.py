"""The nodes of an ONNX graph, each tensor with its kind of numbers and its shape.

A size in a shape is a number, or a product of symbols of the model's inputs: ``(2, ("y",))`` is
twice the size of y. A symbol's size is read from an input when the model runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

Kind = Literal["real", "whole", "truth"]
Size = int | tuple[int, tuple[str, ...]]
Shape = tuple[Size, ...]
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
class Known:
    """A plain value that needs no tensor."""

    value: Any


def plain(x: Any) -> Any:
    """Returns the value of what is known, and a tensor as it is."""
    return x.value if isinstance(x, Known) else x


def product(sizes: Iterable[Size]) -> Size:
    """Returns the product of sizes.

    >>> product([2, (3, ("y",))])
    (6, ('y',))
    """
    count = 1
    symbols: list[str] = []
    for size in sizes:
        number, names = (size, ()) if isinstance(size, int) else size
        count *= number
        symbols += names
    return (count, tuple(sorted(symbols))) if symbols else count


def broadcast(*shapes: Shape) -> Shape:
    """Returns the shape of an elementwise operation on tensors of these shapes."""
    rank = max(map(len, shapes))
    wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(
        next((size for size in sizes if size != 1), 1) for sizes in zip(*wide, strict=True)
    )


@dataclass
class Shared:
    """The constants of a graph and of the graphs inside it, and a count for names."""

    constants: dict[tuple[Any, ...], TensorProto] = field(default_factory=dict)
    count: int = 0


@dataclass
class Nodes:
    """The nodes of one graph, in order."""

    shared: Shared = field(default_factory=Shared)
    nodes: list[NodeProto] = field(default_factory=list)
    known: dict[Any, str] = field(default_factory=dict)  # vectors of sizes, computed once

    def add(
        self, op: str, inputs: Sequence[Tensor | str], kind: Kind, shape: Shape, **attributes: Any
    ) -> Tensor:
        """Adds a node with one output, and returns it."""
        (found,) = self.several(op, inputs, [(kind, shape)], **attributes)
        return found

    def several(
        self,
        op: str,
        inputs: Sequence[Tensor | str],
        outputs: Sequence[tuple[Kind, Shape]],
        **attributes: Any,
    ) -> list[Tensor]:
        """Adds a node with several outputs, and returns them."""
        made = [Tensor(self.name(), *output) for output in outputs]
        names = [x.name if isinstance(x, Tensor) else x for x in inputs]
        self.nodes.append(helper.make_node(op, names, [x.name for x in made], **attributes))
        return made

    def name(self) -> str:
        """Returns a new name."""
        self.shared.count += 1
        return f"t{self.shared.count}"

    def renamed(self, tensor: Tensor, name: str) -> Tensor:
        """Returns the tensor under another name."""
        self.nodes.append(helper.make_node("Identity", [tensor.name], [name]))
        return Tensor(name, tensor.kind, tensor.shape)

    def constant(self, value: Any, kind: Kind) -> Tensor:
        """Returns a tensor of known numbers; equal ones are one."""
        array: Any = np.asarray(value, NUMPY[kind])
        key = kind, array.shape, array.tobytes()
        if key not in self.shared.constants:
            name = f"c{len(self.shared.constants)}"
            self.shared.constants[key] = numpy_helper.from_array(array, name)
        return Tensor(self.shared.constants[key].name, kind, array.shape)

    # shapes --------------------------------------------------------------------------------------

    def vector(self, sizes: Shape) -> str:
        """Returns the name of a vector of sizes."""
        if all(isinstance(size, int) for size in sizes):
            return self.constant(sizes, "whole").name
        if sizes not in self.known:
            parts = [self._length(size) for size in sizes]
            whole = self.add("Concat", parts, "whole", (len(parts),), axis=0).name
            self.known[sizes] = whole if len(parts) > 1 else parts[0]
        return self.known[sizes]

    def _length(self, size: Size) -> str:
        """Returns the name of a vector of one size."""
        if isinstance(size, int):
            return self.constant([size], "whole").name
        count, symbols = size
        found = [size_of(symbol) for symbol in symbols]
        if count != 1:
            found.append(self.constant([count], "whole").name)
        total = found[0]
        for other in found[1:]:
            total = self.add("Mul", [total, other], "whole", (1,)).name
        return total

    def number(self, size: Size) -> Tensor:
        """Returns a size as a number without axes."""
        empty = self.constant(np.zeros(0), "whole")
        return self.add("Reshape", [self.vector((size,)), empty], "whole", ())

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        """Returns the tensor in another shape; one unknown size is left to the runtime."""
        if x.shape == shape:
            return x
        unknown = [i for i, size in enumerate(shape) if not isinstance(size, int)]
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
        return x if x.shape == shape else self.add("Expand", [x, self.vector(shape)], x.kind, shape)

    def cast(self, x: Tensor, kind: Kind) -> Tensor:
        """Returns the tensor with numbers of this kind."""
        return x if x.kind == kind else self.add("Cast", [x], kind, x.shape, to=TYPES[kind])

    def places(self, size: Size) -> Tensor:
        """Returns the whole numbers from 0 up to a size."""
        if isinstance(size, int):
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

    def reduced(self, op: str, x: Tensor, dims: Iterable[int], keep: bool = False) -> Tensor:
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


def whole_size(size: Size, why: str) -> int:
    """Returns a size that must be a number."""
    assert isinstance(size, int), why
    return size
