"""The bar above a diagram by which a system is changed: undo, redo, and menus of changes."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from ncd.app.figure.edit_menus import menus, with_values
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene import session_edits as edits
from ncd.app.scene.edited_system import place_words
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.errors import NCDError
from ncd.rewrite.rewriting import Rewrite, refusals, rewrites
from ncd.rewrite.rules.rule import AXIS_PREFIX, Target
from ncd.rewrite.rules.term_paths import TermPaths
from ncd.site import markup
from ncd.site.scripts import script

KEY = "changes"
REFUSAL_KEY = "refusal of an edit"  # a session key
HINT = "Select an op, a wire, a block or an axis to change it."
NOTHING = "Nothing can be changed here."
DRAWN_ONCE = "Equal layers, drawn once: open them to change one of their ops."

_bar = st.components.v2.component(
    "ncd_edits",
    html=read_static("figure/edit_bar.html"),
    css=read_static("figure/edit_bar.css"),
    js=script("app/figure/edit_bar.js"),
)


# --- The place that is selected


def place(scene: Scene) -> str:
    """Returns the place of a scene that is selected: an op, array or block, or else an axis."""
    if scene.selected_id:
        return "" if scene.selected_id.startswith("s") else scene.selected_id
    axes = selection.axes(scene.circuit, scene.entry).split(",")
    return next((f"{AXIS_PREFIX}{name}" for name in reversed(axes) if name), "")


def edits_at(scene: Scene, at: str) -> tuple[Rewrite, ...]:
    """Returns what can be changed at a place of a scene."""

    def make() -> tuple[Rewrite, ...]:
        try:
            return rewrites(scene.term, at)
        except NCDError:
            return ()

    return cached_value("rewrites", scene.term, at, make=make) if at else ()


def refused_at(scene: Scene, at: str) -> dict[Rewrite, str]:
    """Returns the usual edits of an op or a block that are not possible, each with its reason."""
    return cached_value("refused", scene.term, at, make=lambda: refusals(scene.term, at))


# --- The bar on the page


def render(scene: Scene | Refusal) -> None:
    """Shows the bar for the system of the session."""
    now = edits.session_system()
    at = place(scene) if isinstance(scene, Scene) and not scene.build_refusal else ""
    found = {}
    if isinstance(scene, Scene) and at:
        found = menus(edits_at(scene, at), scene.circuit, refused_at(scene, at))
    refusal = st.session_state.pop(REFUSAL_KEY, "") or now.refusal
    difference = "" if isinstance(scene, Refusal) else edits.difference_html(now, scene)
    data = {
        "at": len(now.edits),
        "first": "As it was",
        "steps": edits.edit_labels(),
        "subject": _subject(
            scene, at, any(not item.refusal for own in found.values() for item in own)
        ),
        "groups": [
            {"title": title, "items": [asdict(item) for item in items]}
            for title, items in found.items()
        ],
        "difference": markup.text(refusal) or difference,
        "wrong": bool(refusal),
    }
    _bar(key=KEY, data=data, on_wish_change=_answer)


def _subject(scene: Scene | Refusal, at: str, changeable: bool) -> str:
    if isinstance(scene, Refusal) or not at:
        is_stack = isinstance(scene, Scene) and scene.selected_id.startswith("s")
        return f'<span class="muted">{DRAWN_ONCE if is_stack else HINT}</span>'
    words = f"<b>{markup.sentence(place_words(scene.circuit, at))}</b>"
    if not changeable:
        return f'{words} <span class="muted">{NOTHING}</span>'
    layers = len(Target(TermPaths(scene.circuit), at).copies())
    every = f' <span class="muted">in each of {layers} layers</span>' if layers > 1 else ""
    return words + every


def _answer() -> None:
    """Does what was pressed in the bar; a callback."""
    wish = sent_value(KEY, "wish")
    if not isinstance(wish, dict):
        return
    if isinstance(count := wish.get("go"), int) and not isinstance(count, bool):
        edits.go_to(max(0, count))
    elif isinstance(key := wish.get("apply"), str):
        values = wish.get("values")
        try:
            edit = with_values(Rewrite.from_json(key), values if isinstance(values, dict) else {})
            st.session_state[REFUSAL_KEY] = edits.make_edit(edit)
        except NCDError as error:
            st.session_state[REFUSAL_KEY] = str(error)
    st.rerun()  # the text is outside of the fragment that a press reruns
