"""The ONNX model of a term: its cells in order, scans as ONNX's ``Scan``, its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper
from torch import Tensor as Numbers

from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import LimitError, MismatchError, NCDError, shown
from ncd.lang.formulas.expr import Expr
from ncd.lang.terms.arguments import check_term
from ncd.lang.terms.terms import Term
from ncd.onnx_model.free_axes import FreeAxes, dims_read, free_axes, loop_dims, spread, symbol
from ncd.onnx_model.node_writer import Writer, unwritten
from ncd.onnx_model.nodes import TYPES, Kind, Nodes, Shape, Size, Tensor, product, size_of
from ncd.run.execution.module import CircuitModule
from ncd.run.execution.program import units
from ncd.run.limits.compiling import compile

OPSET = 18  # ONNX Runtime has it since 1.14
LARGEST = 2**31 - 2**20  # bytes of weights that fit into one file of ONNX


def onnx(
    term: Term, weights: Mapping[str, Numbers] | Literal["inputs"] | None = None, seed: int = 0
) -> ModelProto:
    """Returns a term as an ONNX model, for ONNX Runtime, Netron and other tools.

    Its inputs are the arrays of ``term.dom``; arrays have the ids that the SVG carries. A size that
    all ops leave open is symbolic, with the name of its axis. The others are fixed; the model's
    ``doc_string`` says by which op. A repetition is written out; a scan is a ``Scan``. Batch norm
    uses the statistics of its batch, and dropout drops nothing.

    Args:
        term: The system; all its axes need sizes.
        weights: The numbers of the weights by their names in the compiled module;
            ``"inputs"`` for a model that takes them after its arrays; drawn from the seed by
            default.
        seed: The seed of weights that are drawn.

    Raises:
        MismatchError: For an op that ONNX cannot express, or weights that do not fit.
        SizeError: If an axis has no size.
        LimitError: For weights that are too large for one file.

    Source: the ONNX standard, opset 18.

    >>> import ncd
    >>> model = ncd.onnx(ncd.catalogue["multi-head-attention"].build())
    >>> shapes = [i.type.tensor_type.shape.dim for i in model.graph.input]
    >>> [[dim.dim_param or dim.dim_value for dim in shape] for shape in shapes]
    [['y', 128], ['x', 128]]
    >>> model.doc_string
    'Free sizes: y, x. Fixed: m by Linear Q.'
    """
    check_term(term, "onnx")
    circuit = elaborate(term)
    numbers: Mapping[str, Numbers]
    if weights is None:
        module = compile(term, seed)
        numbers = module.state_dict()
    else:
        module = CircuitModule(circuit, None)
        numbers = module.state_dict()
        if weights != "inputs":
            numbers = _fitting(weights, numbers)
    return _Model(circuit, module, numbers, weights == "inputs").whole()


def _fitting(given: Any, wanted: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Returns the weights that a module has; raises MismatchError for missing or wrong ones."""
    if not isinstance(given, Mapping):
        cure = 'module.state_dict(), or "inputs"'
        raise MismatchError(f"{shown(given)} is no state dict", where="onnx", cure=cure)
    for name, tensor in wanted.items():
        shape = getattr(given.get(name), "shape", None)
        if shape != tensor.shape:
            fact = f"the weight {name} has shape {tuple(tensor.shape)}"
            found = "none is given" if shape is None else f"the one given has {tuple(shape)}"
            cure = "the state_dict of ncd.compile(term)"
            raise MismatchError(f"{fact}, but {found}", where="onnx", cure=cure)
    return given


