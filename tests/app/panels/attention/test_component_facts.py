"""What the panels of components say, against the same computed otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncd.app.panels.attention.kv_cache import SharingScheme, cache_size, cache_ways, divisors
from ncd.app.panels.attention.position_panels import (
    ROTATING_PAIRS,
    _pick,
    compare_shifted,
    rotated_queries_and_keys,
)
from ncd.app.state import knobs
from ncd.site import markup
from tests.app.panels.views import bars, scene, shown

# --- caches ---------------------------------------------------------------------------------------


def test_a_cache_has_the_bytes_of_its_keys_and_values() -> None:
    """4 query heads of 16 features: 2 heads of keys and values keep 2 · 2 · 16 numbers a layer."""
    here = scene("grouped-queries", g=2, q=2, k=16)
    found = shown(cache_size(("g", "q")), here, context=10, cached_layers=3)
    ways = [["multi-head: 4", 128], ["grouped: 2 (here)", 64], ["multi-query: 1", 32]]
    for row, (title, numbers) in zip(found.rows[1:], ways, strict=True):
        assert row[0] == title and row[5] == str(numbers)
        assert row[4] == str(2 * int(numbers))  # bytes in bfloat16
        assert row[3] == markup.amount(2 * int(numbers) * 1024 * 3, "B")
        assert row[2] == f"{100 * int(numbers) / 128:.3g} %"
    assert bars(found.html) == pytest.approx([1, 0.5, 0.25])
    assert found.sliders["shared"] == (0, 1, 2)
    assert "One sequence of 1,024 tokens in a model of 3 layers keeps 393 kB here" in found.text
    assert "and 786 kB with keys and values for each of the 4 query heads" in found.text


@pytest.mark.parametrize(
    ("value", "put"),
    [("0", {"g": 1, "q": 4}), ("2", {"g": 4, "q": 1}), ("3", None), ("-1", None), ("²", None)],
)
def test_the_slider_of_a_cache_sets_both_knobs(
    value: str, put: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shown(cache_size(("g", "q")), scene("grouped-queries", g=2, q=2))
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    assert found.pick is not None
    found.pick("shared", value)
    found.pick("else", "0")
    assert sent == ([put] if put else [])


def test_a_way_of_its_own_stands_below_the_shared_ones() -> None:
    here = scene("latent-attention")
    ways, h, k = cache_ways(here, ("h",), "latent"), here.settings["h"], here.settings["k"]
    assert ways[0] == SharingScheme(f"multi-head: {h}", 2 * h * k, h)
    assert [way.is_current for way in ways] == [False] * (len(ways) - 1) + [True]
    assert "shared" not in shown(cache_size(("h",), "latent"), here).sliders


@pytest.mark.parametrize(
    ("heads", "here", "found"),
    [
        (1, 1, [1]),
        (24, 2, [24, 12, 8, 6, 4, 3, 2, 1]),  # as many as there is room for
        (36, 9, [36, 18, 9, 1]),
        (1024, 0, [1024, 512, 256, 128, 64, 32, 1]),
        (1025, 5, [1025, 5, 1]),
        (2048, 1, [2048, 1024, 512, 256, 128, 64, 1]),
    ],
)
def test_of_many_divisors_those_of_halves_are_shown(
    heads: int, here: int, found: list[int]
) -> None:
    assert divisors(heads, here) == found


# --- pairs that turn ------------------------------------------------------------------------------


def test_scores_stay_where_the_whole_sequence_is_moved() -> None:
    here = scene("rotary", t=9, s=5)
    found = compare_shifted(here)
    assert found.queries > 0.1 and found.scores < 1e-4 and found.outputs < 1e-4
    told = shown(ROTATING_PAIRS, here, query_at=8, key_at=2)
    queries, keys = rotated_queries_and_keys(here)
    scores = queries[:, 0] @ keys[:, 0].T / math.sqrt(queries.shape[-1])
    assert told.map is not None
    assert np.allclose(told.map.pooled_maps.maps, scores.numpy())
    assert [(mark.kind, mark.row, mark.column) for mark in told.map.marks] == [("looks", 8, 2)]
    assert told.map.rows.tick_labels == tuple(map(str, range(5, 14)))
    assert told.sliders == {"query_at": (0, 8, 8), "key_at": (0, 2, 8), "s": (0, 5, 200)}
    assert "query at position 13" in told.html and "key at position 7" in told.html
    asks, answers = (values[at, 0].view(2, -1)[:, 0] for values, at in ((queries, 8), (keys, 2)))
    assert f"adds {markup.digits(round(float(asks @ answers), 2) + 0.0)}</text>" in told.html
    assert told.html.count("<svg") == min(8, queries.shape[-1] // 2)
    assert f"pair 0: {math.degrees(6):.3g}°" in told.html
    assert "begins at position 0, and at position 5." in told.text
    unmoved = scene("rotary", t=9, s=0)
    assert "begins at position 0, and at position 100." in shown(ROTATING_PAIRS, unmoved).text
    assert compare_shifted(unmoved).queries > 0.1


@pytest.mark.parametrize(("value", "put"), [("0", 0), ("99999999", 99_999_999), ("9" * 9, None)])
def test_the_slider_of_a_shift_sets_its_knob(
    value: str, put: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    _pick("s", value)
    _pick("t", value)
    assert sent == ([] if put is None else [{"s": put}])
