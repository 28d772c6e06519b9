"""Walks torch's graph of a module, node by node, and collects the steps of its term."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx

from ncd.importing.base.atoms import Atom, CannotSplit, leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import (
    CannotImport,
    Constant,
    ImportFailed,
    Path,
    Slot,
    Value,
)
from ncd.importing.base.memory_views import ignored, in_place, source, uses
from ncd.importing.boxes import boxed, operator_name
from ncd.importing.calls import CALLS
from ncd.importing.calls.complex_calls import Pair, product
from ncd.importing.calls.conversion_calls import as_whole
from ncd.importing.graph_inputs import input_value, split_input
from ncd.importing.module_paths import module_path
from ncd.importing.torch_export import Exported


@dataclass(eq=False)
class Walked:
    """The steps of a module, with its inputs and outputs by their names."""

    builder: Builder
    inputs: dict[str, Slot] = field(default_factory=dict)
    outputs: list[Value] = field(default_factory=list)
    called: dict[Atom, str] = field(default_factory=dict)  # names that the caller gave


def walk(made: Exported, forced: Mapping[str, str], names: Mapping[str, str]) -> Walked:
    """Returns the steps of an exported module.

    Args:
        made: The module's graph; a norm that is not in the mode of the module becomes a box.
        forced: Nodes that become boxes, with the reason.
        names: The axes of inputs, such as ``{"x": "b t m"}``.

    Raises:
        ImportFailed: For a node that cannot even be a box.
    """
    return _Reader(made, forced, names).done()


class _Reader:
    """One pass over the nodes."""

    def __init__(self, made: Exported, forced: Mapping[str, str], names: Mapping[str, str]) -> None:
        self.program, self.forced, self.names = made.program, forced, names
        self.layers, self.prefix = made.layers, made.prefix
        self.examples = iter(made.inputs)
        signature = made.program.graph_signature
        self.held: dict[str, str] = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        self.env: dict[fx.Node, Any] = {}
        self.inputs: dict[str, Value] = {}
        shared = frozenset(self._shared())
        self.found = Walked(Builder(shared, training=made.module.training))

    def _shared(self) -> list[str]:
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

    def done(self) -> Walked:
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self.env[node] = self._placeholder(node)
            elif node.op == "output":
                self._outputs(node)
            elif node.op == "get_attr":
                self.env[node] = getattr(self.program.graph_module, str(node.target))
            else:
                self._called(node)
        self._split_inputs()
        return self.found

    def _split_inputs(self) -> None:
        """Gives inputs the dimensions of torch's, where views have split these since."""
        g, called = self.found.builder, self.found.called
        for name, value in self.inputs.items():
            if any(len(leaves(dim)) != 1 for dim in value.dims):
                step, names = split_input(name, value, called)
                called |= names
                self.found.inputs[name] = step.takes[0]
                g.meet(step.takes[0].atoms)
                g.steps.insert(0, step)

    def _called(self, node: fx.Node) -> None:
        """Stores the result of a call; for a call in place, also as the value of the changed
        tensor.
        """
        found = self.env[node] = self._call(node)
        if in_place(node) and found is not None and len(node.args[0].users) > 1:  # type: ignore[union-attr]
            first = source(node)
            self.env |= {each: found for each in self.env if source(each) is first}

    def _placeholder(self, node: fx.Node) -> Any:
        name = self.held.get(node.name)
        if name is not None:
            known = {**self.program.constants, **self.program.state_dict}
            tensor = known[name]
            if name not in self.program.state_dict:
                return Constant(tensor.detach())
            first = self._first(name)
            if name in self.program.graph_signature.parameters:
                return Constant(tensor.detach(), first)
            return Constant(tensor.detach(), buffer=first)
        val, example = node.meta.get("val"), next(self.examples, None)
        if not isinstance(val, Tensor):
            return val
        return self._input(node.name, val, example)

    def _first(self, name: str) -> str:
        """Returns the first of the names of one tensor."""
        state = self.program.state_dict
        at, shape = state[name].data_ptr(), state[name].shape
        alike = (key for key, x in state.items() if x.data_ptr() == at and x.shape == shape)
        return next(alike).removeprefix(self.prefix)

    def _input(self, name: str, val: Tensor, example: Any) -> Value:
        given = self.names.get(name, "").split()
        value = input_value(name, val, example, given)
        if given:
            called = zip(value.dims, given, strict=True)
            self.found.called |= {dim[0]: name for dim, name in called if name != "_"}
        self.found.builder.meet(value.slot.atoms)
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
                if isinstance(found, Value | Constant):
                    self.found.outputs.append(self._output(each.name, found))

    def _output(self, name: str, found: Value | Constant) -> Value:
        g = self.found.builder
        try:
            return g.as_shaped(g.value(found))
        except CannotImport as error:
            raise ImportFailed(f"the output {name} is {error}") from None

    # calls ----------------------------------------------------------------------------------------

    def _call(self, node: fx.Node) -> Any:
        args, named = self._look(node.args), self._look(dict(node.kwargs))
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._inside(node, args)
        if ignored(node):
            return None
        if node.target is operator.getitem:
            return args[0][args[1]]
        if not isinstance(node.target, torch._ops.OpOverload) and None in args:
            return None  # about a size that is not known
        if not _depends([args, named]):
            return self._folded(node, args, named)
        val = node.meta.get("val")
        if isinstance(val, Tensor) and 0 in [n for n in val.shape if isinstance(n, int)]:
            return Constant(torch.empty(val.shape, dtype=val.dtype))
        return self._built(node, list(args), named)

    def _path(self, node: fx.Node) -> Path:
        return module_path(node, self.layers, self.prefix)

    def _where(self, node: fx.Node) -> str:
        path = self._path(node)
        return path[-1][0] if path else ""

    def _inside(self, node: fx.Node, args: Any) -> Any:
        """Returns the results of a part of the graph that runs in a mode, such as without
        gradients.
        """
        at = next((i for i, x in enumerate(args) if isinstance(x, fx.GraphModule)), None)
        if at is None or "wrap" not in str(node.target):
            raise ImportFailed(f"{node.target} cannot be imported", where=self._where(node))
        given = iter(args[at + 1 :])
        for inner in args[at].graph.nodes:
            if inner.op == "placeholder":
                self.env[inner] = next(given)
            elif inner.op == "output":
                return self._look(inner.args[0])
            elif inner.op == "get_attr":
                self.env[inner] = getattr(args[at], str(inner.target))
            else:
                self._called(inner)

    def _look(self, x: Any) -> Any:
        if isinstance(x, fx.Node):
            return self.env[x]
        if isinstance(x, tuple | list):
            return [self._look(each) for each in x]
        if isinstance(x, dict):
            return {name: self._look(each) for name, each in x.items()}
        return x

    def _folded(self, node: fx.Node, args: Any, named: Any) -> Any:
        """Computes a call that depends on no input and no parameter."""

        def real(x: Any) -> Any:
            if isinstance(x, list):
                return [real(each) for each in x]
            return x.tensor if isinstance(x, Constant) else x

        with torch.no_grad():
            found = node.target(*map(real, args), **{k: real(v) for k, v in named.items()})  # type: ignore[operator]
        if isinstance(found, tuple | list):
            return [Constant(x) if isinstance(x, Tensor) else x for x in found]
        return Constant(found) if isinstance(found, Tensor) else found

    def _built(self, node: fx.Node, args: list[Any], named: dict[str, Any]) -> Any:
        g = self.found.builder
        val = node.meta.get("val")
        g.node, g.path = node.name, self._path(node)
        if isinstance(val, Tensor):
            g.shape, g.dtype = tuple(val.shape), val.dtype
        else:
            g.dtype = torch.float32
        target = operator_name(str(node.target), val)
        name = target.split(".")[1] if target.startswith("aten.") else target
        handler = CALLS.get(name) or CALLS.get(name.removesuffix("_"))
        why = self.forced.get(node.name, "" if handler else f"{name} has no op of its own")
        mark = g.mark()
        if any(isinstance(x, Pair) for x in args) and name == "mul":
            handler = product
        if not why and handler:
            try:
                return as_whole(g, handler(g, *args, **named), val)
            except (CannotImport, CannotSplit) as error:
                why = str(error)
            except Exception as error:  # whatever a handler raises for what nobody has thought of
                why = f"it is called in a way that is not known ({fact(error)})"
            g.back_to(mark)
        g.boxes[node.name] = name.removesuffix("_"), why
        try:
            return boxed(g, target, args, named, val)
        except CannotImport as error:
            raise ImportFailed(
                f"{target} cannot be imported: {error}", where=self._where(node), cure="another way"
            ) from None


def fact(error: Exception) -> str:
    """Returns an error of Python as text, with its class where that says what is wrong."""
    text = " ".join(str(error).split())
    return text if len(text.split()) > 1 else f"{type(error).__name__} {text}".strip()


def _depends(x: Any) -> bool:
    """Returns whether any argument depends on an input or on a real parameter."""
    if isinstance(x, list | tuple | dict):
        return any(map(_depends, x.values() if isinstance(x, dict) else x))
    if isinstance(x, Constant):
        real = isinstance(x.tensor, Tensor) and x.tensor.is_floating_point()
        return bool(x.name) and real
    return isinstance(x, Value | Pair)
