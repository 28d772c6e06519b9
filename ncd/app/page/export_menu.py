"""The export menu: the drawing, the source, the term and the link as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import streamlit as st

import ncd
from ncd.app.page import provenance
from ncd.app.parts import html_panel
from ncd.app.scene import own_entry, url
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.link_text import compress_text
from ncd.site.document import document
from ncd.site.entry_page import of_entry
from ncd.write.file_facts import onnx_with_facts, png_with_facts, tex_with_facts
from ncd.write.term_json import svg_with_term

SVG, JSON, PYTHON = "image/svg+xml", "application/json", "text/plain"
File = tuple[str, Callable[[], str | bytes], str, str]  # label, data, file name, MIME type


@st.fragment
def show(now: Callable[[], Scene | Refusal]) -> None:
    """Shows the menu; a fragment, so ``now`` is called only while the menu is open."""
    with st.popover("Export", on_change="rerun", key="export") as menu:
        if not (menu.open and isinstance(scene := now(), Scene)):
            return
        if scene.hidden_sizes:
            st.caption("Files tell sizes. They are here again when the quiz has ended.")
        else:
            facts = provenance.facts(scene, url.query())
            _files(scene, facts)
            st.caption("Citation, BibTeX")
            cited = provenance.citation(facts, st.context.url or "")
            st.code(cited, language=None, wrap_lines=True)


def _files(scene: Scene, facts: dict[str, Any]) -> None:
    name = scene.entry.name
    folded = selection.folded_in(scene.circuit)
    drawn = replace(scene, column_width=None).draw_options  # a file does not depend on the window
    look = partial(ncd.draw, scene.term, **drawn, folded=folded)
    every: list[File] = [
        (
            "Drawing, SVG",
            lambda: svg_with_term(look().svg(), scene.term, facts),
            f"{name}.svg",
            SVG,
        ),
        ("Drawing, PNG", lambda: png_with_facts(look().png(3), facts), f"{name}.png", "image/png"),
        ("Drawing, PDF", lambda: look().pdf(facts), f"{name}.pdf", "application/pdf"),
        (
            "Drawing, TikZ",
            lambda: tex_with_facts(look().tex(), facts),
            f"{name}.tex",
            "application/x-tex",
        ),
        ("Page, HTML", lambda: _html(scene, facts), f"{name}.html", "text/html"),
        *_sources(scene, scene.entry.identifier, facts),
        *_weights(scene),
        *_model(scene, facts),
        ("Term, JSON", lambda: ncd.to_json(scene.term, about=facts), f"{name}.json", JSON),
    ]
    for label, make, path, kind in every:
        html_panel.button(label, make, path, kind, key=f"export {path}", width="stretch")
    if text := compress_text(ncd.spell(scene.term)):
        address = f"{own_entry.CUSTOM_PAGE}?{own_entry.TEXT_KEY}={quote(text)}"
        st.markdown(f"[Edit this system as text]({address})")


def _html(scene: Scene, facts: dict[str, Any]) -> str:
    system = of_entry(scene.entry, scene.settings)
    return document(scene.term, title=scene.entry.title, about=facts, system=system)


def _model(scene: Scene, facts: dict[str, Any]) -> list[File]:
    """Returns the ONNX model with the weights of the page, where the library is installed."""
    known = not any(cell.op.torch_function for cell in scene.circuit.cells)
    if not (known and scene.has_all_sizes and scene.can_run and find_spec("onnx")):
        return []

    def written() -> bytes:
        model = ncd.onnx(scene.term, scene.module.state_dict())
        return onnx_with_facts(model.SerializeToString(), facts)

    path, kind = f"{scene.entry.name}.onnx", "application/octet-stream"
    return [("Model, ONNX", written, path, kind)]


def _weights(scene: Scene) -> list[File]:
    """Returns the file of the weights, if some were learned that do not come with the package."""
    learned = scene.loaded_weights
    if learned is None or learned.ships:
        return []
    path, kind = f"{scene.entry.name}.safetensors", "application/octet-stream"
    return [("Weights, safetensors", lambda: learned.weights, path, kind)]


def _sources(scene: Scene, file: str, facts: dict[str, Any]) -> list[File]:
    """Returns the source file, and a second one without einops if it uses einops."""
    if not scene.has_all_sizes:
        return []

    def written(einops: bool) -> Callable[[], str]:
        return lambda: provenance.python(scene, facts, einops)

    if "einops" not in ncd.source(scene.term):
        return [("Source, torch alone", written(False), f"{file}.py", PYTHON)]
    return [
        ("Source, torch and einops", written(True), f"{file}.py", PYTHON),
        ("Source, torch alone", written(False), f"{file}_torch.py", PYTHON),
    ]
