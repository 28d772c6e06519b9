"""The states of recurrences as their panels show them, against the recurrences of the papers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.language_models.recurrent_states import (
    SELECTIVE_STATES,
    recall,
    record_states,
    remaining_shares,
    selective_layers,
    state_pictures,
)
from ncd.site import markup
from tests.app.panels.views import bars, scene, shown


@pytest.mark.parametrize("name", ["linear-attention", "delta-rule"])
def test_a_state_answers_the_keys_that_it_was_told(name: str) -> None:
    entry = ncd.catalogue[name]
    here = scene(name, t=5)
    found = record_states(here, entry.system)
    assert found.states.shape[:2] == found.keys.shape[:2] == (5, here.settings["h"])
    assert found.difference < 1e-5
    for head in range(2):
        asked = found.keys[:4, head] @ found.states[3, head]
        wanted = torch.cosine_similarity(asked, found.values[:4, head], dim=-1)
        assert recall(found, 3, head) == pytest.approx(wanted.tolist())
    panel = state_pictures(entry.system)
    for shown_, pictures in (
        ("state", found.states[:, 1]),
        (
            "change",
            torch.diff(found.states[:, 1], dim=0, prepend=torch.zeros_like(found.states[:1, 1])),
        ),
    ):
        told = shown(panel, here, after_token=3, state_head=1, state_shown=shown_)
        assert told.map is not None
        assert np.allclose(told.map.pooled_maps.maps, pictures[3].numpy(), atol=1e-6)
    assert told.sliders == {
        "after_token": (0, 3, 4),
        "state_head": (0, 1, here.settings["h"] - 1),
    }
    numbers = recall(found, 3, 1)
    assert [row[0] for row in told.rows[1:]] == ["3", "2", "1", "0"]
    assert [float(row[2].replace("−", "-")) for row in told.rows[1:]] == pytest.approx(
        numbers[::-1], abs=0.006
    )
    k, v = found.states.shape[2:]
    assert f"The state has {k} × {v} numbers" in told.text


def test_the_state_of_a_mamba_layer_follows_from_its_steps() -> None:
    here = scene("mamba", t=6)
    layers = selective_layers(here)
    assert len(layers) == here.settings.get("n", 1)
    for layer in layers:
        assert layer.difference < 1e-4
        assert layer.states[0] == pytest.approx(layer.writes[0])
        again = layer.decays[1:] * layer.states[:-1] + layer.writes[1:]
        assert torch.allclose(layer.states[1:], again, atol=1e-5)
        shares = remaining_shares(layer, 4)
        assert shares[4] == pytest.approx(1) and len(shares) == 5
        for j in range(5):
            kept = layer.writes[j] * layer.decays[j + 1 : 5].prod(0)
            assert shares[j] == pytest.approx(float(kept.norm() / layer.writes[j].norm()), rel=1e-3)


def test_what_a_mamba_layer_still_holds_is_told_token_by_token() -> None:
    here = scene("mamba", t=6)
    layer = selective_layers(here)[0]
    told = shown(SELECTIVE_STATES, here, after_token=4, state_head=0)
    shares, steps = remaining_shares(layer, 4), layer.steps.mean(1).tolist()
    assert [row[0].split()[0] for row in told.rows[1:]] == list("43210")
    for j, row in enumerate(told.rows[:0:-1]):
        assert row[1] == markup.digits(steps[j]) and row[3] == f"{shares[j]:.0%}"
    assert bars(told.html) == pytest.approx([s / max(shares) for s in shares[::-1]], abs=0.01)
    assert told.map is not None
    assert np.allclose(told.map.pooled_maps.maps, layer.states[4].numpy())
    change = shown(SELECTIVE_STATES, here, after_token=4, state_shown="change").map
    assert change is not None
    wanted = layer.states[4] - layer.states[3]
    assert np.allclose(change.pooled_maps.maps, wanted.numpy(), atol=1e-6)
    first = shown(SELECTIVE_STATES, here, after_token=0, state_shown="change").map
    assert first is not None and np.allclose(first.pooled_maps.maps, layer.states[0].numpy())
    assert "after token 4" in told.html and told.sliders["after_token"] == (0, 4, 5)
    d, s = layer.states.shape[1:]
    assert f"A layer keeps {d} × {s} numbers" in told.text


def test_the_states_shown_are_those_that_the_run_reads() -> None:
    layers = selective_layers(scene("mamba", n=2, t=9))
    assert len(layers) == 2
    for layer in layers:
        assert layer.states.shape == (9, 32, 8)
        assert layer.difference < 1e-6
        assert ((layer.steps > 0.0005) & (layer.steps < 0.5)).all()  # near 0.001 to 0.1


def test_what_is_left_of_the_tokens_adds_up_to_the_state() -> None:
    (layer,) = selective_layers(scene("mamba", n=1, t=7))
    kept = torch.zeros_like(layer.writes)
    for i in range(7):
        kept[: i + 1] = kept[: i + 1] * layer.decays[i]
        kept[i] = layer.writes[i]
        torch.testing.assert_close(kept.sum(0), layer.states[i])
    shares = kept.flatten(1).norm(dim=1) / layer.writes.flatten(1).norm(dim=1)
    assert remaining_shares(layer, 6) == pytest.approx(shares.tolist(), rel=1e-4)
    assert remaining_shares(layer, 6)[-1] == pytest.approx(1)
