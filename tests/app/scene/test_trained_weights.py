"""The session's training, and the weights that a page has at its settings."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.scene import session_weights
from ncd.app.scene.session_weights import (
    Training,
    join_linked_training,
    nth,
    replace_training,
    shipped_or_served,
    waiting_message,
)
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights

LENET, OTHER = ncd.catalogue["lenet"], ncd.catalogue["lstm"]
SETTINGS = LENET.settings({})


class Run(SimpleNamespace):
    """A run of the pool, as far as a page looks at it."""

    def __init__(self, **state: Any) -> None:
        usual = {"ended": False, "weights": b"", "failure": "", "stopping": False, "left": False}
        super().__init__(
            **{**usual, "looked": 0, "progress": [], "again": 0, "queue_position": 0, **state}
        )

    def poll(self) -> None:
        self.looked += 1

    def leave(self) -> None:
        self.left = True


def going(*runs: Any, seed: int | None = 0) -> Training:
    run, beside = (*runs, None, None)[:2]
    return Training("lenet", SETTINGS, seed, run, second_run=beside)


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def test_a_training_belongs_to_its_system_settings_and_seed(session: dict[str, Any]) -> None:
    found = going(seed=3)
    assert found.matches(LENET, SETTINGS, 3)
    assert not found.matches(LENET, SETTINGS, 4)
    assert not found.matches(OTHER, SETTINGS, 3)
    assert not found.matches(LENET, {**SETTINGS, "b": 99}, 3)
    assert going(seed=None).matches(LENET, SETTINGS, 4)  # weights from a file
    assert session_weights.training(LENET, SETTINGS, 3) is None
    session["training"] = found
    assert session_weights.training(LENET, SETTINGS, 3) is found
    assert session_weights.training(LENET, SETTINGS, 4) is None


def test_weights_are_taken_over_when_all_runs_have_ended() -> None:
    assert not going().is_running and going().runs == ()
    first, second = Run(weights=b"w", progress=[SimpleNamespace(step=1000)]), Run()
    found = going(first, second)
    assert found.runs == (first, second)
    first.ended = True
    found.poll()
    assert found.is_running and found.learned_weights is None
    second.ended = True
    found.poll()
    assert not found.is_running
    assert found.learned_weights == TrainedWeights(b"w", "trained for 1,000 steps")
    looked = first.looked
    found.poll()  # once is enough
    assert first.looked == looked
    failed = going(Run(ended=True))
    failed.poll()
    assert failed.has_ended and failed.learned_weights is None


@pytest.mark.parametrize(
    ("asked", "page", "name", "begins", "trained"),
    [
        ("1", None, "lenet", True, "1"),
        ("", None, "lenet", False, ""),
        ("1", "lenet", "lenet", False, "1"),
        ("1", "lstm", "lenet", True, "1"),
        ("1", None, "broadcasting", False, ""),
    ],
)
def test_a_link_resumes_the_run_that_it_names(
    asked: str, page: str | None, name: str, begins: bool, trained: str, session: dict[str, Any]
) -> None:
    entry = ncd.catalogue[name]
    old = Run()
    session["trained"] = asked
    if page:
        own = ncd.catalogue[page]
        session["training"] = Training(page, own.settings({}), 0, old)  # type: ignore[arg-type]
    with patch.object(session_weights, "TrainingRun", lambda *_: Run()):
        join_linked_training(entry, entry.settings({}), 0, "cpu")
    now = session.get("training")
    assert (now is not None and now.run is not old) == begins
    assert session["trained"] == trained
    assert old.left == (begins and page is not None)


@pytest.mark.parametrize("state", [{"stopping": True}, {"failure": "of memory"}])
def test_a_run_that_stops_or_failed_is_not_in_the_link(
    state: dict[str, Any], session: dict[str, Any]
) -> None:
    session["training"] = going(Run(**state))
    join_linked_training(LENET, SETTINGS, 0, "cpu")
    assert session["trained"] == ""
    session["training"] = going()  # from a file
    join_linked_training(LENET, SETTINGS, 0, "cpu")
    assert session["trained"] == ""


def test_another_training_stops_the_one_before(session: dict[str, Any]) -> None:
    first, second = Run(), Run()
    replace_training(going(first, second))
    session["trained"] = "1"
    replace_training(going())
    assert first.left and second.left and session["trained"] == "1"
    replace_training(None)
    assert session["training"] is None and session["trained"] == ""


def test_own_training_comes_before_shipped_weights(session: dict[str, Any]) -> None:
    shipped = session_weights.weights_for(LENET, SETTINGS, 7, InputSpec())
    assert shipped is not None and shipped == shipped_or_served(LENET, SETTINGS)
    own = TrainedWeights(b"w", "of one's own")
    session["training"] = Training("lenet", SETTINGS, None, learned_weights=own)
    assert session_weights.weights_for(LENET, SETTINGS, 7, InputSpec()) is own
    session["training"] = going(Run(ended=True, weights=b"v", progress=[SimpleNamespace(step=1)]))
    found = session_weights.weights_for(LENET, SETTINGS, 0, InputSpec())
    assert found is not None and found.weights == b"v"


def test_a_served_modules_weights_fit_where_their_shapes_do() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    own = TrainedWeights(b"w", "of the module itself")
    with patch.dict(session_weights.SERVED_WEIGHTS, {entry.name: own}):
        assert shipped_or_served(entry, entry.settings({})) is own
        assert (
            shipped_or_served(entry, entry.settings({"y": 7})) is own
        )  # positions have no weights
        assert shipped_or_served(entry, entry.settings({"h": 7})) is None
    unet = ncd.catalogue["unet"]
    with patch.dict(session_weights.SERVED_WEIGHTS, {"unet": own}):
        assert shipped_or_served(unet, unet.settings({}) | {"x": 33}) is None  # it cannot be built


@pytest.mark.parametrize(
    ("state", "progress", "told"),
    [
        ({}, [], "Getting ready …"),
        ({}, [1], ""),
        ({"queue_position": 1}, [], "Waiting for a worker: 1st in the queue."),
        ({"again": 1}, [], "Its worker was lost, so it begins again. "),
        (
            {"again": 1, "queue_position": 2},
            [],
            "Its worker was lost, so it begins again. Waiting for a worker: 2nd in the queue.",
        ),
        ({"failure": "no memory"}, [1], "It has failed: no memory"),
        ({"failure": session_weights.QUIET[0]}, [], "Stopped before its first step."),
    ],
)
def test_what_is_told_of_a_run_without_steps(
    state: dict[str, Any], progress: list[int], told: str
) -> None:
    run: Any = Run(**state)
    assert waiting_message(run, progress) == told


def test_ordinal_numbers() -> None:
    told = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 10: "10th", 21: "21st"}
    teens = {11: "11th", 12: "12th", 13: "13th", 14: "14th", 111: "111th", 101: "101st"}
    assert {n: nth(n) for n in (*told, *teens)} == {**told, **teens}


@pytest.mark.parametrize(
    ("found", "watched"),
    [
        (None, False),
        (Training("lenet", SETTINGS, 0), False),
        (Training("lenet", SETTINGS, 0, Run()), True),  # type: ignore[arg-type]
        (Training("lenet", SETTINGS, 0, Run(), has_ended=True), False),  # type: ignore[arg-type]
        (Training("lstm", SETTINGS, 0, Run()), False),  # type: ignore[arg-type]
    ],
)
def test_a_page_waits_for_its_own_run_only(
    found: Training | None, watched: bool, session: dict[str, Any]
) -> None:
    session["training"] = found
    with patch.object(session_weights, "_watch") as watch:
        session_weights.rerun_when_trained(LENET)
    assert watch.called == watched


def test_weights_are_downloaded_under_the_name_of_their_system() -> None:
    with patch.object(session_weights.html_panel, "button") as button:
        session_weights.download(LENET, None)
        assert not button.called
        session_weights.download(LENET, TrainedWeights(b"w", ""))
    assert button.call_args.args[1]() == b"w"
    assert button.call_args.args[2] == "lenet.safetensors"
