"""The panel Next word: a text, what may follow, and what the buttons add."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.panels.language_models import next_word
from ncd.app.scene.scene import Scene
from ncd.explain.text_reading import choice_probabilities
from ncd.systems.inputs.text_inputs import SymbolInput, known_words, parse
from ncd.systems.training.sequence_data import STORY_MODELS
from ncd.systems.training.story_grammar import END, STORY_WORDS
from ncd.systems.training.trained_weights import read_weights, shipped_file, shipped_weights
from tests.app.page.test_pages import fine, page
from tests.app.panels.attention.test_language_panels import scene
from tests.app.panels.views import bars, inside
from tests.app.panels.views import text as words

OPENING = ["“", "I", "am", "hungry", ",", "”", "says", "Leo", ".", "Mia", "gives", "him"]
ENTRY = ncd.catalogue["gpt-2"]


def scores(words: list[str]) -> torch.Tensor:
    """What the shipped model says after some words, in a run of its own."""
    file = shipped_file(ENTRY, {})
    assert file is not None
    module = read_weights(ncd.compile(ENTRY.build(t=len(words))), file)
    with torch.no_grad():
        return module(torch.tensor([STORY_WORDS.index(word) for word in words]))[-1]


def trained_scene() -> Scene:
    """The scene of the page, as it opens."""
    return replace(scene("gpt-2"), loaded_weights=shipped_weights(ENTRY, {}))


def press(app: AppTest, label: str) -> AppTest:
    (button,) = (own for own in app.button if own.label == label)
    app = button.click().run()
    fine(app)
    return app


def text(app: AppTest) -> list[str]:
    return known_words(str(app.session_state["sequence"]), STORY_WORDS)


def test_the_page_opens_on_trained_weights_and_a_text_that_they_know() -> None:
    read = parse("gpt-2", 12, 256, 0)
    assert list(read.words) == OPENING and not read.error_text
    best = scores(OPENING).softmax(0)
    likely = {STORY_WORDS[i] for i in best.topk(2).indices.tolist()}
    assert likely == {"a", "an"} and float(best.topk(2).values.sum()) > 0.99


@pytest.mark.parametrize("name", STORY_MODELS)
def test_a_press_adds_a_word_of_the_trained_model(name: str) -> None:
    app = page(name)
    fine(app)
    assert app.session_state["panel"] == "Next word"
    assert text(press(app, "Add word"))[:-1] == OPENING
    assert text(app)[-1] in {"a", "an"}


def test_other_positions_have_the_same_weights_and_other_sizes_none() -> None:
    assert shipped_file(ENTRY, ENTRY.settings({"t": 30})) == shipped_file(ENTRY, {})
    for other in ({"h": 2}, {"n": 3}, {"v": 128}, {"u": 32}):
        assert shipped_file(ENTRY, ENTRY.settings(other)) is None


def test_a_word_is_added_as_the_seed_draws_it_and_the_positions_follow() -> None:
    app = press(page("gpt-2", top_k="1"), "Add word")
    best = STORY_WORDS[int(scores(OPENING).argmax())]
    assert text(app) == [*OPENING, best] and app.session_state["t"] == 13
    again = press(app, "Add word")
    assert len(text(again)) == 14 and again.session_state["t"] == 14
    other = press(press(page("gpt-2", top_k="1"), "Add word"), "Add word")
    assert text(other) == text(again)


def test_a_typed_text_sets_the_positions() -> None:
    app = page("gpt-2")
    app.text_input(key="sequence").set_value("the CAT sits on").run()
    fine(app)
    assert app.session_state["t"] == 4 and not app.warning


def test_an_unknown_word_is_refused_with_a_near_one() -> None:
    app = page("gpt-2", sequence="Tom has two aples")
    (warning,) = app.warning
    assert warning.value == (
        "“aples” is none of the 201 words here; “apples” is. Below stands an example."
    )


def test_writing_goes_on_until_the_story_ends() -> None:
    writer = next_word.scene_of_length(trained_scene(), 64)
    words = tuple(OPENING)
    while not next_word.is_complete(writer, words):
        words = next_word.add_next_word(writer, words)
    assert words[:12] == tuple(OPENING) and words[-1] == END and len(words) < 64
    assert END not in words[:-1] and "hungry" in words[12:]
    for n in range(12, len(words)):  # each word is one of the ten likeliest of a run of its own
        likeliest = scores([*words[:n]]).topk(10).indices.tolist()
        assert STORY_WORDS.index(words[n]) in likeliest


def test_the_room_for_a_text_ends() -> None:
    writer = next_word.scene_of_length(trained_scene(), 14)
    words = next_word.add_next_word(writer, next_word.add_next_word(writer, OPENING))
    assert len(words) == 14 and next_word.is_complete(writer, words)


def test_stop_keeps_what_was_written() -> None:
    app = press(page("gpt-2"), "Write on")
    app.session_state["writing"] = (*OPENING, "an", "egg")
    app = press(app.run(), "Stop")
    assert text(app) == [*OPENING, "an", "egg"] and "writing" not in app.session_state
    assert app.session_state["t"] == 14


def test_at_random_weights_it_still_writes() -> None:
    app = press(page("gpt-2", h="2"), "Add word")
    assert len(text(app)) == 13


# --- what is told of the words that may come next -------------------------------------------------


def test_a_word_says_how_likely_it_was_and_its_weight() -> None:
    assert next_word._word_title(0, None, 0.5) == "position 0: the first word; weight 0.50"
    assert next_word._word_title(3, 0.125, 0.25) == (
        "position 3: 12.5% likely after the words before; weight 0.25"
    )


@pytest.mark.parametrize(
    ("session", "count"), [({}, 10), ({"top_k": "1"}, 1), ({"top_k": next_word.ALL_WORDS}, 3)]
)
@pytest.mark.parametrize("at", [0, 1])
def test_the_likeliest_words_are_listed_and_follow_the_last_one_only(
    session: dict[str, str], count: int, at: int
) -> None:
    read = SymbolInput(("a", "b", "c"), (0, 1), 2)
    found: Any = SimpleNamespace(scores=torch.tensor([[2.0, 1, -20], [-20, 1, 2.0]]))
    with patch("streamlit.session_state", session):
        assert next_word._choice(3) == (1.0, count)
        html = next_word._choices_html(scene("gpt-2"), read, found, at)
    chances = choice_probabilities(found.scores[at], 1.0, count)
    order = found.scores[at].argsort(descending=True).tolist()
    rows = [[words(own) for own in inside(row, "td")] for row in inside(html, "tr")][1:]
    assert [(row[0], row[2]) for row in rows] == [
        (read.symbols[i], unescape(next_word._percent(float(chances[i])))) for i in order
    ]
    shares = [float(chances[i] / chances.max()) for i in order if chances[i] >= next_word.SMALLEST]
    assert bars(html) == pytest.approx(shares, abs=0.01)
    assert html.count("<button") == 3 * (at == 1)
    assert html.count("class=idle") == sum(float(chances[i]) < next_word.SMALLEST for i in order)
