"""Runs that are too large for a page: they are offered to the pool, and their result is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from ncd.app.panels.walk.values import SPREAD
from ncd.app.parts import map_component, slice_picker
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.runtime import scheduler
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.scene import Scene, with_tooltip
from ncd.app.scene.session_weights import POLL_SECONDS, waiting_message
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Value
from ncd.explain.colour_scale import ColourRange, PooledMaps
from ncd.jobs.job_pool import QUIET, Ticket, pool
from ncd.jobs.pool_jobs import ArraySummary, ForwardResult, fits, limits, map_dimensions, read
from ncd.run.run_memory import predicted_forward_peak
from ncd.site import markup
from ncd.write.term_json import to_json

STATE = "forward"


@dataclass(frozen=True)
class PoolRun:
    """A run that the session has requested from the pool: its settings and its ticket."""

    settings: dict[str, Any]
    ticket: Ticket


def _settings(scene: Scene) -> dict[str, Any]:
    """Returns everything that the run of a scene depends on, as the pool is given it."""
    knobs = dict(scene.settings)
    given = {"name": scene.entry.name, "knobs": knobs, "seed": scene.seed, "device": scene.device}
    own = bool(scene.entry.text)  # the pool knows the catalogue, and is sent any other system
    return {**given, "term": to_json(scene.term, indent=None)} if own else given


def render(scene: Scene) -> None:
    """Shows the offer, the progress or the result of a large run, if the pool accepts its size."""
    if scene.build_refusal or not scene.has_all_sizes:
        return
    found: PoolRun | None = st.session_state.get(STATE)
    now = found.ticket if found is not None and found.settings == _settings(scene) else None
    if found is not None and now is None:
        found.ticket.leave()
    if now is not None and now.result:
        _result(scene, now.result)
    elif now is not None and not now.ended:
        st.fragment(_waiting, run_every=POLL_SECONDS)(now)
    else:
        _offer(scene, now.failure if now is not None else "")


def _offer(scene: Scene, failure: str) -> None:
    need = cached_value("pool", scene.term, str(limits()), make=lambda: _needed_bytes(scene))
    if need is None:
        return
    if failure and failure not in QUIET:
        st.text(f"It has failed: {failure}")
    with st.container(horizontal=True, vertical_alignment="center", key="pool"):
        st.button("Run it in the pool", key="heavy run", on_click=partial(_begin, scene))
        takes = f"{markup.amount(need, 'B')}, {markup.amount(scene.cost.flops, 'FLOP')}"
        st.text(f"Forward only, away from the pages: {takes}.", width="content")


def _needed_bytes(scene: Scene) -> int | None:
    """Returns the bytes that the run needs in the pool, or None if that is over the limit."""

    def make() -> int | None:
        return predicted_forward_peak(scene.term) if fits(scene.term) else None

    with scheduler.yielded_turn():
        return run_in_thread(make)


def _begin(scene: Scene) -> None:
    """Submits the run to the pool; a callback."""
    settings = _settings(scene)
    st.session_state[STATE] = PoolRun(settings, pool().submit("forward", settings))


def _waiting(now: Ticket) -> None:
    """Shows the place in the queue until the run ends, then runs the page again."""
    now.poll()
    if now.ended:
        st.rerun()
    last = now.reports[-1] if now.reports else None
    done = last["step"] / last["steps"] if last else 0.0
    with st.container(horizontal=True, vertical_alignment="center", key="pool"):
        st.button("Cancel", key="heavy cancel", on_click=now.leave)
        st.progress(done, _progress(now))


def _progress(now: Ticket) -> str:
    """Returns the progress of a run in words."""
    if waiting := waiting_message(now, now.reports):
        return waiting
    again = "Its worker was lost, so it begins again. " if now.again else ""
    last = now.reports[-1]
    return f"{again}Op {last['step']:,} of {last['steps']:,} · {last['seconds']:.1f} s"


# --- what came of it -----------------------------------------------------------------------------


def _result(scene: Scene, result: bytes) -> None:
    """Shows the statistics and the first map of the selected array, or of the output."""
    found = read(result)
    chosen = scene.selected_id if scene.selected_id in found.arrays else scene.circuit.outputs[0].id
    value, seen = scene.circuit.values[chosen], found.arrays[chosen]
    focus = _focus(value, seen)
    map_component.render(
        "heavy",
        map=focus,
        aside=_card(scene, value, seen, found),
        foot=f'<p class="muted">{focus.pooled_maps.caption} Select a wire to see its numbers.</p>',
    )


def _focus(value: Value, seen: ArraySummary) -> Heatmap:
    cells = np.array(seen.cells, dtype=np.float32)
    dimensions = slice_picker.dimensions(value.array)
    rows, columns = map_dimensions(value.array)
    ends = ColourRange.from_numbers(cells, signed=seen.smallest < 0)
    two = len(dimensions) > 1
    return Heatmap(
        f"pool {value.id} {seen.shape}",
        "The first of its maps" if len(dimensions) > 2 else "Its numbers as a map",
        PooledMaps(cells, seen.shape, seen.block),
        ends.with_outliers,
        _side(dimensions[rows]) if two else AxisLabels(),
        _side(dimensions[columns if two else 0]) if dimensions else AxisLabels(),
        square_cells=two and dimensions[rows].axis is dimensions[columns].axis,
    )


def _side(dimension: slice_picker.Dimension) -> AxisLabels:
    return AxisLabels(dimension.html, dimension.words)


def _card(scene: Scene, value: Value, seen: ArraySummary, found: ForwardResult) -> str:
    digits = markup.digits
    facts = {
        "Shape": " × ".join(map(str, value.array.shape)) or "a number",
        "Mean": digits(seen.mean),
        with_tooltip("Spread", SPREAD): digits(seen.deviation),
        "Smallest": digits(seen.smallest),
        "Largest": digits(seen.largest),
    }
    listed = "".join(f"<div><dt>{k}</dt><dd>{markup.text(v)}</dd></div>" for k, v in facts.items())
    return (
        f'<h2 data-array="{value.id}">{markup.array(value.array)}</h2>'
        f'<div class="told"><dl class="stats">{listed}</dl></div>'
        f"<p>The pool ran it in <b>{markup.amount(found.seconds, 's')}</b> with one thread, and "
        f"held {markup.amount(found.bytes, 'B')}.</p>"
        f'<p class="muted">Weights and inputs are drawn from seed {scene.seed}.</p>'
    )
