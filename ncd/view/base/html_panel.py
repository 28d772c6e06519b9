"""A component that shows a panel's HTML and highlights the selection in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from ncd.export.shared_assets import DIAGRAM_CSS, LIGHT_JS, PANEL_CSS
from ncd.view.base import selection
from ncd.view.base.controls import Control, pick
from ncd.view.base.static_files import static

OPENS = "<i data-opens></i>"  # ends what its panel shows: all that follows has its place now

_panel = st.components.v2.component(
    "ncd_panel",
    html='<div class="ncd"><div class="content"></div></div>',
    css=PANEL_CSS + DIAGRAM_CSS + static("panels/tensors/cells.css"),
    js=LIGHT_JS + static("base/html_panel.js"),
)


def show(
    html: str,
    key: str,
    controls: Sequence[Control] = (),
    on_pick: Callable[[str], None] | None = None,
) -> None:
    """Shows HTML (escaped by :mod:`ncd.export.markup`).

    Elements with ``data-axis``, ``data-node`` or ``data-array`` are highlighted together with all
    that share the value. A click on ``data-select`` selects the element. One on
    ``data-pick="i=3"`` sets the control ``i``, and so does a change of an input with
    ``data-set="i"``; ``on_pick`` is called with what sets no control.
    """

    def picked() -> None:
        value = asked(key, "pick")
        name, _, text = str(value or "").partition("=")
        if not pick(controls, name, text) and on_pick is not None and isinstance(value, str):
            on_pick(value)

    _panel(
        key=key,
        data={"html": html},
        on_select_change=lambda: heed(key),
        on_pick_change=picked,
    )


def heed(key: str) -> None:
    """Applies a selection made in a component; a callback."""
    value = asked(key, "select")
    if isinstance(value, dict):
        selection.heed(value)


def asked(key: str, name: str) -> Any:
    """Returns the value that a component has sent under a name, or None."""
    state = st.session_state.get(key)
    return None if state is None else getattr(state, name, None)
