"""The Step panel: a walk through the diagram, forward op by op, then backward.

Steps are sent in groups, and the browser moves between them. The link holds the current step; the
server is asked only for steps that the browser does not have.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from ncd.export.forward_steps import first, stops
from ncd.export.shared_assets import LIGHT_JS, PANEL_CSS
from ncd.graph import scanless
from ncd.view.arrays import captions
from ncd.view.base.cache import remember
from ncd.view.base.html_panel import asked, heed
from ncd.view.base.static_files import static
from ncd.view.learning import requires_grad
from ncd.view.panels.common import autograd_graph, backward_pass, forward_pass
from ncd.view.runtime import torch_threads
from ncd.view.session import url
from ncd.view.session.scene import Scene

TITLE = "Step"
RUNS = True
CONTROLS = (requires_grad.FROZEN,)
KEY = "stepping"  # not "step", as a knob may have that name
BACK = "back"  # the prefix of a step in the backward walk
SENT, FEW = 12, 4  # the number of steps that are sent at once, and of large ones
LIGHT = 250_000  # letters of steps that are not large
WAYS = {"": "Forward", BACK: "Backward"}
SCAN = (
    '<p role="status">The arrays of a scan are made anew at every position, so none of them has '
    "one gradient to walk back along.</p>"
)

_step = st.components.v2.component(
    "ncd_step",
    html=static("panels/common/step.html"),
    css=PANEL_CSS + static("page/flow.css") + static("panels/common/step.css"),
    js=LIGHT_JS + url.JS + static("panels/common/step.js"),
)


def show(scene: Scene) -> None:
    """Shows the step that the link names, with the steps around it."""
    name = url.walked(scene.entry)
    place = str(st.session_state.get(name, ""))
    way, at = read(place)
    data = _backward(scene, at) if way == BACK else _forward(scene, at)
    data |= {
        "page": scene.entry.name,
        "name": name,
        "place": place,
        "back": way,
        "at": at,
        "ways": _ways(way),
        "foot": f'<p class="muted">{captions.origin(scene)}</p>',
    }
    _step(
        key=KEY,
        data=data,
        on_select_change=lambda: heed(KEY),
        on_pick_change=lambda: _go(name, str(asked(KEY, "pick"))),
    )


def read(place: str) -> tuple[str, int]:
    """Parses the direction and the number of a step, from 1; by default the first.

    >>> read("7"), read("back3"), read("back"), read("nonsense")
    (('', 7), ('back', 3), ('back', 1), ('', 1))
    """
    way = BACK if place.startswith(BACK) else ""
    number = place.removeprefix(way)
    known = number.isdecimal() and len(number) < 6
    return way, max(1, int(number)) if known else 1


def _go(name: str, place: str) -> None:
    """Goes to the step that the browser requests; a callback."""
    st.session_state[name] = place[:10]


def _ways(way: str) -> str:
    buttons = "".join(
        f'<button type="button" data-pick="{name or 1}" '
        f'aria-pressed="{str(name == way).lower()}">{word}</button>'
        for name, word in WAYS.items()
    )
    return f'<div class="ways" role="group" aria-label="Which way">{buttons}</div>'


def _run(at: int, count: int) -> range:
    """Returns the group of steps that contains one."""
    start = (min(at, count) - 1) // SENT * SENT
    return range(start, min(count, start + SENT))


def _sent(ids: list[tuple[str, ...]], at: int, run: range, html: list[str]) -> dict[str, Any]:
    """Returns the group of steps, or a small part of it with this one if they are large."""
    start = run.start
    if sum(map(len, html)) > LIGHT:
        skipped = (min(at, len(ids)) - 1 - start) // FEW * FEW
        start, html = start + skipped, html[skipped : skipped + FEW]
    return {"stops": ids, "first": start, "html": html}


def _forward(scene: Scene, at: int) -> dict[str, Any]:
    every = stops(scene.circuit)
    run = _run(at, len(every))
    trace = scene.trace

    def told() -> list[str]:
        teller = forward_pass.Told(scene, trace)
        return [teller.stop(every[i]) for i in run]

    key = (*scene.numbers, scene.dark, run.start)
    html = remember("steps", scene.term, *key, make=lambda: torch_threads.run(told))
    return _sent([stop.ids for stop in every], at, run, html)


def _backward(scene: Scene, at: int) -> dict[str, Any]:
    """Returns the backward walk, as in the Autograd panel."""
    if not scanless(scene.circuit):
        return _nowhere(SCAN)
    off = requires_grad.frozen(scene)
    dag = autograd_graph.dag(scene, off)
    if not dag.edges:
        return _nowhere(backward_pass.NOTHING)
    found = backward_pass.gradients(scene, off)
    every = backward_pass.steps(scene, dag, found)
    run = _run(at, len(every))
    teller = backward_pass.Told(scene, dag, found, requires_grad.leaves(scene))
    key = (*scene.numbers, off, scene.dark, run.start)

    def told() -> list[str]:
        return [teller.step(every[i]) for i in run]

    html = remember("steps back", scene.term, *key, make=lambda: torch_threads.run(told))
    drawn = first(scene.circuit)
    there = {id: stop.ids for stop in stops(scene.circuit) for id in stop.ids}
    lit = [there.get(step.light) or there[drawn.get(step.cell, step.cell)] for step in every]
    return _sent(lit, at, run, html)


def _nowhere(why: str) -> dict[str, Any]:
    return {"stops": [[]], "first": 0, "html": [why]}
