"""The Compare panel: a pinned setting beside the current one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from ncd.app.panels.walk import compared_values
from ncd.app.panels.walk.compared_diagrams import (
    NUMBERS,
    CircuitMatch,
    amount,
    change,
    cost,
    diagrams,
    in_line,
    match,
    shapes,
)
from ncd.app.parts import slice_picker
from ncd.app.parts.html_panel import (
    apply_component_selection,
    read_static,
    sent_value,
)
from ncd.app.scene import pin
from ncd.app.scene.panel import Panel
from ncd.app.scene.pin import VIEW, VIEWS, Pin
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.controls import pick
from ncd.circuit.costs import cached_numbers, in_bytes
from ncd.language.number_formats import PLAIN_FORMATS
from ncd.site import markup
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS
from ncd.site.scripts import script
from ncd.site.source_listing import diff_html
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.write.torch_source.source_file import lines

KEY = "compare panel"
USUAL_CACHE_FORMAT = "bfloat16"  # the usual format of a cache of keys and values

_compare = st.components.v2.component(
    "ncd_compare",
    html='<div class="ncd"><div class="content"></div></div>',
    css=PANEL_CSS + DIAGRAM_CSS + read_static("panels/walk/compare.css"),
    js=script("app/parts/html_panel.js"),
)


def show_compare(scene: Scene) -> None:
    """Shows the pinned and the current setting in the chosen view, or how to pin one."""
    entry, held = scene.entry, pin.current_pin(scene.entry)
    if held is None:
        _show(scene, None, _begin(entry))
        return
    other = pin.pinned_scene(scene, held)
    if isinstance(other, Refusal):
        _show(scene, held, _refusal_html(other))
        return
    view, found, both = _view(), match(other.circuit, scene.circuit), None
    if view == "maps" and not other.build_refusal:
        both = compared_values.pair(other, scene, found)
        html = compared_values.heading(both)
    elif view in VIEW_WRITERS and other.has_all_sizes:
        html = VIEW_WRITERS[view](other, scene, found)
    else:
        html = diagrams(other, scene, found)
    why = _refusal_html(other.build_refusal) if other.build_refusal else ""
    _show(scene, held, _differences_html(other, scene) + why + html)
    compared_values.show(both)


COMPARE = Panel("Compare", show_compare, needs_run=False, controls=compared_values.CONTROLS)


def _view() -> str:
    asked = st.session_state.get(VIEW)
    return asked if asked in VIEWS else VIEWS[0]


def _show(scene: Scene, held: Pin | None, html: str) -> None:
    """Sends the buttons and the content in one message."""
    note = st.session_state.get(knobs.NOTES, {}).get(pin.PIN, "")
    said = f'<p role="status">{markup.text(note)}</p>' if note else ""

    def picked() -> None:
        _pick(scene.entry, held, str(sent_value(KEY, "pick") or ""))

    _compare(
        key=KEY,
        data={"html": _acts(scene.entry, held) + said + html},
        on_select_change=partial(apply_component_selection, KEY),
        on_pick_change=picked,
    )


# --- buttons --------------------------------------------------------------------------------------


def _acts(entry: Entry, held: Pin | None) -> str:
    if held is None:
        begin = _button("pin", "Pin this setting") + _preset_menu(entry) + _others(entry)
        return f'<div class="acts">{begin}</div>'
    views = "".join(
        f'<button type="button" class="plain" data-pick="view={view}" '
        f'aria-pressed="{str(view == _view()).lower()}">{view.capitalize()}</button>'
        for view in VIEWS
    )
    return (
        f'<div class="acts"><div class="views" role="group" aria-label="What is compared">{views}'
        f"</div>{_preset_menu(entry)}{_others(entry)}{_button('pin', 'Pin this instead')}"
        f"{_third(entry, held)}{_button('unpin', 'Unpin')}</div>"
    )


def _third(entry: Entry, held: Pin) -> str:
    """Returns the button that swaps both settings, or gives another system the page's sizes."""
    if held.other_entry is None:
        return _button("swap", "Swap")
    alike = in_line(entry, knobs.current(entry), held.other_entry)
    return "" if held.settings == alike else _button("alike", "Give it this page’s sizes")


def _button(pick: str, words: str) -> str:
    return f'<button type="button" class="plain" data-pick="{pick}">{words}</button>'


def _preset_menu(entry: Entry) -> str:
    """Returns the presets that can be pinned, if there are any."""
    if not entry.presets:
        return ""
    options = "".join(
        f'<option value="{markup.text(preset.name)}">{markup.text(preset.title)}</option>'
        for preset in entry.presets
    )
    first = '<option value="">Pin a published model …</option>'
    return f'<select data-set="preset" aria-label="Pin a published model">{first}{options}</select>'


def _others(entry: Entry) -> str:
    """Returns a choice of the other systems, each of which can be pinned."""
    groups = (
        f'<optgroup label="{markup.text(section)}">'
        + "".join(
            f'<option value="{other.name}">{markup.text(other.title)}</option>'
            for other in members
            if other.name != entry.name
        )
        + "</optgroup>"
        for section, members in CATALOGUE.sections.items()
    )
    first = '<option value="">Pin another system …</option>'
    return (
        f'<select data-set="system" aria-label="Pin another system">{first}{"".join(groups)}'
        "</select>"
    )


