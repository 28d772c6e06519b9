"""Losses of examples that were learned from and of unseen ones, with and without dropout."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ncd
from ncd.app.panels.learning import dropout_gap
from ncd.app.panels.learning.dropout_gap import DROPOUT_GAP, EXAMPLES, NOISE, loss_curves
from ncd.run.seeding import generator
from ncd.systems.networks.dropout_layer import EVAL, TRAIN, dropout
from tests.app.panels.views import scene, shown, tags


def test_without_dropout_it_is_plain_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropout_gap, "STEPS", 30)
    found = loss_curves(2, EVAL, seed=3)
    random = generator(3, "gap")
    x = torch.randn(EXAMPLES + 512, 8, generator=random)
    y = x @ (torch.randn(8, 3, generator=random) / 8**0.5)
    y = y + NOISE * torch.randn(len(x), 3, generator=random)
    weights = ncd.compile(dropout(EXAMPLES, 8, 16, 3, mode=EVAL), 3).state_dict()
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    net.load_state_dict(dict(zip(net.state_dict(), weights.values(), strict=True)))
    steps, losses = torch.optim.Adam(net.parameters(), lr=0.01), []
    for step in range(31):
        made = net(x)
        if step % 10 == 0:
            halves = zip(made.split([EXAMPLES, 512]), y.split([EXAMPLES, 512]), strict=True)
            losses.append([F.mse_loss(a, b).item() for a, b in halves])
        steps.zero_grad()
        F.mse_loss(made[:EXAMPLES], y[:EXAMPLES]).backward()
        steps.step()
    training, unseen = zip(*losses, strict=True)
    assert found.training == pytest.approx(training, rel=1e-4)
    assert found.unseen == pytest.approx(unseen, rel=1e-4)


def test_dropout_makes_the_gap_smaller_and_unseen_examples_better() -> None:
    without, with_half = loss_curves(0, EVAL, 0), loss_curves(2, TRAIN, 0)
    assert without.training[-1] < 0.02 < 0.1 < with_half.training[-1]
    assert with_half.unseen[-1] < without.unseen[-1] and with_half.gap < 0.7 * without.gap
    assert without.unseen[-1] > min(without.unseen) + 0.1
    found = shown(DROPOUT_GAP, scene("dropout"))
    assert [line["stroke-width"] for line in tags(found.html, "polyline")] == ["1.6", "3.2"] * 2
    powers = re.findall(r'<text[^>]*y="([\d.]+)"[^>]*>(1|10<tspan.*?)</text>', found.html)
    assert powers[: len(powers) // 2] == powers[len(powers) // 2 :]  # both have one scale
    assert len(powers) == 6  # from 1 to a hundredth
    for row, own in zip(found.rows[1:], (without, with_half), strict=True):
        numbers = (own.training[-1], own.unseen[-1], min(own.unseen), own.gap)
        assert row[1:] == [f"{number:.2f}" for number in numbers]
    assert found.rows[2][0] == "with a dropout of 0.5"
