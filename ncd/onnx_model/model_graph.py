"""The graph of an ONNX model: the cells of a circuit in order, scans as ONNX's ``Scan``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper
from torch import Tensor as Numbers

from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.lang.errors import LimitError, NCDError
from ncd.lang.formulas.expr import Expr
from ncd.lang.formulas.traced_sizes import Fact, Trace, traced
from ncd.lang.terms.site import Initial
from ncd.onnx_model.free_axes import FreeAxes, dims_read, loop_dims, spread, symbol
from ncd.onnx_model.layer_settings import shapes
from ncd.onnx_model.node_writer import Writer, unwritten
from ncd.onnx_model.nodes import TYPES, Kind, Nodes, Shape, Tensor, size_of
from ncd.run.execution.program import units
from ncd.version import VERSION

OPSET = 18  # ONNX Runtime has it since 1.14
STRUCTURE = "the structure of the term"  # what fixes a number of layers
LARGEST = 2**31 - 2**20  # bytes of weights that fit into one file of ONNX


@dataclass
class ModelGraph:
    """Writes the graph of a circuit, and of the scans inside it.

    Args:
        circuit: The circuit; its sizes may be traced.
        trace: The sizes that stay open. It notes where the model depends on the value of one.
        numbers: The weights; None for a model that takes them after its arrays.
        axes: The axes of the inputs that stay open, for a circuit whose sizes are not traced.
    """

    circuit: Circuit
    trace: Trace
    numbers: Mapping[str, Numbers] | None
    axes: FreeAxes | None = None
    known: frozenset[Fact] = frozenset()  # what the circuit itself depends on
    nodes: Nodes = field(default_factory=Nodes)
    values: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    initial: dict[str, Initial] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()  # those that go in as numbers, as no shape tells them
    stored: list[TensorProto] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)  # sizes, with the op that fixes each

    def whole(self) -> ModelProto:
        """Returns the model, checked."""
        self._note_fixed(STRUCTURE)
        entered = [self._entered(value) for value in self.circuit.inputs]
        self._walk(self.circuit, self.nodes)
        outputs = [
            _info(self.nodes.renamed(self.values[value.id], f"out{i}"), value)
            for i, value in enumerate(self.circuit.outputs)
        ]
        if self.numbers is None:
            entered += self.weights.values()
        arrays = {value.id: value for value in self.circuit.inputs}
        given = [_info(tensor, arrays.get(tensor.name)) for tensor in entered]
        inputs = [*given, *self._read_sizes(entered)]
        graph = GraphProto(name="circuit")
        graph.node.extend(self.nodes.nodes)
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        graph.initializer.extend([*self.nodes.shared.constants.values(), *self.stored])
        model = helper.make_model(
            graph,
            producer_name="neural-circuit-explorer",
            producer_version=VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
            doc_string=self._said(),
        )
        checker.check_model(model)
        return model

    def _said(self) -> str:
        fixed = self.axes.fixed if self.axes else self.fixed
        names = self.axes.free if self.axes else [n for n in self.trace.sizes if n not in fixed]
        free = f"Free sizes: {', '.join(names)}." if names else ""
        stay = ", ".join(f"{name} by {why}" for name, why in fixed.items())
        return f"{free} {f'Fixed: {stay}.' if stay else ''}".strip()

    def _entered(self, value: Value) -> Tensor:
        shape: Shape = value.array.shape
        if self.axes:
            marks = zip(self.axes.symbols[value.id], shape, strict=True)
            shape = tuple(self.trace.size(mark, size) if mark else size for mark, size in marks)
        kind: Kind = "real" if value.array.below is None else "whole"
        self.values[value.id] = Tensor(value.id, kind, shape)
        return self.values[value.id]

    def _read_sizes(self, entered: Sequence[Tensor]) -> list[ValueInfoProto]:
        """Reads each size from the first shape that tells it; returns the others as inputs."""
        found: dict[str, tuple[str, int]] = {}
        for tensor in entered:
            for dim, size in enumerate(tensor.shape):
                if name := symbol_of(size):
                    found.setdefault(name, (tensor.name, dim))
        used = self.nodes.shared.sizes
        self.sizes = tuple(name for name in used if name not in found)
        for name in used:
            if name in found:
                given, dim = found[name]
                outputs = [size_of(name)]
                node = helper.make_node("Shape", [given], outputs, start=dim, end=dim + 1)
                self.nodes.nodes.insert(0, node)
        whole = TYPES["whole"]
        return [helper.make_tensor_value_info(size_of(name), whole, [1]) for name in self.sizes]

    def _walk(self, circuit: Circuit, nodes: Nodes) -> None:
        for unit in units(circuit):
            if isinstance(unit, Loop):
                self._scan(unit, nodes)
            else:
                try:
                    self._cell(unit, nodes)
                except NCDError as error:
                    raise error.at(where=unit.op.label, op=unit.op) from None
                self._note_fixed(unit.op.label)

    def _note_fixed(self, why: str) -> None:
        for name in fixed_sizes(self.trace):
            self.fixed.setdefault(name, why)

    def _cell(self, cell: Cell, nodes: Nodes) -> None:
        if cell.op.calls:
            raise unwritten(f"torch.ops.{cell.op.calls}")
        args = [self.values[value.id] for value in cell.inputs]
        sizes: dict[tuple[str, int], int] = {}
        for array, tensor in zip(cell.site.ins, args, strict=True):
            for dim, size in zip(array.dims, tensor.shape, strict=True):
                sizes[dim.key] = size
        for dim in dims_read(cell) if self.axes else ():
            if self.axes and symbol(dim) in self.axes.free:
                sizes[dim.key] = self.trace.size(symbol(dim), dim.size)
        writer = Writer(nodes, args, sizes, cell.layer, self._own(cell))
        code = cell.torch
        found = [writer.read(e) for e in code] if isinstance(code, tuple) else writer.read(code)
        if isinstance(code, Expr) and len(cell.outputs) == 1:
            found = [found]
        for value, tensor in zip(cell.outputs, found, strict=True):
            self.values[value.id] = nodes.renamed(tensor, value.id)

    def _own(self, cell: Cell) -> dict[str, Tensor]:
        """Returns the weights of a cell by their names in its layer."""
        if cell.layer is None:
            own = [self._weight(cell.path, it.array.shape, it) for it in cell.initial.values()]
            return dict(zip(("",), own, strict=False))
        known = shapes(cell.layer)
        return {
            name: self._weight(f"{cell.path}.{name}", known[name], own)
            for name, own in cell.initial.items()
            if name in known
        }

    def _weight(self, name: str, shape: Shape, initial: Initial) -> Tensor:
        if name not in self.weights:
            real = initial.array.below is None
            self.weights[name] = Tensor(name, "real" if real else "whole", shape)
            self.initial[name] = initial
            if self.numbers is not None:
                array = self.numbers[name].detach().cpu()
                array = array.float() if real else array.long()
                self.stored.append(numpy_helper.from_array(array.numpy(), name))
                self._check_bytes()
        return self.weights[name]

    def _check_bytes(self) -> None:
        taken = sum(len(tensor.raw_data) for tensor in self.stored)
        if taken > LARGEST:
            fact = f"the weights take more than {LARGEST:,} bytes, too many for one file of ONNX"
            raise LimitError(fact, where="onnx", cure='weights="inputs"')

    # scans ----------------------------------------------------------------------------------------

    def _scan(self, loop: Loop, nodes: Nodes) -> None:
        (body,), n = loop.bodies, loop.states
        inside = Nodes(nodes.shared)
        starts, along = self._enter(loop, nodes)
        self._walk(body, inside)
        left = [
            inside.renamed(self.values[value.id], f"{loop.id}.{i}")
            for i, value in enumerate(body.outputs)
        ]
        entered = [_info(self.values[value.id]) for value in body.inputs]
        graph = helper.make_graph(inside.nodes, loop.id, entered, [_info(x) for x in left])
        places = [loop_dims(value.array, loop.axis) for value in loop.outputs[n:]]
        shapes = [x.shape for x in left]
        for i, dims in enumerate(places, n):
            shapes[i] = spread(left[i].shape, (math.prod(along),), dims[:1])
        made = nodes.several(
            "Scan",
            [tensor for tensor, _ in starts],
            [(x.kind, shape) for x, shape in zip(left, shapes, strict=True)],
            body=graph,
            num_scan_inputs=len(starts) - n,
            scan_input_axes=[dim for _, dim in starts[n:]],
            scan_output_axes=[dims[0] for dims in places],
        )
        for i, dims in enumerate(places, n):
            made[i] = nodes.reshape(made[i], spread(left[i].shape, along, dims))
        for value, tensor in zip(loop.outputs, made, strict=True):
            self.values[value.id] = nodes.renamed(tensor, value.id)

    def _enter(self, loop: Loop, nodes: Nodes) -> tuple[list[tuple[Tensor, int]], Shape]:
        """Gives a scan's body its arrays.

        Returns the arrays of the scan, each with the dimension that it runs along, as one, and the
        sizes of the axis.
        """
        starts: list[tuple[Tensor, int]] = []
        along: Shape = ()
        for i, (outer, inner) in enumerate(zip(loop.inputs, loop.bodies[0].inputs, strict=True)):
            tensor = self.values[outer.id]
            shape = tensor.shape
            dims: tuple[int, ...] = (0,)
            if i >= loop.states:
                dims = loop_dims(outer.array, loop.axis)
                along = tuple(tensor.shape[dim] for dim in dims)
                tensor = nodes.reshape(tensor, _joined(tensor.shape, dims))
                shape = (*tensor.shape[: dims[0]], *tensor.shape[dims[0] + 1 :])
            starts.append((tensor, dims[0]))
            self.values[inner.id] = Tensor(inner.id, tensor.kind, shape)
        return starts, along


def _joined(shape: Shape, dims: Sequence[int]) -> Shape:
    """Returns a shape with several neighbouring dimensions as one."""
    first, last = dims[0], dims[-1] + 1
    return (*shape[:first], math.prod(shape[first:last]), *shape[last:])


def fixed_sizes(trace: Trace) -> tuple[str, ...]:
    """Returns the sizes that may have no other value.

    >>> trace = Trace()
    >>> h, k = trace.size("h", 4), trace.size("k", 16)
    >>> k % 4 == 0, int(h)
    (True, 4)
    >>> fixed_sizes(trace)
    ('h',)
    """
    sums = (total for total, sign, true in trace.holds if sign == "=" and true)
    plain = (total for total in sums if all(isinstance(a, str) for p, _ in total for a in p))
    return tuple(dict.fromkeys(name for total in plain for name in trace.read(total)))


def symbol_of(size: Any) -> str | None:
    """Returns the name of a size that is open itself, and is not computed from others.

    >>> h = Trace().size("h", 4)
    >>> symbol_of(h), symbol_of(2 * h), symbol_of(4)
    ('h', None, None)
    """
    if not traced(size) or len(size.total) != 1:
        return None
    ((atoms, count),) = size.total
    return atoms[0] if count == len(atoms) == 1 and isinstance(atoms[0], str) else None


def _info(tensor: Tensor, value: Value | None = None) -> ValueInfoProto:
    """Returns a tensor's type as ONNX states it, with a name for a size that is one symbol.

    The axes of ``value``, its array in the diagram, are written beside it.
    """
    shape = [symbol_of(size) if traced(size) else size for size in tensor.shape]
    axes = str(value.array) if value else ""
    return helper.make_tensor_value_info(tensor.name, TYPES[tensor.kind], shape, axes)
