"""The plane's steps and sentences: what has been recorded, when it is parted, and what may help."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import ncd
from ncd.app.panels.learning.geometry import (
    ClassifiedPoints,
    _foot,
    _hidden_space_caption,
    _training_sentence,
    frames,
    stuck,
)
from ncd.systems.training.training_loop import TrainingProgress

THREE = ClassifiedPoints(((0.0, 0.0, 0), (1.0, 0.0, 1), (0.0, 1.0, 1)), 2, (7.0, 8.0))
ALL = ClassifiedPoints(THREE.places, 3, THREE.numbers)


def scene(loaded: object = None, **knobs: int) -> Any:
    entry = ncd.catalogue["mlp-geometry"]
    settings = entry.settings(knobs)
    circuit = ncd.elaborate(entry.build(**settings))
    return SimpleNamespace(settings=settings, circuit=circuit, seed=5, loaded_weights=loaded)


def steps(*losses: float, total: int = 10, numbers: tuple[float, ...] = ()) -> Any:
    return [TrainingProgress(n, total, loss, 0.1, 0.5, numbers) for n, loss in enumerate(losses)]


def running(progress: Any, is_running: bool = True) -> Any:
    return SimpleNamespace(is_running=is_running, run=None, progress=progress)


def test_before_any_run_there_is_one_step_with_the_page_s_weights() -> None:
    assert frames((), THREE, False) == [(0, 0.0, 2 / 3, (7.0, 8.0))]
    assert frames((), ClassifiedPoints((), 0, ()), True) == [(0, 0.0, 0.0, ())]
    assert frames(steps(1.0, 0.5), THREE, False) == [(0, 0.0, 2 / 3, (7.0, 8.0))]  # no weights


def test_recorded_steps_keep_their_weights_and_the_last_has_those_of_the_page() -> None:
    recorded = steps(1.0, 0.5, 0.25, numbers=(1.0,))
    going = frames(recorded, ALL, False)
    assert going == [(0, 1.0, 0.5, (1.0,)), (1, 0.5, 0.5, (1.0,)), (2, 0.25, 0.5, (1.0,))]
    assert frames(recorded, ALL, True) == [*going[:2], (2, 0.25, 0.5, (7.0, 8.0))]


@pytest.mark.parametrize(
    ("losses", "is_stuck"),
    [
        ([1.0] * 4, False),  # too few
        ([1.0] * 5, True),
        ([1.0, 1.0, 1.0, 1.0, 0.949], False),
        ([1.0] * 8 + [1.0, 0.951], True),  # the last fifth begins at the last but one
        ([1.0] * 8 + [1.0, 0.949], False),
        ([1.0] * 7 + [0.9, 0.9, 0.9], True),
    ],
)
def test_a_run_is_stuck_if_its_loss_hardly_falls_in_the_last_fifth(losses, is_stuck) -> None:
    if len(losses) == 5:
        losses = [losses[0], *losses]
    assert stuck(steps(*losses)) == is_stuck


def test_a_run_that_goes_on_says_its_step_and_loss() -> None:
    said = _training_sentence(scene(), running(None), steps(1.0, 0.5, total=2000), THREE)
    assert said == "Step 1 of 2,000 · loss 0.5"
    assert "points are" in _training_sentence(scene(), running(None), [], THREE)


def test_points_of_one_class_are_not_enough() -> None:
    one = ClassifiedPoints(((0.0, 0.0, 1), (1.0, 0.0, 1)), 0, ())
    assert (one.classes, THREE.classes) == (1, 2)
    said = _training_sentence(scene(), None, (), one)
    assert said.startswith("Set points of at least two classes")
    assert not _training_sentence(scene(), None, (), THREE).startswith("Set")


def test_untrained_weights_are_called_so() -> None:
    said = _training_sentence(scene(), None, (), THREE)
    assert "Untrained weights" in said and said.endswith("2 of 3 points are on the right side.")


def test_after_training_all_points_are_parted_or_a_cure_is_named() -> None:
    trained, falling, flat = (
        scene(b"weights"),
        steps(*[1.0 / (n + 1) for n in range(8)]),
        steps(*[1.0] * 8),
    )
    assert _training_sentence(trained, None, falling, ALL) == (
        "✓ Parted: all 3 points are on the right side after 7 steps."
    )
    assert _training_sentence(trained, None, (), ALL).endswith("right side after training.")
    assert _training_sentence(trained, None, falling, THREE) == (
        "✗ Not parted yet: 2 of 3 points are on the right side after 7 steps. "
        "The loss still falls: more steps may do."
    )
    said = _training_sentence(trained, None, flat, THREE)
    assert said.startswith("✗ Stuck: 2 of 3") and "Another seed may find a better way" in said
    bent = scene(b"weights", g=0)
    said = _training_sentence(bent, None, falling, THREE)
    assert said.startswith("✗ Stuck: 2 of 3") and "Without an activation both maps" in said


@pytest.mark.parametrize(
    ("units", "end"), [(2, "2"), (3, "3: drag to turn it"), (4, "4 dimensions, seen along three")]
)
def test_the_hidden_space_is_turned_if_it_has_three_dimensions(units: int, end: str) -> None:
    caption = _hidden_space_caption(scene(p1=units))
    assert caption.startswith("The hidden space, ") and caption.endswith(f" = {end}")


@pytest.mark.parametrize("units", [2, 3, 4, 12, 13])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_lines_that_are_drawn_are_explained(units: int, classes: int) -> None:
    foot = _foot(scene(p1=units, n=classes), False)
    assert ("dashed, where a hidden unit is 0" in foot) == (units <= 12)
    assert ("The arrows are the rows of W" in foot) == (units <= 3)
    assert ("seen from the edge" in foot) == (units > 3 and classes == 2)
    assert ("The hyperplanes are not drawn" in foot) == (units > 3 and classes > 2)
    assert "the points are made from seed 5." in foot
    assert "the points are yours." in _foot(scene(p1=units, n=classes), True)
