"""A panel's HTML on the page, lit with everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from ncd.export.shared_assets import DIAGRAM_CSS, LIGHT_JS, PANEL_CSS
from ncd.view.base import selection
from ncd.view.base.static_files import static

_panel = st.components.v2.component(
    "ncd_panel",
    html='<div class="ncd"><div class="content"></div></div>',
    css=PANEL_CSS + DIAGRAM_CSS + static("panels/tensors/cells.css"),
    js=LIGHT_JS + static("base/html_panel.js"),
)


def show(html: str, key: str, on_pick: Callable[[str], None] | None = None) -> None:
    """Shows HTML (escaped by :mod:`ncd.export.markup`).

    Elements with ``data-axis``, ``data-node`` or ``data-array`` are lit together with all that has
    the same; a click on one with ``data-select`` selects it, on one with ``data-pick`` calls
    ``on_pick`` with its value, and a change of an input with ``data-set="i"`` with ``"i=3"``.
    """

    def picked() -> None:
        value = asked(key, "pick")
        if on_pick is not None and isinstance(value, str):
            on_pick(value)

    _panel(
        key=key,
        data={"html": html},
        on_select_change=lambda: heed(key),
        on_pick_change=picked,
    )


def heed(key: str) -> None:
    """Selects what a view's click asks for; a callback."""
    value = asked(key, "select")
    if isinstance(value, dict):
        selection.heed(value)


def asked(key: str, name: str) -> Any:
    """What a view has sent under this name."""
    state = st.session_state.get(key)
    return None if state is None else getattr(state, name, None)
