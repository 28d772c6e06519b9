"""The pinned setting that a page is compared with: knobs and a seed, stored in the link.

It is one of the page's own system, or of another one, whose name and a colon then come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from ncd.app.parts import input_feed as inputs
from ncd.app.scene import own_entry
from ncd.app.scene.edited_system import entry_of
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene, build_term
from ncd.app.scene.session_weights import shipped_or_served, weights_for
from ncd.app.state import knobs, link_text
from ncd.circuit.knob import Knob
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec

PIN, VIEW = "pin", "compare"  # session keys: "h=2,k=8,seed=3", and the chosen view
VIEWS = ("diagrams", "shapes", "cost", "maps", "source")
LONGEST = link_text.LINK + 300  # letters: a text of one's own, and a setting
PRESET = "preset"
OF, WITH = ":", "~"  # behind the name of another system, and before the text of one's own


@dataclass(frozen=True)
class Pin:
    """All knobs at their values, and the seed; ``other_entry`` is the system if not the "
    "page's own."""

    settings: Mapping[str, int]
    seed: int
    other_entry: Entry | None = None


def pin_text(entry: Entry, pin: Pin) -> str:
    """Returns a pin as text for the link: all values that are not defaults, and at least one knob.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> pin_text(entry, Pin(entry.settings({"k": 8, "causal": 1}), 3))
    'k=8,causal=true,seed=3'
    >>> pin_text(entry, Pin(entry.settings({}), 0))
    'h=4'
    >>> other = ncd.catalogue["grouped-queries"]
    >>> pin_text(entry, Pin(other.settings({"q": 2}), 0, other))
    'grouped-queries:q=2'
    """
    if pin.other_entry is not None:
        own = replace(pin, other_entry=None)
        return f"{_address(pin.other_entry)}{OF}{pin_text(pin.other_entry, own)}"
    values = {knob: pin.settings[knob.name] for knob in entry.knobs} | {knobs.SEED: pin.seed}
    told = [knob for knob, value in values.items() if value != knob.default]
    return ",".join(
        f"{knob.name}={_value_text(knob, values[knob])}" for knob in told or entry.knobs[:1]
    )


def _address(entry: Entry) -> str:
    """Returns the name of a system, with its text if it is a visitor's own."""
    text = (
        f"{WITH}{link_text.compress_text(entry.text)}"
        if entry.name == own_entry.CUSTOM_PAGE
        else ""
    )
    return entry.name + text


def _system(address: str) -> Entry | None:
    """Returns the system of such a name; None if there is none."""
    name, _, text = address.partition(WITH)
    return entry_of(name, {own_entry.TEXT_KEY: text} if text else {})


def with_page_name(page: str, own_text: str, pin: str) -> str:
    """Returns a pin of a page as other pages say it.

    >>> [with_page_name("lstm", "", pinned) for pinned in ("h=4", "gru:h=8", "")]
    ['lstm:h=4', 'gru:h=8', '']
    """
    head, colon, _ = pin.rpartition(OF)
    if not pin or (colon and _system(head)):
        return pin
    text = f"{WITH}{link_text.compress_text(own_text)}" if page == own_entry.CUSTOM_PAGE else ""
    return f"{page}{text}{OF}{pin}"


def without_page_name(page: str, pin: str) -> str:
    """Returns a pin that comes from another page as this page says it.

    >>> without_page_name("lstm", "lstm:h=4"), without_page_name("gru", "lstm:h=4")
    ('h=4', 'lstm:h=4')
    """
    return pin.removeprefix(f"{page}{OF}")


def _value_text(knob: Knob, value: int) -> str:
    """Returns a value as text for the link."""
    return str(bool(value)).lower() if knob.switch else str(value)


def display_value(knob: Knob, value: int) -> str:
    """Returns a value as the sidebar shows it.

    >>> display_value(Knob("causal", 0, 1, 0, switch=True), 1)
    'on'
    >>> display_value(Knob("y", 1, 9, 3), 4096)
    '4,096'
    """
    if knob.switch:
        return "on" if value else "off"
    return knob.names[value] if knob.names else f"{value:,}"


