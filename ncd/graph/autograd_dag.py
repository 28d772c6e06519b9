"""The autograd graph as plain data, at three levels, and as Graphviz source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ncd.drawing.base.style import fill, theme
from ncd.lang.circuits.circuit import Circuit, Fence
from ncd.lang.errors import UnknownNameError, shown
from ncd.lang.once import once

Kind = Literal["input", "parameter", "op", "function", "output"]
LEVELS = ("block", "op", "every function")
SHAPES = {"input": "box", "output": "box", "parameter": "ellipse", "op": "box", "function": "box"}


class Node(NamedTuple):
    """A function of the graph, a leaf, or at a coarser level an op or a block.

    ``cell`` is the id of its op in the circuit (``n3``), or the ids of a block's ops with spaces
    between; ``fences`` are the blocks around it.
    ``gradient`` is the L2 norm of the gradient that flows into its output, None if none does;
    ``storages`` are the memory that it keeps for the backward pass, each with its bytes.
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
        """Bytes kept for the backward pass; memory that is kept twice counts once."""
        return sum(dict(self.storages).values())

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it, in words: its shape, its gradient, what it keeps."""
        gradient = "" if self.gradient is None else f"‖∇‖ {self.gradient:.3g}"
        return tuple(
            filter(None, (self.shape, gradient, f"keeps {_size(self.saved)}" if self.saved else ""))
        )


class Edge(NamedTuple):
    """``target`` was computed from ``source``; the gradient flows the other way."""

    source: str
    target: str


@dataclass(frozen=True)
class Dag:
    """The graph, every function a node; :meth:`at` gives a coarser one."""

    circuit: Circuit
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def at(self, level: str) -> Dag:
        """The graph with one node an op, or one a block.

        A block is one node if it has a title and holds no other block that has one; an op that is
        in no such block is a node of its own. At ``block`` the weights are part of their ops. An
        op that only hands its array on (a copy, a name, a swap) is no function, and has no node;
        one that runs at every position of a scan has one.

        Raises UnknownNameError for a level that is none of ``LEVELS``.
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
        """How many nodes of the whole graph the level does not show."""
        return len(self.nodes) - len(self.at(level).nodes)

    @once
    def _fences(self) -> Mapping[str, Fence]:
        return {fence.id: fence for fence in self.circuit.fences}

    @once
    def _blocks(self) -> frozenset[str]:
        """The fences that have a title and hold no other that has one."""
        titled = {fence.id for fence in self.circuit.fences if fence.title.strip()}
        outer = {parent for id in titled for parent in self._around(id)}
        return frozenset(titled - outer)

    def _around(self, id: str) -> tuple[str, ...]:
        """All fences that one stands in, from the outside in."""
        found: list[str] = []
        while parent := self._fences[id].parent:
            found.append(parent)
            id = parent
        return tuple(reversed(found))

    def _home(self, node: Node, level: str) -> str:
        """The id of the node that stands for this one."""
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
        """The graph as Graphviz source, left to right, in the blocks and colours of the diagram.

        ``selected`` is the id of an op, whose nodes get a thick outline. In the SVG that Graphviz
        makes of it an element has its node's id, and its op's id as a class.

        Raises UnknownNameError for a level that is none of ``LEVELS``.
        """
        graph, ink = self.at(level), theme(dark).ink
        font = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "12", "fontcolor": ink}
        room = {
            "id": "graph0",
            "rankdir": "LR",
            "bgcolor": "transparent",
            "nodesep": "0.2",
            "ranksep": "0.4",
        }
        lines = [
            f"graph {_listed({**room, **font})}",
            f"node {_listed({'style': 'filled', 'color': ink, 'margin': '0.12,0.06', **font})}",
            f"edge {_listed({'color': ink, 'penwidth': '0.75', 'arrowsize': '0.7'})}",
            *_Clusters(graph, dark, selected).lines(""),
            *(f'"{edge.source}" -> "{edge.target}"' for edge in graph.edges),
        ]
        return "\n".join(("digraph autograd {", *(f"\t{line}" for line in lines), "}\n"))


class _Clusters:
    """The nodes in the fences that they stand in."""

    def __init__(self, graph: Dag, dark: bool, selected: str | None) -> None:
        self.dark, self.selected, self.ink = dark, selected, theme(dark).ink
        self.nodes: dict[str, list[Node]] = {}
        for node in graph.nodes:
            self.nodes.setdefault((node.fences or ("",))[-1], []).append(node)
        used = {id for node in graph.nodes for id in node.fences}
        self.fences: dict[str, list[Fence]] = {}
        for fence in graph.circuit.fences:
            if fence.id in used:
                self.fences.setdefault(fence.parent, []).append(fence)

    def lines(self, around: str) -> Iterator[str]:
        """What stands in a fence, and the fences in it."""
        yield from map(self._node, self.nodes.get(around, ()))
        for fence in self.fences.get(around, ()):
            title = fence.title.replace("$", "")
            look = {
                "id": fence.id,
                "label": _escaped(title),
                "tooltip": _escaped(title or fence.role),
                "style": "filled,rounded",
                "fillcolor": fill(fence.role, self.dark),
                "color": self.ink,
                "penwidth": "0.5",
            }
            yield f'subgraph "cluster_{fence.id}" {{ graph {_listed(look)}'
            yield from self.lines(fence.id)
            yield "}"

    def _node(self, node: Node) -> str:
        lit = bool(self.selected) and self.selected in (node.id, *node.cell.split())
        told = tuple(map(_escaped, (node.label, *node.facts)))
        look = {
            "label": "\\n".join(told),
            "id": node.id,
            "tooltip": "; ".join(told),
            "shape": SHAPES[node.kind],
            "fillcolor": fill(node.role, self.dark),
            "penwidth": "3" if lit else "0.75",
            "class": " ".join(filter(None, (node.kind, node.cell))),
        }
        return f'"{node.id}" {_listed(look)}'


def _listed(look: Mapping[str, str]) -> str:
    """Attributes; what comes from elsewhere in their values is escaped."""
    said = " ".join(f'{name}="{value}"' for name, value in look.items())
    return f"[{said}]"


def _escaped(text: str) -> str:
    """Text of any kind as a Graphviz label on one line."""
    plain = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return " ".join(plain.split()).replace("\\", "\\\\").replace('"', '\\"')


def _size(count: int) -> str:
    """Bytes as people read them.

    >>> _size(512), _size(1760), _size(2_500_000)
    ('512 B', '1.76 kB', '2.5 MB')
    """
    units = iter(("B", "kB", "MB", "GB"))
    value, unit = float(count), next(units)
    while value >= 1000 and unit != "GB":
        value, unit = value / 1000, next(units)
    return f"{value:.3g} {unit}"
