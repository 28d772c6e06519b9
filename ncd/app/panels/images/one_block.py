"""The One block panel: a block of the identity ResNet as one box, and what is in it."""

from __future__ import annotations

from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import read_static
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Choice
from ncd.circuit.elaborate import elaborate
from ncd.systems.images.resnet import one_block

BLOCK = Choice("block", ("1", "2", "3"), "2")  # the second makes images smaller
CSS = read_static("panels/learning/feature_maps.css")


def show_one_block(scene: Scene) -> None:
    """Shows the block that was chosen, at the sizes of the page, with buttons for the others."""
    mu = BLOCK.value
    sides = one_block(int(mu), **scene.settings).sides
    title = elaborate(sides[0]).fences[0].title
    figure = terms_in_a_row(sides, "=", scene, _notes(scene, int(mu) + 1), box=title)
    html = f'<style>{CSS}</style><div class="images">Block {BLOCK.html()}</div>{figure}'
    html_panel.render(html, "one block", ONE_BLOCK.controls)


ONE_BLOCK = Panel("One block", show_one_block, needs_run=False, controls=(BLOCK,))


def _notes(scene: Scene, i: int) -> dict[str, str]:
    """Returns the legend of a block that gives n_i channels, and a callout at its brackets."""
    more, narrow = scene.settings["N"] - 1, scene.settings[f"n{i}"] // 4
    legend = {"": f"In between there are $n_{{b{i}}} = n_{i} / 4 = {narrow}$ channels."}
    if not more:
        return legend
    return legend | {
        "components": "What stands in parentheses is fed back to itself, ranging $λ$ from $1$ to "
        f"$N - 1 = {more}$; each time it has weights of its own."
    }
