"""A round of the quiz without a page: which array is next, what is done, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.state import selection
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.app.teach import lesson_view, quiz
from ncd.app.teach.quiz import Round, askable_arrays, is_given
from tests.app.panels.views import scene, text

TERM = ncd.Id("t:5 m:3") >> ncd.Linear("m -> k:2", "Q") >> ncd.Softmax("k")
CIRCUIT = ncd.elaborate(TERM)
GIVEN, MADE, LAST = CIRCUIT.inputs[0].id, CIRCUIT.cells[0].outputs[0].id, CIRCUIT.outputs[0].id
HERE = replace(scene("lora"), term=TERM, selected_id="")


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {selection.QUIZ: "1"}
    with patch.object(st, "session_state", state):
        yield state


# --- which is next --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sized", "seen", "done", "after", "asked"),
    [
        ("abc", "bc", "", "", "b"),
        ("abc", "bc", "", "b", "c"),
        ("abc", "bc", "", "c", "b"),
        ("abc", "bc", "", "a", "b"),  # which is not in sight
        ("abc", "bc", "b", "", "c"),
        ("abcd", "bcd", "c", "b", "d"),
        ("abc", "bc", "bc", "b", "b"),
        ("abc", "bc", "bc", "", "b"),
        ("abc", "", "", "", "a"),
        ("bc", "abc", "", "", "b"),  # an array without a size is not asked for
        ("", "abc", "", "", ""),
    ],
)
def test_the_next_question_is_in_sight_and_open(
    sized: str, seen: str, done: str, after: str, asked: str
) -> None:
    array = SimpleNamespace(spec="m:3")
    values = {id: SimpleNamespace(id=id, array=array) for id in "abcd"}
    here: Any = SimpleNamespace(circuit=SimpleNamespace(values=values))
    with (
        patch.object(quiz, "askable_arrays", lambda circuit: tuple(sized)),
        patch.object(quiz, "visible_arrays", lambda scene: dict.fromkeys(seen)),
    ):
        found = Round("lora", outcomes={f"{id} m:3": "right" for id in done})
        assert quiz._next_array(here, found, after) == asked


@pytest.mark.parametrize(
    ("act", "done", "after"),
    [
        ("right", {"v1": "right"}, MADE),
        ("later", {"v1": "later"}, MADE),
        ("show", {"v1": "shown"}, MADE),
        ("next", {}, LAST),
        ("again", {}, "first"),
        ("", {}, MADE),
    ],
)
@pytest.mark.parametrize("before", ["", "later"])
def test_what_a_visitor_does_is_done_once(
    act: str, done: dict[str, str], after: str, before: str
) -> None:
    key = quiz._key(CIRCUIT.values[MADE])
    found = Round("lora", MADE, {key: before} if before else {}, act)
    with patch.object(quiz, "_next_array", lambda scene, found, after: LAST if after else "first"):
        quiz._handle(HERE, found)
    wanted = {key: before or next(iter(done.values()))} if before or done else {}
    assert found.outcomes == (wanted if act != "again" else {})
    assert (found.asked_array, found.pending_action) == (after, "")


@pytest.mark.parametrize(
    ("picked", "quiz_is", "wish"),
    [
        ({"do": "end"}, "", "before"),
        ({"do": "show"}, "1", "show"),
        ({"do": "nothing"}, "1", "before"),
        ({}, "1", "before"),
        ("end", "1", "before"),
        (None, "1", "before"),
    ],
)
def test_a_click_is_kept_for_the_next_run(
    picked: object, quiz_is: str, wish: str, session: dict[str, Any]
) -> None:
    with patch.object(quiz.html_panel, "sent_value", lambda key, what: picked):
        quiz._act()
        assert quiz.ROUND not in session
        session |= {quiz.ROUND: Round("lora", pending_action="before"), selection.QUIZ: "1"}
        quiz._act()
    assert (session[selection.QUIZ], session[quiz.ROUND].pending_action) == (quiz_is, wish)


def test_what_is_asked_for_is_what_is_selected_or_was_asked_before(
    session: dict[str, Any],
) -> None:
    def ask(selected: str = "", page: str = HERE.entry.name) -> str:
        found = quiz.with_question(replace(HERE, selected_id=selected))
        assert found.selected_id == found.subject_id == session[selection.SELECTED_KEY]
        assert found.hidden_sizes is not None and found.hidden_sizes.hidden == found.selected_id
        return found.selected_id

    first = ask()
    assert first in (MADE, LAST)
    other = LAST if first == MADE else MADE
    assert (ask(other), ask(), ask("n999"), ask(CIRCUIT.cells[0].id)) == (other,) * 3 + (MADE,)
    session[quiz.ROUND].pending_action = "right"
    found = quiz.with_question(HERE)
    assert found.hidden_sizes == HiddenSizes(MADE, frozenset({MADE}))
    session[quiz.ROUND].page = "another"
    assert ask() == first and session[quiz.ROUND].outcomes == {}
    session[selection.QUIZ] = ""
    assert quiz.with_question(HERE) is HERE


def test_arrays_with_all_their_sizes_can_be_asked_for() -> None:
    circuit = ncd.elaborate(ncd.Id("y:2 m:3, y m, n, ()"))
    ids = [value.id for value in circuit.inputs]
    assert askable_arrays(circuit) == (ids[0], ids[1], ids[3])


def test_inputs_are_given_also_where_they_are_passed_on() -> None:
    for circuit, given in (
        (CIRCUIT, [True, False, False]),
        (ncd.elaborate(ncd.Id("y:2 m:3") >> ncd.Copy("y m")), [True] * 3),
        (ncd.elaborate(ncd.Id("m:3, m:3") >> ncd.Add()), [True, True, False]),
    ):
        values = circuit.values.values()
        assert [is_given(circuit, value) for value in values] == given


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "name", "said"),
    [
        (GIVEN, "", "What shape goes in here?"),
        (GIVEN, "x", "What shape goes in here, called x?"),
        (MADE, "", "What shape leaves Linear Q?"),
        (MADE, "a", "What shape leaves Linear Q, called a?"),
        (MADE, "Q", "What shape leaves Linear Q?"),
        (MADE, "Lin", "What shape leaves Linear Q, called Lin?"),
    ],
)
def test_a_question_names_the_op_and_the_array(id: str, name: str, said: str) -> None:
    with patch.object(quiz, "array_names", lambda circuit: {id: name} if name else {}):
        assert text(quiz._question(CIRCUIT, CIRCUIT.values[id])) == said


def test_an_answer_says_the_shape_and_what_the_op_does() -> None:
    words = CIRCUIT.cells[0].description
    for done, sign in (("right", "✓"), ("later", "✓"), ("shown", "It is")):
        said = text(quiz._solution(CIRCUIT, CIRCUIT.values[MADE], done))
        assert said == f"{sign} t 5 · k 2 {words}"
    assert text(quiz._solution(CIRCUIT, CIRCUIT.values[GIVEN], "shown")) == "It is t 5 · m 3"
    number = ncd.elaborate(ncd.Id("()"))
    said = text(quiz._solution(number, number.inputs[0], "right"))
    assert said == "✓ a number, without axes"


@pytest.mark.parametrize(
    ("seen", "computed", "says"),
    [
        ((), set(), ["t 5", "m 3"]),
        ((MADE,), set(), ["t 5", "m 3", "k 2"]),
        ((MADE,), {"k"}, ["t 5", "m 3", "k"]),
    ],
)
def test_axes_in_sight_are_offered_with_the_sizes_that_are_given(
    seen: tuple[str, ...], computed: set[str], says: list[str]
) -> None:
    with (
        patch.object(quiz, "visible_arrays", lambda scene: dict.fromkeys(seen)),
        patch.object(quiz, "computed_axes", lambda *_: computed),
    ):
        choices = quiz._choices(HERE)
        several = replace(HERE, term=ncd.Id("m:3") @ ncd.Id("m:4 n"))
        assert [text(html) for _, _, html in quiz._choices(several)] == ["m"]
    assert [text(html) for _, _, html in choices] == [said for _, said, _ in choices] == says


@pytest.mark.parametrize(
    ("done", "said", "graded"), [("", False, True), ("right", True, False), (None, False, False)]
)
def test_a_question_is_graded_until_it_is_solved(
    done: str | None, said: bool, graded: bool, session: dict[str, Any]
) -> None:
    key = quiz._key(CIRCUIT.values[MADE])
    session[quiz.ROUND] = Round(
        HERE.entry.name, "" if done is None else MADE, {key: done} if done else {}
    )
    with patch.object(quiz, "_quiz") as shown:
        quiz.show(HERE)  # nothing is hidden
        assert not shown.called
        quiz.show(replace(HERE, hidden_sizes=HiddenSizes(MADE)))
        data = shown.call_args.kwargs["data"]
        session[selection.QUIZ] = ""
        quiz.show(replace(HERE, hidden_sizes=HiddenSizes(MADE)))  # by the question of a lesson
    assert shown.call_count == 1
    assert (bool(data["said"]), bool(data["facts"]), data["done"]) == (said, graded, bool(done))
    assert data["key"] == ("" if done is None else key)
    assert (data["ask"] == "No array here has its sizes.") == (done is None)


def test_a_question_of_a_link_is_shown_if_there_is_one() -> None:
    for found in (None, "question"):
        with (
            patch.object(lesson_view, "current_question", lambda scene, found=found: found),
            patch.object(lesson_view, "_chosen_answer", lambda scene: ""),
            patch.object(lesson_view, "_html", lambda *_: "html"),
            patch.object(lesson_view.html_panel, "render") as shown,
        ):
            lesson_view.show_question(HERE)
        assert shown.called == (found is not None)
