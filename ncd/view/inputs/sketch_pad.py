"""A canvas to draw on with the mouse, a finger or a pen."""

from __future__ import annotations

import streamlit as st

from ncd.inputs import strokes
from ncd.view.base.html_panel import asked
from ncd.view.base.static_files import static

KEY, DRAWING = "canvas", "drawing"

_canvas = st.components.v2.component(
    "ncd_canvas",
    html="""<div class="board"><canvas tabindex="0" role="img"></canvas>
<div><button type="button" data-do="undo">Undo</button>
<button type="button" data-do="clear">Clear</button></div></div>""",
    css=static("inputs/sketch_pad.css"),
    js=static("inputs/sketch_pad.js"),
)


def show(label: str) -> None:
    """Shows the canvas with the session's drawing, to which each stroke is added at once."""
    data = {
        "strokes": drawn(),
        "label": label,
        "pen": strokes.PEN,
        "most": strokes.MOST,
    }
    _canvas(key=KEY, data=data, on_drawn_change=_take)


def drawn() -> str:
    """Returns the session's drawing."""
    return strokes.valid(st.session_state.get(DRAWING, ""))


def _take() -> None:
    st.session_state[DRAWING] = strokes.valid(asked(KEY, "drawn"))
