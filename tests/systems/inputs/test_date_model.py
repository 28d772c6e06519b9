"""What the shipped encoder and decoder are given of a date: their own writing, one place late."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.systems.inputs.date_model import MOST_PLACES, SAMPLE, TRANSLATOR, date_input
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from ncd.systems.training.trained_weights import read_weights, shipped_file
from ncd.systems.training.written_dates import START, UNSEEN_EVERY, WRITTEN_SYMBOLS, iso_date

ENTRY = ncd.catalogue[TRANSLATOR]


@pytest.mark.parametrize("attend", [1, 0])
@pytest.mark.parametrize("text", ["3 may 2007", "12/31/1999", "sept 9"])
def test_what_was_written_is_what_one_symbol_after_the_other_gives(attend: int, text: str) -> None:
    settings = ENTRY.settings({"attend": attend})
    module = ncd.compile(ENTRY.build(attend=attend))
    read_weights(module, shipped_file(ENTRY, settings) or b"")
    found = date_input(18, 10, attend, seed=0, text=text)
    assert found is not None
    read, before = torch.tensor(found.read.numbers), [WRITTEN_SYMBOLS.index(START)]
    for place in range(10):
        line = torch.tensor((before + [0] * 10)[:10])
        outputs = module(read, line)
        scores = outputs[0] if attend else outputs
        before.append(int(scores[place].argmax()))
    assert found.decoder_numbers == tuple(before[:10])


def test_a_text_is_read_in_small_letters_and_single_spaces() -> None:
    found = date_input(18, 10, 1, seed=0, text="  3  MAY 2007 ")
    assert found is not None and "".join(found.words["s"]) == "3 may 2007········"
    assert found.numbers[:18] == found.read.numbers and len(found.numbers) == 28


def test_examples_are_days_that_are_not_learned_from() -> None:
    from datetime import date

    first = date_input(18, 10, 1, seed=0)
    assert first is not None and "".join(first.words["s"][: first.read.length]) == SAMPLE
    texts = set()
    for turn in range(1, 9):
        found = date_input(18, 10, 1, seed=0, turn=str(turn))
        assert found is not None
        texts.add(text := "".join(found.words["s"][: found.read.length]))
        assert date.fromisoformat(iso_date(text)).toordinal() % UNSEEN_EVERY == 0
    assert len(texts) == 8


def test_places_beyond_a_date_are_start_marks() -> None:
    found = date_input(18, 13, 1, seed=0, text="3 may 2007")
    assert found is not None and "".join(found.words["t"]) == "▸2007-05-03▸▸"


def test_it_opens_with_a_date_where_that_is_few_places() -> None:
    for t, is_random in ((MOST_PLACES, False), (MOST_PLACES + 1, True)):
        settings = ENTRY.settings({"t": t})
        found = opening_inputs(ENTRY, ENTRY.build(t=t), settings)
        assert found.is_random == is_random
    read, before = opening_inputs(ENTRY, ENTRY.build()).tensors(ENTRY.build(), 0, "cpu")
    assert read.shape == (18,) and before.shape == (10,)


def test_its_inputs_say_what_they_are_and_come_back() -> None:
    found = opening_inputs(ENTRY, ENTRY.build())
    assert found.description == "“november 3 1998”, and what was written of it before"
    assert (
        eval(f"InputSpec({found.code})", {"InputSpec": InputSpec})
        .tensors(ENTRY.build(), 0, "cpu")[0]
        .equal(found.tensors(ENTRY.build(), 0, "cpu")[0])
    )