def _pick(entry: Entry, held: Pin | None, picked: str) -> None:
    """Applies a button; a callback."""
    name, _, value = picked.partition("=")
    now = Pin(knobs.current(entry), knobs.seed())
    if name == "view" and value in VIEWS:
        st.session_state[VIEW] = value
    elif name == "pin":
        pin.set_pin(entry, now)
    elif name == "unpin":
        pin.set_pin(entry, None)
    elif name == "preset" and value in {preset.name for preset in entry.presets}:
        pin.set_pin(entry, Pin(entry.settings(entry.preset(value).knobs), now.seed))
    elif name == "system" and value in CATALOGUE and value != entry.name:
        other = CATALOGUE[value]
        alike = in_line(entry, now.settings, other)
        pin.set_pin(entry, Pin(alike, now.seed, other))
    elif name == "alike" and held is not None and held.other_entry is not None:
        pin.set_pin(entry, replace(held, settings=in_line(entry, now.settings, held.other_entry)))
    elif name == "swap" and held is not None and held.other_entry is None:
        knobs.set_values({**held.settings, knobs.SEED.name: held.seed})
        pin.set_pin(entry, now)
    elif not pick(COMPARE.controls, name, value):
        slice_picker.pick(name, value)


def _begin(entry: Entry) -> str:
    names = " or ".join(
        f"<b>{markup.text(knobs.subscript_name(k.name))}</b>" for k in entry.knobs[:2]
    )
    return (
        f"<p>Pin the setting that the page has now, then move a knob such as {names}, or go to "
        "another page: both are shown beside each other, with what differs between their diagrams, "
        "shapes, cost, maps and source. The pin is in the link.</p>"
    )


def _refusal_html(refusal: Refusal) -> str:
    return f'<p role="status">The pinned setting does not fit. {markup.text(refusal.error)}</p>'


# --- what differs ---------------------------------------------------------------------------------


def _differences_html(one: Scene, two: Scene) -> str:
    """Returns every setting that differs, and the totals, of the pinned and the current setting."""
    facts = _settings(one, two)
    if not facts:
        return '<p role="status">Both are alike. Move a knob, and see what changes.</p>'
    if one.has_all_sizes and two.has_all_sizes:
        for name, title in NUMBERS.items():
            pair = [getattr(scene.cost, name) for scene in (one, two)]
            facts[title] = _becomes(*map(amount, pair)) + change(*pair)
        facts |= _cache(one, two)
    rows = (
        f"<div><dt>{markup.text(name)}</dt><dd>{said}</dd></div>" for name, said in facts.items()
    )
    return f'{_in_line(one, two)}<dl class="changes">{"".join(rows)}</dl>'


def _in_line(one: Scene, two: Scene) -> str:
    """Returns which sizes of another system are those of the page, and which are not."""
    if one.entry.key == two.entry.key:
        return ""
    alike = in_line(two.entry, two.settings, one.entry)
    title, same, apart = markup.text(one.entry.title), [], []
    for knob in one.entry.knobs:
        name, own = markup.text(knobs.subscript_name(knob.name)), one.settings[knob.name]
        if own != alike[knob.name]:
            other = pin.display_value(knob, alike[knob.name])
            apart.append(f"{name} = {pin.display_value(knob, own)}, not {other}")
        elif own != knob.default:
            default = pin.display_value(knob, knob.default)
            same.append(f"{name} = {pin.display_value(knob, own)}, not {default}")
    said = f"<p>{title} has this page’s sizes: {'; '.join(same)}.</p>" if same else ""
    return said + (f"<p>{title} is at other sizes: {'; '.join(apart)}.</p>" if apart else "")


def _settings(one: Scene, two: Scene) -> dict[str, str]:
    """Returns the settings that differ; of two systems, their titles and the sizes of both."""
    values = [{**scene.settings, knobs.SEED.name: scene.seed} for scene in (one, two)]
    every = {knob.name: knob for s in (one, two) for knob in (*s.entry.knobs, knobs.SEED)}
    facts = {}
    if one.entry.key != two.entry.key:
        facts["System"] = _becomes(one.entry.title, two.entry.title)
    for name, knob in every.items():
        sides = [pin.display_value(knob, side[name]) if name in side else "–" for side in values]
        if sides[0] != sides[1]:
            facts[knobs.subscript_name(name)] = _becomes(*sides)
    return facts


def _cache(one: Scene, two: Scene) -> dict[str, str]:
    """Returns the bytes of keys and values of a token in both, where both keep some."""
    name = USUAL_CACHE_FORMAT if two.formats.cache == PLAIN_FORMATS else two.formats.cache
    kept = [in_bytes(cached_numbers(s.circuit, s.entry.cached), name) for s in (one, two)]
    if not all(kept) or kept[0] == kept[1]:
        return {}
    said = _becomes(*(f"{n:,} B" for n in kept)) + change(*kept)
    return {f"Cache of a token, {name}": said}


def _becomes(before: str, after: str) -> str:
    if before == after:
        return markup.text(after)
    return f"{markup.text(before)} → <b>{markup.text(after)}</b>"


def _source(one: Scene, two: Scene, found: CircuitMatch) -> str:
    """Returns the lines of source that differ."""
    texts = ([line.text for line in lines(scene.term)] for scene in (one, two))
    return diff_html(*texts) or "<p>The source of both is the same, letter by letter.</p>"


VIEW_WRITERS: dict[str, Callable[[Scene, Scene, CircuitMatch], str]] = {
    "diagrams": diagrams,
    "shapes": shapes,
    "cost": cost,
    "source": _source,
}
