"""Dates that are read and written: each pair is one day, and unseen days are never learned from."""

from __future__ import annotations

from datetime import date

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ncd.systems.training.losses import line_accuracy, written_loss
from ncd.systems.training.step_inputs import read_and_written
from ncd.systems.training.tasks import data, task
from ncd.systems.training.written_dates import (
    FORMATS,
    READ_SYMBOLS,
    START,
    UNSEEN_EVERY,
    WRITTEN_SYMBOLS,
    as_symbols,
    date_lines,
    date_text,
    iso_date,
    symbol_numbers,
)

KNOBS = {"s": 18, "t": 10}
DATES = st.dates(date(1900, 1, 1), date(2099, 12, 31))


@given(DATES, st.sampled_from(FORMATS))
def test_every_format_is_read_as_its_day(day: date, form: str) -> None:
    text = date_text(form, day)
    assert iso_date(text) == day.isoformat() and {*text} <= {*READ_SYMBOLS} and len(text) <= 18


@pytest.mark.parametrize(
    "text",
    ["", "november", "31 april 1998", "3 november 98", "november 3 1998 4", "1998-11-03",
     "3 novem 1998", "11.3.1998.", "0/1/1998", "3 nov 99999999999"],
)  # fmt: skip
def test_of_other_texts_no_day_is_known(text: str) -> None:
    assert iso_date(text) == ""


@pytest.mark.parametrize("unseen", [False, True])
def test_a_line_is_a_day_in_two_ways(unseen: bool) -> None:
    read, written = date_lines(200, 18, 10, torch.Generator().manual_seed(1), unseen)
    texts = [as_symbols(line, READ_SYMBOLS) for line in read]
    dates = [as_symbols(line, WRITTEN_SYMBOLS) for line in written]
    assert list(map(iso_date, texts)) == dates
    assert {date.fromisoformat(day).toordinal() % UNSEEN_EVERY == 0 for day in dates} == {unseen}
    assert {text.count(".") for text in texts} == {0, 2} and any("/" in text for text in texts)
    assert {day[:2] for day in dates} == {"19", "20"}


def test_what_does_not_fit_is_cut() -> None:
    whole = date_lines(3, 18, 10, torch.Generator().manual_seed(0))
    for line, cut in zip(whole, date_lines(3, 4, 2, torch.Generator().manual_seed(0)), strict=True):
        assert torch.equal(line[:, : cut.shape[1]], cut)
    assert symbol_numbers("19", WRITTEN_SYMBOLS, 3) == [1, 9, WRITTEN_SYMBOLS.index(START)]


def test_the_decoder_is_given_what_stands_before() -> None:
    own = data(task("seq2seq-attention"), KNOBS, 0)
    (read, before), wanted = read_and_written(own.unseen, own.answers, KNOBS, torch.Generator())
    assert torch.equal(wanted, own.answers) and torch.equal(before[:, 1:], wanted[:, :-1])
    assert bool((before[:, 0] == WRITTEN_SYMBOLS.index(START)).all()) and read.shape[1] == 18
    for line, answer in zip(read[:20], wanted[:20], strict=True):
        assert iso_date(as_symbols(line, READ_SYMBOLS)) == as_symbols(answer, WRITTEN_SYMBOLS)


def test_a_line_is_right_if_all_of_it_is() -> None:
    answers = torch.tensor([[1, 2], [3, 4]])
    scores = 9.0 * torch.nn.functional.one_hot(torch.tensor([[1, 2], [3, 0]]), 12)
    assert line_accuracy(scores, answers) == 0.5
    loss = written_loss((scores, torch.ones(2, 2, 5)), answers)
    assert loss == written_loss(scores, answers)
    plain = torch.nn.functional.cross_entropy(scores.flatten(0, 1), answers.flatten())
    torch.testing.assert_close(loss, plain)
