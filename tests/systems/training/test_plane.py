"""Points of the plane and the training on them: what can be parted, what cannot, and the seed."""

from __future__ import annotations

import math

import pytest
import torch

from ncd.app.panels.learning.geometry import stuck
from ncd.errors import LimitError
from ncd.jobs.training_runs import TrainingRun
from ncd.systems.training.plane_training import COUNT, EDGE, SETS, PlaneTraining, accuracy, points
from ncd.systems.training.trained_weights import read_weights

NAME = "mlp-geometry"


@pytest.fixture(autouse=True)
def one_thread():
    """As runs have, so that the numbers are the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(knobs: dict[str, int], seed: int = 0, text: str = "XOR", steps: int = 600):
    plane = PlaneTraining(NAME, knobs, seed, steps, points=text)
    return plane, list(plane)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("name", SETS)
def test_a_set_is_in_the_plane_and_has_as_many_of_each_class(name: str, n: int) -> None:
    places, classes = points(name, n, seed=1)
    assert places.shape == (COUNT, 2) and places.abs().max() < EDGE
    assert torch.bincount(classes).tolist() == [COUNT // n] * n
    assert torch.equal(places, points(name, n, seed=1)[0])
    assert not torch.equal(places, points(name, n, seed=2)[0])


def test_two_hidden_units_part_xor_and_none_does_without_a_bend() -> None:
    """From a good seed; the linear map gets at most three of the four corners right."""
    assert trained({"p1": 2})[1][-1].score == 1.0
    linear = trained({"p1": 8, "g": 0})[1]
    assert linear[-1].score <= 0.75 and stuck(linear)


def test_a_bad_seed_is_stuck() -> None:
    told = trained({"p1": 2, "g": 2}, seed=1, steps=1000)[1]
    assert told[-1].score < 1.0 and stuck(told)
    assert not stuck(trained({"p1": 2}, steps=100)[1])


def test_a_ring_around_a_disc_takes_three_hidden_units() -> None:
    assert trained({"p1": 2}, text="circles", steps=1000)[1][-1].score < 1.0
    assert trained({"p1": 3}, text="circles", steps=1000)[1][-1].score == 1.0


def test_several_classes_are_parted_by_as_many_hyperplanes() -> None:
    plane, told = trained({"p1": 4, "n": 4})
    assert told[-1].score == 1.0 and plane.module(plane.places).shape == (COUNT, 4)


def test_the_weights_are_told_on_the_way_and_are_those_of_that_step() -> None:
    plane, told = trained({"p1": 3}, steps=100)
    shown = [now for now in told if now.numbers]
    assert (told[0].step, told[-1].step, len(told)) == (0, 100, 101)
    assert shown[0].step == 0 and shown[-1].step == 100 and len(shown) > 40
    flat = torch.cat([weights.detach().flatten() for weights in plane.module.parameters()])
    assert torch.tensor(shown[-1].numbers).sub(flat).abs().max() < 1e-5
    assert shown[-1].score == plane.score()


def test_two_runs_at_once_are_those_of_one_alone_to_the_bit() -> None:
    texts = ("moons", "20200e0e01")  # a set, and two points that somebody has set
    runs = [
        TrainingRun(NAME, {"p1": 3}, 5, 60, loop="plane", given={"points": text}) for text in texts
    ]
    for run, text in zip(runs, texts, strict=True):
        while not run.ended:
            run.poll(1)
        alone = PlaneTraining(NAME, {"p1": 3}, 5, 60, points=text)
        assert [now.loss for now in run.progress] == [now.loss for now in alone]
        twin = PlaneTraining(NAME, {"p1": 3}, 6).module
        read_weights(twin, run.weights)
        for mine, its in zip(twin.parameters(), alone.module.parameters(), strict=True):
            assert torch.equal(mine, its)


def test_the_first_weights_part_no_better_than_chance_would() -> None:
    """What is right is counted as the page's own module says it."""
    plane = PlaneTraining(NAME, {})
    share = accuracy(plane.module(plane.places).sign(), plane.classes)
    assert share == plane.score() < 0.8


def test_too_many_hidden_units_are_refused() -> None:
    with pytest.raises(LimitError) as error:
        PlaneTraining(NAME, {"p1": 10**6})
    assert str(error.value) == (
        "p1 is 1,000,000, and at most 256 hidden units are trained here. Try p1 = 256."
    )


def shape(name: str, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the x and y (n, m) of each class of a set without its noise, and where they stand."""
    along = torch.linspace(0, 1, 9).expand(n, -1)
    classes = torch.arange(n)[:, None].expand_as(along)
    found = SETS[name](classes.flatten(), along.flatten(), torch.zeros(n * 9, 2), n)
    return *found.T.unflatten(-1, (n, 9)), along[0]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_each_set_has_its_shape(n: int) -> None:
    classes = torch.arange(n)[:, None]
    x, y, along = shape("moons", n)
    up = y * (n + 1) / 2.5 * torch.tensor([1, -1, 1, -1])[:n, None]
    torch.testing.assert_close(up, ((math.pi * along).sin() - 0.25).expand(n, -1))
    middles = (x[:, 0] + x[:, -1]) / 2  # of the half rings, from left to right
    torch.testing.assert_close(middles.diff(), torch.full((n - 1,), 2.5 / (n + 1)))
    assert float(middles.sum()) == pytest.approx(0, abs=1e-6)
    x, y, along = shape("circles", n)
    radius = torch.linspace(0.15, 1.2, n)[:, None]
    torch.testing.assert_close(x.hypot(y), radius.expand(n, 9))
    x, y, along = shape("spirals", n)
    torch.testing.assert_close(x.hypot(y), (0.15 + 1.1 * along).expand(n, -1))
    turn = 2 * math.pi * (along + classes / n)
    torch.testing.assert_close(x * turn.cos() + y * turn.sin(), x.hypot(y))
    places, classes = points("XOR", n, seed=0)
    assert places.abs().min() >= 0.55 - 1e-6 and places.abs().max() <= 1.15 + 1e-6
    corners = {(*signs,) for signs in places.sign().tolist()}
    assert len(corners) == 4
