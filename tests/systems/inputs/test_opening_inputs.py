"""What the pages of systems open with, and the symbols, tokens and digits behind it."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.run.seeding import generator
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from ncd.systems.inputs.text_inputs import (
    BLANK_SYMBOL,
    LONGEST_SEQUENCE,
    doubt,
    known_words,
    parse,
    tokens,
)
from ncd.systems.training.sequence_data import SEQUENCES


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_system_of_sequences_opens_with_the_sample_of_its_task(name: str) -> None:
    entry = ncd.catalogue[name]
    settings = entry.settings({})
    term = entry.build()
    feed = opening_inputs(entry, term, settings)
    read = parse(name, settings["t"], settings["v"], 0)
    assert (feed.words, feed.numbers) == ({term.dom[0][0].name: read.words}, read.numbers)
    assert len(read.numbers) == settings["t"] and not read.error_text
    (numbers,) = feed.tensors(term, 0, "cpu")
    assert numbers.tolist() == list(read.numbers)
    assert min(read.numbers) >= 0 and max(read.numbers) < settings["v"]


def test_systems_open_with_words_pictures_or_random_arrays() -> None:
    kinds = {"multi-head-attention": "words", "lenet": "pictures", "layer-norm": ""}
    for name, kind in kinds.items():
        entry = ncd.catalogue[name]
        feed = opening_inputs(entry, entry.build())
        assert (bool(feed.words), bool(feed.pictures)) == (kind == "words", kind == "pictures")
        assert feed.trained == (kind == "words") and (feed == InputSpec()) == (not kind)


def test_digits_are_ten_different_light_figures_on_black() -> None:
    drawn = [picture_inputs.sample(name).pixels(1, 28, 28, 0)[0] for name in picture_inputs.DIGITS]
    for n, one in enumerate(drawn):
        assert one.shape == (28, 28) and one.min() == 0 and one.max() > 0.9
        assert 0.02 < one.mean() < 0.35
        assert all(not torch.equal(one, other) for other in drawn[:n])
    rows = [picture.sum(1) for picture in drawn]
    one, eight = drawn[1], drawn[8]
    assert one.mean() < eight.mean()  # a stroke against two loops
    assert (rows[7][:14].sum() > rows[7][14:].sum()).item()  # its bar is at the top
    fitted = picture_inputs.sample("digit 1").pixels(1, 28, 28, 0, fit=True)[0]
    lit = fitted.sum(1).nonzero().flatten()
    assert (lit.min() <= 3, lit.max() >= 24) == (True, True)


# --- symbols --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "t", "v", "text", "numbers", "length", "wrong"),
    [
        ("reversal", 3, 4, "a b, d", (0, 1, 3), 3, ""),
        ("reversal", 3, 4, "d\tc\nb", (3, 2, 1), 3, ""),
        ("proofreader", 4, 78, "THE cat", None, 2, ""),
        ("proofreader", 1, 78, "the cat", None, None,
         "It takes 1 symbols at most, and these are 2."),
        ("proofreader", 2, 78, "the cat", None, 2, ""),
        ("reversal", 3, 26, "ab0", None, None, f"“0” is none of the symbols here: "
         f"{' '.join('abcdefghijklmnopqrstuvwxyz')}."),
        ("reversal", 3, 4, "abcd", None, None, "It takes 3 symbols at once, and these are 4."),
    ],
)  # fmt: skip
def test_a_typed_sequence_is_read_or_told_what_is_wrong(
    name, t, v, text, numbers, length, wrong
) -> None:
    found = parse(name, t, v, 0, text=text)
    assert found.error_text == wrong
    assert len(found.numbers) == len(found.words) == t
    assert numbers is None or found.numbers == numbers
    if length is not None:
        assert found.length == length
        assert found.words[length:] == (BLANK_SYMBOL,) * (t - length)
        assert found.numbers[length:] == (0,) * (t - length)
        assert BLANK_SYMBOL not in found.words[:length]


def test_another_turn_is_another_example() -> None:
    first = parse("reversal", 8, 4, 0)
    turns = {parse("reversal", 8, 4, 0, turn=turn).numbers for turn in ("1", "2", "3")}
    assert len(turns | {first.numbers}) == 4
    assert parse("reversal", 8, 4, 1, turn="1").numbers not in turns
    task = SEQUENCES["induction"]  # a line alone, as others before it would change it
    (line,) = task.make(1, 12, 26, generator(3, "sequence 2")).tolist()
    assert [*parse("induction", 12, 26, 3, turn="2").numbers] == line
    wrong = parse("reversal", 8, 4, 0, turn="1", text="z")
    assert wrong.error_text and wrong.numbers == parse("reversal", 8, 4, 0, turn="1").numbers
    assert LONGEST_SEQUENCE == 20
    assert f"“{'z' * 20}”" in parse("proofreader", 8, 78, 0, text="z" * 21).error_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the CAT", ["the", "cat"]),
        ("tom", ["Tom"]),
        ("Tom", ["Tom"]),
        ('"the"', ["“", "the", "”"]),
        ('"the" "cat"', ["“", "the", "”", "“", "cat", "”"]),
        ("zebra", ["zebra"]),
    ],
)
def test_words_are_known_in_any_case_and_quotes_become_curly(text: str, words: list[str]) -> None:
    assert known_words(text, ("Tom", "the", "cat")) == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cat's mat", ["cat's", "mat"]),
        ("'cat'", ["'", "cat'"]),
        ("a,b", ["a", ",", "b"]),
        ("!!", ["!", "!"]),
        ("snake_case 42", ["snake_case", "42"]),
        ("猫が", ["猫", "が"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("é e\u0301", ["é", "é"]),
        ("a\u0000b", ["a", "b"]),
        ("👍🏽 x", ["👍🏽", "x"]),
        ("\u0301a", ["a"]),
        ("", []),
    ],
)
def test_what_is_one_token(text: str, found: list[str]) -> None:
    assert tokens(text) == found


def test_a_sentence_of_another_build_is_doubted() -> None:
    assert doubt(["the", "keys", "is", "old", "."]) == ""
    assert doubt(["The", "keys", "and", "the", "book", "is", "old", "."]).startswith(
        "The sentences it has"
    )
    assert doubt(["the", "zebra"]).startswith("It does not know “zebra”")
