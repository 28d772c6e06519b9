"""A hidden word: which positions are measured, and what is said of those before and behind it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncd.app.panels.attention.token_reach import (
    BOTH_SIDES,
    MAX_MASKING_FLOPS,
    _hidden,
    _masking_map,
    _masking_summary,
    _others,
    moves,
)
from ncd.app.scene.scene import Scene
from ncd.site import markup
from tests.app.panels.views import bars, scene, shown, text


def test_words_before_and_behind_are_counted_and_measured() -> None:
    here = scene("bert", n=1, t=6)
    told = shown(BOTH_SIDES, here, masked=2)
    found = moves(here, range(6))
    row = np.nan_to_num(found[2])
    assert told.sliders == {"masked": (0, 2, 5)}
    wanted = [
        [str(j), "hidden" if j == 2 else "", "" if j == 2 else markup.digits(float(n))]
        for j, n in enumerate(row)
    ]
    assert told.rows[1:] == wanted
    lengths = [n / row.max() for j, n in enumerate(row) if j != 2]
    assert bars(told.html) == pytest.approx(lengths, abs=0.01)
    assert "depends on 2 words before it and 3 behind it" in told.text
    assert told.map is not None and [mark.row for mark in told.map.marks] == [2]
    assert "A row without numbers" not in told.text
    assert "hidden: position 3" in shown(BOTH_SIDES, here).html  # the middle at first


@pytest.mark.parametrize(
    ("at", "flops", "places"),
    [
        (3, 1, (0, 8)),
        (0, MAX_MASKING_FLOPS, (0, 1)),
        (7, MAX_MASKING_FLOPS, (7, 8)),
        (4, MAX_MASKING_FLOPS // 27, (3, 6)),
        (7, MAX_MASKING_FLOPS // 27, (5, 8)),
        (0, MAX_MASKING_FLOPS // 27, (0, 3)),
    ],
)
def test_of_a_large_model_the_positions_around_the_hidden_one_are_measured(
    at: int, flops: int, places: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = scene("bert", n=1, t=8)
    monkeypatch.setattr(Scene, "cost", property(lambda self: _Cost(flops)))
    assert _hidden(here, 8, at) == range(*places)


class _Cost:
    def __init__(self, flops: int) -> None:
        self.flops = flops


def test_a_row_that_is_not_measured_is_said_so() -> None:
    grid = np.full((3, 3), np.nan, np.float32)
    assert _others(grid).startswith("A row without numbers")
    assert _others(grid[:1, :1]) == ""
    grid[:] = 1
    assert _others(grid) == ""
    here = scene("bert", n=1, t=3)
    still = np.zeros((3, 3), np.float32)
    assert "depends on 0 words before it and 0 behind" in text(_masking_summary(here, still, 1))
    assert not math.isnan(_masking_map(here, still, 1).ends.high)
