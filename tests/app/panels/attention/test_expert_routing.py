"""The panel of experts: what is chosen in the run is what it shows, and what it counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention import expert_routing
from tests.app.page.test_pages import fine, page

ROUTED = ("mixtral", "deepseek")


@pytest.mark.parametrize("name", ROUTED)
def test_every_layer_with_experts_has_a_choice(name: str) -> None:
    term = ncd.catalogue[name].build(n=3)
    module = ncd.compile(term)
    run = ncd.trace(module, *ncd.example_inputs(term))
    found = expert_routing.choices(module.circuit)
    assert len(found) == (3 if name == "mixtral" else 2)  # the first layer of the other has none
    for choice in found:
        places = run.values[choice.experts.id].numpy()
        weights = run.values[choice.weights.id].detach().numpy()
        table = expert_routing.routing_table(places, weights, choice.axis.numel)
        assert ((table > 0).sum(1) == 2).all()
        assert np.allclose(table.sum(1), weights.sum(1))
        if name == "mixtral":
            assert np.allclose(table.sum(1), 1, atol=1e-5)


def test_a_word_passes_through_as_many_parameters_as_published() -> None:
    """Jiang et al. 2024, section 2.2 and table 2: 47B are stored, 13B are used."""
    entry = ncd.catalogue["mixtral"]
    term = entry.build(**entry.preset("mixtral-8x7b").knobs)
    circuit, whole = ncd.elaborate(term), ncd.cost(term).parameters
    stored, used = expert_routing.idle(circuit, expert_routing.choices(circuit)[0])
    assert stored == 32 * 8 * 3 * 4096 * 14336
    assert whole - stored + used == 12_879_925_248


def test_the_router_learns_from_the_experts_that_it_chose() -> None:
    """The gradient of an expert's weights is zero where no position was sent to it."""
    term = ncd.catalogue["mixtral"].build(n=1, t=1, e=4, c=1)
    module = ncd.compile(term)
    (choice,) = expert_routing.choices(module.circuit)
    run = ncd.trace(module, *ncd.example_inputs(term))
    chosen = int(run.values[choice.experts.id])
    run.outputs[0].square().sum().backward()
    (name,) = (name for name, _ in module.named_parameters() if name.endswith("w1"))
    grad = dict(module.named_parameters())[name].grad
    assert grad is not None
    busy = grad.abs().sum((1, 2)) > 0
    assert torch.equal(busy, torch.arange(4) == chosen)


@pytest.mark.parametrize("name", ROUTED)
def test_the_panel_opens_on_every_layer_and_at_published_sizes(name: str) -> None:
    fine(page(name, panel="Experts", router="99"))
    entry = ncd.catalogue[name]
    published = {k: str(v) for k, v in entry.presets[0].knobs.items()} | {"n": "4"}
    fine(page(name, panel="Experts", router="1", **published))


def test_without_experts_the_panel_says_so() -> None:
    fine(page("deepseek", panel="Experts", n="1"))
