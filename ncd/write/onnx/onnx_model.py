"""The ONNX model of a term, with weights inside or sizes open, and which sizes may stay open.

An axis is free if every op that meets it is the same op at another size: its code differs only in
the size of this axis, its layer does not differ at all, and no other axis changes with it. So the
axes of weights are fixed, and so are those along which a convolution or a concatenation makes an
axis of another length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper
from torch import Tensor as Numbers

from ncd.circuit.circuit import Cell, Circuit, ScanLoop, Value
from ncd.circuit.elaborate import elaborate
from ncd.circuit.sized_system import ParametricTerm, parametric_term, traced_circuit
from ncd.errors import LimitError, MismatchError, NCDError, short_repr
from ncd.formulas.traced_sizes import Fact, SizeTrace, is_symbolic
from ncd.language.arguments import check_seed, check_term
from ncd.language.axes import Array, Axis, Dim
from ncd.language.blocks import Block
from ncd.language.op import InitialValue, Op, Site
from ncd.language.terms import Term, rewrite_axes
from ncd.language.torch_code import TorchExpr
from ncd.run.guard import compile
from ncd.run.module import CircuitModule
from ncd.version import VERSION
from ncd.write.onnx.onnx_expressions import NodeWriter, untranslatable
from ncd.write.onnx.onnx_nodes import TYPES, Kind, Nodes, Shape, Tensor, shapes, size_of

# --- Free axes: the input axes whose sizes an ONNX model with weights inside may leave open

Symbols = tuple[str | None, ...]  # of each dimension of an array; None where its size is fixed


@dataclass(frozen=True)
class DynamicAxes:
    """The symbols of every array's dimensions, and why other axes of the inputs are fixed."""

    symbols: dict[str, Symbols]
    fixed_axes: dict[str, str]

    @property
    def free_symbols(self) -> tuple[str, ...]:
        """All symbols in use."""
        every = (symbol for symbols in self.symbols.values() for symbol in symbols if symbol)
        return tuple(dict.fromkeys(every))


def free_axes(circuit: Circuit) -> DynamicAxes:
    """Returns which sizes of a term's inputs a model may leave open."""
    fixed: dict[str, str] = {}
    while True:
        found = _DynamicAxisSearch(fixed, circuit)
        begun = len(fixed)
        found.enter(circuit.inputs)
        found.walk(circuit)
        if len(fixed) == begun:
            return DynamicAxes(found.symbols, fixed)


def dims_read(cell: Cell) -> list[Dim]:
    """Returns the dimensions whose size an op needs, though they are not of its inputs."""
    own = {dim.key for array in cell.site.inputs for dim in array.dims}
    return [dim for axis in cell.site.reads for dim in axis.dims if dim.key not in own]


def symbol(dim: Dim) -> str:
    """Returns the symbol of an input's dimension: the name of its axis.

    >>> symbol(Dim("x", 0, 3)), symbol(Dim("x", 2, 3))
    ('x', 'x_2')
    """
    return f"{dim.name}_{dim.side}" if dim.side else dim.name


class _DynamicAxisSearch:
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
        for unit in circuit.run_order:
            if isinstance(unit, ScanLoop):
                self.scan(unit)
            else:
                self.cell(unit)

    def cell(self, cell: Cell) -> None:
        found: dict[tuple[str, int], set[str | None]] = {}
        for value, array in zip(cell.inputs, cell.site.inputs, strict=True):
            for dim, mark in zip(array.dims, self.symbols[value.id], strict=True):
                found.setdefault(dim.key, set()).add(mark)
        for dim in dims_read(cell):
            if self.local:  # its name may be that of another axis: any of its size
                same = {symbol(other) for other in self.inputs if other.size == dim.size}
                self.fix(same, cell.op.display_name)
            elif symbol(dim) not in self.fixed and dim in self.inputs:
                found[dim.key] = {symbol(dim)}
        for each in found.values():
            if len(each) > 1:
                self.fix(each, cell.op.display_name)
        marks = {key: next(iter(each)) for key, each in found.items()}
        for name in dict.fromkeys(mark for mark in marks.values() if mark):
            keys = {key for key, mark in marks.items() if mark == name}
            if name not in self.fixed and not _same_at_other_sizes(cell, keys):
                self.fix([name], cell.op.display_name)
        for value, array in zip(cell.outputs, cell.site.outputs, strict=True):
            self.symbols[value.id] = tuple(marks.get(dim.key) for dim in array.dims)

    def scan(self, loop: ScanLoop) -> None:
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
        op: Op = rewrite_axes(cell.op, resized)
        site = op.apply_to(rewrite_axes(cell.site.inputs, resized))
        if rewrite_axes(cell.site.outputs, resized) != site.outputs:
            return False
        pairs = zip(_answers(cell.op, cell.site), _answers(op, site), strict=True)
        return all(_equal_except_sizes(a, b, keys) for a, b in pairs)
    except NCDError:
        return False


