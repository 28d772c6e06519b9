"""The One block panel: a block of the identity ResNet as one box, and what is in it."""

from __future__ import annotations

import streamlit as st

from ncd.lang.circuits.elaborate import elaborate
from ncd.models.images.identity_resnet import one_block
from ncd.view.base import html_panel
from ncd.view.base.static_files import static
from ncd.view.diagram.side_by_side import beside
from ncd.view.session import url
from ncd.view.session.scene import Scene

TITLE = "One block"
RUNS = False
BLOCK, BLOCKS, USUAL = "block", ("1", "2", "3"), "2"  # the second makes images smaller
CSS = static("panels/learning/feature_maps.css")

url.keep(BLOCK, USUAL, BLOCKS)


def show(scene: Scene) -> None:
    """Shows the block that was chosen, at the sizes of the page, with buttons for the others."""
    mu = str(st.session_state.get(BLOCK, USUAL))
    sides = one_block(int(mu), **scene.settings).sides
    title = elaborate(sides[0]).fences[0].title
    figure = beside(sides, "=", scene, _notes(scene, int(mu) + 1), box=title)
    buttons = "".join(
        f'<button class="plain" data-pick="{i}" aria-current="{str(i == mu).lower()}">{i}</button>'
        for i in BLOCKS
    )
    html = f'<style>{CSS}</style><div class="images">Block {buttons}</div>{figure}'
    html_panel.show(html, "one block", _pick)


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


def _pick(picked: str) -> None:
    if picked in BLOCKS:
        st.session_state[BLOCK] = picked
