"""The knobs: sliders and switches whose names are the link's parameters, seed and device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import streamlit as st

from ncd.models import Entry, Knob
from ncd.run import devices

SEED = Knob("seed", 0, 2**31 - 1, 0)
NOTES, SETTLE, PAGE = "notes", "settle", "page"
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def settle(entry: Entry) -> None:
    """Puts right what the link asks for and a knob cannot be; a note beside the knob says so.

    Streamlit reads a link's value only as a widget is first made, and turns a wrong one to the
    default. So the widgets are made once, and then moved to the nearest value in a second run.
    """
    for name, value in st.session_state.pop(SETTLE, {}).items():
        st.session_state[name] = value
    if st.session_state.get(PAGE) == entry.name:
        return
    st.session_state[PAGE], st.session_state[NOTES] = entry.name, {}
    wrong = {}
    for knob in (*entry.knobs, SEED):
        asked = st.query_params.get(knob.name)
        value, note = read(knob, asked)
        if asked is not None and not knob.switch and _number(asked) is None:
            del st.query_params[knob.name]
        if note:
            wrong[knob.name] = bool(value) if knob.switch else value
            st.session_state[NOTES][knob.name] = note
    st.session_state[SETTLE] = wrong


def read(knob: Knob, asked: str | None) -> tuple[int, str]:
    """The nearest value to what a link asks for, and a note where that is another one.

    >>> read(Knob("h", 1, 16, 4), "9999")
    (16, '9999 is more than h can be here. It is 16, the nearest.')
    >>> read(Knob("h", 1, 16, 4), "abc")
    (4, '“abc” is no whole number. h is 4.')
    """
    if asked is None:
        return knob.default, ""
    if knob.switch:
        return _read_switch(knob, asked)
    number = _number(asked)
    if number is None:
        return knob.default, f"“{asked[:20]}” is no whole number. {knob.name} is {knob.default}."
    value = knob.nearest(max(-(10**12), min(10**12, round(number))))
    if value == number:
        return value, ""
    amount = (
        "more than" if number > knob.max else "less than" if number < knob.min else "between what"
    )
    return value, f"{asked[:20]} is {amount} {knob.name} can be here. It is {value}, the nearest."


def _number(asked: str) -> float | None:
    """The number that a link asks for; None for a text that is none, or for one without end."""
    try:
        number = float(asked)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _read_switch(knob: Knob, asked: str) -> tuple[int, str]:
    words = {"true": 1, "false": 0}
    if asked.lower() in words:
        return words[asked.lower()], ""
    if asked in ("0", "1"):  # the command line's way; Streamlit reads only true and false
        return int(asked), " "
    return knob.default, f"{knob.name} is true or false, and “{asked[:20]}” is neither."


def sizes(entry: Entry, lengths: Mapping[str, int]) -> dict[str, int]:
    """The sliders; ``lengths`` are set by sentences, and only shown."""
    values = {}
    for knob in entry.knobs:
        if knob.switch:
            continue
        if knob.name in lengths:
            values[knob.name] = _fixed(knob, lengths[knob.name])
        else:
            values[knob.name] = _slider(knob)
        _note(knob.name)
    return values


def _slider(knob: Knob) -> int:
    value: int = st.slider(
        label(knob),
        knob.min,
        knob.max,
        knob.default,
        knob.step,
        key=knob.name,
        bind="query-params",
        help=hint(knob),
        on_change=_clear_note,
        args=(knob.name,),
    )
    return value


def _fixed(knob: Knob, length: int) -> int:
    key = f"{knob.name} words"
    st.session_state[key] = length
    st.slider(
        label(knob),
        knob.min,
        max(knob.max, length),
        step=knob.step,
        key=key,
        disabled=True,
        help="The sentence sets it: one position for each word.",
    )
    return length


def switches(entry: Entry) -> dict[str, int]:
    """The toggles of the knobs that are on or off."""
    values = {}
    for knob in entry.knobs:
        if knob.switch:
            on = st.toggle(
                knob.name.capitalize(),
                bool(knob.default),
                key=knob.name,
                bind="query-params",
                help=hint(knob),
                on_change=_clear_note,
                args=(knob.name,),
            )
            values[knob.name] = int(on)
            _note(knob.name)
    return values


def seed_and_device() -> tuple[int, str]:
    """The seed of weights and inputs, and the device to run on."""
    seed = st.number_input(
        "Seed",
        SEED.min,
        SEED.max,
        SEED.default,
        key="seed",
        bind=_bind("seed"),
        help="What the weights and the random arrays are drawn from. "
        "The same seed gives everyone the same numbers.",
        on_change=_clear_note,
        args=("seed",),
    )
    _note("seed")
    device = st.selectbox(
        "Device",
        devices(),
        key="device",
        bind="query-params",
        help="What this machine can run the circuit on.",
    )
    return int(seed), str(device)


def _bind(name: str) -> Literal["query-params"] | None:
    """Where a widget has its value from; not from a link that says no number.

    Streamlit itself fails at ``?seed=inf``. In the second run the value is set, and no more read.
    """
    unread = name in st.session_state.get(SETTLE, {}) and name not in st.query_params
    return None if unread else "query-params"


def finish() -> None:
    """Once all widgets are made: runs again if the link asked for what cannot be."""
    if st.session_state.get(SETTLE):
        st.rerun()


def label(knob: Knob) -> str:
    """The knob's name and what it means.

    >>> label(Knob("n0", 1, 64, 16, help="channels that go in"))
    'n₀ · channels that go in'
    """
    name = knob.name.translate(SUBSCRIPTS)
    return f"{name} · {knob.help}" if knob.help else name


def hint(knob: Knob) -> str:
    """What the knob is, and why its bounds are what they are."""
    if knob.switch:
        return f"{knob.help[0].upper()}{knob.help[1:]}." if knob.help else ""
    steps = f" in steps of {knob.step}" if knob.step > 1 else ""
    reason = f": {knob.reason}" if knob.reason else ""
    what = f"{knob.help[0].upper()}{knob.help[1:]}. " if knob.help else ""
    return f"{what}{knob.name} goes from {knob.min:,} to {knob.max:,}{steps}{reason}."


def put(values: Mapping[str, int]) -> None:
    """Sets knobs, from a callback."""
    for name, value in values.items():
        st.session_state[name] = value
        _clear_note(name)


def _note(name: str) -> None:
    note = st.session_state.get(NOTES, {}).get(name, "").strip()
    if note:
        st.caption(f":orange-background[{_plain(note)}]")


def _clear_note(name: str) -> None:
    st.session_state.get(NOTES, {}).pop(name, None)


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|$:~&" else c for c in text)
