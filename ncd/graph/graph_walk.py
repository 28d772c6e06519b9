"""The graph of a backward pass, with the circuit's op for each of its functions.

After a forward pass torch keeps a graph of functions (``grad_fn``). It is returned here as plain
data, with the gradients that flow through it and the bytes saved for them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import starmap
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge
from torch.linalg import vector_norm

from ncd.graph.autograd_dag import Dag, Edge, Node
from ncd.graph.chain_rule import cotangents, input_leaves
from ncd.graph.module_copy import isolated_copy
from ncd.lang.circuits.array_names import given
from ncd.lang.circuits.circuit import Cell
from ncd.lang.terms.arguments import check_names, check_seed
from ncd.run.execution.module import CircuitModule, check_module


def autograd(
    module: CircuitModule, *inputs: Tensor, seed: int = 0, frozen: Collection[str] = ()
) -> Dag:
    """Runs a module forward and backward, and returns the graph of the backward pass.

    The module, its ``.grad`` fields, its running statistics and the inputs are not changed. Whole
    numbers have no gradient.

    Args:
        module: A compiled module.
        inputs: A tensor for each array of its term.
        seed: The backward pass starts from 1 at an output that is one number, and from a random
            gradient, drawn from this seed, at the others.
        frozen: The names of parameters, and the ids of input arrays, that need no gradient.

    Raises:
        MismatchError: For inputs that do not fit the module.
        ParseError: For an argument of another kind.

    Source: PyTorch's autograd mechanics (``grad_fn``); "Autograd to transformers", part 1.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> dag = autograd(ncd.compile(term), *ncd.example_inputs(term))
    >>> [node.label for node in dag.at("op").nodes if node.role == "softmax"]
    ['Softmax']
    """
    check_module(module, "autograd")
    check_names(frozen, "frozen", "autograd", "several names and ids", "v0")
    check_seed(seed, "autograd")
    leaves = input_leaves(module.circuit, inputs, frozen)
    run = _Run(isolated_copy(module, frozen), leaves, frozen)
    with torch.enable_grad():
        outputs = run.module.execute(run.inputs, watch=run.watch)
    run.finish(outputs)
    return run.dag(outputs, run.backward(outputs, seed))


Flow = tuple[str, float | None]  # shapes of some gradients, and their common norm
NOTHING: Flow = "", None
Point = tuple[Any, int]  # a function and the number of one of its outputs


class _Function(NamedTuple):
    """A torch function, the functions it was computed from, and the memory that it saves."""

    function: Any
    id: str
    label: str
    cell: Cell | None
    earlier: list[Any]
    storages: tuple[tuple[int, int], ...]


class _Run:
    """The functions that a forward pass leaves behind, by cell."""

    def __init__(
        self, module: CircuitModule, inputs: tuple[Tensor, ...], frozen: Collection[str]
    ) -> None:
        self.module, self.circuit, self.inputs = module, module.circuit, inputs
        self.names = {id(p): name for name, p in module.named_parameters()}
        self.leaves: dict[int, Node] = {}
        self.variables: list[Tensor] = []
        self.functions: list[_Function] = []
        self.ids: dict[Any, str] = {}  # keeps functions alive, so that no address is reused
        self.points: dict[Point, None] = {}
        self.counts: Counter[str] = Counter()  # a cell of a scan runs at every position
        called = given(self.circuit)
        for value, x in zip(self.circuit.inputs, inputs, strict=False):
            if value.id in frozen:
                continue
            label = f"{called[value.id]}: {value.array}" if value.id in called else str(value.array)
            self.leaves[id(x)] = Node(value.id, label, "input", shape=_sizes(x.shape))
            if x.requires_grad:
                self.variables.append(x)

    def watch(self, cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
        """Assigns to a cell the functions behind its outputs that no earlier cell has."""
        for x in made:
            if id(x) in self.names and x.requires_grad:  # the op returns a parameter itself
                self._leaf(x, cell)
        self._take(cell, made)

    def finish(self, outputs: tuple[Tensor, ...]) -> None:
        """Assigns to the last cell the functions with which a scan stacks its positions."""
        makers: dict[str, Cell | None] = dict(self.circuit.makers)
        for loop in reversed(self.circuit.loops):  # inner loops first
            for outer, inner in zip(loop.outputs, loop.bodies[-1].outputs, strict=False):
                makers.setdefault(outer.id, makers.get(inner.id))
        for value, y in zip(self.circuit.outputs, outputs, strict=True):
            maker = makers.get(value.id)
            self._take(maker, (y,))
            if y.requires_grad and y.is_leaf:
                self._leaf(y, maker)

    def _take(self, cell: Cell | None, made: tuple[Tensor, ...]) -> None:
        found: dict[Any, list[Any]] = {}
        waiting: list[Point] = [(x.grad_fn, x.output_nr) for x in made if x.grad_fn]
        while waiting:
            point = waiting.pop()
            function = point[0]
            if _kind(function.__class__).leaf:
                if function not in self.ids:
                    self.ids[function] = self._leaf(function.variable, cell)
                continue
            self.points[point] = None
            if function not in self.ids and function not in found:
                earlier = [point for point in function.next_functions if point[0] is not None]
                found[function] = [function for function, _ in earlier]
                waiting += earlier
        home = _home(cell)[0] or "scan"
        for function, earlier in reversed(found.items()):  # in the order in which they ran
            id = self.ids[function] = f"{home}.{self.counts[home]}"
            self.counts[home] += 1
            label, storages = _label(function.name()), self._storages(function)
            self.functions.append(_Function(function, id, label, cell, earlier, storages))

    def _leaf(self, variable: Tensor, cell: Cell | None) -> str:
        """Returns the id of a leaf, which is added if it is new."""
        known = self.leaves.get(id(variable))
        if known is None:
            name = self.names.get(id(variable), "constant")
            place, shape = f"p{len(self.variables)}", _sizes(variable.shape)
            known = Node(place, name, "parameter", *_home(cell), shape)
            self.leaves[id(variable)] = known
            self.variables.append(variable)
        return known.id

    def _storages(self, function: Any) -> tuple[tuple[int, int], ...]:
        found = {}
        for name in _kind(function.__class__).saved:
            value = getattr(function, name, None)
            for x in value if isinstance(value, list | tuple) else (value,):
                if isinstance(x, Tensor):  # alive, so its address is unique
                    storage = x.untyped_storage()
                    found[storage.data_ptr()] = storage.nbytes()
        return tuple(found.items())

    def backward(self, outputs: tuple[Tensor, ...], seed: int) -> dict[str, Flow]:
        """Runs the backward pass; returns the gradients that arrived, by node id."""
        starts = cotangents([y.detach() for y in outputs], seed)
        ends = {f"out{i}": y for i, y in enumerate(outputs) if y.requires_grad}
        given = [start for y, start in zip(outputs, starts, strict=True) if y.requires_grad]
        came = list(zip(ends, given, strict=True))
        if ends and self.variables:
            places = [self.leaves[id(x)].id for x in self.variables]
            places += [self.ids[function] for function, _ in self.points]
            wanted: list[Any] = [*self.variables, *starmap(GradientEdge, self.points)]
            grads = torch.autograd.grad([*ends.values()], wanted, given, allow_unused=True)
            came += [pair for pair in zip(places, grads, strict=True) if pair[1] is not None]
        return _flows(came)

    def dag(self, outputs: tuple[Tensor, ...], came: dict[str, Flow]) -> Dag:
        """Returns the nodes and edges found."""
        nodes = [
            leaf._replace(gradient=came.get(leaf.id, NOTHING)[1]) for leaf in self.leaves.values()
        ]
        for _, id, label, cell, _, storages in self.functions:
            shape, gradient = came.get(id, NOTHING)
            home = _home(cell)
            nodes.append(Node(id, label, "function", *home, shape, gradient, storages))
        for i, (value, y) in enumerate(zip(self.circuit.outputs, outputs, strict=True)):
            id, label, shape = f"out{i}", str(value.array) if y.ndim else "output", _sizes(y.shape)
            gradient = came.get(id, NOTHING)[1]
            nodes.append(Node(id, label, "output", shape=shape, gradient=gradient))
        edges = dict.fromkeys(self._edges(outputs))
        return Dag(self.circuit, tuple(nodes), tuple(edges))

    def _edges(self, outputs: tuple[Tensor, ...]) -> Iterator[Edge]:
        ids = self.ids
        for _, target, _, _, earlier, _ in self.functions:
            for function in earlier:
                yield Edge(ids[function], target)
        for i, y in enumerate(outputs):
            if y.requires_grad:
                yield Edge(self.leaves[id(y)].id if y.is_leaf else ids[y.grad_fn], f"out{i}")


def _flows(came: list[tuple[str, Tensor]]) -> dict[str, Flow]:
    """Returns the gradients of each node; all norms are fetched from the device at once."""
    found: dict[str, Flow] = {}
    norms = torch.stack([vector_norm(x) for _, x in came]).tolist() if came else []
    for (id, x), norm in zip(came, norms, strict=True):
        shape = _sizes(x.shape)
        if id in found:
            shapes, before = found[id]
            found[id] = f"{shapes}, {shape}", math.hypot(before or 0, norm)
        else:
            found[id] = shape, norm
    return found


def _home(cell: Cell | None) -> tuple[str, tuple[str, ...], str]:
    """Returns a cell's id, the blocks around it and its role; an empty scan has no cell."""
    return (cell.id, cell.fences, cell.op.role) if cell else ("", (), "neutral")


class _Kind(NamedTuple):
    """A type of function: whether it is a leaf, and its attributes that hold tensors."""

    leaf: bool
    saved: tuple[str, ...]


@lru_cache(maxsize=1024)
def _kind(kind: type) -> _Kind:
    """Returns the properties of a type of function, cached, as reading every attribute is slow."""
    names = dir(kind)
    saved = (name.removeprefix("_raw") for name in names if name.startswith("_raw_saved_"))
    return _Kind("variable" in names, tuple(saved))


@lru_cache(maxsize=1024)
def _label(name: str) -> str:
    """Returns a function's name without its suffix: ``MmBackward0`` becomes ``Mm``."""
    return name.rpartition("::")[2].removesuffix("0").removesuffix("Backward")


@lru_cache(maxsize=1024)
def _sizes(shape: torch.Size) -> str:
    return "×".join(map(str, shape)) or "scalar"