class _Model:
    """Writes the graph of a circuit, and of the scans inside it."""

    def __init__(
        self,
        circuit: Circuit,
        module: CircuitModule,
        numbers: Mapping[str, Numbers],
        outside: bool,
    ) -> None:
        self.circuit, self.module = circuit, module
        self.numbers, self.outside = numbers, outside
        self.axes: FreeAxes = free_axes(circuit)
        self.nodes = Nodes()
        self.values: dict[str, Tensor] = {}
        self.weights: dict[str, Tensor] = {}
        self.stored: list[TensorProto] = []

    def whole(self) -> ModelProto:
        """Returns the model, checked."""
        inputs = [self._entered(value) for value in self.circuit.inputs]
        self._read_sizes()
        self._walk(self.circuit, self.nodes)
        outputs = [
            _info(self.nodes.renamed(self.values[value.id], f"out{i}"))
            for i, value in enumerate(self.circuit.outputs)
        ]
        if self.outside:
            inputs += [_info(tensor) for tensor in self.weights.values()]
        graph = GraphProto(name="circuit")
        graph.node.extend(self.nodes.nodes)
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        graph.initializer.extend([*self.nodes.shared.constants.values(), *self.stored])
        model = helper.make_model(
            graph,
            producer_name="neural-circuit-explorer",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
            doc_string=self._said(),
        )
        checker.check_model(model)
        return model

    def _said(self) -> str:
        free = f"Free sizes: {', '.join(self.axes.free)}." if self.axes.free else ""
        fixed = ", ".join(f"{name} by {why}" for name, why in self.axes.fixed.items())
        return f"{free} {f'Fixed: {fixed}.' if fixed else ''}".strip()

    def _entered(self, value: Value) -> ValueInfoProto:
        marks = self.axes.symbols[value.id]
        shape: Shape = tuple(
            (1, (mark,)) if mark else size
            for mark, size in zip(marks, value.array.shape, strict=True)
        )
        kind: Kind = "real" if value.array.below is None else "whole"
        self.values[value.id] = Tensor(value.id, kind, shape)
        return _info(self.values[value.id])

    def _read_sizes(self) -> None:
        """Reads each free size from the first input that has it."""
        for value in reversed(self.circuit.inputs):
            for dim, mark in enumerate(self.axes.symbols[value.id]):
                if mark:
                    name = size_of(mark)
                    self.nodes.nodes[:] = [n for n in self.nodes.nodes if name not in n.output]
                    node = helper.make_node("Shape", [value.id], [name], start=dim, end=dim + 1)
                    self.nodes.nodes.append(node)

    def _walk(self, circuit: Circuit, nodes: Nodes) -> None:
        for unit in units(circuit):
            if isinstance(unit, Loop):
                self._scan(unit, nodes)
            else:
                try:
                    self._cell(unit, nodes)
                except NCDError as error:
                    raise error.at(where=unit.op.label, op=unit.op) from None

    def _cell(self, cell: Cell, nodes: Nodes) -> None:
        if cell.op.calls:
            raise unwritten(f"torch.ops.{cell.op.calls}")
        args = [self.values[value.id] for value in cell.inputs]
        sizes: dict[tuple[str, int], Size] = {}
        for array, tensor in zip(cell.site.ins, args, strict=True):
            for dim, size in zip(array.dims, tensor.shape, strict=True):
                sizes[dim.key] = size
        for dim in dims_read(cell):
            if symbol(dim) in self.axes.free:
                sizes[dim.key] = (1, (symbol(dim),))
        layer = self.module.get_submodule(cell.path) if cell.layer is not None else None
        writer = Writer(nodes, args, sizes, layer, self._own(cell))
        code = cell.torch
        found = [writer.read(e) for e in code] if isinstance(code, tuple) else writer.read(code)
        if isinstance(code, Expr) and len(cell.outputs) == 1:
            found = [found]
        for value, tensor in zip(cell.outputs, found, strict=True):
            self.values[value.id] = nodes.renamed(tensor, value.id)

    def _own(self, cell: Cell) -> dict[str, Tensor]:
        """Returns the weights of a cell by their names in its layer."""
        if cell.layer is None:
            return {"": self._weight(cell.path)} if cell.initial else {}
        names = [n for n in cell.initial if n in ("weight", "bias")]
        return {name: self._weight(f"{cell.path}.{name}") for name in names}

    def _weight(self, name: str) -> Tensor:
        if name not in self.weights:
            numbers = self.numbers[name]
            real = numbers.is_floating_point()
            self.weights[name] = Tensor(name, "real" if real else "whole", tuple(numbers.shape))
            if not self.outside:
                array = numbers.detach().cpu()
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
            shapes[i] = spread(left[i].shape, (product(along),), dims[:1])
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
    return (*shape[:first], product(shape[first:last]), *shape[last:])


def _info(tensor: Tensor) -> ValueInfoProto:
    """Returns a tensor's type as ONNX states it, with a name for a size that is one symbol."""
    shape = [
        size if isinstance(size, int) else size[1][0] if size[0] == len(size[1]) == 1 else None
        for size in tensor.shape
    ]
    return helper.make_tensor_value_info(tensor.name, TYPES[tensor.kind], shape)
