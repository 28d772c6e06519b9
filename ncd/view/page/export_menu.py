"""The export menu: the drawing, the source, the term and the link as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import streamlit as st

import ncd
from ncd.view.base import selection
from ncd.view.page import provenance
from ncd.view.runtime import downloads
from ncd.view.session import own_entry, url
from ncd.view.session.link_text import packed
from ncd.view.session.refusal import Refusal
from ncd.view.session.scene import Scene

SVG, JSON, PYTHON = "image/svg+xml", "application/json", "text/plain"
File = tuple[str, Callable[[], str | bytes], str, str]  # label, data, file name, MIME type


@st.fragment
def show(now: Callable[[], Scene | Refusal]) -> None:
    """Shows the menu; a fragment, so ``now`` is called only while the menu is open."""
    with st.popover("Export", on_change="rerun", key="export") as menu:
        if not (menu.open and isinstance(scene := now(), Scene)):
            return
        if scene.veil:
            st.caption("Files tell sizes. They are here again when the quiz has ended.")
        else:
            _files(scene)


def _files(scene: Scene) -> None:
    name, facts = scene.entry.name, provenance.facts(scene, url.text())
    folded = selection.folded(scene.circuit)
    drawn = replace(scene, wide=None).look  # a file does not depend on the window
    look = partial(ncd.draw, scene.term, **drawn, folded=folded)
    every: list[File] = [
        ("Drawing, SVG", lambda: provenance.svg(look().svg(), facts), f"{name}.svg", SVG),
        ("Drawing, PNG", lambda: look().png(3), f"{name}.png", "image/png"),
        ("Drawing, PDF", lambda: look().pdf(), f"{name}.pdf", "application/pdf"),
        ("Drawing, TikZ", lambda: look().tex(), f"{name}.tex", "application/x-tex"),
        ("Page, HTML", lambda: ncd.html(scene.term), f"{name}.html", "text/html"),
        *_sources(scene, scene.entry.identifier, facts),
        ("Term, JSON", lambda: ncd.to_json(scene.term, about=facts), f"{name}.json", JSON),
    ]
    for label, make, path, kind in every:
        downloads.button(label, make, path, kind, key=f"export {path}", width="stretch")
    if text := packed(ncd.spell(scene.term)):
        st.markdown(f"[Edit this system as text]({own_entry.NAME}?{own_entry.TEXT}={quote(text)})")


def _sources(scene: Scene, file: str, facts: dict[str, Any]) -> list[File]:
    """Returns the source file, and a second one without einops if it uses einops."""
    if not scene.sized:
        return []

    def written(einops: bool) -> Callable[[], str]:
        return lambda: provenance.python(scene, facts, einops)

    if "einops" not in ncd.source(scene.term):
        return [("Source, torch alone", written(False), f"{file}.py", PYTHON)]
    return [
        ("Source, torch and einops", written(True), f"{file}.py", PYTHON),
        ("Source, torch alone", written(False), f"{file}_torch.py", PYTHON),
    ]