def parse_pin(entry: Entry, text: str) -> tuple[Pin | None, str]:
    """Returns the pin that a link describes, and a note if its values had to be changed.

    Knobs that are not named have their defaults; ``preset=`` names a published model. There is no
    pin if no knob is named.

    >>> import ncd
    >>> entry = ncd.catalogue["scaled-dot-product-attention"]
    >>> pin, note = parse_pin(entry, "k=8,y=0")
    >>> pin.settings["k"], pin.settings["x"], pin.settings["y"], note
    (8, 22, 1, 'y cannot be 0: it is 1 or more. The nearest is 1.')
    >>> parse_pin(entry, "zz=3")
    (None, 'The pin has zz, which this page does not know.')
    >>> parse_pin(entry, "lstm:h=2")[0].other_entry.title
    'LSTM'
    """
    head, colon, rest = text.rpartition(OF)
    other = _system(head) if colon and head != entry.name else None
    if other is not None:
        pin, note = parse_pin(other, rest)
        return (replace(pin, other_entry=other) if pin else None), note
    if WITH in head:
        return None, "The pin’s text cannot be read."
    text = rest if head == entry.name else text
    asked, wrong = knobs.parse_sizes(text[:LONGEST])
    known = {knob.name: knob for knob in (*entry.knobs, knobs.SEED)}
    published = {preset.name: preset.knobs for preset in entry.presets}
    values = dict(published.get(asked.pop(PRESET, ""), {}))
    notes: list[str] = []
    for name, value in asked.items():
        if name in known:
            values[name], note = knobs.nearest_legal(known[name], value)
            notes.append(note)
        else:
            wrong.append(name)
    if wrong:
        names = ", ".join(word[:20] for word in wrong[:3])
        notes.append(f"The pin has {names}, which this page does not know.")
    every = {name: values.get(name, knob.default) for name, knob in known.items()}
    seed = every.pop(knobs.SEED.name)
    pin = Pin(entry.with_clamped_indexes(every), seed) if values else None
    return pin, " ".join(filter(None, notes))


def current_pin(entry: Entry) -> Pin | None:
    """Returns the session's pin, if any, and corrects the text in the link."""
    text = str(st.session_state.get(PIN, ""))
    if not text:
        return None
    pin, note = parse_pin(entry, text)
    right = pin_text(entry, pin) if pin else ""
    knobs.set_notice(PIN, note)
    if right != text:
        st.session_state[PIN] = right
    return pin


def set_pin(entry: Entry, pin: Pin | None) -> None:
    """Pins a setting, or removes the pin; a callback."""
    knobs.clear_notice(PIN)
    st.session_state[PIN] = pin_text(entry, pin) if pin else ""


def pinned_scene(scene: Scene, pin: Pin) -> Scene | Refusal:
    """Returns the scene at the pinned setting with the current inputs, or the refusal.

    Another system gets random inputs.
    """
    entry = pin.other_entry or scene.entry
    feed = _feed(entry, pin) if pin.other_entry is None else InputSpec()
    settings = {**pin.settings, **feed.lengths}
    term, refused = build_term(entry, settings)
    if term is None:
        assert refused is not None
        return refused
    feed = feed.fitting(term)
    return replace(
        scene,
        entry=entry,
        formats=replace(scene.formats, cached=entry.cached),
        settings=settings,
        seed=pin.seed,
        inputs_spec=feed,
        selected_id="",
        term=term,
        build_refusal=refused,
        loaded_weights=shipped_or_served(entry, settings)
        if pin.other_entry
        else weights_for(entry, settings, pin.seed, feed),
    )


def _feed(entry: Entry, pin: Pin) -> InputSpec:
    """Returns the inputs for a pinned setting: those of the page, where they fit."""
    sketch, _ = build_term(entry, entry.settings({}))
    return InputSpec() if sketch is None else inputs.feed(entry, sketch, pin.settings, pin.seed)
