"""The provenance of an exported file: system, settings, seed, and the link that restores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ncd
from ncd.app.scene.scene import Scene
from ncd.systems.inputs.run_inputs import RANDOM
from ncd.write.file_facts import LICENCE


def facts(scene: Scene, link: str) -> dict[str, Any]:
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

    >>> facts = {"system": "lora", "title": "LoRA", "link": "/lora?r=8", "version": "1.0"}
    >>> print(citation({**facts, "licence": "MIT"}, "https://host/app/lora?r=4"))
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


def python(scene: Scene, facts: dict[str, Any], einops: bool) -> str:
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
            weights = f"{WEIGHTS}.shipped({own}, {dict(scene.settings)!r})"
            if scene.inputs_spec.trained:
                weights = f"{WEIGHTS}.attention_weights({scene.settings['h']}, {scene.seed})"
        module = f"{WEIGHTS}.read_weights({module}, {weights})"
    return f"{names}; term = {term}; numbers = ncd.trace({module}, *{inputs}).values"


def _weights_file(scene: Scene) -> str:
    """Returns the name of the weights file that a visitor would save; empty if the weights ship."""
    learned = scene.loaded_weights is not None and not scene.loaded_weights.ships
    return f"{scene.entry.name}.safetensors" if learned else ""
