"""Which panel a press on a part of the diagram opens, on every page."""

from __future__ import annotations

import pytest

import ncd
from ncd.app.scene.panel import Panel, panel_of_part
from ncd.circuit.circuit import Circuit
from tests.app.scene.test_url import ENTRIES, panels


def circuit_of(page: str) -> Circuit:
    return ncd.elaborate(ENTRIES[page].build())


def part(circuit: Circuit, name: str) -> str:
    """Returns the id of the first op of a name, its first output for ``name →``, or a block."""
    title, arrow, _ = name.partition(" →")
    for cell in circuit.cells:
        if title in (cell.op.display_name, type(cell.op).__name__):
            return cell.outputs[0].id if arrow else cell.id
    return next(fence.id for fence in circuit.fences if fence.title == title)


@pytest.mark.parametrize(
    ("page", "name", "panel", "settings"),
    [
        ("multi-head-attention", "Softmax", "Attention", {"softmax": "n6"}),
        ("multi-head-attention", "Softmax →", "Attention", {"softmax": "n6"}),
        ("multi-head-attention", "Linear K", "Values", {}),
        ("multi-head-attention", "Einsum scores →", "Values", {}),
        ("multi-head-attention", "Scaled Dot-Product Attention", "Values", {}),
        ("lenet", "Conv", "Values", {}),
        ("lenet", "Softmax →", "What it says", {}),
        ("unet", "Conv", "Values", {}),
        ("gpt-2", "LayerNorm", "Values", {}),
        ("convolution", "Conv", "Window", {}),
        ("pooling", "MaxPool", "Window", {}),
        ("mixture-of-experts", "Top", "Experts", {"router": "0"}),
        ("residual-block", "Conv", "Values", {}),
        ("subtensors", "Index", "", {}),  # it has no cards
    ],
)
def test_the_panel_that_says_most_about_a_part_is_opened(
    page: str, name: str, panel: str, settings: dict[str, str]
) -> None:
    circuit = circuit_of(page)
    assert panel_of_part(panels()[page], circuit, part(circuit, name)) == (panel, settings)


@pytest.mark.parametrize("page", ["gpt-2", "llama", "bert"])
def test_what_a_language_model_puts_out_opens_its_next_words(page: str) -> None:
    circuit = circuit_of(page)
    titles = [panel.title for panel in panels()[page]]
    opened, _ = panel_of_part(panels()[page], circuit, circuit.outputs[0].id)
    assert opened == ("Next word" if "Next word" in titles else "Values")


@pytest.mark.parametrize("page", ENTRIES)
def test_every_part_opens_a_panel_of_its_page_with_settings_that_it_has(page: str) -> None:
    circuit, own = circuit_of(page), panels()[page]
    by_title: dict[str, Panel] = {panel.title: panel for panel in own}
    softmaxes = 0
    for id in [*(cell.id for cell in circuit.cells), *circuit.values]:
        title, settings = panel_of_part(own, circuit, id)
        assert title in by_title or "Values" not in by_title
        controls = {one.name: one for one in by_title[title].controls} if title else {}
        assert all(controls[name].read(value) == value for name, value in settings.items())
        softmaxes += title == "Attention"
    attends = any(cell.op.role == "softmax" for cell in circuit.cells)
    assert bool(softmaxes) == (attends and "Attention" in by_title)
