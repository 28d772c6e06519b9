"""Training: it learns, it is the same again, it is stopped, and what it learned can be kept."""

import math
from itertools import count, islice

import pytest
import torch
from safetensors.torch import save
from torch import nn

from ncd.errors import MismatchError, ParseError, UnknownNameError
from ncd.systems.training.tasks import TASKS
from ncd.systems.training.trained_weights import read_weights, write_weights
from ncd.systems.training.training_loop import TaskTraining, TrainingLoop

SMALL = {"x": 8, "n": 32}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_digits_are_told_apart():
    *_, last = TaskTraining("image-recogniser", {"x": 8, "n": 64}, seed=0, steps=300)
    assert last.score > 0.9 and last.loss < 0.5


def test_the_same_seed_is_the_same_curve_to_the_bit():
    one, again, other = (
        [now.loss for now in TaskTraining("image-recogniser", SMALL, seed, steps=9)]
        for seed in (3, 3, 4)
    )
    assert one == again and one != other


def test_a_step_is_adam_on_the_mean_loss():
    fit = TaskTraining("image-recogniser", SMALL, seed=0, steps=1)
    twin = TaskTraining("image-recogniser", SMALL, seed=0, steps=1).module
    rows = next(fit._batches())
    optimiser = torch.optim.Adam(twin.parameters(), 1e-3)
    chances = twin(fit.data.inputs[rows])
    loss = -chances.gather(1, fit.data.targets[rows, None]).log().mean()
    loss.backward()
    optimiser.step()
    (now,) = fit
    assert now.loss == pytest.approx(float(loss.detach()), rel=1e-6)
    for mine, its in zip(fit.module.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(mine, its, atol=1e-6)


def test_where_images_are_normalised_together_a_step_has_several_runs():
    few = {"b": 5, "x": 4, "N": 1, "n1": 2, "n2": 4, "n3": 4, "n4": 4}
    fit, twin, again = (TaskTraining("identity-resnet", few, seed=0, steps=1) for _ in range(3))
    rows = next(fit._batches())
    assert len(rows) == 45  # nine runs of five
    chances = torch.cat([twin.module(x) for x in fit.data.inputs[rows].split(5)])
    expected = -chances.gather(1, fit.data.targets[rows, None]).log().mean()
    (now,) = fit
    assert now.loss == pytest.approx(expected.item(), rel=1e-6)
    for mine, its in zip(fit.module.buffers(), twin.module.buffers(), strict=True):
        assert torch.equal(mine, its)  # the test has moved no average
    assert [*again] and write_weights(again.module, {}) == write_weights(fit.module, {})
    unseen, right = fit.data.unseen[:295].split(5), fit.data.answers[:295]
    answers = torch.cat([fit.module(x).argmax(1) for x in unseen])
    assert now.score == pytest.approx(float((answers == right).float().mean()))


def test_every_example_is_seen_once_a_round():
    fit = TaskTraining("unet", {"depth": 2, "c": 1, "x": 16}, seed=0)
    rows = torch.cat([*islice(fit._batches(), len(fit.data.inputs) // fit.task.batch)])
    assert sorted(rows.tolist()) == [*range(512)]


def test_a_system_without_a_task_is_told():
    with pytest.raises(UnknownNameError) as error:
        TaskTraining("residual-block", {})
    assert str(error.value) == (
        f"there is no task 'residual-block'. Try one such as {', '.join([*TASKS][:3])}."
    )


# --- weights -------------------------------------------------------------------------------------


def test_weights_come_back():
    fit = TaskTraining("image-recogniser", SMALL, seed=0, steps=5)
    list(fit)
    other = TaskTraining("image-recogniser", SMALL, seed=1)
    assert other.score() != fit.score()
    read_weights(other.module, write_weights(fit.module, {}))
    images = fit.data.unseen
    assert torch.equal(fit.module(images), other.module(images))


def test_the_weights_of_another_module_are_refused_and_change_nothing():
    module = nn.Linear(2, 3)
    before = module.weight.clone()
    with pytest.raises(MismatchError) as error:
        read_weights(module, write_weights(nn.Linear(2, 4), {}))
    assert str(error.value) == (
        "'bias': the module has (3,), the file (4,). Try weights that were trained at these knobs."
    )
    assert torch.equal(module.weight, before)


KIND = "'weight' holds numbers of type {}. Try numbers of type float32."
ODD = (
    "'weight' holds numbers that are infinite or not a number. "
    "Try weights of a training that did not diverge."
)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (torch.ones(3, 2, dtype=torch.bool), KIND.format("bool")),
        (torch.ones(3, 2, dtype=torch.complex64), KIND.format("complex64")),
        (torch.ones(3, 2, dtype=torch.int64), KIND.format("int64")),
        (torch.full((3, 2), math.nan), ODD),
        (torch.full((3, 2), -math.inf), ODD),
        (torch.full((3, 2), 1e300, dtype=torch.float64), ODD),  # too large for the module's type
    ],
)
def test_weights_are_real_and_finite_numbers(numbers: torch.Tensor, message: str):
    module = nn.Linear(2, 3)
    before = module.weight.clone()
    data = save({"weight": numbers, "bias": torch.zeros(3)})
    with pytest.raises(ParseError) as error:
        read_weights(module, data)
    assert str(error.value) == message
    assert torch.equal(module.weight, before)


def test_weights_of_half_precision_are_read_and_those_of_a_diverged_run_are_kept():
    halved = {"weight": torch.full((3, 2), 0.5, dtype=torch.float16), "bias": torch.zeros(3)}
    assert read_weights(nn.Linear(2, 3), save(halved)).weight.eq(0.5).all()
    odd = {"weight": torch.full((3, 2), math.nan), "bias": torch.zeros(3)}
    assert read_weights(nn.Linear(2, 3), save(odd), finite=False).weight.isnan().all()


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04.", b"\xff" * 9, b"\x08" + b"\0" * 7 + b"{}      "]
)
def test_what_are_no_weights_is_told(data):
    with pytest.raises((ParseError, MismatchError)):
        read_weights(nn.Linear(2, 3), data)


class Counting(TrainingLoop):
    """A loop that learns nothing: its loss and its score are how often they were asked for."""

    asked = 0

    def losses(self):
        yield from (torch.tensor(float(n)) for n in count(1))

    def score(self):
        self.asked += 1
        return self.asked


@pytest.mark.parametrize(
    ("steps", "scored"),
    [
        (1, [1]),
        (3, [1, 2, 3]),
        (39, [*range(1, 40)]),
        (45, [*range(2, 45, 2), 45]),
        (61, [*range(3, 61, 3), 61]),
        (None, [*range(5, 101, 5)]),
    ],
)
def test_the_score_is_computed_now_and_then_and_at_the_end(steps, scored):
    told = [*Counting("none", {}, steps=steps)]
    assert [now.step for now in told] == [now.loss for now in told] == [*range(1, len(told) + 1)]
    assert {now.steps for now in told} == {len(told)} == {steps or 100}
    assert [now.step for now in told if now.score is not None] == scored
    assert [now.score for now in told if now.score is not None] == [*range(1, len(scored) + 1)]
