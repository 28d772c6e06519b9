"""The bars of the next token after each cut, the draws, and the texts that are written so."""

from __future__ import annotations

import re
from math import log
from unittest.mock import patch

import pytest
import torch

from ncd.app.panels.language_models.sampling_steps import (
    CUTS,
    MAX_ROWS,
    RARE,
    TEXTS,
    written_texts,
)
from ncd.app.parts import input_feed as typed
from ncd.app.scene.scene import Scene
from ncd.app.state.session import session
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from ncd.systems.inputs.story_model import word_scores
from ncd.systems.language_models.token_sampling import RESOLUTION, SAMPLING, WHOLE_SHARE
from ncd.systems.training.story_grammar import STORY_WORDS
from tests.app.panels.views import scene, shown, tags, text

WORDS = ("Mia", "has", "a")


def here(**at: int) -> Scene:
    return scene("sampling", feed=InputSpec(text=WORDS), **at)


def percent(cell: str) -> float:
    return 0.0 if cell == "–" else float(cell.rstrip("%")) / 100


def test_bars_are_the_chances_after_each_step() -> None:
    found = shown(CUTS, here(k=4, t=5, p=1))
    head, *rows = found.rows
    assert head == ["token", "all 201", "top-k 4", "temperature 2", "top-p 0.8"]
    scores = word_scores(WORDS)[:201]
    order = scores.argsort(descending=True)
    assert [row[0] for row in rows[:-1]] == [STORY_WORDS[i] for i in order[: MAX_ROWS - 1]]
    assert rows[-1][0] == f"{201 - MAX_ROWS + 1} others"
    best = scores[order[:4]]
    warm = (best / 2).softmax(0)
    kept = warm * (warm.cumsum(0) - warm < 0.8)
    columns = (scores.softmax(0)[order[:4]], best.softmax(0), warm, kept / kept.sum())
    for n, column in enumerate(columns, 1):
        assert [percent(row[n]) for row in rows[:4]] == pytest.approx(column.tolist(), abs=6e-4)
    assert all(row[2:] == ["–"] * 3 for row in rows[4:])
    rest = float(scores.softmax(0)[order[MAX_ROWS - 1 :]].sum())
    assert percent(rows[-1][1]) == pytest.approx(rest, abs=6e-4)


def test_draws_stand_where_their_numbers_fall_and_are_pressed_to_be_added() -> None:
    at = here(b=5)
    found = shown(CUTS, at)
    tokens, _ = at.trace.outputs
    uniform = ((at.inputs[1] + 0.5) / RESOLUTION).tolist()
    marks = re.findall(r'<i style="left:([\d.]+)%', found.html)
    assert [float(mark) for mark in marks] == pytest.approx([100 * u for u in uniform], abs=0.006)
    buttons = re.findall(r'data-pick="add=(\d+)">(.*?)</button>', found.html)
    assert [int(number) for number, _ in buttons] == tokens.tolist()
    assert [text(label) for _, label in buttons] == [
        f"{u:.3f} → {STORY_WORDS[token]}" for u, token in zip(uniform, tokens, strict=True)
    ]
    assert found.pick is not None
    with patch.object(typed.st, "session_state", {}):
        found.pick("add=132")
        assert session()[typed.SEQUENCE.name] == "Mia has a cup"
        found.pick("another=")
        assert session()[typed.SEQUENCE.name] == "" and typed.TURN.value == "1"
        found.pick("k=7")
        found.pick("k=x")
        found.pick("add=9999")
        assert session()["k"] == 7 and session()[typed.SEQUENCE.name] == ""


def test_its_sliders_are_the_knobs() -> None:
    assert shown(CUTS, here()).sliders == {"t": (0, 2, 5), "k": (1, 10, 40), "p": (0, 2, 4)}


def test_what_is_said_of_the_cuts() -> None:
    said = shown(CUTS, here()).text
    assert "Top-k leaves 10 of 201 tokens; the others had 9.8% together." in said
    assert "Top-p leaves 5; the others had 9.6%." in said
    assert "as unsure as between 10.6 tokens of equal chance, and the draw as between 4.7." in said
    assert "Top-p leaves 10; the others had –." in shown(CUTS, here(p=WHOLE_SHARE)).text


def test_of_scores_that_are_random_tokens_have_numbers_and_nothing_is_added() -> None:
    found = shown(CUTS, scene("sampling", v=300))
    assert found.rows[1][0].isdecimal() and "The scores are random" in found.text
    assert "add=" not in found.html and not tags(found.html, "button")
    assert "The scores are random" in shown(TEXTS, scene("sampling", v=300)).text


def test_a_wrong_text_is_told_and_an_example_stands_for_it() -> None:
    session_ = {typed.SEQUENCE.name: "Mia has a <b>zebra"}
    with patch.object(typed.st, "session_state", session_):
        feed = typed.feed(SAMPLING, SAMPLING.build(), seed=0)
    found = shown(CUTS, scene("sampling", feed=feed), **session_)
    assert "is none of the 201 words here" in found.text and "<b>zebra" not in found.html


def test_inputs_are_the_scores_of_the_model() -> None:
    term = SAMPLING.build()
    feed = opening_inputs(SAMPLING, term)
    scores, z = feed.tensors(term, 0, "cpu")
    assert torch.equal(scores, word_scores(WORDS)[:201]) and z.shape == (6,)
    assert feed.fitting(SAMPLING.build(v=256)) is feed
    assert feed.fitting(SAMPLING.build(v=257)).is_random
    assert opening_inputs(SAMPLING, SAMPLING.build(v=257)).is_random
    assert eval(f"InputSpec({feed.code})") == feed


def test_every_rule_writes_a_text_that_is_shown() -> None:
    at = here()
    rows, found = written_texts(at), shown(TEXTS, at)
    rules = [rule for rule, _ in rows]
    own = "top-k 10, temperature 0.7, top-p 0.9"
    assert rules == [
        "greedy", "4 beams", own, own, own, "all tokens, temperature 1", "all tokens, temperature 2"
    ]  # fmt: skip
    assert len({text.numbers for _, text in rows[2:5]}) == 3
    for rule, written in rows:
        assert f"{rule}perplexity {written.perplexity:.2f}" in found.text
    greedy = rows[0][1]
    so_far = [*WORDS, *(STORY_WORDS[i] for i in greedy.numbers)]
    for n, number in enumerate(greedy.numbers, len(WORDS)):
        scores = word_scores(so_far[:n])[:201]
        assert number == int(scores.argmax())
    wild, least = rows[-1][1], log(RARE)
    pairs = zip(wild.numbers, wild.log_chances, strict=True)
    rare = [STORY_WORDS[number] for number, chance in pairs if chance < least]
    assert rare and re.findall(r'class="rare".*?>(.*?)<', found.html)[-len(rare) :] == rare
