"""A question below the diagram: its answers before and after one is chosen, and what is hidden."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

import ncd
from ncd.app.scene import url
from ncd.app.state import selection
from ncd.app.teach.lesson_view import (
    PREDICTION_KEY,
    SHOW,
    _choose,
    _chosen_answer,
    _html,
    current_question,
    reveal,
    with_question,
)
from ncd.language.axes import Array, Axis
from ncd.systems.lessons.computed_questions import Question, question
from tests.app.panels.views import inside, scene, tags, text

FOUND = Question(
    "What <is> it?",
    (Array((Axis("y", 3), Axis("m", 4))), Axis("k", 2), "<b>none</b>"),
    1,
    "Because of k & y.",
    feedback=("It has m & y too much.", "", "There is one."),
)


def test_answers_are_buttons_until_one_is_chosen() -> None:
    html = _html(FOUND, "")
    buttons = tags(html, "button")
    assert [own["data-pick"] for own in buttons] == ["0", "1", "2", "show"]
    labels = [text(own) for own in inside(html, "button")]
    assert labels == ["A y 3 · m 4", "B k", "C <b>none</b>", "Show the answer"]
    assert "✓" not in html and "Because" not in html and "right" not in html
    assert text(inside(html, "p")[0]) == "What <is> it?"
    room = inside(html, "p")[1]
    words = text("No: it is B. It has m & y too much. Because of k & y.")
    assert len(words) <= len(room.replace("nnnn ", "nnnnn")) <= len(words) + 12
    assert set(room.split()) == {"nnnn"}


@pytest.mark.parametrize(
    ("chosen", "kinds", "said"),
    [
        ("1", ["other", "right", "other"], "Right."),
        ("0", ["wrong", "right", "other"], "No: it is B. It has m & y too much."),
        ("2", ["other", "right", "wrong"], "No: it is B. There is one."),
        ("show", ["other", "right", "other"], "It is B."),
    ],
)
def test_a_chosen_answer_is_marked_and_the_right_one(
    chosen: str, kinds: list[str], said: str
) -> None:
    html = _html(FOUND, chosen)
    assert not tags(html, "button")
    found = [
        own["class"] for own in tags(html, "span") if own["class"] in ("other", "right", "wrong")
    ]
    assert found == kinds
    marks = {"right": "✓ ", "wrong": "✗ ", "other": ""}
    for letter, kind in zip("ABC", kinds, strict=True):
        assert f'<span class="{kind}"><b>{marks[kind]}{letter}</b> ' in html
    assert text(inside(html, "p")[-1]) == f"{said} Because of k & y."


def test_what_is_asked_for_is_selected_and_hidden_until_it_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = scene("multi-head-attention")
    session: dict[str, object] = {url.STATE: SimpleNamespace(page="here")}
    monkeypatch.setattr(st, "session_state", session)
    assert current_question(here) is None and with_question(here) is here
    asks = [
        ask
        for value in here.circuit.values.values()
        for ask in (f"shape:{value.id}",)
        if question(here.entry, here.settings, ask)
    ]
    session[selection.QUESTION_KEY] = asks[0] if asks else "parameters:h=8"
    found = current_question(here)
    assert found is not None
    now = with_question(here)
    if found.subject_id:
        assert now.selected_id == now.subject_id == found.subject_id
        assert (now.hidden_sizes is not None) == found.hides
    _choose("2" * 30)
    assert session[PREDICTION_KEY] == (("here", session[selection.QUESTION_KEY]), "2" * 20)
    reveal()
    assert _chosen_answer(here) == "2" * 20  # the first answer counts
    assert with_question(here).hidden_sizes is None
    session[selection.QUIZ] = "1"
    assert current_question(here) is None
    session[selection.QUESTION_KEY] = "other"
    assert _chosen_answer(here) == ""
    reveal()
    assert _chosen_answer(here) == SHOW


def test_axes_and_maps_have_subscripts_in_a_question_and_its_answer() -> None:
    found = question(ncd.catalogue["mlp-geometry"], {"p1": 2, "g": 1, "n": 2}, "shape:v2")
    assert found is not None
    shown = _html(found, str(found.answer_index))
    assert "What shape leaves Linear W<sub>1</sub>?" in shown
    assert "W<sub>1</sub>, p<sub>0</sub> to p<sub>1</sub>." in shown
