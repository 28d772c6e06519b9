"""Walks torch's graph node by node, from the inputs to the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, fx

from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Id, Term, Then
from ncd.ops import Split
from ncd.read.torch_calls.dimension_atoms import AxisFactor, Dims, all_atoms, resolved_atoms, size
from ncd.read.torch_calls.import_recorder import (
    COMPLEX,
    Axes,
    CannotImport,
    DimensionBuilder,
    ImportedArray,
    ImportedConstant,
    ImportedValue,
    ImportFailed,
    ImportRecorder,
    ImportStep,
    Kind,
    are_places,
    kind_of,
)
from ncd.read.torch_calls.shape_calls import ComplexPair
from ncd.read.torch_module.axis_names import (
    axis_name,
    head_count,
    input_axes,
    layer_axes,
    name_results,
)
from ncd.read.torch_module.graph_calls import PAIRS, CallReader
from ncd.read.torch_module.idioms import Idiom
from ncd.read.torch_module.single_layers import single_layers
from ncd.read.torch_module.torch_export import ExportedModule, uses

# --- The inputs of an imported module, with usual names of axes and kinds of numbers

USUAL_AXES = {  # names of an input's dimensions, by their number
    "real": {1: "m", 2: "b m", 3: "b t m", 4: "b c h w", 5: "b c d h w"},
    "whole": {1: "t", 2: "b t"},
    "bool": {1: "t", 2: "b t"},
}


def input_value(name: str, val: Tensor, example: Any, axes: Sequence[str]) -> ImportedValue:
    """Returns an input with a new atom for each dimension.

    Args:
        name: Its name in ``forward``.
        val: A tensor of its shape and dtype.
        example: The input that was given.
        axes: The axes that the caller names; ``_`` is one without a name.

    Raises:
        ImportFailed: For an input without numbers, or with another number of dimensions.
    """
    kind, below = _kind(val, example)
    usual = USUAL_AXES[kind].get(val.dim(), "")
    if not val.numel():
        raise ImportFailed(f"the input {name} of shape {tuple(val.shape)} holds no numbers")
    if axes and len(axes) != val.dim():
        raise ImportFailed(
            f"the input {name} has {val.dim()} dimensions, but its axes are {' '.join(axes)}",
            cure=f'axes={{"{name}": "{usual or " ".join("abcdefgh"[: val.dim()])}"}}',
        )
    hints = usual.split() or [""] * val.dim()
    hints = [b if a == "_" else a for a, b in zip(axes or hints, hints, strict=True)]
    dims: Dims = tuple((AxisFactor(n, hint),) for n, hint in zip(val.shape, hints, strict=True))
    return ImportedValue(dims, ImportedArray(all_atoms(dims), kind, below))


def split_input(
    name: str, value: ImportedValue, called: Mapping[AxisFactor, str]
) -> tuple[ImportStep, dict[AxisFactor, str]]:
    """Returns a step from an input with torch's dimensions to its parts, and their names.

    Args:
        name: Its name in ``forward``.
        value: The input, some of whose dimensions have been split by views.
        called: The names that the caller gave, by atom.
    """
    split = {
        dim: (AxisFactor(size(dim), dim[0].hint),)
        for dim in value.dims
        if len(resolved_atoms(dim)) != 1
    }
    slot = value.slot.with_atoms(all_atoms(split.get(dim, dim) for dim in value.dims))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        pairs = ((axes(new), axes(dim)) for dim, new in split.items())
        terms = [Split(Signature(Type((one,)), Type((parts,)))) for one, parts in pairs]
        return Then(Id(Type(arrays)), *terms)

    names = {new[0]: called[dim[0]] for dim, new in split.items() if dim[0] in called}
    return ImportStep(make, (slot,), (value.slot,), name, ()), names


def _kind(val: Tensor, example: Any) -> tuple[Kind, AxisFactor | None]:
    """Returns the kind of numbers of an input, and a bound of whole ones.

    The whole numbers of a term are places along an axis, so that others are real ones.
    """
    kind = kind_of(val.dtype)
    below = ImportRecorder.default_bound(kind)
    known = isinstance(example, Tensor) and example.numel() and not example.is_meta
    if kind == "whole" and below is not None and known:
        if not are_places(example):
            return "real", None
        below.size = _round(int(example.max()))
    return kind, below


def _round(most: int) -> int:
    """Returns a round number that is above another one, for a bound of which nothing is known.

    >>> _round(0), _round(7), _round(16), _round(734)
    (2, 10, 20, 1000)
    """
    ten = 10 ** (len(str(most)) - 1)
    return next(n * ten for n in (2, 5, 10) if n * ten > most)


# --- Walks torch's graph of a module, node by node, and collects the steps of its term


@dataclass(eq=False)
class RecordedModule:
    """The steps of a module, with its inputs and outputs by their names."""

    builder: DimensionBuilder
    inputs: dict[str, ImportedArray] = field(default_factory=dict)
    outputs: list[ImportedValue] = field(default_factory=list)
    caller_names: dict[AxisFactor, str] = field(default_factory=dict)  # names that the caller gave


def record_module(
    made: ExportedModule,
    forced: Mapping[str, str],
    names: Mapping[str, str],
    idioms: Mapping[str, Idiom],
) -> RecordedModule:
    """Returns the steps of an exported module.

    Args:
        made: The module's graph; a norm that is not in the mode of the module becomes a box.
        forced: Nodes that become boxes, with the reason.
        names: The axes of inputs, such as ``{"x": "b t m"}``.
        idioms: The functions of torch that the graph writes out, by their last nodes.

    Raises:
        ImportFailed: For a node that cannot even be a box.
        Refused: For an idiom that is no op here.
    """
    return _NodeReader(made, forced, names, idioms).read_module()


class _NodeReader(CallReader):
    """One pass over the nodes."""

    def __init__(
        self,
        made: ExportedModule,
        forced: Mapping[str, str],
        names: Mapping[str, str],
        idioms: Mapping[str, Idiom],
    ) -> None:
        self.program, self.names = made.program, names
        self.prefix = made.prefix
        self.examples = iter(made.inputs)
        signature = made.program.graph_signature
        self.held: dict[str, str] = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        state = made.program.state_dict
        self.tensors = {**made.program.constants, **state}
        self.parameters = frozenset(signature.parameters)  # torch makes this list at each call
        self.firsts: dict[Any, str] = {}  # the first of the names of one tensor
        for name, x in state.items():
            self.firsts.setdefault((x.data_ptr(), x.shape), name)
        self.inputs: dict[str, ImportedValue] = {}
        builder = DimensionBuilder(
            frozenset(self._shared_parameters()), training=made.module.training
        )
        words = {axis_name(word): word for text in names.values() for word in text.split()}
        builder.layer_axes = {
            weight: tuple(words.get(axis, axis) for axis in axes)
            for weight, axes in layer_axes(made.module).items()
        }
        builder.heads = {path: head_count(part) for path, part in made.module.named_modules()}
        self.unpacked = input_axes(made.module)
        layers = single_layers(made.program, idioms, made.prefix)
        super().__init__(builder, forced, layers, made.prefix, idioms)
        self.found = RecordedModule(builder)

    def _shared_parameters(self) -> list[str]:
        """Returns the parameters that several nodes use, or that have several names."""
        state = self.program.state_dict
        users: dict[int, int] = {}
        for node in self.program.graph.nodes:
            name = self.held.get(node.name)
            if name in state:
                at = state[name].data_ptr()
                users[at] = users.get(at, 0) + uses(node)
        shared = [name for name, x in state.items() if users.get(x.data_ptr(), 0) > 1]
        return [name.removeprefix(self.prefix) for name in shared]

    def read_module(self) -> RecordedModule:
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self.env[node] = self._placeholder(node)
            elif node.op == "output":
                self._outputs(node)
            elif node.op == "get_attr":
                self.env[node] = getattr(self.program.graph_module, str(node.target))
            else:
                self.read(node)
        self._split_inputs()
        name_results(self.found.outputs, self.found.builder, self.inputs.values())
        return self.found

    def _split_inputs(self) -> None:
        """Gives inputs the dimensions of torch's, where views have split these since."""
        g, called = self.found.builder, self.found.caller_names
        for name, value in self.inputs.items():
            if any(len(resolved_atoms(dim)) != 1 for dim in value.dims):
                step, names = split_input(name, value, called)
                called |= names
                self.found.inputs[name] = step.takes[0]
                g.record_cooccurrence(step.takes[0].atoms)
                g.steps.insert(0, step)

    def _placeholder(self, node: fx.Node) -> Any:
        name = self.held.get(node.name)
        if name is not None:
            tensor = self.tensors[name]
            if name not in self.program.state_dict:
                return ImportedConstant(tensor.detach())
            first = self.firsts[tensor.data_ptr(), tensor.shape].removeprefix(self.prefix)
            if name in self.parameters:
                return ImportedConstant(tensor.detach(), first)
            return ImportedConstant(tensor.detach(), buffer=first)
        val, example = node.meta.get("val"), next(self.examples, None)
        if not isinstance(val, Tensor):
            return val
        return self._input(node.name, val, example)

    def _input(self, name: str, val: Tensor, example: Any) -> ImportedValue:
        given = self.names.get(name, "").split()
        unpacked = self.unpacked.get(name, "").split()
        hints = unpacked if len(unpacked) == val.dim() else []
        value = input_value(name, val, example, given or hints)
        if given:
            called = zip(value.dims, given, strict=True)
            self.found.caller_names |= {dim[0]: name for dim, name in called if name != "_"}
        self.found.builder.record_cooccurrence(value.slot.atoms)
        self.found.builder.inputs.append(value.slot)
        self.found.inputs[name] = value.slot
        self.inputs[name] = value
        return value

    def _outputs(self, node: fx.Node) -> None:
        g = self.found.builder
        g.node, g.path = "output", ()
        given: Any = node.args[0]
        for each, spec in zip(given, self.program.graph_signature.output_specs, strict=True):
            if isinstance(each, fx.Node) and not spec.target:  # else of an input that is changed
                found = self.env[each]
                if isinstance(found, ComplexPair):
                    raise self._call_error(each, f"the output {each.name} is of {COMPLEX}", PAIRS)
                if isinstance(found, ImportedValue | ImportedConstant):
                    self.found.outputs.append(self._output(each.name, found))

    def _output(self, name: str, found: ImportedValue | ImportedConstant) -> ImportedValue:
        g = self.found.builder
        try:
            return g.as_shaped(g.value(found))
        except CannotImport as error:
            raise ImportFailed(f"the output {name} is {error}") from None
