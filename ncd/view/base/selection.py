"""What is chosen on a page: one array ``v4``, op ``n3`` or block ``f1``, axes, and what is folded.

It lives in the session under these keys, from where the link has it, and every view lights it:
``select`` is an id, ``axes`` are up to four names, each at the place of its colour (``k,,h``),
``folded`` are the ids of the folded blocks, ``none`` or ``auto``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import streamlit as st

from ncd.lang.circuits.circuit import Circuit

KEY, AXES, FOLDED, LABELS, PANEL = "select", "axes", "folded", "labels", "panel"
CALLOUTS = "callouts"  # "on" or "off"
QUIZ = "quiz"  # "1", or nothing
OPENS = "Values"
COLOURS = 4  # so many axes are lit at once
AUTO, NONE = "auto", "none"
BLOCK = re.compile(r"[fs]\d+")  # of a term, or of a drawing that has stacked its layers
NOTE = re.compile(r"(?:save|load)-(v\d+)~?")  # where an array is saved to memory, or loaded


def selected(circuit: Circuit) -> str:
    """What is selected, if this circuit has it, else nothing."""
    wanted = str(st.session_state.get(KEY, ""))
    return wanted if wanted in known(circuit) else ""


def known(circuit: Circuit) -> set[str]:
    """All that can be selected in a circuit."""
    cells = {cell.id for cell in circuit.cells}
    stacks = {f"s{cell.id[1:]}" for cell in circuit.cells}  # named after the first op in them
    return {*cells, *stacks, *circuit.values, *(fence.id for fence in circuit.fences)}


def axes(circuit: Circuit) -> str:
    """The axes that are lit and that this circuit has, each at its place."""
    names = {axis.name for axis in circuit.axes}
    wanted = str(st.session_state.get(AXES, "")).split(",")[:COLOURS]
    return ",".join(name if name in names else "" for name in wanted).rstrip(",")


def folding() -> str:
    """What is folded, as the session has it."""
    return str(st.session_state.get(FOLDED, AUTO))


def folded(circuit: Circuit, text: str | None = None) -> Literal["auto"] | frozenset[str]:
    """The blocks of this circuit that a text, or the session, folds; by "auto" the drawing's."""
    text = folding() if text is None else text
    ids = known(circuit).intersection(BLOCK.findall(text))
    return frozenset(ids) if ids or text == NONE else "auto"


def heed(wish: Mapping[str, object]) -> None:
    """Does what a click in a view asks for; called from a callback."""
    for key in (AXES, FOLDED, LABELS, CALLOUTS, QUIZ):
        if isinstance(value := wish.get(key), str):
            st.session_state[key] = value
    if isinstance(id := wish.get("id"), str):
        quiz = bool(st.session_state.get(QUIZ))  # it asks for what a card would tell
        select(id, open_card=wish.get("open") is True and not quiz)


def select(target: str, *, open_card: bool = False) -> None:
    """Selects, from a callback; a second time lets go. ``open_card`` also opens its panel."""
    target = NOTE.sub(r"\1", target)
    same = target == st.session_state.get(KEY)
    if same and (not open_card or st.session_state.get(PANEL) == OPENS):
        target = ""
    st.session_state[KEY] = target
    if target and open_card and st.session_state.get(PANEL) != OPENS:
        st.session_state[PANEL] = OPENS
        st.rerun()  # the tabs stand outside of what a click sends anew
