"""The one selection of a page: an array ``v4``, an op ``n3``, a block ``f1`` or an axis ``axis:k``.

It lives in the session and in the link (``?select=v4``), and every view lights it.
"""

from __future__ import annotations

import streamlit as st

from ncd.lang.axes import Type
from ncd.lang.circuit import Circuit

KEY = "select"
OPENS = "Values"
PANEL = "panel"


def selected(circuit: Circuit) -> str:
    """What is selected, if this circuit has it, else nothing."""
    if KEY not in st.session_state:
        st.session_state[KEY] = st.query_params.get(KEY, "")
    wanted = str(st.session_state[KEY])
    return wanted if wanted in known(circuit) else ""


def known(circuit: Circuit) -> set[str]:
    """All that can be selected in a circuit."""
    axes = {f"axis:{axis.name}" for axis in Type(v.array for v in circuit.values.values()).axes}
    cells = {cell.id for cell in circuit.cells}
    return {*axes, *cells, *circuit.values, *(fence.id for fence in circuit.fences)}


def select(target: str, *, open_card: bool = False) -> None:
    """Selects, from a callback; a second time lets go. ``open_card`` also opens its panel."""
    same = target == st.session_state.get(KEY)
    if same and (not open_card or st.session_state.get(PANEL) == OPENS):
        target = ""
    st.session_state[KEY] = target
    if target:
        st.query_params[KEY] = target
    else:
        st.query_params.pop(KEY, None)
    if target and open_card and not target.startswith("axis:"):
        st.session_state[PANEL] = OPENS


def forget() -> None:
    """Lets go, when another page opens."""
    st.session_state.pop(KEY, None)
