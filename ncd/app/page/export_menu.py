"""Files to take away, with the facts that lead back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import streamlit as st

import ncd
from ncd.app.parts import html_panel
from ncd.app.scene import own_entry, url
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import selection
from ncd.app.state.link_text import compress_text
from ncd.site.collapse_states import NO_VALUES
from ncd.site.document import document
from ncd.site.entry_page import of_entry
from ncd.site.wire_values import values_of_run
from ncd.systems.inputs.run_inputs import RANDOM
from ncd.write.file_facts import LICENCE, onnx_with_facts, png_with_facts, tex_with_facts
from ncd.write.term_json import svg_with_term

# --- The provenance of an exported file: system, settings, seed, and the link that restores them


def page_facts(scene: Scene, link: str) -> dict[str, Any]:
    """Returns the provenance as data; ``link`` is the query of the page's address."""
    return {
        "system": scene.entry.name,
        "title": scene.entry.title,
        "source": scene.entry.source,
        "settings": dict(scene.settings),
        "seed": scene.seed,
        "device": scene.device,
        "inputs": _inputs(scene),
        "link": f"/{scene.entry.name}{link}",
        "version": ncd.__version__,
        "licence": LICENCE,
    }


def _inputs(scene: Scene) -> dict[str, list[str]] | str:
    feed = scene.inputs_spec
    if feed.pictures:
        return feed.description
    return {name: list(words) for name, words in feed.words.items()} or RANDOM


def citation(facts: Mapping[str, Any], address: str) -> str:
    """Returns a BibTeX entry for a page; ``address`` is that at which the app was opened.

    >>> page_facts = {"system": "lora", "title": "LoRA", "link": "/lora?r=8", "version": "1.0"}
    >>> print(citation({**page_facts, "licence": "MIT"}, "https://host/app/lora?r=4"))
    @software{neural_circuit_explorer_lora,
      title   = {{LoRA}, in: Neural circuit explorer},
      author  = {{The authors of the neural circuit explorer}},
      version = {1.0},
      license = {MIT},
      url     = {https://host/app/lora?r=8}
    }
    """
    folder = address.partition("?")[0].rpartition("/")[0]
    return "\n".join(
        (
            f"@software{{neural_circuit_explorer_{facts['system'].replace('-', '_')},",
            f"  title   = {{{{{facts['title']}}}, in: Neural circuit explorer}},",
            "  author  = {{The authors of the neural circuit explorer}},",
            f"  version = {{{facts['version']}}},",
            f"  license = {{{facts['licence']}}},",
            f"  url     = {{{folder}{facts['link']}}}",
            "}",
        )
    )


def python_line(scene: Scene, facts: dict[str, Any], einops: bool) -> str:
    """Returns the source with a header: the provenance, the requirements, the page's numbers."""
    text = ncd.source(scene.term, name=scene.entry.identifier, einops=einops)
    sizes = ", ".join(f"{name}={value}" for name, value in facts["settings"].items())
    needs = "torch and einops" if "einops" in text else "torch alone"
    lines = [
        f"{facts['title']} ({facts['source']}): {facts['link']}",
        f"{sizes}; seed {facts['seed']}.",
        f"It needs {needs}.",
    ]
    if scene.can_run:
        kept = (
            f", and {_weights_file(scene)} is the file of its weights"
            if _weights_file(scene)
            else ""
        )
        note = f"Where ncd is installed{kept}, this line gives every number of the page:"
        lines += [note, reproducing_line(scene)]
    return "".join(f"# {own}\n" for own in lines) + f"\n{text}"


WEIGHTS = "ncd.systems.training.trained_weights"  # the module that a line of Python names


def reproducing_line(scene: Scene) -> str:
    """Returns a line of Python that computes every array as on the page, as ``numbers``."""
    turned = ", ".join(f"{name}={value}" for name, value in scene.settings.items())
    where = "" if scene.device == "cpu" else f', "{scene.device}"'
    names, inputs = "import ncd", f"ncd.example_inputs(term, {scene.seed}{where})"
    if scene.inputs_spec.code:
        names += ", ncd.systems.inputs.run_inputs"
        feed = f"ncd.systems.inputs.run_inputs.InputSpec({scene.inputs_spec.code})"
        inputs = f'{feed}.tensors(term, {scene.seed}, "{scene.device}")'
    term = f'ncd.catalogue["{scene.entry.name}"].build({turned})'
    if scene.entry.text:
        term = f"ncd.parse({repr(scene.term)!r})"
    module = f"ncd.compile(term, {scene.seed}{where})"
    if scene.loaded_weights:
        names += f", {WEIGHTS}"
        weights = f'open("{_weights_file(scene)}", "rb").read()'
        if scene.loaded_weights.ships:
            own = f'ncd.catalogue["{scene.entry.name}"]'
            weights = f"{WEIGHTS}.shipped_file({own}, {dict(scene.settings)!r})"
            if scene.inputs_spec.trained:
                weights = f"{WEIGHTS}.attention_weights({scene.settings['h']}, {scene.seed})"
        module = f"{WEIGHTS}.read_weights({module}, {weights})"
    return f"{names}; term = {term}; numbers = ncd.trace({module}, *{inputs}).values"


def _weights_file(scene: Scene) -> str:
    """Returns the name of the weights file that a visitor would save; empty if the weights ship."""
    learned = scene.loaded_weights is not None and not scene.loaded_weights.ships
    return f"{scene.entry.name}.safetensors" if learned else ""


# --- The export menu: the drawing, the source, the term and the link as files

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
            facts = page_facts(scene, url.query())
            _files(scene, facts)
            st.caption("Citation, BibTeX")
            cited = citation(facts, st.context.url or "")
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
    values = NO_VALUES
    if scene.can_run and not scene.starts_on_demand:
        values = values_of_run(scene.module, scene.trace, numbers_origin(scene))
    return document(scene.term, title=scene.entry.title, about=facts, system=system, values=values)


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
        return lambda: python_line(scene, facts, einops)

    if "einops" not in ncd.source(scene.term):
        return [("Source, torch alone", written(False), f"{file}.py", PYTHON)]
    return [
        ("Source, torch and einops", written(True), f"{file}.py", PYTHON),
        ("Source, torch alone", written(False), f"{file}_torch.py", PYTHON),
    ]
