"""The Neighbours panel: the graph, and what a node takes from each of its neighbours."""

from __future__ import annotations

from math import cos, hypot, pi, sin

import numpy as np
from numpy.typing import NDArray

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import Place
from ncd.circuit.circuit import Value
from ncd.site import markup

NODE, HEAD = Place("node", None), Place("graph_head")
SHARE = "share"  # the op of a graph convolution that computes the weights; others have a softmax
MAX_NODES = 24  # the greatest number of nodes that are drawn
RADIUS, DISC, MARGIN = 150.0, 15.0, 24.0  # pixels
THICK = 7.0  # the width of a line for the weight 1, in pixels

Numbers = NDArray[np.float32]


def show_neighbours(scene: Scene) -> None:
    """Shows the graph with one node in focus, and a table of what that node takes."""
    every = weights(scene)
    nodes, heads = min(len(every), MAX_NODES), every.shape[2]
    head = HEAD.among(heads)
    table = every[:nodes, :nodes, head]
    node = NODE.among(nodes, busiest(table))
    sliders = NODE.html(f"node {node}", nodes, node) + HEAD.html(f"head {head}", heads, head)
    cut = f" The first {MAX_NODES} of {len(every):,} nodes." if len(every) > MAX_NODES else ""
    taken = _neighbour_table(scene, every[node, :, head], node)
    html_panel.render(
        f'<div class="told">{sliders}</div><div style="display:flex;flex-wrap:wrap;gap:1em 2em">'
        f'{picture(table, node)}<div style="flex:1;min-width:16em">{taken}'
        f'<p class="muted">Click a node to see what it takes.{cut} '
        f"{numbers_origin(scene)}</p>"
        "</div></div>",
        "neighbours",
        NEIGHBOURS.controls,
    )


NEIGHBOURS = Panel("Neighbours", show_neighbours, controls=(NODE, HEAD), follows_moves=True)


def weights(scene: Scene) -> Numbers:
    """Returns what node n takes from node u in each head, (n, u, h); without heads h is 1."""
    numbers = scene.trace.values[_source(scene).id].detach().float().cpu().numpy()
    return np.asarray(numbers.reshape(*numbers.shape[:2], -1), np.float32)


def busiest(table: Numbers) -> int:
    """Returns the node with the most neighbours to read.

    >>> busiest(np.float32([[1, 0], [0.5, 0.5]]))
    1
    """
    return int((table != 0).sum(1).argmax())


def _source(scene: Scene) -> Value:
    return next(
        cell.outputs[0]
        for cell in scene.circuit.cells
        if cell.op.display_name.endswith(SHARE) or cell.op.role == "softmax"
    )


def places(count: int) -> list[tuple[float, float]]:
    """Returns the position of each node on a circle, in pixels, the first at the top.

    >>> [(round(x), round(y)) for x, y in places(2)]
    [(174, 24), (174, 324)]
    """
    middle = RADIUS + MARGIN
    turns = (2 * pi * i / count for i in range(count))
    return [(middle + RADIUS * sin(turn), middle - RADIUS * cos(turn)) for turn in turns]


def picture(table: Numbers, node: int) -> str:
    """Returns the graph as SVG: a line from each node to the nodes that read it.

    Args:
        table: What node n takes from node u, (n, u).
        node: The node in focus, whose lines are as thick as what it takes.
    """
    at, size = places(len(table)), 2 * (RADIUS + MARGIN)
    pairs = [(n, u) for n, u in zip(*np.nonzero(table), strict=True) if n != u]
    pairs.sort(key=lambda pair: pair[0] == node)  # lines of the chosen node are drawn on top
    lines = "".join(_arrow(at[u], at[n], float(table[n, u]), n == node) for n, u in pairs)
    discs = "".join(_disc(i, *place, i == node) for i, place in enumerate(at))
    said = f"A graph of {len(table)} nodes; node {node} is in focus"
    return (
        f'<svg viewBox="0 0 {size:g} {size:g}" width="{size:g}" height="{size:g}" role="img" '
        f'style="max-width:100%;height:auto" aria-label="{said}">{lines}{discs}</svg>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], weight: float, focus: bool) -> str:
    """Returns an arrow from the edge of one disc to the edge of another."""
    (x0, y0), (x1, y1) = start, end
    length = hypot(x1 - x0, y1 - y0)
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    thick = max(1.5, THICK * abs(weight)) if focus else 1.0
    back = 5 + thick
    tip = x1 - DISC * dx, y1 - DISC * dy
    base = tip[0] - back * dx, tip[1] - back * dy
    wing = back / 2
    colour = "#c9732b" if focus else "currentColor"
    head = (
        f"{tip[0]:.1f},{tip[1]:.1f} {base[0] - wing * dy:.1f},{base[1] + wing * dx:.1f} "
        f"{base[0] + wing * dy:.1f},{base[1] - wing * dx:.1f}"
    )
    return (
        f'<g opacity="{1 if focus else 0.3:g}" color="{colour}"><path d="M{x0 + DISC * dx:.1f} '
        f'{y0 + DISC * dy:.1f}L{base[0]:.1f} {base[1]:.1f}" stroke="currentColor" '
        f'stroke-width="{thick:.1f}"/><polygon points="{head}" fill="currentColor"/></g>'
    )


def _disc(i: int, x: float, y: float, focus: bool) -> str:
    fill = "#c9732b" if focus else "#7d93b2"
    return (
        f'<g data-pick="{NODE.action(i)}" style="cursor:pointer"><title>node {i}</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DISC:g}" fill="{fill}"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" font-size="13" fill="#fff" '
        f'font-weight="600">{i}</text></g>'
    )


def _neighbour_table(scene: Scene, row: Numbers, node: int) -> str:
    """Returns a table of what a node takes from its neighbours, largest first."""
    order = sorted(np.flatnonzero(row).tolist(), key=lambda u: -abs(row[u]))
    most, colour = float(np.abs(row).max()), markup.colour("softmax", scene.dark)
    rows = [
        f"<tr><td>{NODE.button(u, _node_name(u, node))}</td>"
        f'<td class="number">{markup.digits(float(row[u]))}</td>'
        f"<td>{markup.meter(abs(float(row[u])) / most, colour)}</td></tr>"
        for u in order[:MAX_NODES]
    ]
    total = markup.digits(float(row.sum()))
    return (
        f"<p>Node {node} reads {markup.plural(len(order) - 1, 'neighbour')} and itself. "
        f"What it takes adds up to {total}.</p>"
        + markup.table(("Takes from", "weight", ""), rows, numbers=(1,))
    )


def _node_name(u: int, node: int) -> str:
    return "itself" if u == node else f"node {u}"
