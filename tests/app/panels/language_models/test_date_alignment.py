"""The Alignment panel: what is written of a date, and where each step looked."""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch

from ncd.app.panels.language_models import date_alignment
from ncd.app.panels.language_models.date_alignment import ALIGNMENT, STEP, WrittenDate, written_date
from ncd.app.panels.learning import mistakes
from ncd.app.parts import input_feed as typed
from ncd.app.scene.scene import Scene
from ncd.app.state.session import session
from ncd.systems.inputs.date_model import MOST_PLACES, date_input
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.text_inputs import BLANK_SYMBOL, SymbolInput
from ncd.systems.recurrent.seq2seq_attention import SEQ2SEQ_ATTENTION
from ncd.systems.training.tasks import data, task
from ncd.systems.training.trained_weights import shipped_weights
from ncd.systems.training.written_dates import READ_SYMBOLS
from tests.app.panels.views import scene, shown, text


def here(date: str = "", **knobs: int) -> Scene:
    """The page with its shipped weights, and a date that was typed."""
    settings = SEQ2SEQ_ATTENTION.settings(knobs)
    given = date_input(settings["s"], settings["t"], settings["attend"], 0, text=date)
    feed = InputSpec(given.words, numbers=given.numbers) if given else InputSpec()
    trained = shipped_weights(SEQ2SEQ_ATTENTION, settings)
    return replace(scene("seq2seq-attention", feed=feed, **knobs), loaded_weights=trained)


def test_the_map_holds_the_weights_of_the_run() -> None:
    at = here()
    found = shown(ALIGNMENT, at)
    scores, weights = at.trace.outputs
    assert found.map is not None
    assert np.array_equal(found.map.pooled_maps.maps, weights.numpy())
    assert "".join(found.map.rows.tick_labels) == "1998-11-03"
    assert "".join(found.map.columns.tick_labels) == "november␣3␣1998···"
    assert scores.argmax(-1).tolist() == [1, 9, 9, 8, 10, 1, 1, 10, 0, 3]
    looks = [int(share) for share in re.findall(r"--look:(\d+)%", found.html)]
    assert looks == [round(100 * share) for share in weights[0].tolist()]


@pytest.mark.parametrize("step", [0, 4, 9])
def test_a_pressed_symbol_is_told(step: int) -> None:
    at = here()
    found = shown(ALIGNMENT, at, **{STEP.name: step})
    assert found.map is not None and [mark.row for mark in found.map.marks] == [step]
    assert re.findall(r'data-pick="written=(\d+)" aria-pressed="true"', found.html) == [str(step)]
    best = at.trace.outputs[1][step].max()
    assert f"{best:.0%} on" in found.text and "The date is right." in found.text
    assert found.map.rows.picks is STEP


def test_without_attention_it_says_what_went_wrong() -> None:
    found = shown(ALIGNMENT, here(attend=0))
    assert found.map is None and "it sees nothing of what was read" in found.text
    assert "Right is 1998-11-03; 1 symbol of it went wrong." in found.text
    (wrong,) = re.findall(r'class="wrong" title="(right is .)">(.)<', found.html)
    assert wrong == ("right is 1", "2")


def test_of_what_is_no_date_nothing_is_right() -> None:
    typed_text = "the 3rd of may"
    found = shown(ALIGNMENT, here(typed_text), **{typed.SEQUENCE.name: typed_text})
    assert "Nothing says what is right here" in found.text


def test_a_wrong_text_is_told_and_not_shown_as_it_is() -> None:
    held = {typed.SEQUENCE.name: "3 <b>may</b>"}
    with patch.object(typed.st, "session_state", held):
        feed = typed.feed(SEQ2SEQ_ATTENTION, SEQ2SEQ_ATTENTION.build(), seed=0)
    at = scene("seq2seq-attention", feed=feed)
    found = shown(ALIGNMENT, at, **held)
    assert "“<” is none of the symbols here" in found.text and "<b>may" not in found.html


def test_another_date_is_taken_and_the_field_is_empty() -> None:
    found = shown(ALIGNMENT, here())
    assert found.pick is not None
    with patch.object(typed.st, "session_state", {typed.SEQUENCE.name: "3 may 2007"}):
        found.pick("another", "")
        assert session()[typed.SEQUENCE.name] == "" and typed.TURN.value == "1"
        found.pick("nonsense", "4")
        assert typed.TURN.value == "1"


def test_a_long_text_has_random_inputs() -> None:
    found = shown(ALIGNMENT, here(t=MOST_PLACES + 1))
    assert found.map is None and "in a few places" in found.text
    random = shown(ALIGNMENT, replace(here(), inputs_spec=InputSpec()))  # though a date would fit
    assert random.map is None and "in a few places" in random.text


def test_a_blank_is_a_space_that_stays() -> None:
    assert [date_alignment._cell(symbol) for symbol in (" ", BLANK_SYMBOL, "a", "<")] == [
        *("&nbsp;", "&nbsp;", "a", "&lt;")
    ]


def test_only_clear_weights_are_told() -> None:
    read = SymbolInput(tuple(READ_SYMBOLS), (4, 0, 11), 3)
    weights = torch.tensor([[0.6, 0.35, 0.05], [0.08, 0.07, 0.06]])
    found = WrittenDate(read, "19", "18", weights)
    assert [(round(share, 2), symbol) for share, symbol in found.looks(0)] == [
        (0.6, "3"), (0.35, " ")
    ]  # fmt: skip
    assert found.looks(1) == [] and [found.is_wrong(i) for i in range(2)] == [False, True]
    assert not WrittenDate(read, "19", "", None).is_wrong(1)


def test_fewer_steps_are_compared_with_the_beginning() -> None:
    at = here(t=4)
    given = date_input(18, 4, 1, 0)
    assert given is not None
    found = written_date(at, given.read)
    assert (found.symbols, found.answer) == ("1998", "1998")


def test_places_behind_a_date_are_neither_right_nor_wrong() -> None:
    found = shown(ALIGNMENT, here(t=13))
    assert "The date is right." in found.text and 'class="wrong"' not in found.html
    assert found.map is not None and len(found.map.rows.tick_labels) == 13


def test_mistakes_are_the_worst_dates_with_wrong_symbols_marked() -> None:
    own = task("seq2seq-attention")
    unseen = data(own, {"s": 18, "t": 10}, 0)
    found = unseen.answers.clone()
    found[3, 2:4] = (found[3, 2:4] + 1) % 10
    found[7, 9] = (found[7, 9] + 1) % 10
    wrong, (worst, other) = mistakes._dates(unseen, found, unseen.answers)
    assert wrong == 2
    assert [place for place, (_, bad) in enumerate(worst.marked_answers) if bad] == [2, 3]
    assert [place for place, (_, bad) in enumerate(other.marked_answers) if bad] == [9]
    assert "".join(worst.read) == "".join(READ_SYMBOLS[i] for i in unseen.unseen[3, :18]).rstrip()
    said = text(mistakes.html(mistakes.Mistakes(512, 2, 0.99609, "", (), worst), own))
    assert "Of 512 dates that it has not learned from, it writes 510 without a mistake" in said
