"""What a loss is of, against the formula of its source, and what is said of the proofreader."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ncd.systems.training.losses import evidence_loss
from ncd.systems.training.trained_weights import PROOFREADER_SIZES, proofreading


def test_a_picture_costs_its_pixels_and_the_distance_of_its_point() -> None:
    random = torch.Generator().manual_seed(0)
    pictures, again = (torch.rand(3, 4, 5, generator=random) for _ in range(2))
    mean, spread = (torch.randn(3, 2, generator=random) for _ in range(2))
    points = torch.distributions.Normal(mean, (spread / 2).exp())
    plain = torch.distributions.Normal(torch.zeros(3, 2), torch.ones(3, 2))
    wanted = F.binary_cross_entropy(again, pictures, reduction="none").sum((1, 2))
    wanted = wanted + torch.distributions.kl_divergence(points, plain).sum(1)
    found = evidence_loss((again, mean, spread), pictures)
    assert float(found) == pytest.approx(float(wanted.mean()), rel=1e-5)


def test_heads_beyond_those_that_learned_are_said_to_be_random() -> None:
    own = PROOFREADER_SIZES["h"]
    assert "random" not in proofreading(own, 7).summary
    assert "random" not in proofreading(1, 7).summary
    more = f"; head {own} and later ones are random, from seed 7"
    assert proofreading(own + 1, 7).summary.endswith(more)
