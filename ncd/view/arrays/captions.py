"""Captions that say where the numbers on a page come from."""

from __future__ import annotations

from ncd.export import markup
from ncd.view.session.scene import Scene

UNTRAINED = (
    "They are as they were drawn, before any training: a pattern in what follows is chance, "
    "not something that was learned."
)


def origin(scene: Scene) -> str:
    """Returns as HTML where a run's numbers come from: how weights and inputs were made."""
    given = markup.text(scene.feed.description)
    seed = f"from seed {scene.seed}"
    if not scene.feed.is_random:
        weights = f"{explained('Untrained weights', UNTRAINED)} {seed}"
        if scene.learned:
            weights = f"Weights {markup.text(scene.learned.said)}"
        return f"{weights}, and {given}." if _learns(scene) else f"{given.capitalize()}."
    if not _learns(scene):
        return f"{given.capitalize()}, {seed}; nothing is learned here."
    if scene.learned:
        return f"Weights {markup.text(scene.learned.said)}, and {given}, {seed}."
    return f"{explained('Untrained weights', UNTRAINED)} and {given}, {seed}."


def explained(words: str, why: str) -> str:
    """Returns words with a tooltip that explains them.

    >>> explained("mean", "the sum over the count")
    '<abbr title="the sum over the count">mean</abbr>'
    """
    return f'<abbr title="{markup.text(why)}">{markup.text(words)}</abbr>'


def _learns(scene: Scene) -> bool:
    return any(cell.name for cell in scene.circuit.cells)
