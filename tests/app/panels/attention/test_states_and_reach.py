"""The reach of windows: what is said, against the same computed otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncd.app.panels.attention import token_reach
from ncd.app.panels.attention.token_reach import TOKEN_REACH
from tests.app.panels.views import scene, shown, tags

# --- what reaches what ----------------------------------------------------------------------------


@pytest.mark.parametrize(("w", "n", "t"), [(3, 2, 12), (2, 8, 8), (4, 1, 5)])
def test_a_window_reaches_one_window_further_with_each_layer(w: int, n: int, t: int) -> None:
    here = scene("sliding-window", w=w, n=n, t=t)
    found = token_reach.reach(here, n, t)
    for i in range(t):
        for j in range(t):
            layers = math.ceil((i - j) / (w - 1)) or 1 if j <= i else math.inf
            assert found[i, j] == (layers if layers <= n else math.inf), (i, j)
    told = shown(TOKEN_REACH, here, up_to_layer=0, reach_from=t - 1)
    assert told.rows[1:] == [[str(k), *[str(min(t, 1 + k * (w - 1)))] * 2] for k in range(1, n + 1)]
    assert told.map is not None
    assert np.isfinite(told.map.pooled_maps.maps[t - 1]).sum() == min(t, w)
    assert (told.map.ends.low, told.map.ends.outliers) == (0, 0)
    assert (told.map.ends.high, told.map.marks[0].row) == (n, t - 1)
    assert "The first" not in told.text
    sliders = {"reach_from": (0, t - 1, t - 1)} | ({"up_to_layer": (0, 0, n - 1)} if n > 1 else {})
    assert told.sliders == sliders
    assert tags(told.html, "tr")[1].get("class") == "chosen"


def test_of_a_long_text_the_first_positions_and_layers_are_measured() -> None:
    told = shown(TOKEN_REACH, scene("sliding-window", w=3, n=9, t=65))
    assert "The first 64 of 65 positions. The first 8 of 9 layers." in told.text
    assert told.sliders == {"up_to_layer": (0, 7, 7), "reach_from": (0, 63, 63)}
    assert len(told.rows) == 9
