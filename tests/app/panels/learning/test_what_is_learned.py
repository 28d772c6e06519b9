"""Mistakes on unseen examples, and how many examples are tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch

import ncd
from ncd.app.panels.attention import sequence_reading
from ncd.app.panels.learning import mistakes
from ncd.app.panels.learning.mistakes import (
    FEWEST,
    MAX_PICTURES,
    UNTRAINED_FLOPS,
    ExamplePicture,
    Mistakes,
    SequenceAnswers,
)
from ncd.app.scene.scene import LONG_RUN_FLOPS, Scene
from ncd.circuit.costs import Cost
from ncd.run.head_switches import Head
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES
from ncd.systems.training.task_data import Data
from ncd.systems.training.tasks import task
from tests.app.panels.views import images, scene, text


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def unseen(*shape: int) -> Data:
    return Data(lambda: None, torch.rand(shape), torch.zeros(shape[0]), "source")  # type: ignore[arg-type, return-value]


# --- mistakes -------------------------------------------------------------------------------------


def test_the_surest_misread_digits_come_first() -> None:
    own = unseen(4, 1, 3, 3)
    chances = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    wrong, found = mistakes._digits(own, chances, torch.tensor([0, 0, 0, 1]))
    assert (wrong, [one.caption for one in found]) == (
        3,
        ["0 → 1, 80%", "1 → 0, 70%", "0 → 1, 60%"],
    )
    (seen,) = images(found[0].html)
    assert (seen[..., 0] == np.round(255 * own.unseen[2, 0].numpy())).all()
    many = torch.tensor([[0.0, 1.0]] * 20)
    wrong, found = mistakes._digits(unseen(20, 3, 3), many, torch.zeros(20).long())
    assert (wrong, len(found)) == (20, MAX_PICTURES)


def test_a_picture_is_misread_where_the_best_sentence_names_another_digit() -> None:
    scores = torch.tensor([[0.0, 2.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.0]])
    wrong, found = mistakes._pairs(unseen(4, 3, 3, 3), scores, torch.tensor([3, 8, 5, 6]))
    assert (wrong, [one.caption for one in found]) == (2, ["3 → 8, 88%", "6 → 5, 73%"])
    told = mistakes._pairs_html(mistakes.Mistakes(4, wrong, 0.5, "", found, found[0]))
    assert "For 2 of 4 pictures that it has not learned from, the best sentence" in told
    assert "names their digit: 50.0%." in told


def test_the_masks_with_most_wrong_pixels_come_first() -> None:
    answers = torch.zeros(3, 4, 4).long()
    scores = torch.zeros(3, 2, 4, 4)
    scores[:, 0] = 1
    scores[1, 1, 0, 0] = 2
    scores[2, 1, 0] = 2
    wrong, found = mistakes._masks(unseen(3, 1, 4, 4), scores, answers)
    assert (wrong, [one.caption for one in found]) == (2, ["75.0%", "93.8%", "100.0%"])


def test_the_pictures_with_the_largest_errors_come_first() -> None:
    own = unseen(14, 1, 2, 2)
    answers = torch.zeros(14, 1, 2, 2)
    found = answers.clone()
    found[3], found[5] = 2, 1
    count, seen = mistakes._remade(own, found, answers)
    assert (count, len(seen), [one.caption for one in seen[:3]]) == (
        14,
        MAX_PICTURES,
        ["4", "1", "0"],
    )


def test_sequences_with_most_wrong_answers_come_first() -> None:
    own = Data(lambda: None, torch.tensor([[0, 1], [1, 0], [1, 1]]), torch.zeros(1), "")  # type: ignore[arg-type, return-value]
    answers = torch.tensor([[0, 1], [1, NOT_ASKED], [1, 0]])
    found = torch.tensor([[0, 1], [0, 0], [0, 1]])
    wrong, lines = mistakes._lines(own, found, answers, ("a", "b"))
    assert wrong == 2
    assert lines == (
        SequenceAnswers(("b", "b"), (("a", True), ("b", True))),
        SequenceAnswers(("b", "a"), (("a", True), ("·", False))),
    )
    assert lines[1].html == "<code>ba\n<mark>a</mark>·</code>"
    words = SequenceAnswers(("one", "b"), (("a", True), ("·", False))).html
    assert words == (
        '<code class="spaced"><span>one\n<mark>a</mark></span><span>b\n·</span></code>'
    )


@pytest.mark.parametrize(
    ("learned", "flops", "tried"),
    [
        (False, UNTRAINED_FLOPS + 1, 0),
        (False, UNTRAINED_FLOPS // (FEWEST - 1), 0),
        (False, UNTRAINED_FLOPS // FEWEST, FEWEST),
        (True, UNTRAINED_FLOPS + 1, LONG_RUN_FLOPS // (UNTRAINED_FLOPS + 1)),
        (True, 2 * LONG_RUN_FLOPS, 1),
        (True, 0, 40),
    ],
)
def test_as_many_examples_are_tried_as_may_be_spent(learned: bool, flops: int, tried: int) -> None:
    here: Any = SimpleNamespace(
        **{
            "loaded_weights": learned,
            "cost": SimpleNamespace(spec=Cost, flops=flops, parameters=0),
        },
        **{"settings": {"k": 2}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    counts: list[int] = []

    def answered(*parts: Any) -> tuple[torch.Tensor, torch.Tensor]:
        counts.append(parts[-1])
        return torch.rand(parts[-1], 2), torch.zeros(parts[-1]).long()

    with (
        patch.object(mistakes, "examples", lambda *_: unseen(40, 3, 3)),
        patch.object(mistakes, "answer_unseen", answered),
        patch.object(mistakes, "check_room"),
    ):
        found = mistakes.measure(here, task("lenet"))
    assert (found.example_count, counts) == (tried, [tried] if tried else [])
    assert isinstance(found.blank, ExamplePicture)


def test_answers_at_each_place_are_shown_as_lines() -> None:
    here: Any = SimpleNamespace(
        **{"loaded_weights": None, "cost": SimpleNamespace(spec=Cost, flops=1)},
        **{"settings": {"v": 3}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    symbols = SEQUENCES["reversal"].symbols(3)
    unseen = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])
    answers, found = unseen.flip(1), unseen.flip(1)
    found[1, 3] = 1
    with (
        patch.object(mistakes, "examples", lambda *_: Data(lambda: None, unseen, answers, "here")),  # type: ignore[arg-type, return-value]
        patch.object(mistakes, "answer_unseen", lambda *_: (torch.eye(3)[found], answers)),
        patch.object(mistakes, "check_room"),
    ):
        tried = mistakes.measure(here, task("reversal"))
    assert (tried.example_count, tried.wrong_count, tried.score, tried.source) == (
        2,
        1,
        7 / 8,
        "here",
    )
    (line,) = tried.pictures
    assert isinstance(line, SequenceAnswers) and "".join(line.read) == "".join(
        symbols[i] for i in (2, 1, 0, 0)
    )
    assert [wrong for _, wrong in line.marked_answers] == [False, False, False, True]
    assert tried.blank == SequenceAnswers((" ",) * 4, ((" ", False),) * 4)


def test_a_task_of_several_examples_a_run_tries_whole_runs() -> None:
    own = replace(task("lenet"), batch_knob="b")
    here: Any = SimpleNamespace(
        **{"loaded_weights": None, "cost": SimpleNamespace(spec=Cost, flops=UNTRAINED_FLOPS // 2)},
        **{"settings": {"b": 5}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    with (
        patch.object(mistakes, "examples", lambda *_: unseen(40, 3, 3)),
        patch.object(mistakes, "check_room"),
        patch.object(mistakes, "answer_unseen") as answered,
    ):
        answered.return_value = torch.rand(10, 2), torch.zeros(10).long()
        mistakes.measure(here, own)
    assert answered.call_args.args[-1] == 10


def test_mistakes_are_told_and_keep_their_room() -> None:
    picture = ExamplePicture("data:", "<1>")
    found = Mistakes(20, 5, 0.75, "", (picture, picture), picture)
    html = mistakes.html(found, task("lenet"))
    assert (
        html.count("<figure>") == 2
        and html.count('<figure aria-hidden="true">') == MAX_PICTURES - 2
    )
    assert "It reads 15 of 20 digits right" in html and "75.0%" in html and "&lt;1&gt;" in html
    assert mistakes.LATER in mistakes.html(replace(found, example_count=0), task("lenet"))
    said = text(mistakes._answers_html(found))
    assert "all of them in 15 sequences. Below are those that went worst" in said
    assert "None went wrong" in mistakes._answers_html(replace(found, wrong_count=0))
    assert "Below are the 2 worst" in text(mistakes._iou_html(found))


# --- skill ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flops", "learned", "count", "each"),
    [
        (0, True, 512, True),
        (0, False, 64, True),
        (4 * UNTRAINED_FLOPS // (16 * 4), False, 16, True),
        (4 * UNTRAINED_FLOPS // (16 * 4) + 1, False, 31, False),
        (4 * UNTRAINED_FLOPS, False, 1, False),
        (10 * UNTRAINED_FLOPS, False, 1, False),
    ],
)
def test_as_many_sequences_are_tried_as_may_be_spent(
    flops: int, learned: bool, count: int, each: bool
) -> None:
    own = scene("reversal")
    asked: list[tuple[int, bool]] = []

    def skill(module: Any, task: Any, given: torch.Tensor, answers: Any, each: bool) -> str:
        asked.append((len(given), each))
        return "whole"

    data = Data(lambda: None, torch.zeros(600, 4), torch.zeros(600), "")  # type: ignore[arg-type, return-value]
    two = (Head("n1", 0), Head("n2", 0))
    with (
        patch.object(sequence_reading, "cached_value", lambda *_, make: make()),
        patch.object(sequence_reading, "heads", lambda _: two),
        patch.object(sequence_reading, "skill", skill),
        patch.object(sequence_reading.mistakes, "examples", lambda *_: data),
        patch.object(Scene, "cost", SimpleNamespace(spec=Cost, flops=flops, parameters=0)),
    ):
        here = replace(own, loaded_weights="w" if learned else None)  # type: ignore[arg-type]
        with patch.object(Scene, "weights_key", ()), patch.object(Scene, "module", None):
            assert sequence_reading.measure_skill(here, frozenset()) == "whole"
    assert asked == [(count, each)]


def test_a_sequence_is_run_with_its_answers_and_maps() -> None:
    from ncd.systems.inputs.text_inputs import SymbolInput

    own = scene("reversal")
    t = own.settings["t"]
    read = SymbolInput(tuple("abcdefgh"), tuple(i % 3 for i in range(t)), 3)
    found = sequence_reading.head_look(own, read, frozenset())
    whole = sequence_reading._run(own, frozenset())
    assert torch.equal(found.scores, whole[0][:3]) and len(found.answers) == 3
    assert set(found.maps) == set(sequence_reading.heads(own)) == set(whole[1])
    assert all(each.shape == (3, 3) for each in found.maps.values())
    assert found.cells.shape == (3, 3)


def test_a_wrong_pixel_is_struck_through_where_it_is_large_enough() -> None:
    picture, classes = torch.zeros(1, 2), torch.tensor([[0, 0]])
    wrong = torch.tensor([[False, True]])
    for scale in (mistakes.STROKE - 1, mistakes.STROKE):
        pixels = mistakes.class_overlay(picture, classes, wrong, large=2 * scale)
        stroke = np.hstack((np.zeros((scale, scale)), np.eye(scale))) * (scale == mistakes.STROKE)
        assert (pixels == 255 * stroke[..., None]).all() and pixels.shape == (scale, 2 * scale, 3)
    assert not mistakes.class_overlay(picture, classes, large=2 * mistakes.STROKE).any()
