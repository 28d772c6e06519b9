"""The graph that a backward pass walks, each function of it with the op of the circuit it is of.

Torch leaves a graph of functions behind a forward pass (``grad_fn``). Here it is plain data, with
the gradients that flow through it and the bytes that it keeps for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ncd.circuit import Cell
from ncd.dag import Dag, Edge, Node
from ncd.run.module import CircuitModule
from ncd.run.seed import generator

__all__ = ["Dag", "Edge", "Node", "autograd"]


def autograd(module: CircuitModule, *inputs: Tensor, seed: int = 0) -> Dag:
    """Runs a module forward and backward, and gives the graph between.

    Backward starts from a random gradient on every output, drawn from ``seed``. The module, its
    ``.grad`` fields, its running statistics and the inputs stay as they are.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> dag = autograd(ncd.compile(term), *ncd.example_inputs(term))
    >>> [node.label for node in dag.at("op").nodes if node.role == "softmax"]
    ['Softmax']

    Raises MismatchError for inputs that do not fit the module.
    """
    if any(True for _ in module.buffers()):  # a batch norm writes its running statistics
        module = _twin(module)
    run = _Run(module, [_leaf(x) for x in inputs])
    with torch.enable_grad():
        outputs = module.execute(tuple(run.inputs), watch=run.watch)
    run.backward(outputs, seed)
    return run.dag(outputs)


def _leaf(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_(x.is_floating_point() or x.is_complex())


def _twin(module: CircuitModule) -> CircuitModule:
    twin = deepcopy(module)
    for mine, yours in zip(module.modules(), twin.modules(), strict=True):
        yours.training = mine.training
    for old, new in zip(module.parameters(), twin.parameters(), strict=True):
        new.requires_grad_(old.requires_grad)
    return twin


class _Run:
    """What a forward pass leaves behind, cell by cell."""

    def __init__(self, module: CircuitModule, inputs: list[Tensor]) -> None:
        self.circuit, self.inputs = module.circuit, inputs
        self.parameters = {id(p): name for name, p in module.named_parameters()}
        self.leaves: dict[int, Node] = {}
        self.functions: dict[Any, Node] = {}  # held, so that none is freed and its place reused
        self.kept: list[Tensor] = []
        self.variables: list[Tensor] = []
        for value, x in zip(self.circuit.inputs, inputs, strict=False):
            shape = _sizes(x.shape)
            self.leaves[id(x)] = Node(value.id, str(value.array), "input", shape=shape)
            self.variables += [x] if x.requires_grad else []

    def watch(self, cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
        found: list[Any] = []
        for x in made:
            self._walk(x.grad_fn, cell, found)

    def _walk(self, function: Any, cell: Cell, found: list[Any]) -> None:
        """Gives a cell the functions behind a tensor that no earlier cell has, the first first."""
        if function is None or function in self.functions or function in found:
            return
        variable = getattr(function, "variable", None)
        if variable is not None:
            self._leaf(variable, cell)
            return
        for earlier, _ in function.next_functions:
            self._walk(earlier, cell, found)
        found.append(function)
        count = len(found) - 1
        self.functions[function] = Node(
            f"{cell.id}.{count}",
            function.name().rpartition("::")[2].removesuffix("0").removesuffix("Backward"),
            "function",
            cell=cell.id,
            fences=cell.fences,
            role=cell.op.role,
            storages=self._storages(function),
        )

    def _leaf(self, variable: Tensor, cell: Cell) -> None:
        if id(variable) in self.leaves:
            return
        name = self.parameters.get(id(variable), "constant")
        place = f"p{len(self.variables)}"
        shape = _sizes(variable.shape)
        fences, role = cell.fences, cell.op.role
        self.leaves[id(variable)] = Node(place, name, "parameter", cell.id, fences, role, shape)
        self.variables.append(variable)

    def _storages(self, function: Any) -> tuple[tuple[int, int], ...]:
        found = {}
        for name in dir(function):
            if name.startswith("_saved_"):
                value = getattr(function, name)
                for x in value if isinstance(value, list | tuple) else (value,):
                    if isinstance(x, Tensor):
                        self.kept.append(x)  # so that its address stays its own
                        storage = x.untyped_storage()
                        found[storage.data_ptr()] = storage.nbytes()
        return tuple(found.items())

    def backward(self, outputs: tuple[Tensor, ...], seed: int) -> None:
        """Runs it, and writes the gradients' norms and the shapes into the nodes."""
        seen: dict[str, tuple[Tensor, ...]] = {}
        hooks = [f.register_prehook(_hook(seen, node.id)) for f, node in self.functions.items()]
        random = generator(seed, "cotangent")
        flows = [torch.randn(y.shape, generator=random).to(y) for y in outputs if y.requires_grad]
        ends = [y for y in outputs if y.requires_grad]
        if ends and self.variables:
            grads = torch.autograd.grad(ends, self.variables, flows, allow_unused=True)
            for variable, grad in zip(self.variables, grads, strict=True):
                leaf = self.leaves[id(variable)]
                self.leaves[id(variable)] = replace(leaf, gradient=_norm((grad,)))
        for hook in hooks:
            hook.remove()  # a function that holds its own hook would never be freed
        for function, node in self.functions.items():
            given = seen.get(node.id, ())
            shape = ", ".join(_sizes(x.shape) for x in given)
            self.functions[function] = replace(node, shape=shape, gradient=_norm(given))
        left = iter(flows)
        self.flows = [_norm((next(left) if y.requires_grad else None,)) for y in outputs]

    def dag(self, outputs: tuple[Tensor, ...]) -> Dag:
        ends, edges = list[Node](), list[Edge]()
        for function, node in self.functions.items():
            sources = (self._node(earlier) for earlier, _ in function.next_functions)
            edges += [Edge(source.id, node.id) for source in sources if source]
        for i, (value, y) in enumerate(zip(self.circuit.outputs, outputs, strict=True)):
            label, shape = str(value.array), _sizes(y.shape)
            ends.append(Node(f"out{i}", label, "output", shape=shape, gradient=self.flows[i]))
            leaf = self.leaves.get(id(y)) if y.requires_grad else None
            source = leaf or self._node(y.grad_fn)
            edges += [Edge(source.id, f"out{i}")] if source else []
        nodes = (*self.leaves.values(), *self.functions.values(), *ends)
        return Dag(self.circuit, nodes, tuple(dict.fromkeys(edges)))

    def _node(self, function: Any) -> Node | None:
        variable = getattr(function, "variable", None)
        return self.functions.get(function) if variable is None else self.leaves[id(variable)]


def _hook(seen: dict[str, tuple[Tensor, ...]], id: str) -> Any:
    def hook(gradients: tuple[Tensor | None, ...]) -> None:
        seen[id] = tuple(g for g in gradients if g is not None)

    return hook


def _norm(gradients: Iterable[Tensor | None]) -> float | None:
    norms = [float(torch.linalg.vector_norm(g.detach())) for g in gradients if g is not None]
    return math.hypot(*norms) if norms else None


def _sizes(shape: Iterable[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"
