"""What a training says of itself while it runs, before it begins and once it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

from ncd.app.panels.learning import training, two_codes
from ncd.errors import SizeError
from ncd.systems.training.tasks import task
from ncd.systems.training.training_loop import TrainingProgress
from tests.app.panels.views import tags, text


def run(*losses: float, scores: Sequence[float | None] = ()) -> tuple[TrainingProgress, ...]:
    """A run of 1,200 steps that has reported these losses, 0.25 s each."""
    every = (*scores, *[None] * (len(losses) - len(scores)))
    return tuple(
        TrainingProgress(n, 1200, loss, n / 4, score)
        for n, (loss, score) in enumerate(zip(losses, every, strict=True), 1)
    )


# --- one run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "progress", "again", "says"),
    [
        ("lenet", run(2.25), False, "Step 1 of 1,200 · loss 2.250 · 0.2 s"),
        ("lenet", run(2, 1), True, "Step 2 of 1,200 · loss 1.000 · 0.5 s · begun again, as its "),
        (
            "lenet",
            run(2, 1.5, 1, scores=(0.5, 0.875)),
            False,
            "Step 3 of 1,200 · loss 1.000 · accuracy on unseen digits 87.5% · 0.8 s",
        ),
        ("unet", run(1, scores=(0.5,)), False, "intersection over union 0.50 · 0.2 s"),
    ],
)
def test_a_run_says_its_last_step_and_its_last_score(
    system: str, progress: tuple[TrainingProgress, ...], again: bool, says: str
) -> None:
    own = task(system)
    now: Any = SimpleNamespace(run=SimpleNamespace(again=again))
    names = {**training.NAMES, "accuracy": "accuracy on unseen digits"}
    with (
        patch.object(training, "waiting_message", lambda *_: ""),
        patch.object(training, "NAMES", names),
    ):
        assert says in training._line(now, progress, own)
    with patch.object(training, "waiting_message", lambda *_: "2 before this one"):
        assert training._line(now, progress, own) == "2 before this one"
    loaded: Any = SimpleNamespace(run=None)
    assert training._line(loaded, (), own) == "The weights are those of your file."


def test_curves_of_earlier_runs_are_kept_three_deep_and_for_their_page() -> None:
    session: dict[str, Any] = {}
    made: list[Any] = []
    here: Any = SimpleNamespace(
        entry=SimpleNamespace(name="lenet"), settings={}, seed=0, device="cpu"
    )
    with (
        patch.object(st, "session_state", session),
        patch.object(training, "TrainingRun", lambda *given: given),
        patch.object(training, "replace_training", made.append),
        patch.object(training, "Training", lambda *given: given[-1]),
    ):
        for count in (0, 1, 2, 3, 4, 5):
            before: Any = SimpleNamespace(run=SimpleNamespace(progress=run(*[1.0] * count)))
            with patch.object(training, "training", lambda *_, before=before: before):
                training._train(here)
        assert [name for name, _ in training._earlier("lenet")] == [
            f"{count} steps before" for count in (5, 4, 3)
        ]
        assert training._earlier("unet") == ()
        kept = dict(session)
        for none in (None, SimpleNamespace(run=None)):  # neither has curves
            with patch.object(training, "training", lambda *_, none=none: none):
                training._train(here)
        assert session == kept
    assert len(made) == 8


@pytest.mark.parametrize(("system", "share"), [("lenet", True), ("unet", False)])
def test_curves_reach_as_far_as_the_longest_run(system: str, share: bool) -> None:
    now: Any = SimpleNamespace(
        page=system, run=SimpleNamespace(steps=100, progress=[*run(4, 2, scores=(0.25,))])
    )
    before = (("1 steps before", run(3, scores=(0.5,))),)
    shown: list[tuple[Any, str, str]] = []
    with (
        patch.object(st, "session_state", {training.EARLIER: (system, before)}),
        patch.object(training.charts, "render", lambda *given: shown.append(given)),
    ):
        training._curves(now, task(system))
    title = f"{training.NAMES[task(system).measure].capitalize()} on unseen examples"
    assert [(key, said) for _, key, said in shown] == [
        ("loss", "Loss of each batch: from 4 at step 1 to 2 at step 2"),
        ("score", f"{title}: from 0.25 at step 1 to 0.25 at step 1"),
    ]
    losses, scores = (figure for figure, *_ in shown)
    assert [(line.x, line.y) for line in losses.data] == [((1, 2), (4, 2)), ((1,), (3,))]
    assert [(line.x, line.y) for line in scores.data] == [((1,), (0.25,)), ((1,), (0.5,))]
    for figure in (losses, scores):
        assert figure.layout.xaxis.range == (0, 1200)
    assert scores.layout.yaxis.tickformat == (".0%" if share else "")


@pytest.mark.parametrize(
    ("axis", "nearest", "button"),
    [("k", 10, "k = 10"), ("k", 0, "k = 0"), ("k", None, ""), ("", 3, "")],
)
def test_what_cannot_be_trained_has_a_button_if_a_size_would_do(
    axis: str, nearest: int | None, button: str
) -> None:
    shown: list[str] = []
    with (
        patch.object(st, "text", shown.append),
        patch.object(st, "button", lambda label, **_: shown.append(label)),
    ):
        training._refuse(SizeError("no", axis=axis, nearest=nearest))
    assert len(shown) == 1 + bool(button) and shown[0].startswith("no")
    assert not button or shown[1].replace("\N{NO-BREAK SPACE}", " ") == button


# --- two runs beside each other -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "over", "says"),
    [
        (run(1, 2), run(1, 2), False, ""),
        (run(), run(), True, ""),
        (run(1), run(), True, ""),
        (run(1, 2), run(1, 2), True, "at each of 2 epochs: what differs is only how it is written"),
        (run(1, 2, 3), run(1, 2), True, "the same to the last bit, at each of 2 epochs"),
        (run(1, 2, 3), run(1, 2.5, 3.25), True, "The losses are up to 0.5 apart, from epoch 2 on."),
        (run(0, 2), run(1, 2), True, "The losses are up to 1 apart, from epoch 1 on."),
    ],
)
def test_two_runs_that_have_ended_are_compared_epoch_by_epoch(
    one: tuple[TrainingProgress, ...], two: tuple[TrainingProgress, ...], over: bool, says: str
) -> None:
    said = text(two_codes._loss_comparison((one, two), over))
    assert (says in said) if says else not said.strip()


def test_a_run_says_where_it_is_and_its_last_error_on_unseen_examples() -> None:
    last = replace(run(1, 0.125)[1], steps=300)
    assert two_codes._epoch_text((last,)) == "epoch 2 of 300 · loss 0.125 · 0.5 s"
    told = run(1, 0.5, 0.25, scores=(0.75, 0.5))
    assert two_codes._epoch_text(told) == "epoch 3 of 1,200 · loss 0.250, unseen 0.500 · 0.8 s"
    for way in (two_codes.MODULE, two_codes.FUNCTION["one start"]):
        html = two_codes._bar(way, told, 40, "here")
        (bar,) = tags(html, "progress")
        name = two_codes.NAMES[way["way"]]
        assert (bar["max"], bar["value"]) == ("40", "3") and text(html).startswith(name)
        assert ('class="second"' in html) == (way["way"] == "function")
        assert text(html).endswith(f"{way['optimiser']}, begun as torch does · here")


@pytest.mark.parametrize("begun", [False, True])
def test_before_they_begin_both_are_not_trained_and_the_end_is_chosen(begun: bool) -> None:
    shown: list[str] = []
    runs = [
        SimpleNamespace(steps=20, progress=[*run(1, 2)], given=two_codes.MODULE),
        SimpleNamespace(steps=20, progress=[], given=two_codes.FUNCTION["one start"]),
    ]
    now: Any = SimpleNamespace(runs=runs, has_ended=False) if begun else None
    waiting = {2: "", 0: "It waits."}
    with (
        patch.object(st, "session_state", {two_codes.EPOCHS.name: "100"}),
        patch.object(two_codes.html_panel, "render", lambda html, _: shown.append(html)),
        patch.object(
            two_codes.session_weights, "waiting_message", lambda _, told: waiting[len(told)]
        ),
    ):
        two_codes._show_progress(now, two_codes.Examples(1000, 200, "houses", 0.5))
    bars = tags(shown[0], "progress")
    assert [(own["max"], own["value"]) for own in bars] == (
        [("20", "2"), ("20", "0")] if begun else [("100", "0")] * 2
    )
    assert text(shown[0]).count("not trained yet") == (0 if begun else 2)
    assert text(shown[0]).count("It waits.") == begun
    assert "Learned from: houses. An epoch is one step on all 1,000 examples" in text(shown[0])
    assert "; 200 are kept apart." in text(shown[0])


@pytest.mark.parametrize(
    ("axis", "nearest", "said"),
    [("i0", 8, ["i₀ = 8"]), ("i", None, []), ("", 8, []), ("", None, [])],
)
def test_sizes_that_cannot_be_trained_lead_to_the_nearest_that_can(
    axis: str, nearest: int | None, said: list[str]
) -> None:
    error: Any = SimpleNamespace(axis=axis, nearest=nearest)
    with patch.object(st, "text") as told, patch.object(st, "button") as button:
        two_codes.refuse(error)
    told.assert_called_once_with(str(error))
    assert [call.args[0] for call in button.call_args_list] == said
