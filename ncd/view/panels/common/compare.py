"""The Compare panel: a pinned setting beside the current one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from ncd.code import lines
from ncd.export import markup, text_diff
from ncd.export.shared_assets import DIAGRAM_CSS, LIGHT_JS, PANEL_CSS
from ncd.models import Entry
from ncd.view.base import knobs
from ncd.view.base.html_panel import asked, heed
from ncd.view.base.static_files import static
from ncd.view.compare import diagram_pair, value_maps
from ncd.view.compare.matching import Match, match
from ncd.view.session import pin
from ncd.view.session.pin import VIEW, VIEWS, Pin
from ncd.view.session.refusal import Refusal
from ncd.view.session.scene import Scene

TITLE = "Compare"
RUNS = False
KEY = "compare panel"

_compare = st.components.v2.component(
    "ncd_compare",
    html='<div class="ncd"><div class="content"></div></div>',
    css=PANEL_CSS + DIAGRAM_CSS + static("panels/common/compare.css"),
    js=LIGHT_JS + static("base/html_panel.js"),
)


def show(scene: Scene) -> None:
    """Shows both settings, if one is pinned, and the chosen view of both."""
    entry, held = scene.entry, pin.pinned(scene.entry)
    if held is None:
        _show(scene, None, _begin(entry))
        return
    other = pin.seen(scene, held)
    if isinstance(other, Refusal):
        _show(scene, held, _refused(other))
        return
    view, found, both = _view(), match(other.circuit, scene.circuit), None
    if view == "maps" and not other.refused:
        both = value_maps.pair(other, scene, found)
        html = value_maps.heading(both)
    elif view in SHOWN and other.sized:
        html = SHOWN[view](other, scene, found)
    else:
        html = diagram_pair.diagrams(other, scene, found)
    why = _refused(other.refused) if other.refused else ""
    _show(scene, held, _told(other, scene) + why + html)
    value_maps.show(both)


def _view() -> str:
    asked = st.session_state.get(VIEW)
    return asked if asked in VIEWS else VIEWS[0]


def _show(scene: Scene, held: Pin | None, html: str) -> None:
    """Sends the buttons and the content in one message."""
    note = st.session_state.get(knobs.NOTES, {}).get(pin.PIN, "")
    said = f'<p role="status">{markup.text(note)}</p>' if note else ""

    def picked() -> None:
        _pick(scene.entry, held, str(asked(KEY, "pick") or ""))

    _compare(
        key=KEY,
        data={"html": _acts(scene.entry, held) + said + html},
        on_select_change=partial(heed, KEY),
        on_pick_change=picked,
    )


# --- buttons --------------------------------------------------------------------------------------


def _acts(entry: Entry, held: Pin | None) -> str:
    if held is None:
        return f'<div class="acts">{_button("pin", "Pin this setting")}{_published(entry)}</div>'
    views = "".join(
        f'<button type="button" class="plain" data-pick="view={view}" '
        f'aria-pressed="{str(view == _view()).lower()}">{view.capitalize()}</button>'
        for view in VIEWS
    )
    return (
        f'<div class="acts"><div class="views" role="group" aria-label="What is compared">{views}'
        f"</div>{_published(entry)}{_button('pin', 'Pin this instead')}"
        f"{_button('swap', 'Swap')}{_button('unpin', 'Unpin')}</div>"
    )


def _button(pick: str, words: str) -> str:
    return f'<button type="button" class="plain" data-pick="{pick}">{words}</button>'


def _published(entry: Entry) -> str:
    """Returns the presets that can be pinned, if there are any."""
    if not entry.presets:
        return ""
    options = "".join(
        f'<option value="{markup.text(preset.name)}">{markup.text(preset.title)}</option>'
        for preset in entry.presets
    )
    first = '<option value="">Pin a published model …</option>'
    return f'<select data-set="preset" aria-label="Pin a published model">{first}{options}</select>'


def _pick(entry: Entry, held: Pin | None, picked: str) -> None:
    """Applies a button; a callback."""
    name, _, value = picked.partition("=")
    now = Pin(knobs.settings(entry), knobs.seed())
    if name == "view" and value in VIEWS:
        st.session_state[VIEW] = value
    elif name == "pin":
        pin.put(entry, now)
    elif name == "unpin":
        pin.put(entry, None)
    elif name == "preset" and value in {preset.name for preset in entry.presets}:
        pin.put(entry, Pin(entry.settings(entry.preset(value).knobs), now.seed))
    elif name == "swap" and held is not None:
        knobs.put({**held.settings, knobs.SEED.name: held.seed})
        pin.put(entry, now)
    else:
        value_maps.pick(name, value)


def _begin(entry: Entry) -> str:
    names = " or ".join(f"<b>{markup.text(knobs.label(k.name))}</b>" for k in entry.knobs[:2])
    return (
        f"<p>Pin the setting that the page has now, then move a knob such as {names}: both are "
        "shown beside each other, with what differs between their diagrams, shapes, cost, maps and "
        "source. The pin is in the link.</p>"
    )


def _refused(refusal: Refusal) -> str:
    return f'<p role="status">The pinned setting does not fit. {markup.text(refusal.error)}</p>'


# --- what differs ---------------------------------------------------------------------------------


def _told(one: Scene, two: Scene) -> str:
    """Returns every knob that differs, and the totals, from the pinned setting to now."""
    every = {knob.name: knob for knob in (*one.entry.knobs, knobs.SEED)}
    values = [{**scene.settings, knobs.SEED.name: scene.seed} for scene in (one, two)]
    facts = {
        knobs.label(name): _becomes(*(pin.worded(knob, side[name]) for side in values))
        for name, knob in every.items()
        if values[0][name] != values[1][name]
    }
    if not facts:
        return '<p role="status">Both are alike. Move a knob, and see what changes.</p>'
    if one.sized and two.sized:
        for name, title in diagram_pair.NUMBERS.items():
            pair = [getattr(scene.cost, name) for scene in (one, two)]
            facts[title] = _becomes(*map(diagram_pair.amount, pair)) + diagram_pair.change(*pair)
    rows = (
        f"<div><dt>{markup.text(name)}</dt><dd>{said}</dd></div>" for name, said in facts.items()
    )
    return f'<dl class="changes">{"".join(rows)}</dl>'


def _becomes(before: str, after: str) -> str:
    if before == after:
        return markup.text(after)
    return f"{markup.text(before)} → <b>{markup.text(after)}</b>"


def _source(one: Scene, two: Scene, found: Match) -> str:
    """Returns the lines in which the source differs."""
    texts = ([line.text for line in lines(scene.term)] for scene in (one, two))
    return text_diff.html(*texts) or "<p>The source of both is the same, letter by letter.</p>"


SHOWN: dict[str, Callable[[Scene, Scene, Match], str]] = {
    "diagrams": diagram_pair.diagrams,
    "shapes": diagram_pair.shapes,
    "cost": diagram_pair.cost,
    "source": _source,
}
