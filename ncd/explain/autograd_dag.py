"""The autograd graph as data, with the op and the rule of each function.

G is the gradient that arrives, ``a`` and ``b`` are the function's inputs, ``z`` is its output.

After a forward pass torch keeps a graph of functions (``grad_fn``). It is returned here as plain
data, with the gradients that flow through it and the bytes saved for them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import Any, Literal, NamedTuple

import torch
from graphviz import Digraph, escape, nohtml
from torch import Tensor
from torch.autograd.graph import GradientEdge
from torch.linalg import vector_norm

from ncd.circuit.circuit import Cell, Circuit, Fence, input_names
from ncd.drawing.elements.style import role_colour, theme
from ncd.errors import UnknownNameError, short_repr
from ncd.explain.chain_rule import cotangents, input_leaves, isolated_copy
from ncd.formulas.prefixed_amounts import amount
from ncd.language.arguments import check_names, check_seed
from ncd.language.cached_property import lazy_property
from ncd.run.module import CircuitModule, check_module
from ncd.words import plain_text

# --- The autograd graph as plain data, at three levels, and as Graphviz source

Kind = Literal["input", "parameter", "op", "function", "output"]
LEVELS = ("block", "op", "every function")
SHAPES = {"input": "box", "output": "box", "parameter": "ellipse", "op": "box", "function": "box"}


class Node(NamedTuple):
    """A torch function or a leaf; at a coarser level an op or a block.

    ``cell`` is the id of its op in the circuit (``n3``), or the ids of a block's ops, separated by
    spaces; ``fences`` are the blocks around it. ``gradient`` is the L2 norm of the gradient at its
    output, or None. ``storages`` are the memory blocks saved for the backward pass, with bytes.
    """

    id: str
    label: str
    kind: Kind
    cell: str = ""
    fences: tuple[str, ...] = ()
    role: str = "neutral"
    shape: str = ""
    gradient: float | None = None
    storages: tuple[tuple[int, int], ...] = ()

    @property
    def saved_bytes(self) -> int:
        """Bytes saved for the backward pass; memory saved twice counts once."""
        return sum(dict(self.storages).values())

    @property
    def facts(self) -> tuple[str, ...]:
        """Its shape, gradient norm and saved bytes, in words."""
        gradient = "" if self.gradient is None else f"‖∇‖ {self.gradient:.3g}"
        kept = f"keeps {amount(self.saved_bytes, 'B')}" if self.saved_bytes else ""
        return tuple(filter(None, (self.shape, gradient, kept)))


class Edge(NamedTuple):
    """An edge from ``source`` to ``target``, which was computed from it; gradients flow back."""

    source: str
    target: str


@dataclass(frozen=True)
class Dag:
    """The autograd graph with a node for every function; :meth:`at` returns a coarser one.

    Args:
        circuit: The circuit of the module that ran.
        nodes: A node for every function and leaf.
        edges: From each node to those computed from it.

    Source: PyTorch's autograd mechanics (``grad_fn``); "Autograd to transformers", part 1.

    >>> import ncd
    >>> term = ncd.Axes(m=4, k=3)(ncd.Linear("m -> k", "Q"))
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> graph = ncd.autograd(module, *inputs)
    >>> [node.kind for node in graph.at_level("op").nodes]
    ['input', 'parameter', 'op', 'output']
    """

    circuit: Circuit
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def __repr__(self) -> str:
        return f"<Dag of {len(self.nodes)} nodes and {len(self.edges)} edges>"

    def at_level(self, level: str) -> Dag:
        """Returns the graph with one node for each op, or one for each block.

        A block is one node if it has a title and contains no other titled block; an op outside such
        blocks is a node of its own. At ``block`` the weights belong to their ops. An op that only
        passes its array on (a copy, a name, a swap) has no function and no node; an op that runs at
        every position of a scan has one.

        Args:
            level: One of ``LEVELS``: "block", "op" or "every function".

        Raises:
            UnknownNameError: For another level.
        """
        if level not in LEVELS:
            raise UnknownNameError(
                f"there is no level {short_repr(level)}", cure=" or ".join(LEVELS)
            )
        if level == "every function":
            return self
        home = {node.id: self._home(node, level) for node in self.nodes}
        pairs = dict.fromkeys((home[e.source], home[e.target]) for e in self.edges)
        edges = tuple(Edge(*pair) for pair in pairs if pair[0] != pair[1])
        leaving = {e.source for e in self.edges if home[e.source] != home[e.target]}
        members: dict[str, list[Node]] = {}
        for node in self.nodes:
            members.setdefault(home[node.id], []).append(node)
        nodes = (self._merge_nodes(id, inside, leaving) for id, inside in members.items())
        return Dag(self.circuit, tuple(nodes), edges)

    def hidden(self, level: str) -> int:
        """Returns how many nodes of the whole graph a level leaves out."""
        return len(self.nodes) - len(self.at_level(level).nodes)

    @lazy_property
    def _fences(self) -> Mapping[str, Fence]:
        return {fence.id: fence for fence in self.circuit.fences}

    @lazy_property
    def _blocks(self) -> frozenset[str]:
        """The titled fences that contain no other titled fence."""
        titled = {fence.id for fence in self.circuit.fences if fence.title.strip()}
        outer = {parent for id in titled for parent in self._outer_fences(id)}
        return frozenset(titled - outer)

    def _outer_fences(self, id: str) -> tuple[str, ...]:
        """Returns the ids of all fences around one, the outermost first."""
        found: list[str] = []
        while parent := self._fences[id].parent:
            found.append(parent)
            id = parent
        return tuple(reversed(found))

    def _home(self, node: Node, level: str) -> str:
        """Returns the id of the coarser node that a node belongs to."""
        if not node.cell or (level == "op" and node.kind != "function"):
            return node.id
        blocks = self._blocks if level == "block" else ()
        return next((f for f in reversed(node.fences) if f in blocks), node.cell)

    def _merge_nodes(self, id: str, inside: list[Node], leaving: set[str]) -> Node:
        if [node.id for node in inside] == [id]:
            return inside[0]
        ends = [node for node in inside if node.id in leaving and node.kind == "function"]
        norms = [node.gradient for node in ends if node.gradient is not None]
        cells = list(dict.fromkeys(node.cell for node in inside))
        fence = self._fences.get(id)
        op = self.circuit.cell(cells[0]).op
        return inside[0]._replace(
            id=id,
            label=fence.title if fence and len(cells) > 1 else op.display_name,
            kind="op",
            cell=" ".join(cells),
            role=fence.role if fence else op.role,
            fences=self._outer_fences(id) if fence else inside[0].fences,
            shape=", ".join(dict.fromkeys(node.shape for node in ends)),
            gradient=math.hypot(*norms) if norms else None,
            storages=tuple({pair for node in inside for pair in node.storages}),
        )

    def dot(self, level: str = "op", dark: bool = False, selected: str | None = None) -> str:
        """Returns the graph as Graphviz source, in the blocks and colours of the diagram.

        In the SVG that Graphviz makes, the id of an element is that of its node, and its class
        contains the id of its op.

        Args:
            level: One of ``LEVELS``.
            dark: Whether the colours are for a dark page.
            selected: The id of an op; its nodes get a thick outline.

        Raises:
            UnknownNameError: For another level.
        """
        return digraph(self.at_level(level), dark, selected).source


def digraph(graph: Dag, dark: bool, selected: str | None) -> Digraph:
    """Returns a graph as a Graphviz object, left to right, its nodes inside their blocks."""
    ink = theme(dark).ink
    font = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "12", "fontcolor": ink}
    room = {"id": "graph0", "rankdir": "LR", "nodesep": "0.2", "ranksep": "0.4"}
    dot = Digraph(
        "autograd",
        graph_attr={**room, "bgcolor": "transparent", **font},
        node_attr={"style": "filled", "color": ink, "margin": "0.12,0.06", **font},
        edge_attr={"color": ink, "penwidth": "0.75", "arrowsize": "0.7"},
    )
    nodes: dict[str, list[Node]] = {}
    for node in graph.nodes:
        nodes.setdefault((node.fences or ("",))[-1], []).append(node)
    used = {id for node in graph.nodes for id in node.fences}
    fences: dict[str, list[Fence]] = {}
    for fence in graph.circuit.fences:
        if fence.id in used:
            fences.setdefault(fence.parent, []).append(fence)

    def fill_in(dot: Digraph, around: str) -> None:
        for node in nodes.get(around, ()):
            lit = bool(selected) and selected in (node.id, *node.cell.split())
            dot.node(node.id, **_node_look(node, dark), penwidth="3" if lit else "0.75")
        for fence in fences.get(around, ()):
            with dot.subgraph(name=f"cluster_{fence.id}", graph_attr=_look(fence, dark)) as inner:
                fill_in(inner, fence.id)

    fill_in(dot, "")
    dot.edges(graph.edges)
    return dot


def _look(fence: Fence, dark: bool) -> dict[str, str]:
    title = plain_text(fence.title)
    return {
        "id": fence.id,
        "label": _line(title),
        "tooltip": _line(title or fence.role),
        "style": "filled,rounded",
        "fillcolor": role_colour(fence.role, dark),
        "color": theme(dark).ink,
        "penwidth": "0.5",
    }


def _node_look(node: Node, dark: bool) -> dict[str, str]:
    lines = tuple(map(_line, (node.label, *node.facts)))
    return {
        "label": nohtml("\\n".join(lines)),
        "id": node.id,
        "tooltip": nohtml("; ".join(lines)),
        "shape": SHAPES[node.kind],
        "fillcolor": role_colour(node.role, dark),
        "class": " ".join(filter(None, (node.kind, node.cell))),
    }


def _line(text: str) -> str:
    """Returns text of any kind as one line of a Graphviz label, without commands or markup."""
    plain = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return escape(" ".join(plain.split()))


# --- The backward rule of each torch function, in one line

_ORDER = "The same numbers with their axes in another order: G, its axes put back."
_SHAPE = "The same numbers read in another shape: G, read in the shape from before."
_PICK = "G at the places that were read, summed where one was read twice, and 0 at all others."
_NORM = (
    "With x̂ the normalised numbers and g = G · γ: ∇x = (g − mean(g) − x̂ · mean(g · x̂)) / σ, "
    "∇γ is the sum of G · x̂, and ∇β that of G."
)

RULES = {
    "Abs": "∇a = G · sign(a).",
    "Add": "z = a + b: both get G. What was repeated along an axis gets the sum over it.",
    "Addmm": "z = c + a b: ∇a = G bᵀ, ∇b = aᵀ G, and ∇c is G, summed over the rows.",
    "Alias": "The same numbers: G.",
    "Amax": "G goes to the largest number; where several are the largest, each has a share.",
    "Amin": "G goes to the least number; where several are the least, each has a share.",
    "AvgPool2D": "Each number of a window of n gets G / n.",
    "Baddbmm": "z = c + a b: ∇a = G bᵀ, ∇b = aᵀ G, and ∇c is G.",
    "Bmm": "z = a b, a product of matrices for each of a batch: ∇a = G bᵀ and ∇b = aᵀ G.",
    "Cat": "Each part gets its own share of G.",
    "Ceil": "⌈a⌉ goes up in steps, and is level between them: 0.",
    "Clone": "A copy in memory: G.",
    "Convolution": "The input gets G, convolved with the kernel turned round; the kernel gets the "
    "products of the input and G, summed over all places; the bias gets the sum of G.",
    "Cos": "∇a = −G · sin(a).",
    "Cumsum": "Each number counts in all sums behind it: the sum of G from there on.",
    "Diagonal": _PICK,
    "Div": "z = a / b: ∇a = G / b and ∇b = −G · a / b².",
    "DivBackward2": "z = ⌊a / b⌋ goes up in steps, and is level between them: 0.",
    "Embedding": _PICK,
    "Exp": "∇a = G · z.",
    "Expand": "One number stands at many places: the sum of G over them.",
    "Floor": "⌊a⌋ goes up in steps, and is level between them: 0.",
    "Gather": _PICK,
    "Gelu": "∇a = G times the slope of gelu at a.",
    "Index": _PICK,
    "IndexSelect": _PICK,
    "Log": "∇a = G / a.",
    "LogSoftmax": "∇a = G − softmax(a) · the sum of G along the axis.",
    "MaskedFill": "G, and 0 where the mask wrote over the number.",
    "MaxPool2DWithIndices": "In each window G goes to the largest number; all others get 0.",
    "Maximum": "G goes to the larger of the two.",
    "Mean": "z is the mean of n numbers: each of them gets G / n.",
    "Minimum": "G goes to the smaller of the two.",
    "Mm": "z = a b, a product of matrices: ∇a = G bᵀ and ∇b = aᵀ G.",
    "MseLoss": "z is the mean of (a − b)² over n numbers: ∇a = G · 2 (a − b) / n, ∇b = −∇a.",
    "Mul": "z = a · b, number by number: ∇a = G · b and ∇b = G · a.",
    "Mv": "z = a b, a matrix times a vector: ∇a = G bᵀ and ∇b = aᵀ G.",
    "NativeBatchNorm": _NORM,
    "NativeDropout": "G where the number was kept, scaled as it was, and 0 where it was dropped.",
    "NativeLayerNorm": _NORM,
    "Neg": "∇a = −G.",
    "Permute": _ORDER,
    "Pow": "z = aⁿ: ∇a = G · n · aⁿ⁻¹.",
    "Relu": "G where a is above 0, and 0 where it is not.",
    "Remainder": "z = a − b ⌊a / b⌋: ∇a = G and ∇b = −G · ⌊a / b⌋.",
    "Repeat": "One number stands at many places: the sum of G over them.",
    "ReshapeAlias": _SHAPE,
    "Rsqrt": "z = 1 / √a: ∇a = −G · z³ / 2.",
    "Select": _PICK,
    "Sigmoid": "∇a = G · z · (1 − z).",
    "Sign": "A sign does not change where a is moved a little: 0.",
    "Silu": "∇a = G times the slope of silu at a.",
    "Sin": "∇a = G · cos(a).",
    "Slice": _PICK,
    "Softmax": "∇a = z · (G − s), where s is the sum of G · z along the axis of the softmax.",
    "Softplus": "∇a = G · sigmoid(a).",
    "Split": "The gradients of the parts, one behind the other.",
    "SplitWithSizes": "The gradients of the parts, one behind the other.",
    "Sqrt": "z = √a: ∇a = G / (2 z).",
    "Squeeze": _SHAPE,
    "Stack": "Each part gets its own share of G.",
    "Sub": "z = a − b: a gets G and b gets −G. What was repeated gets the sum.",
    "Sum": "z is a sum: each of its numbers gets G.",
    "T": _ORDER,
    "Tanh": "∇a = G · (1 − z²).",
    "Transpose": _ORDER,
    "Unbind": "The gradients of the parts, put together again.",
    "Unfold": "A number that stands in several windows gets the sum of what they send.",
    "UnsafeView": _SHAPE,
    "Unsqueeze": _SHAPE,
    "View": _SHAPE,
    "Where": "G goes to the side that was taken; the other gets 0.",
}
_BACKWARD_SUFFIX = re.compile(r"Backward\d+$")


def base_name(label: str) -> str:
    """Returns a function's name without its variant: ``MeanBackward1`` becomes ``Mean``."""
    return _BACKWARD_SUFFIX.sub("", label)


