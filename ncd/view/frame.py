"""The frame of every page: knobs, diagram, panels, and what they are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Protocol

import streamlit as st

from ncd.drawing import Labels
from ncd.export import markup
from ncd.models import Entry
from ncd.view import diagram, export, inputs, knobs, page_style, panel, refusal, selection
from ncd.view.inputs import Feed
from ncd.view.scene import Scene, built

HEAD_START = 0.03  # seconds in which the browser shows the rest, before it is busy with a plot


class Panel(Protocol):
    """A panel: its ``TITLE`` on the tab, whether it ``RUNS`` the system, and ``show``.

    ``show`` may return what is slow to draw, to be called when the rest of the page is there.
    """

    TITLE: str
    RUNS: bool

    def show(self, scene: Scene) -> Callable[[], None] | None: ...


@dataclass(frozen=True)
class Controls:
    """What the visitor has set on the left."""

    settings: dict[str, int]
    seed: int
    device: str
    feed: Feed


def page(entry: Entry, lead: str, why: str, panels: Sequence[Panel]) -> None:
    """Shows a page: ``lead`` is one sentence above the diagram, ``why`` stands at the end."""
    if st.session_state.get(knobs.PAGE) not in (None, entry.name):
        selection.forget()
    controls = _controls(entry)
    header = st.container(horizontal=True, vertical_alignment="bottom")
    with header:
        st.title(entry.title, anchor=False)
    st.markdown(lead)
    drawing, row = st.container(), st.container(horizontal=True, vertical_alignment="center")
    with row:
        legend, labels = st.container(), diagram.choose_labels()
    scene = _scene(entry, controls, labels)
    if isinstance(scene, refusal.Refusal):
        refusal.show(scene)
        return
    with header:
        export.show(scene)
    with drawing:
        diagram.show(scene)
    with legend:
        panel.show(diagram.legend(scene.circuit), "legend", scene.selected)
    if scene.refusal:
        refusal.show(scene.refusal)
    _line_and_panels(scene, panels)
    st.subheader("Why it works", anchor=False)
    st.markdown(why)


def _controls(entry: Entry) -> Controls:
    knobs.settle(entry)
    sketch, _ = built(entry, entry.settings({}))
    with st.sidebar:
        sizes, run = st.container(), st.container()
        with run:
            st.subheader("Run", anchor=False)
            switches = knobs.switches(entry)
            feed = inputs.choose(entry, sketch) if sketch else Feed()
            seed, device = knobs.seed_and_device()
        with sizes:
            st.subheader("Sizes", anchor=False)
            settings = knobs.sizes(entry, feed.lengths) | switches
        page_style.show()
    knobs.finish()
    ordered = {knob.name: settings[knob.name] for knob in entry.knobs}
    return Controls(ordered, seed, device, feed)


def _scene(entry: Entry, controls: Controls, labels: Labels) -> Scene | refusal.Refusal:
    term, refused = built(entry, controls.settings)
    if term is None:
        assert refused is not None
        return refused
    scene = Scene(
        entry,
        controls.settings,
        controls.seed,
        controls.device,
        controls.feed,
        dark=st.context.theme.type == "dark",
        labels=labels,
        selected="",
        term=term,
        refusal=refused,
    )
    return scene.choosing(selection.selected(scene.circuit))


def _line_and_panels(scene: Scene, panels: Sequence[Panel]) -> None:
    line = st.container()
    with st.container(key="panels"):
        tabs = st.tabs(
            [panel.TITLE for panel in panels],
            on_change="rerun",
            key=selection.PANEL,
            bind="query-params",
        )
    tab, opened = next(pair for pair in zip(tabs, panels, strict=True) if pair[0].open)
    if not scene.runs:
        with tab:
            if opened.RUNS or not scene.sized:
                st.caption("There is something to see here once the sizes fit.")
            else:
                opened.show(scene)
        return
    try:
        with tab:
            rest = opened.show(scene)
        with line:
            panel.show(cost_line(scene), "line", scene.selected)
        if rest:
            sleep(HEAD_START)
            with tab:
                rest()
    except (RuntimeError, MemoryError) as error:  # such as a GPU that others have filled
        st.warning(f"The run on {scene.device} failed. Try another device, or smaller sizes.")
        st.text(str(error).strip().partition("\n")[0])


def cost_line(scene: Scene) -> str:
    """Parameters, operations and time in one line."""
    cost = scene.cost
    parts = (
        markup.counted(cost.parameters, "parameter"),
        markup.amount(cost.flops, "FLOP"),
        f"{markup.amount(scene.seconds, 's')} on {markup.text(scene.device)}",
    )
    return f'<p class="muted">{" · ".join(parts)}</p>'
