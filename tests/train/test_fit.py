"""Training: it learns, it is the same again, it is stopped, and what it learned can be kept."""

import os
import signal
import subprocess
import time

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

from ncd.lang.errors import MismatchError, ParseError, UnknownNameError
from ncd.train import TASKS, Fit, read_weights, runs, written
from ncd.train.runs import Run

SMALL = {"x": 8, "n": 32}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_digits_are_told_apart():
    *_, last = Fit("image-recogniser", {"x": 8, "n": 64}, seed=0, steps=300)
    assert last.score > 0.9 and last.loss < 0.5


def test_the_same_seed_is_the_same_curve_to_the_bit():
    one, again, other = (
        [now.loss for now in Fit("image-recogniser", SMALL, seed, steps=9)] for seed in (3, 3, 4)
    )
    assert one == again and one != other


def test_a_step_is_adam_on_the_mean_loss():
    fit = Fit("image-recogniser", SMALL, seed=0, steps=1)
    twin = Fit("image-recogniser", SMALL, seed=0, steps=1).module
    rows = next(fit._batches(1))
    optimiser = torch.optim.Adam(twin.parameters(), 1e-3)
    chances = twin(fit.data.inputs[rows])
    loss = -chances.gather(1, fit.data.targets[rows, None]).log().mean()
    loss.backward()
    optimiser.step()
    (now,) = fit
    assert now.loss == pytest.approx(float(loss.detach()), rel=1e-6)
    for mine, its in zip(fit.module.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(mine, its, atol=1e-6)


def test_every_example_is_seen_once_a_round():
    fit = Fit("unet", {"depth": 2, "c": 1, "x": 16}, seed=0)
    rows = torch.cat([*fit._batches(len(fit.data.inputs) // fit.task.batch)])
    assert sorted(rows.tolist()) == [*range(512)]


def test_a_system_without_a_task_is_told():
    with pytest.raises(UnknownNameError) as error:
        Fit("residual-block", {})
    assert str(error.value) == (
        f"there is no task 'residual-block'. Try one of {', '.join(TASKS)}."
    )


# --- weights -------------------------------------------------------------------------------------


def test_weights_come_back():
    fit = Fit("image-recogniser", SMALL, seed=0, steps=5)
    list(fit)
    other = Fit("image-recogniser", SMALL, seed=1)
    assert other.score() != fit.score()
    read_weights(other.module, written(fit.module, {}))
    images = fit.data.unseen
    assert torch.equal(fit.module(images), other.module(images))


def test_the_weights_of_another_module_are_refused_and_change_nothing():
    module = nn.Linear(2, 3)
    before = module.weight.clone()
    with pytest.raises(MismatchError) as error:
        read_weights(module, written(nn.Linear(2, 4), {}))
    assert str(error.value) == (
        "'bias': the module has (3,), the file (4,). Try weights that were trained at these knobs."
    )
    assert torch.equal(module.weight, before)


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04.", b"\xff" * 9, b"\x08" + b"\0" * 7 + b"{}      "]
)
def test_what_are_no_weights_is_told(data):
    with pytest.raises((ParseError, MismatchError)):
        read_weights(nn.Linear(2, 3), data)


# --- runs in a process of their own --------------------------------------------------------------


def ended(run: Run, seconds: float = 60) -> Run:
    end = time.monotonic() + seconds
    while not run.over and time.monotonic() < end:
        run.look(0.5)
    assert run.over
    return run


def test_two_runs_at_once_have_the_curves_of_one_alone():
    runs = [Run("image-recogniser", SMALL, seed, steps=20) for seed in (0, 1)]
    curves = [[now.loss for now in ended(run).progress] for run in runs]
    alone = [[now.loss for now in Fit("image-recogniser", SMALL, s, steps=20)] for s in (0, 1)]
    assert curves == alone


def test_a_run_that_is_stopped_keeps_what_it_has_learned():
    run = Run("image-recogniser", SMALL, steps=100_000)
    while not run.progress:
        assert not run.over, run.failure
        run.look(0.5)
    run.stop()
    ended(run)
    assert run.progress[-1].step < 100_000 and not run.failure
    read_weights(Fit("image-recogniser", SMALL, seed=5).module, run.weights)


def processes() -> set[str]:
    """The processes of all runs."""
    helper = runs._helpers[0].process.pid
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(helper)], capture_output=True)
    return {*found.stdout.decode().split()}


def test_a_run_whose_visitor_leaves_ends_at_once():
    run = Run("image-recogniser", SMALL, steps=100_000)
    while not run.progress:
        run.look(0.5)
    assert len(processes()) == 1
    run.leave()
    assert run.over
    end = time.monotonic() + 10
    while processes() and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes()


def test_a_run_whose_helper_dies_says_so_and_the_next_goes_well():
    run = Run("image-recogniser", SMALL, steps=100_000)
    while not run.progress:
        run.look(0.5)
    (child,) = processes()
    os.kill(int(child), signal.SIGKILL)
    assert ended(run).failure == "the run ended before its time"
    runs._helpers[0].process.kill()
    runs._helpers[0].process.wait()
    assert ended(Run("image-recogniser", SMALL, steps=2)).weights


def test_a_run_works_inside_a_page():
    """The page's file is ``__main__`` there, and must not be run anew elsewhere."""

    def script():
        import streamlit as st

        from ncd.train.runs import Run

        run = Run("image-recogniser", {"x": 8, "n": 8}, steps=3)
        while not run.over:
            run.look(60)
        st.text(f"{[now.step for now in run.progress]}{run.failure}")

    app = AppTest.from_function(script, default_timeout=120).run()
    assert not app.exception and app.text[0].value == "[1, 2, 3]"


def test_a_run_that_fails_says_why():
    run = ended(Run("image-recogniser", {**SMALL, "k": 3}))
    assert run.failure == "SizeError: k is 3, but there are ten digits. Try k = 10."
