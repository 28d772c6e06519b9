"""The selection on a page: an array ``v4``, op ``n3`` or block ``f1``, axes, collapsed blocks.

It is kept in the session under the keys below and in the link; every view highlights it.
``select`` is an id, ``axes`` are up to four names, each at the place of its colour (``k,,h``),
``folded_in`` are the ids of the collapsed blocks, ``none`` or ``auto``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import streamlit as st

from ncd.app.state.session import session
from ncd.circuit.circuit import Circuit
from ncd.systems.catalogue_entry import Entry

SELECTED_KEY, AXES, FOLDED, LABELS, PANEL = "select", "axes", "folded", "labels", "panel"
CALLOUTS = "callouts"  # "on" or "off"
QUIZ = "quiz"  # "1", or nothing
QUESTION_KEY = "ask"  # a question of ncd.systems.lessons.computed_questions
WIDTH_KEY = "wide"  # one of WIDTHS, measured by the browser
PANEL_BY_HAND = "panel by hand"  # whether a tab was pressed while something was selected
MAX_LOCKED_AXES = 4  # axes highlighted at once
AUTO, NONE = "auto", "none"
# Pixels for which diagrams are drawn: a phone, a tablet, beside the panels, a laptop, a screen.
WIDTHS = (340, 620, 720, 860, 1280)
COOKIE = "ncd_wide"  # holds the width for the first run of a page
BLOCK = re.compile(r"[fs]\d+")  # a block, or a stack of equal layers
NOTE = re.compile(r"(?:save|load)-(v\d+)~?")  # a memory note


def selected_id(circuit: Circuit) -> str:
    """Returns the selected id if this circuit has it, else an empty text."""
    wanted = str(session().get(SELECTED_KEY, ""))
    return wanted if wanted in selectable_ids(circuit) else ""


def selectable_ids(circuit: Circuit) -> set[str]:
    """Returns all ids that can be selected in a circuit."""
    cells = {cell.id for cell in circuit.cells}
    stacks = {f"s{cell.id[1:]}" for cell in circuit.cells}  # named after the first op in them
    return {*cells, *stacks, *circuit.values, *(fence.id for fence in circuit.fences)}


def axes(circuit: Circuit, entry: Entry) -> str:
    """Returns the highlighted axes of this circuit, each at the position of its colour."""
    return known_axes(circuit, entry, str(session().get(AXES, "")))


def known_axes(circuit: Circuit, entry: Entry, text: str) -> str:
    """Returns the axes of a text that a page has, by the names that they have now.

    >>> import ncd
    >>> entry = ncd.catalogue["vit"]
    >>> known_axes(ncd.elaborate(entry.build()), entry, "h,n,nothing,k")
    'h,q,,k'
    """
    names = {axis.name for axis in circuit.axes}
    wanted = (entry.renamed_axes.get(name, name) for name in text.split(",")[:MAX_LOCKED_AXES])
    return ",".join(name if name in names else "" for name in wanted).rstrip(",")


def folded_text() -> str:
    """Returns the session's list of collapsed blocks as text."""
    return str(session().get(FOLDED, AUTO))


def folded_in(circuit: Circuit, text: str | None = None) -> Literal["auto"] | frozenset[str]:
    """Returns the collapsed blocks of this circuit, from a text or from the session."""
    text = folded_text() if text is None else text
    ids = selectable_ids(circuit).intersection(BLOCK.findall(text))
    return frozenset(ids) if ids or text == NONE else "auto"


def width() -> int:
    """Returns the width of the diagram in pixels, which fits the column."""
    return parse_width(str(session().get(WIDTH_KEY) or st.context.cookies.get(COOKIE, "")))


def parse_width(text: str) -> int:
    """Returns the width given by a text, or the largest.

    >>> parse_width("620"), parse_width("90000"), parse_width("")
    (620, 1280, 1280)
    """
    return next((width for width in WIDTHS if str(width) == text), WIDTHS[-1])


def apply_event(
    wish: Mapping[str, object],
    panel_of: Callable[[str], tuple[str, Mapping[str, str]]] | None = None,
) -> None:
    """Applies a click in a component; a callback.

    ``panel_of`` returns the panel that a press on a part opens, and the panel's settings.
    """
    for key in (AXES, FOLDED, LABELS, CALLOUTS, QUIZ, WIDTH_KEY):
        if isinstance(value := wish.get(key), str):
            session()[key] = value
    if isinstance(id := wish.get("id"), str):
        target = NOTE.sub(r"\1", id)
        quiz = bool(session().get(QUIZ))  # a panel would reveal the answer
        opens = target and panel_of and wish.get("open") is True and not quiz
        select(target, *(panel_of(target) if opens and panel_of else ()))


def select(
    target: str, panel: str = "", settings: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Selects an id, or clears it if it was selected and nothing is opened.

    ``panel`` is opened, with the ``settings`` of its controls: so the panel follows the selection.
    A tab that was pressed by hand while something was selected stays open instead, for all that is
    selected next, until nothing is selected.
    """
    open_now = session().get(PANEL)
    if session().get(PANEL_BY_HAND) and panel != open_now:
        panel = ""
    turns = panel not in ("", open_now)
    if target == session().get(SELECTED_KEY) and not turns:
        target = ""
    session()[SELECTED_KEY] = target
    if not target:
        session()[PANEL_BY_HAND] = False
        return
    if panel:
        session().update(settings)
    if turns:
        session()[PANEL] = panel
        st.rerun()  # the tabs are outside the fragment that a click reruns


def keep_panel() -> None:
    """Lets the panel of a tab that was pressed stay while something is selected; a callback."""
    session()[PANEL_BY_HAND] = bool(session().get(SELECTED_KEY))
