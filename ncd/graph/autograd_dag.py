"""The autograd graph as plain data, at three levels, and as Graphviz source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graphviz import Digraph, escape, nohtml

from ncd.drawing.base.style import fill, theme
from ncd.lang.circuits.circuit import Circuit, Fence
from ncd.lang.errors import UnknownNameError, shown
from ncd.lang.formulas.prefixed_amounts import amount
from ncd.lang.once import once
from ncd.lang.plain_text import plain_text

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
    def saved(self) -> int:
        """Bytes saved for the backward pass; memory saved twice counts once."""
        return sum(dict(self.storages).values())

    @property
    def facts(self) -> tuple[str, ...]:
        """Its shape, gradient norm and saved bytes, in words."""
        gradient = "" if self.gradient is None else f"‖∇‖ {self.gradient:.3g}"
        kept = f"keeps {amount(self.saved, 'B')}" if self.saved else ""
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
    >>> [node.kind for node in graph.at("op").nodes]
    ['input', 'parameter', 'op', 'output']
    """

    circuit: Circuit
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def at(self, level: str) -> Dag:
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
            raise UnknownNameError(f"there is no level {shown(level)}", cure=" or ".join(LEVELS))
        if level == "every function":
            return self
        home = {node.id: self._home(node, level) for node in self.nodes}
        pairs = dict.fromkeys((home[e.source], home[e.target]) for e in self.edges)
        edges = tuple(Edge(*pair) for pair in pairs if pair[0] != pair[1])
        leaving = {e.source for e in self.edges if home[e.source] != home[e.target]}
        members: dict[str, list[Node]] = {}
        for node in self.nodes:
            members.setdefault(home[node.id], []).append(node)
        nodes = (self._joined(id, inside, leaving) for id, inside in members.items())
        return Dag(self.circuit, tuple(nodes), edges)

    def hidden(self, level: str) -> int:
        """Returns how many nodes of the whole graph a level leaves out."""
        return len(self.nodes) - len(self.at(level).nodes)

    @once
    def _fences(self) -> Mapping[str, Fence]:
        return {fence.id: fence for fence in self.circuit.fences}

    @once
    def _blocks(self) -> frozenset[str]:
        """The titled fences that contain no other titled fence."""
        titled = {fence.id for fence in self.circuit.fences if fence.title.strip()}
        outer = {parent for id in titled for parent in self._around(id)}
        return frozenset(titled - outer)

    def _around(self, id: str) -> tuple[str, ...]:
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

    def _joined(self, id: str, inside: list[Node], leaving: set[str]) -> Node:
        if [node.id for node in inside] == [id]:
            return inside[0]
        ends = [node for node in inside if node.id in leaving and node.kind == "function"]
        norms = [node.gradient for node in ends if node.gradient is not None]
        cells = list(dict.fromkeys(node.cell for node in inside))
        fence = self._fences.get(id)
        op = self.circuit.cell(cells[0]).op
        return inside[0]._replace(
            id=id,
            label=fence.title if fence and len(cells) > 1 else op.label,
            kind="op",
            cell=" ".join(cells),
            role=fence.role if fence else op.role,
            fences=self._around(id) if fence else inside[0].fences,
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
        return digraph(self.at(level), dark, selected).source


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
        "fillcolor": fill(fence.role, dark),
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
        "fillcolor": fill(node.role, dark),
        "class": " ".join(filter(None, (node.kind, node.cell))),
    }


def _line(text: str) -> str:
    """Returns text of any kind as one line of a Graphviz label, without commands or markup."""
    plain = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return escape(" ".join(plain.split()))
