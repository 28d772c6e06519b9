"""One network by a module and by functions: the same losses, those of the notebook's own loops."""

import joblib
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import grad

from ncd.errors import LimitError, SizeError
from ncd.jobs.training_runs import TrainingRun
from ncd.systems.training.module_or_functional import TwoWayTraining, houses

NAME, SMALL = "module-or-function", {"h": 16, "i": 8}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def losses(way, optimiser, start, steps=40, seed=0):
    own = TwoWayTraining(NAME, SMALL, seed, steps, way=way, optimiser=optimiser, start=start)
    return [now.loss for now in own]


@pytest.mark.parametrize("start", ["torch", "He"])
@pytest.mark.parametrize("optimiser", ["Adam", "SGD"])
def test_both_ways_have_one_curve_to_the_bit(optimiser, start):
    one, two = (losses(way, optimiser, start) for way in ("module", "function"))
    assert one == two and one[-1] < one[0]


def test_optimiser_start_and_seed_each_make_another_curve():
    found = [losses("function", *case) for case in (("Adam", "torch"), ("SGD", "torch"))]
    found += [losses("function", "Adam", "He"), losses("function", "Adam", "torch", seed=1)]
    assert len({*map(tuple, found)}) == 4


def test_the_module_learns_as_in_the_notebook():
    own = TwoWayTraining(NAME, SMALL, seed=3, steps=20)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    for theirs, ours in zip(model.parameters(), own.module.parameters(), strict=True):
        theirs.data.copy_(ours)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    expected = []
    for _ in range(20):
        loss = F.mse_loss(model(own.data.inputs), own.data.targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        expected.append(loss.item())
    *_, last = told = [*own]
    assert [now.loss for now in told] == pytest.approx(expected, rel=1e-5)
    with torch.no_grad():
        unseen = F.mse_loss(model(own.data.unseen), own.data.answers)
    assert last.score == pytest.approx(unseen.item(), rel=1e-5)


def test_the_function_learns_as_in_the_notebook():
    own = TwoWayTraining(NAME, SMALL, seed=3, steps=20, way="function", optimiser="SGD", start="He")
    params = {n: w.detach().clone() for n, w in zip("abcd", own.module.parameters(), strict=True)}
    assert not params["b"].any() and not params["d"].any()
    assert float(params["a"].std()) == pytest.approx((2 / 8) ** 0.5, rel=0.2)

    def compute_loss(p, x, y):
        return F.mse_loss(F.linear(F.relu(F.linear(x, p["a"], p["b"])), p["c"], p["d"]), y)

    expected, grad_fn = [], grad(compute_loss)
    for _ in range(20):
        expected.append(compute_loss(params, own.data.inputs, own.data.targets).item())
        grads = grad_fn(params, own.data.inputs, own.data.targets)
        params = {key: params[key] - 0.001 * grads[key] for key in params}
    assert [now.loss for now in own] == pytest.approx(expected, rel=1e-5)
    for ours, theirs in zip(own.module.parameters(), params.values(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_two_runs_at_once_have_the_curves_of_one_alone():
    given = [{"way": way, "optimiser": "Adam", "start": "torch"} for way in ("module", "function")]
    given.append({"way": "function", "optimiser": "SGD", "start": "He"})
    runs = [TrainingRun(NAME, SMALL, 0, 60, loop="way", given=each) for each in given]
    for run in runs:
        while not run.ended:
            run.poll(1)
    curves = [[now.loss for now in run.progress] for run in runs]
    assert not [run.failure for run in runs if run.failure] and all(run.weights for run in runs)
    assert curves[0] == curves[1] == losses("module", "Adam", "torch", 60)
    assert curves[2] == losses("function", "SGD", "He", 60)


def test_what_would_not_fit_in_memory_is_not_tried(monkeypatch):
    monkeypatch.setenv("NCD_MAX_BYTES", "100000")
    with pytest.raises(LimitError):
        TwoWayTraining(NAME, {"h": 64})


# --- what is learned from ------------------------------------------------------------------------


def kept(folder, monkeypatch):
    """A copy of California housing as scikit-learn keeps it, with numbers of its own."""
    table = np.random.default_rng(0).uniform(1, 9, (100, 9))
    joblib.dump(table, folder / "cal_housing_py3.pkz", compress=6)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(folder))


def test_houses_are_taken_where_they_are(tmp_path, monkeypatch):
    kept(tmp_path, monkeypatch)
    data = houses(8, seed=0)
    assert data.source.startswith("prices of houses in California")
    assert (len(data.inputs), len(data.unseen)) == (80, 20)
    assert torch.allclose(data.inputs.mean(0), torch.zeros(8), atol=1e-6)
    assert torch.allclose(data.inputs.std(0, correction=0), torch.ones(8), atol=1e-5)
    with pytest.raises(SizeError) as error:
        houses(9, seed=0)
    assert str(error.value) == "i is 9, but a house has 8 features here. Try i = 8."
    assert error.value.nearest == 8


@pytest.mark.parametrize("folder", ["", "none"])
def test_else_diabetes_is_and_nothing_is_fetched_or_made(tmp_path, monkeypatch, folder):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / folder))
    data = houses(10, seed=0)
    assert data.source.startswith("how far diabetes went on") and "10 of 10" in data.source
    assert (len(data.inputs), len(data.unseen)) == (354, 88)
    assert float(data.targets.std(correction=0)) == pytest.approx(1)
    assert not [*tmp_path.iterdir()]


def test_rows_are_dealt_by_the_seed():
    one, again, other = (houses(8, seed).inputs for seed in (0, 0, 1))
    assert torch.equal(one, again) and not torch.equal(one, other)
