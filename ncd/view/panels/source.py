"""Source: the term as a PyTorch file; a line and its op light each other."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd.code import lines
from ncd.export import listing
from ncd.view import panel
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "Source"
RUNS = False


def show(scene: Scene) -> None:
    """The file, and a button to take it along."""
    file = f"{scene.entry.identifier}.py"
    st.download_button(
        f"Download {file}",
        lambda: ncd.source(scene.term),
        file,
        "text/x-python",
        key="download source",
        on_click="ignore",
    )
    html = remember(
        "listing",
        scene.term,
        scene.dark,
        make=lambda: listing.html(lines(scene.term), scene.circuit, scene.dark),
    )
    panel.show(html, "source")
