"""The reach of windows: what is said, against the same computed otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncd.app.panels.attention import token_reach
from ncd.app.panels.attention.token_reach import LAYER_WINDOWS, TOKEN_REACH
from ncd.circuit.costs import cached_numbers
from ncd.site import markup
from tests.app.panels.views import bars, scene, shown, tags

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


# --- windows of layers ----------------------------------------------------------------------------


@pytest.mark.parametrize("power", [10, 15])
@pytest.mark.parametrize("spare", [0, -1])
def test_local_layers_keep_a_window_and_the_others_the_whole_text(
    power: int, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, context = scene("gemma", n=4, w=2000), 1 << power
    local = [bool(window) for window in token_reach.layer_windows(here.circuit)]
    assert 0 < sum(local) < len(local)
    rows = len(local) + spare
    monkeypatch.setattr(token_reach, "MAX_LAYER_ROWS", rows)
    told = shown(LAYER_WINDOWS, here, context=power)
    kept = [min(context, 2000) if near else context for near in local]
    assert (
        told.rows[1:]
        == [
            [str(n), "window" if near else "whole text", "", f"{count:,}"]
            for n, (near, count) in enumerate(zip(local, kept, strict=True), 1)
        ][:rows]
    )
    assert bars(told.html) == pytest.approx([n / context for n in kept[:rows]], abs=0.01)
    assert (f"The first {rows} layers." in told.text) == (spare < 0)
    numbers = cached_numbers(here.circuit, here.entry.cached)  # of a position, alike in each layer
    here_, whole = (
        markup.amount(2 * numbers * n // len(local), "B") for n in (sum(kept), context * len(local))
    )
    share = sum(kept) / (context * len(local))
    see = "sees" if sum(local) == 1 else "see"
    assert told.text.count(f"{sum(local)} of {len(local)} layers {see} the last 2,000 tokens") == 1
    assert f"keeps {here_} of keys and values ({share:.0%})" in told.text
    assert f"if all layers saw the whole text, {whole} (bfloat16)." in told.text
