"""A pinned setting, with which the page is compared: knobs and a seed, as the link says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from ncd.models import Entry, Knob
from ncd.view.base import knobs
from ncd.view.inputs import feed as inputs
from ncd.view.inputs import symbols
from ncd.view.inputs.feed import Feed
from ncd.view.session import trained_weights
from ncd.view.session.refusal import Refusal
from ncd.view.session.scene import Scene, built

PIN, VIEW = "pin", "compare"  # the link's "h=2,k=8,seed=3", and what is shown of both
VIEWS = ("diagrams", "shapes", "cost", "maps", "source")
LONGEST = 300  # letters
PRESET = "preset"


@dataclass(frozen=True)
class Pin:
    """All knobs at their values, and the seed."""

    settings: Mapping[str, int]
    seed: int


def said(entry: Entry, pin: Pin) -> str:
    """A pin as the link has it: what is not at its default, and in any case one knob.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> said(entry, Pin(entry.settings({"k": 8, "causal": 1}), 3))
    'k=8,causal=true,seed=3'
    >>> said(entry, Pin(entry.settings({}), 0))
    'h=4'
    """
    values = {knob: pin.settings[knob.name] for knob in entry.knobs} | {knobs.SEED: pin.seed}
    told = [knob for knob, value in values.items() if value != knob.default]
    return ",".join(
        f"{knob.name}={_spelled(knob, values[knob])}" for knob in told or entry.knobs[:1]
    )


def _spelled(knob: Knob, value: int) -> str:
    """A value as a link says it."""
    return str(bool(value)).lower() if knob.switch else str(value)


def worded(knob: Knob, value: int) -> str:
    """A value as the sidebar says it.

    >>> worded(Knob("causal", 0, 1, 0, switch=True), 1), worded(Knob("y", 1, 9, 3), 4096)
    ('on', '4,096')
    """
    if knob.switch:
        return "on" if value else "off"
    return knob.names[value] if knob.names else f"{value:,}"


def read(entry: Entry, text: str) -> tuple[Pin | None, str]:
    """Returns what a link pins, and a note where it is not just what the link says.

    A knob that is not named is at its default; ``preset=`` names a published model. There is no pin
    where nothing is said of any knob.

    >>> import ncd
    >>> entry = ncd.catalogue["scaled-dot-product-attention"]
    >>> pin, note = read(entry, "k=8,y=0")
    >>> pin.settings["k"], pin.settings["x"], pin.settings["y"], note
    (8, 22, 1, 'y cannot be 0: it is 1 or more. The nearest is 1.')
    >>> read(entry, "zz=3")
    (None, 'The pin says zz, which this page lacks.')
    """
    asked, wrong = knobs.spelled(text[:LONGEST])
    known = {knob.name: knob for knob in (*entry.knobs, knobs.SEED)}
    published = {preset.name: preset.knobs for preset in entry.presets}
    values = dict(published.get(asked.pop(PRESET, ""), {}))
    notes: list[str] = []
    for name, value in asked.items():
        if name in known:
            values[name], note = knobs.read(known[name], value)
            notes.append(note)
        else:
            wrong.append(name)
    if wrong:
        names = ", ".join(word[:20] for word in wrong[:3])
        notes.append(f"The pin says {names}, which this page lacks.")
    every = {name: values.get(name, knob.default) for name, knob in known.items()}
    seed = every.pop(knobs.SEED.name)
    pin = Pin(entry.within(every), seed) if values else None
    return pin, " ".join(filter(None, notes))


def pinned(entry: Entry) -> Pin | None:
    """The session's pin, if it has one; the link then says just that, and a note what it said."""
    text = str(st.session_state.get(PIN, ""))
    if not text:
        return None
    pin, note = read(entry, text)
    right = said(entry, pin) if pin else ""
    knobs.note(PIN, note)
    if right != text:
        st.session_state[PIN] = right
    return pin


def put(entry: Entry, pin: Pin | None) -> None:
    """Pins a setting, or none; from a callback."""
    knobs.forget(PIN)
    st.session_state[PIN] = said(entry, pin) if pin else ""


def seen(scene: Scene, pin: Pin) -> Scene | Refusal:
    """The page at its pinned setting, with what goes in as it is now; or why it cannot be built."""
    entry = scene.entry
    feed = _feed(entry, pin)
    settings = {**pin.settings, **feed.lengths}
    term, refused = built(entry, settings)
    if term is None:
        assert refused is not None
        return refused
    if feed.words and not inputs.takes_words(term):
        feed = Feed()
    return replace(
        scene,
        settings=settings,
        seed=pin.seed,
        feed=feed,
        selected="",
        term=term,
        refused=refused,
        learned=trained_weights.learned(entry, settings, pin.seed, feed),
    )


def _feed(entry: Entry, pin: Pin) -> Feed:
    """Returns the inputs of a pinned setting: those of the page, as far as they fit it."""
    sketch, _ = built(entry, entry.settings({}))
    if sketch is None:
        return Feed()
    if entry.name not in symbols.SEQUENCES:
        return inputs.feed(entry, sketch, pin.settings)
    found = symbols.read(entry.name, pin.settings, pin.seed)
    name = sketch.dom[0][0].name
    return Feed({name: found.words}, numbers=found.numbers) if found else Feed()
