"""The states of a Mamba layer, as its page shows them, against the recurrence of the paper."""

from __future__ import annotations

import pytest
import torch

from ncd.app.panels.language_models.recurrent_states import left, selective_layers
from tests.app.panels.attention.test_language_panels import scene


def test_the_states_shown_are_those_that_the_run_reads() -> None:
    layers = selective_layers(scene("mamba", n=2, t=9))
    assert len(layers) == 2
    for layer in layers:
        assert layer.states.shape == (9, 32, 8)
        assert layer.apart < 1e-6
        assert ((layer.steps > 0.0005) & (layer.steps < 0.5)).all()  # near 0.001 to 0.1


def test_what_is_left_of_the_tokens_adds_up_to_the_state() -> None:
    (layer,) = selective_layers(scene("mamba", n=1, t=7))
    kept = torch.zeros_like(layer.writes)
    for i in range(7):
        kept[: i + 1] = kept[: i + 1] * layer.decays[i]
        kept[i] = layer.writes[i]
        torch.testing.assert_close(kept.sum(0), layer.states[i])
    shares = kept.flatten(1).norm(dim=1) / layer.writes.flatten(1).norm(dim=1)
    assert left(layer, 6) == pytest.approx(shares.tolist(), rel=1e-4)
    assert left(layer, 6)[-1] == pytest.approx(1)