def _answers(op: Op, site: Site) -> Iterator[Any]:
    yield op.torch_code(site)
    yield op.layer_call(site)
    yield [initial.array for initial in op.initial_values(site).values()]


def _equal_except_sizes(a: Any, b: Any, keys: set[tuple[str, int]]) -> bool:
    """Returns whether two expressions differ in nothing but the sizes of these dimensions."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Dim):
        return bool(a.key == b.key) and (a.key in keys or a.size == b.size)
    if isinstance(a, Axis):
        return _equal_except_sizes(a.dims, b.dims, keys)
    if isinstance(a, Array):
        return bool(a == b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(
            _equal_except_sizes(x, y, keys) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, TorchExpr) and is_dataclass(a):
        return all(
            _equal_except_sizes(getattr(a, f.name), getattr(b, f.name), keys) for f in fields(a)
        )
    return bool(a == b)


# --- The graph of an ONNX model: the cells of a circuit in order, scans as ONNX's ``Scan``

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
    trace: SizeTrace
    numbers: Mapping[str, Numbers] | None
    axes: DynamicAxes | None = None
    circuit_facts: frozenset[Fact] = frozenset()  # what the circuit itself depends on
    nodes: Nodes = field(default_factory=Nodes)
    values: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    initial: dict[str, InitialValue] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()  # those that go in as numbers, as no shape tells them
    weight_tensors: list[TensorProto] = field(default_factory=list)
    fixing_ops: dict[str, str] = field(default_factory=dict)  # sizes, with the op that fixes each

    def build_model(self) -> ModelProto:
        """Returns the model, checked."""
        self._note_fixed(STRUCTURE)
        entered = [self._declare_input(value) for value in self.circuit.inputs]
        self._walk(self.circuit, self.nodes)
        outputs = [
            _info(self.nodes.rename(self.values[value.id], f"out{i}"), value)
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
        graph.initializer.extend(
            [*self.nodes.graph_constants.constants.values(), *self.weight_tensors]
        )
        model = helper.make_model(
            graph,
            producer_name="neural-circuit-explorer",
            producer_version=VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
            doc_string=self._doc_string(),
        )
        checker.check_model(model)
        return model

    def _doc_string(self) -> str:
        fixed = self.axes.fixed_axes if self.axes else self.fixing_ops
        names = (
            self.axes.free_symbols if self.axes else [n for n in self.trace.sizes if n not in fixed]
        )
        free = f"Free sizes: {', '.join(names)}." if names else ""
        stay = ", ".join(f"{name} by {why}" for name, why in fixed.items())
        return f"{free} {f'Fixed: {stay}.' if stay else ''}".strip()

    def _declare_input(self, value: Value) -> Tensor:
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
        used = self.nodes.graph_constants.sizes
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
        for unit in circuit.run_order:
            if isinstance(unit, ScanLoop):
                self._scan(unit, nodes)
            else:
                try:
                    self._cell(unit, nodes)
                except NCDError as error:
                    raise error.with_context(where=unit.op.display_name, op=unit.op) from None
                self._note_fixed(unit.op.display_name)

    def _note_fixed(self, why: str) -> None:
        for name in fixed_sizes(self.trace):
            self.fixing_ops.setdefault(name, why)

    def _cell(self, cell: Cell, nodes: Nodes) -> None:
        if cell.op.torch_function:
            raise untranslatable(f"torch.ops.{cell.op.torch_function}")
        args = [self.values[value.id] for value in cell.inputs]
        sizes: dict[tuple[str, int], int] = {}
        for array, tensor in zip(cell.site.inputs, args, strict=True):
            for dim, size in zip(array.dims, tensor.shape, strict=True):
                sizes[dim.key] = size
        for dim in dims_read(cell) if self.axes else ():
            if self.axes and symbol(dim) in self.axes.free_symbols:
                sizes[dim.key] = self.trace.size(symbol(dim), dim.size)
        writer = NodeWriter(nodes, args, sizes, cell.layer, self._cell_weights(cell))
        code = cell.torch_code
        found = [writer.read(e) for e in code] if isinstance(code, tuple) else writer.read(code)
        if isinstance(code, TorchExpr) and len(cell.outputs) == 1:
            found = [found]
        for value, tensor in zip(cell.outputs, found, strict=True):
            self.values[value.id] = nodes.rename(tensor, value.id)

    def _cell_weights(self, cell: Cell) -> dict[str, Tensor]:
        """Returns the weights of a cell by their names in its layer."""
        if cell.layer is None:
            own = [
                self._weight(cell.path, it.array.shape, it) for it in cell.initial_values.values()
            ]
            return dict(zip(("",), own, strict=False))
        known = shapes(cell.layer)
        return {
            name: self._weight(f"{cell.path}.{name}", known[name], own)
            for name, own in cell.initial_values.items()
            if name in known
        }

    def _weight(self, name: str, shape: Shape, initial: InitialValue) -> Tensor:
        if name not in self.weights:
            real = initial.array.below is None
            self.weights[name] = Tensor(name, "real" if real else "whole", shape)
            self.initial[name] = initial
            if self.numbers is not None:
                array = self.numbers[name].detach().cpu()
                array = array.float() if real else array.long()
                self.weight_tensors.append(numpy_helper.from_array(array.numpy(), name))
                self._check_bytes()
        return self.weights[name]

    def _check_bytes(self) -> None:
        taken = sum(len(tensor.raw_data) for tensor in self.weight_tensors)
        if taken > LARGEST:
            fact = f"the weights take more than {LARGEST:,} bytes, too many for one file of ONNX"
            raise LimitError(fact, where="onnx", cure='weights="inputs"')

    # scans ----------------------------------------------------------------------------------------

    def _scan(self, loop: ScanLoop, nodes: Nodes) -> None:
        (body,), n = loop.bodies, loop.states
        inside = Nodes(nodes.graph_constants)
        starts, along = self._enter(loop, nodes)
        self._walk(body, inside)
        left = [
            inside.rename(self.values[value.id], f"{loop.id}.{i}")
            for i, value in enumerate(body.outputs)
        ]
        entered = [_info(self.values[value.id]) for value in body.inputs]
        graph = helper.make_graph(inside.nodes, loop.id, entered, [_info(x) for x in left])
        places = [loop_dims(value.array, loop.axis) for value in loop.outputs[n:]]
        shapes = [x.shape for x in left]
        for i, dims in enumerate(places, n):
            shapes[i] = spread(left[i].shape, (math.prod(along),), dims[:1])
        made = nodes.add_multi_output(
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
            self.values[value.id] = nodes.rename(tensor, value.id)

    def _enter(self, loop: ScanLoop, nodes: Nodes) -> tuple[list[tuple[Tensor, int]], Shape]:
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
                tensor = nodes.reshape(tensor, _merged_shape(tensor.shape, dims))
                shape = (*tensor.shape[: dims[0]], *tensor.shape[dims[0] + 1 :])
            starts.append((tensor, dims[0]))
            self.values[inner.id] = Tensor(inner.id, tensor.kind, shape)
        return starts, along


def _merged_shape(shape: Shape, dims: Sequence[int]) -> Shape:
    """Returns a shape with several neighbouring dimensions as one."""
    first, last = dims[0], dims[-1] + 1
    return (*shape[:first], math.prod(shape[first:last]), *shape[last:])


def fixed_sizes(trace: SizeTrace) -> tuple[str, ...]:
    """Returns the sizes that may have no other value.

    >>> trace = SizeTrace()
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

    >>> h = SizeTrace().size("h", 4)
    >>> symbol_of(h), symbol_of(2 * h), symbol_of(4)
    ('h', None, None)
    """
    if not is_symbolic(size) or len(size.total) != 1:
        return None
    ((atoms, count),) = size.total
    return atoms[0] if count == len(atoms) == 1 and isinstance(atoms[0], str) else None


def _info(tensor: Tensor, value: Value | None = None) -> ValueInfoProto:
    """Returns a tensor's type as ONNX states it, with a name for a size that is one symbol.

    The axes of ``value``, its array in the diagram, are written beside it.
    """
    shape = [symbol_of(size) if is_symbolic(size) else size for size in tensor.shape]
    axes = str(value.array) if value else ""
    return helper.make_tensor_value_info(tensor.name, TYPES[tensor.kind], shape, axes)


# --- A model whose weights are inputs and whose sizes stay open, as far as its ops allow


def open_graph(system: ParametricTerm) -> ModelGraph:
    """Returns the graph of a system at traced sizes, to be written by its ``whole``.

    Its trace then has the conditions under which the model is that of other sizes: those of the
    term, and those of attributes of ONNX, which hold a number.

    >>> import ncd
    >>> from ncd.circuit.sized_system import parametric_term
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> graph = open_graph(parametric_term(term, ncd.elaborate(term)))
    >>> graph.build_model().doc_string, graph.sizes
    ('Free sizes: y, m, x, k, h.', ('k', 'h'))
    """
    found = traced_circuit(system.build, system.settings, system.traceable)
    if found is None:
        return ModelGraph(elaborate(system.build(system.settings)), SizeTrace(), None)
    trace, circuit = found
    trace.exact = True
    return ModelGraph(circuit, trace, None, circuit_facts=frozenset(trace.holds))


# --- The ONNX model of a term, with weights inside or as inputs


def onnx(
    term: Term, weights: Mapping[str, Numbers] | Literal["inputs"] | None = None, seed: int = 0
) -> ModelProto:
    """Returns a term as an ONNX model, for ONNX Runtime, Netron and other tools.

    Its inputs are the arrays of ``term.dom``, whose axes are in their ``doc_string``; arrays have
    the ids that the SVG carries. A size that
    all ops leave open is symbolic, with the name of its axis. The others are fixed; the model's
    ``doc_string`` says by which op. A repetition is written out; a scan is a ``Scan``. Batch norm
    uses the statistics of its batch, and dropout drops nothing.

    With weights as inputs, the sizes of weights stay open as well: those of all axes that do not
    change the ops. A size that no input has as a dimension of its own (``h`` and ``k`` of a weight
    of ``h * k`` rows) is an input ``size.h``, a vector of one whole number.

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
    >>> model = ncd.onnx(ncd.catalogue["multi-head-attention"].build(), "inputs")
    >>> model.doc_string, [i.name for i in model.graph.input if i.name.startswith("size.")]
    ('Free sizes: y, m, x, k, h.', ['size.k', 'size.h'])
    """
    check_term(term, "onnx")
    check_seed(seed, "onnx")
    circuit = elaborate(term)
    if weights == "inputs":
        return open_graph(parametric_term(term, circuit)).build_model()
    if weights is None:
        numbers: Mapping[str, Numbers] = compile(term, seed).state_dict()
    else:
        numbers = _fitting(weights, CircuitModule(circuit, None).state_dict())
    return ModelGraph(circuit, SizeTrace(), numbers, free_axes(circuit)).build_model()


def _fitting(given: Any, wanted: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Returns the weights that a module has; raises MismatchError for missing or wrong ones."""
    if not isinstance(given, Mapping):
        cure = 'module.state_dict(), or "inputs"'
        raise MismatchError(f"{short_repr(given)} is no state dict", where="onnx", cure=cure)
    for name, tensor in wanted.items():
        shape = getattr(given.get(name), "shape", None)
        if shape != tensor.shape:
            fact = f"the weight {name} has shape {tuple(tensor.shape)}"
            found = "none is given" if shape is None else f"the one given has {tuple(shape)}"
            cure = "the state_dict of ncd.compile(term)"
            raise MismatchError(f"{fact}, but {found}", where="onnx", cure=cure)
    return given
