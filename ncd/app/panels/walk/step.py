"""A walk through the diagram, forward op by op.

Steps are sent in groups, and the browser moves between them. The link holds the current step; the
server is asked only for steps that the browser does not have.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from ncd.app.figure.op_card import op_purpose
from ncd.app.panels.walk import autograd_graph, backward_pass
from ncd.app.panels.walk.backward_pass import FROZEN, frozen, leaves
from ncd.app.parts.array_summary import html, shape
from ncd.app.parts.html_panel import apply_component_selection, read_static, sent_value
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene import url
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Value, array_names, input_names
from ncd.explain.chain_rule import has_no_scan
from ncd.run.module import Trace
from ncd.site import markup, source_listing
from ncd.site.forward_steps import (
    Stop,
    by_side,
    drawn_ids,
    scanned_ids,
    step_words,
    stops,
)
from ncd.site.markup import PANEL_CSS, WALK_CSS
from ncd.site.scripts import script
from ncd.write.torch_source.source_file import lines

# --- The forward pass step by step: the op, its lines of source, and its results

ARRAYS, LINES = 3, 6  # the greatest numbers of arrays and of lines that are shown for an op
SCAN_NOTE = " This is done at every position of the scan; these are the last numbers."


class ForwardStepWriter:
    """Writes the steps of the forward walk as HTML."""

    def __init__(self, scene: Scene, trace: Trace) -> None:
        self.scene, self.circuit, self.values = scene, scene.circuit, trace.values
        self.names = {**array_names(self.circuit), **input_names(self.circuit)}
        self.source = cached_value(
            "painted",
            scene.term,
            make=lambda: source_listing.coloured_lines(lines(scene.term), self.circuit),
        )
        self.side = by_side(scene.circuit)
        self.scanned = scanned_ids(scene.circuit)

    def stop(self, stop: Stop) -> str:
        """Returns the op's description, its lines of source, and its results."""
        unit = stop.unit
        copies = isinstance(unit, Cell) and unit.op.role == "copy" and len(stop.arrays) > 1
        made = self._all_alike(stop) if copies else self._outputs_html(stop)
        title, words = step_words(stop, self.side, self.scanned, SCAN_NOTE, self.scene.dark)
        own = f' data-node="{unit.id}"' if isinstance(unit, Cell) else ""
        more = self._op(unit) if isinstance(unit, Cell) else ""
        head = f"<h2{own}>{title}</h2>{words}{more}"
        inputs = unit.inputs if isinstance(unit, Cell) else ()
        known = [value for value in inputs if value.id in self.values]
        taken = "".join(map(self._figure, known[:ARRAYS]))
        takes = f'<div class="gives taken">{taken}</div>' if taken else ""
        right = f'<div>{takes}<div class="gives">{made}</div></div>'
        return f'<div class="stop"><div class="done">{head}</div>{right}</div>'

    def _op(self, cell: Cell) -> str:
        ids = " ".join(f"{self._array_label(value)}" for value in cell.inputs)
        takes = f'<p class="takes"><span class="muted">takes</span> {ids}</p>' if ids else ""
        why = f'<p class="why">{markup.text(op_purpose(cell))}</p>'
        code = source_listing.excerpt(
            self.source, self.circuit, self.scene.dark, frozenset({cell.id}), LINES
        )
        return f"{why}{takes}{code}"

    def _array_label(self, value: Value) -> str:
        name = markup.text(self.names.get(value.id, ""))
        return (
            f'<span class="array" data-array="{value.id}">{name} '
            f"<span class='muted'>{markup.array(value.array)}</span></span>"
        )

    def _outputs_html(self, stop: Stop) -> str:
        if not stop.arrays:
            return '<p class="muted">Nothing: what it takes goes no further.</p>'
        more = len(stop.arrays) - ARRAYS
        left = f'<p class="muted">and {markup.plural(more, "array")} more</p>' if more > 0 else ""
        return "".join(map(self._figure, stop.arrays[:ARRAYS])) + left

    def _all_alike(self, stop: Stop) -> str:
        times = f'<p class="muted">The same numbers, {len(stop.arrays)} times.</p>'
        return self._figure(stop.arrays[0]) + times

    def _figure(self, value: Value) -> str:
        name = markup.text(self.names.get(value.id, ""))
        return (
            f'<figure data-array="{value.id}"><figcaption><b>{name}</b> '
            f"{shape(value.array)}</figcaption>"
            f"{html(value.array, self.values[value.id])}</figure>"
        )


# --- The Step panel: a walk through the diagram, forward op by op, then backward

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
    html="""<div class="ncd walk"><div class="strip">
<div class="turns" role="group" aria-label="Steps"></div><div class="ways-slot"></div></div>
<div class="here-now" role="region" aria-label="The step"></div><div class="foot"></div></div>""",
    css=PANEL_CSS + read_static("page/flow.css") + WALK_CSS + read_static("panels/walk/step.css"),
    js=script("app/panels/walk/step.js"),
)


def show_step(scene: Scene) -> None:
    """Shows the step that the link names, with the steps around it."""
    name = url.step_key(scene.entry)
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
        "foot": f'<p class="muted">{numbers_origin(scene)}</p>',
    }
    _step(
        key=KEY,
        data=data,
        on_select_change=lambda: apply_component_selection(KEY),
        on_pick_change=lambda: _go(name, str(sent_value(KEY, "pick"))),
    )


STEP = Panel("Step", show_step, controls=(FROZEN,))


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


def _step_group(ids: list[tuple[str, ...]], at: int, run: range, html: list[str]) -> dict[str, Any]:
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

    def step_html() -> list[str]:
        teller = ForwardStepWriter(scene, trace)
        return [teller.stop(every[i]) for i in run]

    key = (*scene.run_key, scene.dark, run.start)
    html = cached_value("steps", scene.term, *key, make=lambda: run_in_thread(step_html))
    return _step_group([stop.ids for stop in every], at, run, html)


def _backward(scene: Scene, at: int) -> dict[str, Any]:
    """Returns the backward walk, as in the Autograd panel."""
    if not has_no_scan(scene.circuit):
        return _nowhere(SCAN)
    off = frozen(scene)
    dag = autograd_graph.dag(scene, off)
    if not dag.edges:
        return _nowhere(backward_pass.NOTHING)
    found = backward_pass.gradients(scene, off)
    every = backward_pass.steps(scene, dag, found)
    run = _run(at, len(every))
    teller = backward_pass.BackwardStepWriter(scene, dag, found, leaves(scene))
    key = (*scene.run_key, off, scene.dark, run.start)

    def step_html() -> list[str]:
        return [teller.step(every[i]) for i in run]

    html = cached_value("steps back", scene.term, *key, make=lambda: run_in_thread(step_html))
    drawn = drawn_ids(scene.circuit)
    there = {id: stop.ids for stop in stops(scene.circuit) for id in stop.ids}
    lit = [there.get(step.light) or there[drawn.get(step.cell, step.cell)] for step in every]
    return _step_group(lit, at, run, html)


def _nowhere(why: str) -> dict[str, Any]:
    return {"stops": [[]], "first": 0, "html": [why]}