def rule(label: str, own: Mapping[str, str] = RULES) -> str:
    """Returns the rule of a function in torch's graph; the chain rule for an unknown one.

    Args:
        label: The name of the function, such as ``SqueezeBackward1``.
        own: The rules of the op that it belongs to, by name, which come before the common ones.

    >>> rule("Mm")
    'z = a b, a product of matrices: ∇a = G bᵀ and ∇b = aᵀ G.'
    >>> rule("SqueezeBackward1") == rule("Squeeze"), rule("Fft")
    (True, 'The chain rule: G times the slope of this function.')
    >>> rule("FftBackward0", {"Fft": "The inverse transform of G."})
    'The inverse transform of G.'
    """
    names = (label, base_name(label))
    found = (every[name] for every in (own, RULES) for name in names if name in every)
    return next(found, "The chain rule: G times the slope of this function.")


# --- The graph of a backward pass, with the circuit's op for each of its functions


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
    >>> [node.label for node in dag.at_level("op").nodes if node.role == "softmax"]
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
        called = input_names(self.circuit)
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
        makers: dict[str, Cell | None] = dict(self.circuit.producers)
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
        for name in _kind(function.__class__).saved_attributes:
            value = getattr(function, name, None)
            for x in value if isinstance(value, list | tuple) else (value,):
                if isinstance(x, Tensor):  # alive, so its address is unique
                    storage = x.untyped_storage()
                    found[storage.data_ptr()] = storage.nbytes()
        return tuple(found.items())

    def backward(self, outputs: tuple[Tensor, ...], seed: int) -> Mapping[str, Flow]:
        """Runs the backward pass; returns the gradients that arrived, by node id."""
        starts = cotangents([y.detach() for y in outputs], seed)
        ends = {f"out{i}": y for i, y in enumerate(outputs) if y.requires_grad}
        given = [start for y, start in zip(outputs, starts, strict=True) if y.requires_grad]
        came = list(zip(ends, given, strict=True))
        if ends:
            places = [self.leaves[id(x)].id for x in self.variables]
            places += [self.ids[function] for function, _ in self.points]
            wanted: list[Any] = [*self.variables, *starmap(GradientEdge, self.points)]
            grads = torch.autograd.grad([*ends.values()], wanted, given, allow_unused=True)
            came += [pair for pair in zip(places, grads, strict=True) if pair[1] is not None]
        return _flows(came)

    def dag(self, outputs: tuple[Tensor, ...], came: Mapping[str, Flow]) -> Dag:
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


def _flows(came: list[tuple[str, Tensor]]) -> Mapping[str, Flow]:
    """Returns the gradients of each node; all norms are fetched from the device at once."""
    found: dict[str, tuple[str, float]] = {}
    norms = torch.stack([vector_norm(x) for _, x in came]).tolist() if came else []
    for (id, x), norm in zip(came, norms, strict=True):
        shape = _sizes(x.shape)
        if id in found:
            shapes, before = found[id]
            found[id] = f"{shapes}, {shape}", math.hypot(before, norm)
        else:
            found[id] = shape, norm
    return found


def _home(cell: Cell | None) -> tuple[str, tuple[str, ...], str]:
    """Returns a cell's id, the blocks around it and its role; an empty scan has no cell."""
    return (cell.id, cell.fences, cell.op.role) if cell else ("", (), "neutral")


class _Kind(NamedTuple):
    """A type of function: whether it is a leaf, and its attributes that hold tensors."""

    leaf: bool
    saved_attributes: tuple[str, ...]


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
