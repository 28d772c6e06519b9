"""Autograd: the graph that a backward pass walks, in the blocks and colours of the diagram."""

from __future__ import annotations

import re
import shutil
import subprocess

import streamlit as st

import ncd
from ncd.view import markup, panel, worker
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "Autograd"
RUNS = True
LEVELS = ("block", "op", "every function")
PATIENCE = 20  # seconds for a layout
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
    svg = remember("autograd svg", scene.term, *key, make=lambda: laid_out(dot))
    if svg:
        panel.show(f'<div class="graph scroll">{lit(svg)}</div>', "graph", scene.selected)
    else:
        st.graphviz_chart(dot)


def graph(scene: Scene, level: str) -> tuple[str, int]:
    """The graph in the language of ``dot``, and how many nodes the level hides."""
    key = (scene.seed, scene.device, scene.feed.key)

    def build() -> ncd.Dag:
        return worker.run(lambda: ncd.autograd(scene.module, *scene.inputs))

    dag = remember("dag", scene.term, *key, make=build)
    return dag.dot(level=level, dark=scene.dark), dag.hidden(level)


def laid_out(dot: str) -> str:
    """The graph as SVG, laid out by Graphviz on this machine; empty if it cannot be."""
    command = shutil.which("dot")
    if command is None:
        return ""
    try:
        run = subprocess.run(
            [command, "-Tsvg"], input=dot, capture_output=True, encoding="utf-8", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return ""
    return run.stdout[run.stdout.find("<svg") :] if "<svg" in run.stdout else ""


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
