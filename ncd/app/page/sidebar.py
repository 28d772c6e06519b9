"""The sidebar: a slider, a switch or a field for every setting.

It is a fragment that runs again only if it has to show something new: a widget that was moved
already shows its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from ncd.app.parts import input_feed
from ncd.app.runtime import streamlit_internals
from ncd.app.scene.scene import build_term
from ncd.app.state import knobs
from ncd.app.state.knobs import FORMATS, render_formats, widget_values
from ncd.circuit.knob import Knob
from ncd.run.device import description, devices
from ncd.systems.catalogue_entry import Entry, Preset

PRESET = "preset"
SHOWN_VALUES_KEY = "sidebar shows"


@streamlit_internals.fragment(streamlit_internals.SIDEBAR)
def render(entry: Entry) -> None:
    """Shows all widgets at the values in the session."""
    sketch, _ = build_term(entry, entry.settings({}))
    with st.container(horizontal=True, vertical_alignment="center", key="sizes"):
        st.subheader("Sizes", anchor=False)
        st.button(
            "Reset",
            type="tertiary",
            key="reset",
            help="Sets all that stands here to how the page begins.",
            on_click=_then_redraw(
                partial(knobs.reset, entry, input_feed.defaults(entry, sketch) if sketch else {})
            ),
        )
    _sizes(entry, input_feed.feed(entry, sketch).lengths if sketch else {})
    _show_sizes_field(entry)
    st.subheader("Run", anchor=False)
    for knob in entry.knobs:
        if knob.switch:
            _switch(knob)
        elif knob.names:
            _choice(knob)
    if sketch is not None:
        input_feed.show_feed(entry, sketch)
    render_formats(entry)
    seed, device = st.columns(2, gap="small")
    with seed:
        _seed()
    with device:
        _device()
    st.session_state[SHOWN_VALUES_KEY] = _shown_values(entry)
    knobs.mark_sent()


def rerun_if_outdated(entry: Entry) -> None:
    """Runs the sidebar again, within a run of the page, if it shows outdated values."""
    key = streamlit_internals.SIDEBAR
    if streamlit_internals.skips_fragment(key) and st.session_state.get(
        SHOWN_VALUES_KEY
    ) != _shown_values(entry):
        streamlit_internals.restart_with(key)


def _shown_values(entry: Entry) -> dict[str, Any]:
    """Returns everything the sidebar has to show, by widget key."""
    sketch, _ = build_term(entry, entry.settings({}))
    settings = knobs.current(entry)
    published = knobs.matching_preset(entry, settings)
    return {
        **settings,
        **{f"{knob.name} ends": settings[knob.below] for knob in entry.knobs if knob.below},
        "seed": knobs.seed(),
        "device": knobs.device(),
        **widget_values(entry),
        PRESET: published.name if published else None,
        **(input_feed.widget_values(entry, sketch) if sketch else {}),
        **knobs.notices_and_ranges(("", *settings, "seed", "device", knobs.TYPED, FORMATS)),
    }


def _on_change(name: str) -> None:
    """Removes the note of a widget that was moved; a callback."""
    if knobs.keeps_newer_value(name):
        return
    if SHOWN_VALUES_KEY in st.session_state:
        st.session_state[SHOWN_VALUES_KEY][name] = st.session_state.get(name)
    knobs.clear_notice(name)


def _then_redraw(act: Callable[[], None]) -> Callable[[], None]:
    """Returns a callback that runs ``act`` and then redraws the sidebar."""

    def call() -> None:
        st.session_state.pop(SHOWN_VALUES_KEY, None)
        act()

    return call


def _sizes(entry: Entry, lengths: Mapping[str, int]) -> None:
    settings = {**knobs.current(entry), **lengths}
    _note("")
    now = _preset_menu(entry, settings) if entry.presets else None
    for knob in entry.knobs:
        if knob.is_size and not knob.is_fixed:
            _size(_within_axis(knob, settings), settings[knob.name], knob.name in lengths)
    if now:
        st.caption(f"{now.title}: {now.source}.")


def _preset_menu(entry: Entry, settings: Mapping[str, int]) -> Preset | None:
    """Shows the choice of presets; returns the one that the sizes match."""
    now = knobs.matching_preset(entry, settings)
    name = now.name if now else None
    if st.session_state.get(PRESET) != name:
        st.session_state[PRESET] = name

    def set_all() -> None:
        knobs.apply_preset(entry, st.session_state[PRESET])

    st.selectbox(
        "Sizes as published",
        [preset.name for preset in entry.presets],
        index=None,
        format_func=lambda name: entry.preset(name).title,
        placeholder="As in a published model …",
        key=PRESET,
        on_change=_then_redraw(set_all),
        label_visibility="collapsed",
    )
    return now


def _within_axis(knob: Knob, settings: Mapping[str, int]) -> Knob:
    """Returns the knob; an index knob ends at the last place of its axis."""
    if not knob.below:
        return knob
    last = settings[knob.below] - 1
    return replace(knob, max=last, default=min(knob.default, last))


def _size(knob: Knob, value: int, fixed: bool) -> None:
    least, most = knobs.slider_range(knob, value)
    alone = least == most  # one legal value: a slider needs two
    if fixed:
        st.session_state[f"{knob.name} words"] = value
    st.slider(
        label(knob),
        least,
        most + alone,
        knob.default,
        knob.step,
        key=f"{knob.name} words" if fixed else knob.name,
        disabled=fixed or alone,
        help="The sentence sets it: one position for each word." if fixed else hint(knob),
        on_change=partial(_on_change, knob.name),
    )
    _note(knob.name)


def _show_sizes_field(entry: Entry) -> None:
    """Shows a text field for sizes beyond the sliders."""
    sizes = [knob for knob in entry.knobs if knob.is_size and not knob.is_fixed]
    if not sizes:  # a text whose sizes are all fixed
        return
    first, last = sizes[0], sizes[-1]
    st.text_input(
        "Sizes, typed",
        key=knobs.TYPED,
        placeholder=f"Type any size: {first.name}={first.legal(96)} {last.name}={last.legal(12)}",
        on_change=_then_redraw(partial(knobs.apply_typed_sizes, entry)),
        label_visibility="collapsed",
    )
    _note(knobs.TYPED)


def _switch(knob: Knob) -> None:
    st.toggle(
        knob.name.capitalize(),
        key=knob.name,
        help=hint(knob),
        on_change=partial(_on_change, knob.name),
    )
    _note(knob.name)


def _choice(knob: Knob) -> None:
    st.segmented_control(
        label(knob),
        range(len(knob.names)),
        default=knob.default,
        required=True,
        format_func=lambda value: knob.names[value],
        key=knob.name,
        help=f"{_sentence(knob.reason)} In a link it is a number, from 0 on.".strip(),
        on_change=partial(_on_change, knob.name),
    )
    _note(knob.name)


def _seed() -> None:
    st.number_input(
        "Seed",
        knobs.SEED.min,
        knobs.SEED.max,
        knobs.SEED.default,
        key="seed",
        help="What the weights and the random arrays are drawn from. "
        "The same seed gives everyone the same numbers.",
        on_change=partial(_on_change, "seed"),
    )
    _note("seed")


def _device() -> None:
    st.selectbox(
        "Device",
        devices(),
        key="device",
        help="What this machine can run the circuit on.",
        on_change=partial(_on_change, "device"),
    )
    st.caption(description(knobs.device()))
    _note("device")


def label(knob: Knob) -> str:
    """Returns the knob's name and meaning.

    >>> label(Knob("n0", 1, 64, 16, help="channels that go in"))
    'n₀ · channels that go in'
    """
    name = knobs.subscript_name(knob.name)
    return f"{name} · {knob.help}" if knob.help else name


def hint(knob: Knob) -> str:
    """Returns the knob's meaning and the reason of its bounds."""
    if knob.switch:
        return _sentence(knob.reason or knob.help)
    steps = f" in steps of {knob.step}" if knob.step > 1 else ""
    reason = f": {knob.reason}" if knob.reason else ""
    return (
        f"{_sentence(knob.help)} The slider goes from {knob.min:,} to {knob.max:,}{steps}{reason}. "
        f"Typed, it can be {knob.limits}."
    ).strip()


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _note(name: str) -> None:
    text = knobs.notice_markdown(name)
    if text:
        st.caption(f":orange-background[{text}]")
