"""What a loss is of, against the formula of its source, and what is said of the proofreader."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from ncd.systems.training.losses import (
    answer_loss,
    class_loss,
    evidence_loss,
    explained_variance,
    overlap,
    written_loss,
)
from ncd.systems.training.sequence_data import NOT_ASKED
from ncd.systems.training.step_inputs import add_noise
from ncd.systems.training.tasks import TASKS
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


def test_answers_that_are_not_asked_for_cost_nothing() -> None:
    scores = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    answers = torch.tensor([[1, NOT_ASKED, 4], [NOT_ASKED, 0, 0]])
    wanted = F.cross_entropy(scores.flatten(0, 1), answers.flatten(), ignore_index=NOT_ASKED)
    assert float(answer_loss(scores, answers)) == pytest.approx(float(wanted))
    assert float(written_loss((scores, torch.ones(1)), answers)) == pytest.approx(float(wanted))
    assert float(written_loss(scores, answers)) == pytest.approx(float(wanted))
    assert float(answer_loss(scores, torch.full((2, 3), NOT_ASKED))) == 0


def test_a_class_without_any_probability_costs_a_finite_amount() -> None:
    chances = torch.tensor([[1.0, 0.0], [0.25, 0.75]], dtype=torch.float64)
    found = class_loss(chances, torch.tensor([1, 1]))
    assert float(found) == pytest.approx(-(math.log(1e-12) + math.log(0.75)) / 2)


def test_what_is_no_better_than_the_mean_explains_nothing() -> None:
    wanted = torch.tensor([[1.0, 5.0], [3.0, 9.0]])
    assert explained_variance(wanted.mean(0).expand(2, 2), wanted) == 0
    assert explained_variance(wanted + 1, wanted) == pytest.approx(1 - 4 / 10)


def test_a_picture_and_its_noise_share_the_variance_of_its_step() -> None:
    pictures = torch.rand(50, 1, 3, 3, generator=torch.Generator().manual_seed(1))
    random = torch.Generator().manual_seed(0)
    (noisy, at), noise = add_noise(pictures, pictures, {"T": 20}, random)
    left, kept = [], 1.0
    for n in range(20):  # a step adds 50 times as much as one of a thousand, 0.999 at most
        kept *= 1 - min(0.999, 50 * (1e-4 + (0.02 - 1e-4) * n / 19))
        left.append(kept)
    share = torch.tensor(left)[at].view(-1, 1, 1, 1)
    torch.testing.assert_close(noisy, share.sqrt() * pictures + (1 - share).sqrt() * noise)
    assert {*at.tolist()} <= {*range(20)} and len({*at.tolist()}) > 15
    assert noise.shape == pictures.shape


def test_heads_overlap_by_the_mean_cosine_of_their_rows() -> None:
    maps = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    pairs = [
        F.cosine_similarity(maps[:, a], maps[:, b], dim=-1).mean()
        for a in range(3)
        for b in range(3)
        if a != b
    ]
    assert float(overlap(maps)) == pytest.approx(float(torch.stack(pairs).mean()), rel=1e-5)
    assert float(overlap(maps[:, :1])) == pytest.approx(0, abs=1e-6)


def test_a_step_takes_whole_runs() -> None:
    task = TASKS["identity-resnet"]  # about 48 a step
    assert [task.in_a_step({"b": b}) for b in (1, 5, 24, 48, 100)] == [48, 45, 48, 48, 100]
    assert [task.in_a_run({"b": b}) for b in (1, 5)] == [1, 5]
    assert (TASKS["lenet"].in_a_run({}), TASKS["lenet"].in_a_step({})) == (1, 64)
    free = {name: TASKS[name].weightless_knobs for name in ("lenet", "identity-resnet", "gpt-2")}
    assert free == {"lenet": (), "identity-resnet": ("b",), "gpt-2": ("t",)}
    assert TASKS["clip"].weightless_knobs == ("i", "j")
