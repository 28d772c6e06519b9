"""Captions that say where the numbers on a page come from."""

from __future__ import annotations

from ncd.app.scene.scene import Scene
from ncd.site import markup
from ncd.systems.inputs import run_inputs

UNTRAINED = (
    "They are as they were drawn, before any training: a pattern in what follows is chance, "
    "not something that was learned."
)


def numbers_origin(scene: Scene) -> str:
    """Returns as HTML where a run's numbers come from: how weights and inputs were made."""
    trained = scene.loaded_weights.summary if scene.loaded_weights else ""
    said = run_inputs.origin(scene.inputs_spec, trained, _learns(scene), scene.seed)
    words = run_inputs.UNTRAINED
    return markup.text(said).replace(words, with_tooltip(words, UNTRAINED), 1)


def with_tooltip(words: str, why: str) -> str:
    """Returns words with a tooltip that explains them.

    >>> with_tooltip("mean", "the sum over the count")
    '<abbr title="the sum over the count">mean</abbr>'
    """
    return f'<abbr title="{markup.text(why)}">{markup.text(words)}</abbr>'


def _learns(scene: Scene) -> bool:
    return any(cell.name for cell in scene.circuit.cells)
