"""What a draft proposes and the model keeps, as the panel shows it."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import torch

import ncd
from ncd.app.panels.language_models import speculative_texts
from ncd.app.panels.language_models.speculative_texts import (
    MAX_PASSES,
    MAX_ROWS,
    SPECULATIVE,
    TEXTS,
    WORD_COUNT,
    chance_rule,
    written_passes,
)
from ncd.app.parts import input_feed as typed
from ncd.app.scene.scene import Scene
from ncd.app.state.session import session
from ncd.run.seeding import generator
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.story_draft import draft_scores
from ncd.systems.inputs.story_model import LONGEST, word_scores
from ncd.systems.language_models.speculative_decoding import agreement, expected_words
from ncd.systems.language_models.token_sampling import SHARES, TEMPERATURES, WHOLE_SHARE
from ncd.systems.training.story_grammar import STORY_WORDS
from tests.app.panels.views import scene, shown, text

WORDS = ("Mia", "has", "a")
BEGIN = [STORY_WORDS.index(word) for word in WORDS]


def here(words: tuple[str, ...] = WORDS, seed: int = 0, **at: int) -> Scene:
    return scene("sampling", seed=seed, feed=InputSpec(text=words), **at)


def percent(cell: str) -> float:
    return 0.0 if cell == "–" else float(cell.rstrip("%")) / 100


@pytest.mark.parametrize("at", [{}, {"k": 3, "t": 5, "p": 1}, {"k": 40, "t": 3, "p": WHOLE_SHARE}])
def test_the_rule_of_the_page_cuts_and_warms_the_scores(at: dict[str, int]) -> None:
    settings = ncd.catalogue["sampling"].settings(at)
    scores = word_scores(WORDS)[: len(STORY_WORDS)]
    order = scores.argsort(descending=True)[: settings["k"]]
    warm = (scores[order] / float(TEMPERATURES[settings["t"]])).softmax(0)
    kept = warm * (warm.cumsum(0) - warm < float(SHARES[settings["p"]]))
    found = chance_rule(settings)(scores)
    torch.testing.assert_close(found[order], kept / kept.sum())
    assert int((found > 0).sum()) == int((kept > 0).sum())


def test_the_passes_are_shown_and_what_they_measure() -> None:
    at = here()
    found, rule = shown(SPECULATIVE, at), chance_rule(at.settings)
    texts = [
        written_passes(BEGIN, 4, rule, generator(0, f"speculative text {i}")) for i in range(TEXTS)
    ]
    every = [own for passes in texts for own in passes]
    rows = re.findall(r"<li>(.*?)</li>", found.html)
    assert 1 < len(rows) <= MAX_PASSES
    for row, own in zip(rows, texts[0], strict=False):
        words = [STORY_WORDS[i] for i in own.proposals]
        gone = re.findall(r"<s [^>]*>(.*?)</s>", row)
        assert " ".join(gone) == " ".join(words[own.accepted_count :])
        assert re.findall(r'"stays">(.*?)</span>', row) == [" ".join(words[: own.accepted_count])]
        assert re.findall(r"<b.*?>(.*?)</b>", row) == [STORY_WORDS[own.own_word]]
        assert f"{own.accepted_count} of 4 stay" in text(row)
    a = sum(x for own in every for x in own.agreements) / sum(len(own.agreements) for own in every)
    mean = sum(len(own.words) for own in every) / len(every)
    assert f"here a = {a:.2f} stay on average." in found.text
    assert f"(1 − a5) / (1 − a) = {expected_words(a, 4):.2f} words." in found.text
    assert f"Over {len(every)} passes it wrote {mean:.2f}; without a draft it is 1." in found.text


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_text_ends_with_the_pass_that_fills_it(count: int) -> None:
    rule = chance_rule(ncd.catalogue["sampling"].settings({}))
    for text_number in range(6):
        passes = written_passes(BEGIN, count, rule, generator(text_number, "a text"))
        lengths = [len(own.words) for own in passes]
        assert sum(lengths[:-1]) < WORD_COUNT <= sum(lengths) and max(lengths) <= count + 1


def test_words_beyond_the_table_are_one_row() -> None:
    own = here(k=40, t=5, p=WHOLE_SHARE)
    rule = chance_rule(own.settings)
    p, q = rule(word_scores(WORDS)[: len(STORY_WORDS)]), rule(draft_scores(BEGIN))
    count = int(((p > 0) | (q > 0)).sum())
    names = [row[0] for row in shown(SPECULATIVE, own).rows]
    assert len(names) == MAX_ROWS + 2 and names[-1] == f"{count - MAX_ROWS} others"
    for most, rows in ((count, count), (count - 1, count)):
        with patch.object(speculative_texts, "MAX_ROWS", most):
            found = [row[0] for row in shown(SPECULATIVE, own).rows[1:]]
            assert len(found) == rows and ("1 other" in found) == (most < count)


@pytest.mark.parametrize("at", [{}, {"k": 40, "t": 5, "p": WHOLE_SHARE}])
def test_the_last_column_is_the_models_own_chance(at: dict[str, int]) -> None:
    own = here(**at)
    head, *rows = shown(SPECULATIVE, own).rows
    assert head == ["word", "draft q", "model p", "stays min(p, q)", "drawn anew", "together"]
    rule = chance_rule(own.settings)
    p, q = rule(word_scores(WORDS)[: len(STORY_WORDS)]), rule(draft_scores(BEGIN))
    for word, *cells in rows:
        guess, model, stays, anew, together = map(percent, cells)
        assert together == model and stays + anew == pytest.approx(model, abs=0.0011)
        if word in STORY_WORDS:
            at_word = STORY_WORDS.index(word)
            assert model == pytest.approx(float(p[at_word]), abs=6e-4)
            assert guess == pytest.approx(float(q[at_word]), abs=6e-4)
    assert sum(percent(row[5]) for row in rows) == pytest.approx(1, abs=0.005)
    assert f"with {agreement(p, q):.1%} the draft’s stays" in shown(SPECULATIVE, own).text


def test_it_follows_its_slider_the_knobs_and_the_seed() -> None:
    found = shown(SPECULATIVE, here(), ahead="2")
    assert found.sliders == {"ahead": (1, 2, 8), "t": (0, 2, 5), "k": (1, 10, 40), "p": (0, 2, 4)}
    assert "of 2 stay" in found.text and "(1 − a3)" in found.text
    lists = {
        re.sub(r".*<ol", "<ol", shown(SPECULATIVE, own).html, flags=re.DOTALL).split("</ol>")[0]
        for own in (here(), here(seed=1), here(t=5))
    }
    assert len(lists) == 3
    assert found.pick is not None
    with patch.object(typed.st, "session_state", {}):
        found.pick("k=7")
        found.pick("another=")
        assert session()["k"] == 7 and typed.TURN.value == "1"


def test_a_text_without_room_and_random_scores_are_told() -> None:
    full = (WORDS * LONGEST)[: LONGEST - 1]
    said = shown(SPECULATIVE, here(full), ahead="4").text
    assert f"The model reads {LONGEST} words, so that no more can be proposed here." in said
    assert "passes it wrote" not in said
    assert "The scores are random" in shown(SPECULATIVE, scene("sampling", v=300)).text
