"""Sliding windows against torch's attention with a mask; and how far tokens reach."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention import token_reach
from ncd.app.panels.attention.token_reach import TOKEN_REACH
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["sliding-window"]
SIZES = (
    {"n": 1, "w": 3, "h": 2, "k": 5, "t": 7},
    {"n": 3, "w": 2, "h": 1, "k": 4, "t": 6},
    {"n": 2, "w": 1, "h": 3, "k": 1, "t": 4},
    {"n": 1, "w": 9, "h": 1, "k": 1, "t": 1},
)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    at = torch.arange(len(x))
    away = at[:, None] - at
    seen = (away >= 0) & (away < sizes["w"])
    for layer in module.layers:
        q, k, v = (
            f(x).unflatten(-1, (sizes["h"], -1)).transpose(0, 1)
            for f in (layer.Q, layer.K, layer.V)
        )
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = x + layer.O(out.transpose(0, 1).flatten(1))
    return x


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


@pytest.mark.parametrize(("n", "w"), [(1, 4), (3, 4), (8, 2), (2, 1), (8, 32)])
def test_each_layer_reaches_one_window_further(n: int, w: int) -> None:
    t = 40
    found = token_reach.reach(scene("sliding-window", n=n, w=w, t=t), n, t)
    away = np.arange(t)[:, None] - np.arange(t)
    layers = np.where(away == 0, 1, np.ceil(away / max(w - 1, 1e-9)))
    expected = np.where((away >= 0) & (layers <= n), layers, np.inf)
    np.testing.assert_array_equal(found, expected)


def test_the_panel_hides_what_later_layers_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its table counts as many tokens as the formula beside it."""
    shown: dict[str, Any] = {}
    monkeypatch.setitem(st.session_state, token_reach.UP_TO.name, "1")  # the second layer
    maps = token_reach.map_component
    monkeypatch.setattr(maps, "render", lambda *_, **parts: shown.update(parts))
    here = scene("sliding-window", n=3, w=4, t=12)
    TOKEN_REACH.show(here)
    found = token_reach.reach(here, 3, 12)
    expected = np.where(found <= 2, found, np.nan)
    np.testing.assert_array_equal(shown["map"].pooled_maps.maps, expected)
    rows = re.findall(r'<td>(\d)</td><td class="number">(\d+)</td><td [^>]*>(\d+)<', shown["aside"])
    assert rows == [("1", "4", "4"), ("2", "7", "7"), ("3", "10", "10")]
