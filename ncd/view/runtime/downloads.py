"""Buttons that download a file, which is made only when the button is pressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st


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
