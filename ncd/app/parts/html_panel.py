"""HTML that highlights the selection, its style files, download buttons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import streamlit as st

from ncd.app.state import selection
from ncd.app.state.controls import Control, pick
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS
from ncd.site.scripts import script

# --- Style sheets, scripts and markup of the pages, read from the folders of ``ncd/app``

VIEW = Path(__file__).parents[1]


def read_static(*paths: str) -> str:
    """Returns the text of one or more files, joined; each path starts at ``ncd/app``.

    >>> read_static("teach/prediction.css", "figure/cell.css").count("{") > 2
    True
    """
    return "".join((VIEW / path).read_text() for path in paths)


class StaticFile(NamedTuple):
    """A static file; its name contains a hash of its content."""

    name: str
    kind: str
    text: str

    @classmethod
    def from_text(cls, end: str, kind: str, text: str) -> StaticFile:
        return cls(f"ncd-{sha256(text.encode()).hexdigest()[:12]}.{end}", kind, text)


# --- Buttons that download a file, which is made only when the button is pressed


def button(
    label: str,
    make: Callable[[], str | bytes],
    name: str,
    kind: str,
    *,
    key: str,
    help: str | None = None,
    width: Literal["content", "stretch"] = "content",
) -> None:
    """Shows a button that downloads what ``make`` returns, as a file of this name and type."""
    st.download_button(label, make, name, kind, key=key, help=help, on_click="ignore", width=width)


# --- A component that shows a panel's HTML and highlights the selection in it

OPENS = "<i data-opens></i>"  # ends what its panel shows: all that follows has its place now

_html_component = st.components.v2.component(
    "ncd_panel",
    html='<div class="ncd"><div class="content"></div></div>',
    css=PANEL_CSS + DIAGRAM_CSS + read_static("panels/tensors/cells.css"),
    js=script("app/parts/html_panel.js"),
)


def render(
    html: str,
    key: str,
    controls: Sequence[Control] = (),
    on_pick: Callable[[str], None] | None = None,
) -> None:
    """Shows HTML (escaped by :mod:`ncd.site.markup`).

    Elements with ``data-axis``, ``data-node`` or ``data-array`` are highlighted together with all
    that share the value. A click on ``data-select`` selects the element. One on
    ``data-pick="i=3"`` sets the control ``i``, and so does a change of an input with
    ``data-set="i"``; ``on_pick`` is called with what sets no control.
    """

    def picked() -> None:
        value = sent_value(key, "pick")
        name, _, text = str(value or "").partition("=")
        if not pick(controls, name, text) and on_pick is not None and isinstance(value, str):
            on_pick(value)

    send(
        _html_component,
        key,
        {"html": html},
        on_select_change=lambda: apply_component_selection(key),
        on_pick_change=picked,
    )


def apply_component_selection(
    key: str, panel_of: Callable[[str], tuple[str, Mapping[str, str]]] | None = None
) -> None:
    """Applies a selection made in a component, as :func:`selection.apply_event`; a callback."""
    value = sent_value(key, "select")
    if isinstance(value, dict):
        selection.apply_event(value, panel_of)


def sent_value(key: str, name: str) -> Any:
    """Returns the value that a component has sent under a name, or None."""
    state = st.session_state.get(key)
    return None if state is None else getattr(state, name, None)


# --- Data that panels send to their components: at once, or collected to answer a move


Parts = dict[str, Mapping[str, Any]]  # the data of components by their keys
_ANSWER: ContextVar[Parts | None] = ContextVar("parts of a move", default=None)


def send(
    component: Callable[..., Any],
    key: str,
    data: Mapping[str, Any],
    **callbacks: Callable[[], None],
) -> None:
    """Shows data in a component; where parts are collected, it is kept instead."""
    collected = _ANSWER.get()
    if collected is not None:
        collected[key] = data
    else:
        component(key=key, data={**data, "part": key}, **callbacks)


def is_collecting() -> bool:
    """Returns whether parts are collected, so that no widget can be shown."""
    return _ANSWER.get() is not None


@contextmanager
def collected_parts() -> Iterator[Parts]:
    """Collects what the enclosed code sends, by the keys of the components.

    >>> with collected_parts() as parts:
    ...     send(print, "shapes", {"html": "<table>"})
    >>> parts
    {'shapes': {'html': '<table>'}}
    """
    parts: Parts = {}
    token = _ANSWER.set(parts)
    try:
        yield parts
    finally:
        _ANSWER.reset(token)
