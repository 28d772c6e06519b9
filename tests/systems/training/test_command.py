"""``ncd train``: one line of JSON at its end, and weights that the page reads."""

import json
from pathlib import Path

import pytest
import torch

from ncd.__main__ import main
from ncd.systems.training.trained_weights import read_weights
from ncd.systems.training.training_loop import TaskTraining

Capture = pytest.CaptureFixture[str]
SMALL = ["--set", "x=8", "--set", "n=32", "--steps", "40"]


@pytest.fixture(autouse=True)
def threads():
    """The command sets them for its whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_train_ends_with_a_line_of_json(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "w.safetensors"
    argv = ["train", "image-recogniser", *SMALL, "--seed", "3", "--json", "-o", str(file)]
    assert main(argv) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["steps"] == 40 and said["seconds"] > 0
    assert said["knobs"] == {"x": 8, "n": 32, "k": 10}
    fit = TaskTraining("image-recogniser", {"x": 8, "n": 32}, seed=5)
    read_weights(fit.module, file.read_bytes())
    fit.data = TaskTraining("image-recogniser", {"x": 8, "n": 32}, seed=3).data
    assert fit.score() == said["accuracy"]


def test_the_same_seed_trains_the_same(capsys: Capture) -> None:
    def loss(seed: str) -> float:
        assert main(["train", "image-recogniser", *SMALL, "--seed", seed, "--json"]) == 0
        return float(json.loads(capsys.readouterr().out)["loss"])

    assert loss("1") == loss("1") != loss("2")


def test_what_has_no_task_is_one_line(capsys: Capture) -> None:
    assert main(["train", "multi-head-attention"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ncd: there is no task 'multi-head-attention'. Try one such")


def test_too_large_is_one_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "10000000")
    assert main(["train", "image-recogniser"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ncd: training takes ") and "NCD_MAX_BYTES is 10,000,000" in said
