"""The Autograd panel: the graph of the backward pass, in the blocks and colours of the diagram."""

from __future__ import annotations

import re
from threading import Lock

import streamlit as st
from cachetools import TTLCache

import ncd
from ncd.app.figure import backward_diagram
from ncd.app.panels.walk import backward_pass, checkpoint_choice
from ncd.app.panels.walk.backward_pass import FROZEN, STEP, frozen, leaves, switches
from ncd.app.panels.walk.checkpoint_choice import RECOMPUTE
from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import apply_component_selection, read_static, sent_value
from ncd.app.parts.map_component import ZOOM
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, pick
from ncd.circuit.circuit import Circuit
from ncd.explain import graphviz_layout
from ncd.explain.autograd_dag import LEVELS
from ncd.explain.graphviz_layout import LayoutError
from ncd.site import markup
from ncd.site.markup import PANEL_CSS
from ncd.site.scripts import script

LEVEL = Choice("level", ("", *LEVELS), "")
MAX_READABLE_NODES = 40  # the greatest number of nodes that can be read at once
PATIENCE = 4  # seconds for a layout; after that the browser has to make it
FAILED_GRAPHS: TTLCache[str, str] = TTLCache(maxsize=100, ttl=60)  # graphs that failed, and why
_LOCK = Lock()
NODE = re.compile(r'<g id="(?P<id>[^"]*)" class="(?P<names>node [^"]*)"')
OPS = re.compile(r"\bn\d+\b")

_graph = st.components.v2.component(
    "ncd_graph",
    html=(
        '<div class="ncd"><div class="head"></div><div class="pass"></div><div class="graph-view">'
        f'<div class="frame" role="group"><div class="inner"></div></div>{ZOOM}</div>'
        '<div class="foot"></div></div>'
    ),
    css=PANEL_CSS
    + read_static("parts/map_component.css", "panels/walk/autograd_graph.css", "page/flow.css"),
    js=script("app/panels/walk/autograd_graph.js"),
)


def show_autograd_graph(scene: Scene) -> None:
    """Shows the graph with one backward step, what is saved, and where a stack should save."""
    _show_graph(scene)
    checkpoint_choice.show(scene)


AUTOGRAD_GRAPH = Panel(
    "Autograd",
    show_autograd_graph,
    controls=(LEVEL, FROZEN, RECOMPUTE, backward_diagram.MIRROR, STEP),
)


def _show_graph(scene: Scene) -> None:
    """Shows the graph at the chosen level, how many nodes are hidden, and one backward step."""
    off = frozen(scene)
    level = _level(scene, off)
    key = (*scene.run_key, off, level, scene.dark)
    dot, hidden = cached_value("autograd", scene.term, *key, make=lambda: graph(scene, level, off))
    every = leaves(scene)
    head = _head(hidden) + switches(every, off)
    step, at = backward_pass.step_html(scene, dag(scene, off), off, every)
    try:
        svg = cached_value("autograd svg", scene.term, *key, make=lambda: laid_out(dot))
    except LayoutError as error:  # errors are not cached
        _show_plain_graph(dot, head + step, str(error), scene)
        return
    data = {
        "head": head,
        "pass": step,
        "at": at,
        "foot": _foot(scene) + _saved_arrays_html(scene),
        "level": LEVEL.action(level),
        "label": "Autograd graph: arrow keys go from node to node, Enter selects",
        "svg": add_highlight_ids(svg, scene.circuit),
    }
    _graph(
        key="graph",
        data=data,
        on_select_change=lambda: apply_component_selection("graph"),
        on_pick_change=lambda: _pick(str(sent_value("graph", "pick"))),
    )


def _pick(picked: str) -> None:
    name, _, value = picked.partition("=")
    if name == STEP.name:
        backward_pass.pick(value)
    else:
        pick(AUTOGRAD_GRAPH.controls, name, value)


