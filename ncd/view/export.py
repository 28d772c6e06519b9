"""What can be taken along: the drawing, the source, the term, the link."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd.view.panel import FOLDER
from ncd.view.scene import Scene

_share = st.components.v2.component(
    "ncd_share",
    html='<button type="button" aria-live="polite">Copy link</button>',
    css="""
button {
  font: inherit; font-family: var(--st-font); font-size: 1rem; color: var(--st-text-color);
  background: none; border: 1px solid var(--st-border-color); border-radius: 0.5rem;
  padding: 0.5rem 0.75rem; line-height: 1.4; cursor: pointer; white-space: nowrap;
}
button:hover, button:focus-visible {
  border-color: var(--st-primary-color); color: var(--st-primary-color);
}
""",
    js=(FOLDER / "share.js").read_text(),
)


def show(scene: Scene) -> None:
    """The source of the figure, the button that copies the link, and the menu of files."""
    st.text(scene.entry.source, width="content")
    _share(key="share", width="content")
    with st.popover("Export", on_change="rerun", key="export") as menu:
        if menu.open:
            _files(scene)


def _files(scene: Scene) -> None:
    name, term = scene.entry.name, scene.term
    drawing = ncd.draw(term, labels=scene.labels, dark=scene.dark)
    files = (
        ("Drawing, SVG", drawing.svg, f"{name}.svg", "image/svg+xml"),
        ("Drawing, PNG", lambda: drawing.png(3), f"{name}.png", "image/png"),
        ("Source, PyTorch", lambda: ncd.source(term), f"{scene.entry.identifier}.py", "text/plain"),
        ("Term, JSON", lambda: ncd.to_json(term), f"{name}.json", "application/json"),
    )
    for label, data, file, mime in files:
        if scene.refusal and "PyTorch" in label:
            continue
        st.download_button(
            label, data, file, mime, key=f"export {file}", on_click="ignore", width="stretch"
        )
