"""Moves: the drawing, words and panel that follow a size, made without a run of the page.

The page keeps what its last run showed. A browser that names the session then asks for the same
page at other sizes: first the drawing with the words around it, then the open panel. Both are made
by the functions of the page's run, on a copy of the session's state, so the run that follows once
the move rests shows the same. Nothing of the session changes before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from ncd.app.figure import diagram
from ncd.app.page.page_scene import page_scene
from ncd.app.parts import heatmap
from ncd.app.parts.html_panel import Parts, collected_parts
from ncd.app.runtime import scheduler, streamlit_internals
from ncd.app.scene.panel import Panel
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import TRAINED_KEY
from ncd.app.state import knobs, selection
from ncd.app.state.session import session_copy
from ncd.errors import LimitError
from ncd.language.cached_property import lazy_property
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry

SHOWN_PAGE_KEY = "shown page"  # a session key


@dataclass(frozen=True, eq=False)
class ShownPage:
    """The page that the last run of a session showed, and the session's state then."""

    entry: Entry
    panel: Panel
    dark: bool
    state: Mapping[str, Any]


_PAGES: WeakValueDictionary[str, ShownPage] = WeakValueDictionary()  # the session keeps its own


def remember(entry: Entry, panel: Panel, dark: bool) -> None:
    """Keeps what a run of a page shows, for the moves that come before the next one."""
    state = {
        str(key): value
        for key, value in st.session_state.to_dict().items()
        if key != SHOWN_PAGE_KEY
    }
    state[selection.WIDTH_KEY] = str(selection.width())  # which may be known by a cookie alone
    shown = ShownPage(entry, panel, dark, state)
    _PAGES[streamlit_internals.session_id()] = st.session_state[SHOWN_PAGE_KEY] = shown


def shown_page(session: str, name: str) -> ShownPage | None:
    """Returns what a session's page of this name shows; None if this process does not know it."""
    shown = _PAGES.get(session)
    return shown if shown is not None and shown.entry.name == name else None


class MovedPage:
    """The page of a session at other sizes.

    Args:
        shown: What the session's page shows.
        asked: The settings as a link has them, and ``about``, the id that a question is about.
    """

    def __init__(self, shown: ShownPage, asked: Mapping[str, str]) -> None:
        self.shown, self.about = shown, asked.get("about", "")
        sizes = {knob.name: asked[knob.name] for knob in shown.entry.knobs if knob.name in asked}
        own: dict[str, Any] = {
            knobs.NOTES: {},
            knobs.RANGES: {},
            knobs.UNSEEN: ({}, 0.0),
            TRAINED_KEY: "",
        }
        self.state = {**shown.state, **own, **sizes}

    @lazy_property
    def scene(self) -> Scene | Refusal:
        """The scene at the sizes; a long run waits for the page's own."""
        with session_copy(self.state):
            found = page_scene(self.shown.entry, self.shown.dark)
        if isinstance(found, Refusal):
            return found
        if self.about:
            found = replace(found.with_selection(self.about), subject_id=self.about)
        return replace(found, is_preview=not (found.can_run and found.is_quick))

    def drawing(self) -> dict[str, object]:
        """Returns the diagram and the words around it; of what does not fit only the reason."""
        with scheduler.turn(), session_copy(self.state):
            scene = self.scene
            if isinstance(scene, Refusal):
                return {"cost": _reason(scene)}
            message = diagram.diagram_message(scene, scene.build_refusal, selection.folded_text())
            refusal = scene.refusal
            line = diagram.cost_line(scene, scene.known_seconds)
            return {
                **diagram.changing_part(message),
                "noted": diagram.callouts_html(scene),
                "cost": _reason(refusal) + line if refusal else line,
            }

    def parts(self) -> Parts:
        """Returns what the open panel shows; nothing if it waits for the run of the page."""
        scene, panel = self.scene, self.shown.panel
        if isinstance(scene, Refusal) or scene.refusal or not panel.follows_moves:
            return {}
        if panel.needs_run and not scene.is_quick:
            return {}
        heatmap.DARK.set(scene.dark)  # of this thread
        try:
            with scheduler.turn(late=True), session_copy(self.state), collected_parts() as parts:
                panel.show(scene)
        except (RuntimeError, MemoryError, LimitError):  # the run of the page will say why
            return {}
        return parts


def _reason(refusal: Refusal) -> str:
    """Returns why sizes cannot be shown or run, as HTML; the page's run offers the cure."""
    return f"<p><b>{refusal.title}</b> {markup.text(refusal.reason)}</p>"