def _head(hidden: int) -> str:
    buttons = "".join(LEVEL.button(level, level, False, look="level") for level in LEVELS)
    hides = f"hides {markup.plural(hidden, 'node')}" if hidden else "hides nothing"
    return (
        f'<div class="levels" role="group" aria-label="A node for each">{buttons}</div>'
        f'<span class="muted hides">This level {hides}.</span>'
    )


def _saved_arrays_html(scene: Scene) -> str:
    return checkpoint_choice.html(scene) + backward_diagram.html(
        scene, checkpoint_choice.recomputed_parts(scene)
    )


def _foot(scene: Scene) -> str:
    return (
        '<p class="muted">Boxes are functions, ovals what is learned. ‖∇‖ is the length of the '
        "gradient that arrives at a node: the root of the sum of its squares. “keeps” is the "
        "memory that waits there for the backward pass, which begins with 1 at an output that is "
        f"one number, and else with a random gradient. {numbers_origin(scene)}</p>"
    )


def _show_plain_graph(dot: str, head: str, why: str, scene: Scene) -> None:
    """Shows the graph as laid out by the browser, without highlighting, and says why."""
    told = f"{why} So your browser lays the graph out, and its nodes do not light here."
    html = f'{head}<p role="status">{markup.text(told)}</p>'
    html_panel.render(html, "graph head", on_pick=_pick)
    st.graphviz_chart(dot)
    foot = _foot(scene) + _saved_arrays_html(scene)
    html_panel.render(foot, "graph foot", on_pick=_pick)


def _level(scene: Scene, off: frozenset[str]) -> str:
    """Returns the chosen level of detail, or one that fits the screen."""
    if LEVEL.value:
        return LEVEL.value
    return "op" if len(dag(scene, off).at_level("op").nodes) <= MAX_READABLE_NODES else "block"


def dag(scene: Scene, off: frozenset[str]) -> ncd.Dag:
    """Returns the graph of the backward pass; ``off`` names tensors without a gradient."""

    def build() -> ncd.Dag:
        return scene.run_in_pool(lambda: ncd.autograd(scene.module, *scene.inputs, frozen=off))

    return cached_value("dag", scene.term, *scene.run_key, off, make=build)


def graph(scene: Scene, level: str, off: frozenset[str]) -> tuple[str, int]:
    """Returns the graph in Graphviz's language, and how many nodes the level hides."""
    whole = dag(scene, off)
    return whole.dot(level=level, dark=scene.dark), whole.hidden(level)


def laid_out(dot: str) -> str:
    """Returns the graph as SVG, laid out by Graphviz on this machine.

    Raises LayoutError if Graphviz is missing, broken or too slow; the same graph is then not tried
    again for a minute.
    """
    with _LOCK:
        failed = FAILED_GRAPHS.get(dot)
    if failed:
        raise LayoutError(failed)
    try:
        return graphviz_layout.svg(dot, PATIENCE)
    except LayoutError as error:
        with _LOCK:
            FAILED_GRAPHS[dot] = str(error)
        raise


def add_highlight_ids(svg: str, circuit: Circuit) -> str:
    """Adds the ids of ops, blocks and arrays to the SVG's nodes, for highlighting.

    >>> from ncd import elaborate
    >>> from ncd.ops import Softmax
    >>> add_highlight_ids('<g id="a" class="node op n3 n4">', elaborate(Softmax("x:3")))
    '<g id="a" data-node="n3 n4" data-select="n3" class="node op n3 n4">'
    """
    outputs = {f"out{i}": value.id for i, value in enumerate(circuit.outputs)}
    fences = {fence.id for fence in circuit.fences}

    def known(found: re.Match[str]) -> str:
        id, names = found["id"], found["names"]
        cells, array = OPS.findall(names), outputs.get(id, id)
        if cells:
            selects = id if id in fences else cells[0]
            marks = f'data-node="{" ".join(cells)}" data-select="{selects}" '
        elif array in circuit.values:
            marks = f'data-array="{array}" data-select="{array}" '
        else:
            marks = ""
        return f'<g id="{id}" {marks}class="{names}"'

    return NODE.sub(known, svg)
