"""Autograd: the graph that a backward pass walks, in the blocks and colours of the diagram."""

from __future__ import annotations

import re
import shutil
import subprocess
from threading import Lock

import streamlit as st
from cachetools import TTLCache

import ncd
from ncd.export import markup
from ncd.graph import LEVELS
from ncd.view import panel, worker
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "Autograd"
RUNS = True
PATIENCE = 4  # seconds for a layout; after that the browser has to make it
FAILED: TTLCache[str, bool] = TTLCache(maxsize=100, ttl=60)  # graphs not to try again so soon
_LOCK = Lock()
CLASSES = re.compile(r'class="(?P<names>node [^"]*)"')
OPS = re.compile(r"\bn\d+\b")


def show(scene: Scene) -> None:
    """The graph at the chosen level, and how much that level hides."""
    level = st.segmented_control(
        "Show",
        LEVELS,
        default="op",
        required=True,
        key="level",
        bind="query-params",
        label_visibility="collapsed",
    )
    key = (scene.seed, scene.device, scene.feed.key, str(level), scene.dark)
    dot, hidden = remember("autograd", scene.term, *key, make=lambda: graph(scene, str(level)))
    nodes = markup.counted(hidden, "node")
    st.caption(f"This level hides {nodes}." if hidden else "This level hides nothing.")
    try:
        svg = remember("autograd svg", scene.term, *key, make=lambda: laid_out(dot))
    except LayoutError:  # nothing is kept
        st.graphviz_chart(dot)
    else:
        panel.show(f'<div class="graph scroll">{lit(svg)}</div>', "graph", scene.selected)


def graph(scene: Scene, level: str) -> tuple[str, int]:
    """The graph in the language of ``dot``, and how many nodes the level hides."""
    key = (scene.seed, scene.device, scene.feed.key)

    def build() -> ncd.Dag:
        return worker.run(lambda: ncd.autograd(scene.module, *scene.inputs))

    dag = remember("dag", scene.term, *key, make=build)
    return dag.dot(level=level, dark=scene.dark), dag.hidden(level)


class LayoutError(Exception):
    """Graphviz on this machine made no layout."""


def laid_out(dot: str) -> str:
    """The graph as SVG, laid out by Graphviz on this machine.

    Raises LayoutError if Graphviz is missing, is broken or takes too long, and then for a minute
    does not try this graph again.
    """
    with _LOCK:
        failed = dot in FAILED
    if failed:
        raise LayoutError("it failed a moment ago")
    try:
        return _laid_out(dot)
    except LayoutError:
        with _LOCK:
            FAILED[dot] = True
        raise


def _laid_out(dot: str) -> str:
    command = shutil.which("dot")
    if command is None:
        raise LayoutError("there is no program dot")
    try:
        run = subprocess.run(
            [command, "-Tsvg"], input=dot.encode(), capture_output=True, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LayoutError(str(error)) from None
    svg = run.stdout.decode(errors="replace")
    start, end = svg.find("<svg"), svg.rfind("</svg>")
    if run.returncode or start < 0 or end < start:
        raise LayoutError(f"dot ended with code {run.returncode} and gave no picture")
    return svg[start : end + len("</svg>")]


def lit(svg: str) -> str:
    """The SVG with every node known by its ops, so that it lights with them.

    >>> lit('<g id="a" class="node op n3 n4">')
    '<g id="a" data-node="n3 n4" data-select="n3" class="node op n3 n4">'
    """

    def known(found: re.Match[str]) -> str:
        cells = OPS.findall(found["names"])
        ids = f'data-node="{" ".join(cells)}" data-select="{cells[0]}" ' if cells else ""
        return f'{ids}class="{found["names"]}"'

    return CLASSES.sub(known, svg)
