"""Linear attention and the delta rule against plain torch; their states, and what they recall."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.language_models.recurrent_states import recall, record_states
from ncd.systems.recurrent.linear_attention import delta_rule, linear_attention
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

LINEAR, DELTA = ncd.catalogue["linear-attention"], ncd.catalogue["delta-rule"]
SIZES = (
    {"h": 2, "k": 3, "v": 4, "m": 5, "t": 6},
    {"h": 1, "k": 1, "v": 1, "m": 1, "t": 1},
    {"h": 3, "k": 5, "v": 2, "m": 4, "t": 7},
)


def heads(layer: nn.Module, x: Tensor, h: int) -> Tensor:
    return layer(x).unflatten(-1, (h, -1))


def as_attention(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equation 8 with the causal sum: every query meets every key, without a state."""
    h = sizes["h"]
    q, k = (F.elu(heads(layer, x, h)) + 1 for layer in (module.Q, module.K))
    weights = torch.einsum("yhk,xhk->hyx", q, k).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    out = torch.einsum("hyx,xhv->yhv", weights, heads(module.V, x, h))
    return module.O(out.flatten(1))


def as_recurrence(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """S ← α S (I - β k kᵀ) + β v kᵀ, with S from keys to values, and y = S q."""
    h, gate = sizes["h"], sizes["gate"]
    q, k = (heads(layer, x, h) for layer in (module.Q, module.K))
    q, k = (a / (a.square().sum(-1, keepdim=True) + 1e-6).sqrt() for a in (q, k))
    v, beta = heads(module.V, x, h), module.beta(x).sigmoid()
    fade = torch.exp(-module.A.exp() * F.softplus(module.alpha(x))) if gate else beta * 0 + 1
    state, out = x.new_zeros(h, sizes["v"], sizes["k"]), []
    identity = torch.eye(sizes["k"]).to(x)
    for i in range(len(x)):
        b, key = beta[i][:, None, None], k[i]
        erase = identity - b * key[:, :, None] * key[:, None]
        state = fade[i][:, None, None] * state @ erase + b * v[i][:, :, None] * key[:, None]
        out.append((state @ q[i][..., None])[..., 0])
    return module.O(torch.stack(out).flatten(1))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_linear_attention_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(LINEAR, sizes, as_attention)


@pytest.mark.parametrize("gate", [0, 1])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_delta_rule_equals_torch(sizes: dict[str, int], gate: int) -> None:
    equals_torch(DELTA, {**sizes, "gate": gate}, as_recurrence)


@pytest.mark.parametrize(
    ("name", "build", "knobs"),
    [
        ("linear-attention", linear_attention, {}),
        ("delta-rule", delta_rule, {}),
        ("delta-rule", delta_rule, {"gate": 1}),
    ],
)
def test_what_is_watched_is_what_runs(name: str, build: object, knobs: dict[str, int]) -> None:
    here = scene(name, **knobs)
    found = record_states(here, build)
    assert found.difference < 1e-5
    assert found.states.shape == (12, 2, 8, 8)
    first = found.keys[0, 0][:, None] * found.values[0, 0]
    share = (found.states[0, 0] / first).flatten()
    torch.testing.assert_close(share, share[:1].expand_as(share))  # one outer product


def test_the_last_token_is_recalled_and_a_linear_state_blurs() -> None:
    found = record_states(scene("delta-rule", k=32), delta_rule)
    numbers = recall(found, 11, 0)
    assert len(numbers) == 12 and numbers[-1] > 0.7
    linear = record_states(scene("linear-attention", k=32), linear_attention)
    assert recall(linear, 0, 0) == [pytest.approx(1.0, abs=1e-5)]
    assert recall(linear, 11, 0)[-1] < numbers[-1]
