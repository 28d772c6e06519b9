"""Words, symbols and random arrays as inputs, and what is told of them."""

from __future__ import annotations

import math

import pytest
import torch

import ncd
from ncd import Id
from ncd.run.seeding import example_inputs
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.picture_inputs import sample
from ncd.systems.inputs.run_inputs import RANDOM, InputSpec, origin, sequences, takes_words
from ncd.systems.inputs.text_inputs import SymbolInput, doubt, embed, parse, read, sinusoids, symbol

WORDS = InputSpec({"y": ("the", "cat", "the")})
SYMBOLS = InputSpec({"t": ("b", "a")}, numbers=(1, 0))
PICTURE = InputSpec(pictures=(picture_inputs.sample("cat"),))
TRAINED = InputSpec({"y": ("the", "cat")}, trained=True)


@pytest.mark.parametrize(
    ("feed", "random", "description", "lengths"),
    [
        (InputSpec(), True, "random inputs", {}),
        (WORDS, True, "a random vector for each word", {"y": 3}),
        (SYMBOLS, False, "the sequence b a", {}),
        (PICTURE, False, "a cat", {}),
        (TRAINED, False, "the words as the proofreader knows them", {}),
    ],
)
def test_what_a_feed_is(
    feed: InputSpec, random: bool, description: str, lengths: dict[str, int]
) -> None:
    assert (feed.is_random, feed.description, feed.lengths) == (random, description, lengths)
    assert (feed.key == RANDOM) == (feed == InputSpec())
    names = {"Feed": InputSpec, "ncd": ncd}
    made = eval(f"Feed({feed.code})", names)
    assert (made.code, made.description) == (feed.code, feed.description)


def test_two_equal_pictures_are_described_once() -> None:
    one, two = picture_inputs.sample("cat"), picture_inputs.sample("boat")
    assert InputSpec(pictures=(one, two, one)).description == "a cat and a boat"


@pytest.mark.parametrize(("size", "shown"), [(20, "a" * 20), (21, "a" * 19 + "…")])
def test_a_long_word_is_shortened(size: int, shown: str) -> None:
    assert InputSpec({"y": ("a" * size, "b")}).axis_words("y") == (shown, "b")
    assert InputSpec({"y": ("a",)}).axis_words("x") == ()


def test_words_become_rows_or_the_numbers_of_distinct_words() -> None:
    rows = WORDS.tensors(Id("~y:3 m:4"), 0, "cpu")[0]
    assert torch.equal(rows, embed(WORDS.words["y"], 4, 0, False))
    assert torch.equal(rows[0], rows[2]) and not torch.equal(rows[0], rows[1])
    (numbers,) = WORDS.tensors(Id("~y:3#v:9"), 0, "cpu")
    assert numbers.tolist() == [0, 1, 0]
    (few,) = InputSpec({"y": ("a", "b", "c")}).tensors(Id("~y:3#v:2"), 0, "cpu")
    assert few.tolist() == [0, 1, 0]
    assert SYMBOLS.tensors(Id("~t:2#v:2"), 0, "cpu")[0].tolist() == [1, 0]
    term = Id("y:3 m:4, k:2")
    for mine, theirs in zip(
        InputSpec().tensors(term, 5, "cpu"), example_inputs(term, 5), strict=True
    ):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("features", [1, 4, 7])
def test_positions_are_sines_and_cosines_of_the_paper(features: int) -> None:
    table = sinusoids(3, features)
    for p in range(3):
        for f in range(features):
            angle = p / 10000 ** ((f - f % 2) / features)
            wanted = math.cos(angle) if f % 2 else math.sin(angle)
            assert table[p, f].item() == pytest.approx(wanted, abs=1e-5)
    plain, placed = (embed(["a", "a", "b"], features, 0, on) for on in (False, True))
    assert torch.allclose(placed - plain, table, atol=1e-6)


@pytest.mark.parametrize(
    ("dom", "takes"),
    [
        ("~y:3 m:4", True),
        ("~y:3 m:4, ~x:2 m:4", True),
        ("~y:3#v:9", True),
        ("y:3 m:4", False),
        ("~y:3 ~m:4", False),
        ("~y:3 m:2x2", False),
        ("~y:3 m:4 k:2", False),
        ("~y:3", False),
        ("~y:3 m:4#v:9", False),
        ("~y:3 m:4, k:2", False),
    ],
)
def test_words_are_sequences_of_features_or_whole_numbers(dom: str, takes: bool) -> None:
    assert takes_words(Id(dom)) == takes
    if takes:
        assert sequences(Id(f"{dom}, {dom}")) == list(dict.fromkeys(a[0].name for a in Id(dom).dom))


@pytest.mark.parametrize(
    ("feed", "trained", "learns", "text"),
    [
        (InputSpec(), "", False, "Random inputs, from seed 3; nothing is learned here."),
        (PICTURE, "", False, "A cat."),
        (PICTURE, "", True, "Untrained weights from seed 3, and a cat."),
        (PICTURE, "trained on digits", True, "Weights trained on digits, and a cat."),
        (InputSpec(), "", True, "Untrained weights and random inputs, from seed 3."),
        (InputSpec(), "of a file", True, "Weights of a file, and random inputs, from seed 3."),
    ],
)
def test_where_the_numbers_come_from(
    feed: InputSpec, trained: str, learns: bool, text: str
) -> None:
    assert origin(feed, trained, learns, 3) == text


def test_a_proofread_sentence_is_filled_with_full_stops_if_the_weights_fit() -> None:
    fitting = {"k": 16, "m": 128, "h": 4, "y": 2, "x": 5}
    assert read("the cat", "yx", fitting) == {
        "y": ("the", "cat"),
        "x": ("the", "cat", ".", ".", "."),
    }
    assert read("", "yx", fitting) == {}
    assert read("the cat", "yx", {**fitting, "k": 8}) == {}
    assert doubt([]) == ""
    assert "“" + "z" * 20 + "”" in doubt(["z" * 21])


# --- symbols --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("abc", ""),
        ("a, b c", ""),
        ("abz", "“z” is none of the symbols here: a b c d."),
        ("abcd", "It takes 3 symbols at once, and these are 4."),
        ("ab", "It takes 3 symbols at once, and these are 2."),
    ],
)
def test_symbols_are_as_many_as_are_read(text: str, wrong: str) -> None:
    found = parse("reversal", 3, 4, 0, text=text)
    assert found.error_text == wrong
    assert len(found.numbers) == 3
    if not wrong:
        assert (found.numbers, found.length) == ((0, 1, 2), 3)


def test_places_without_a_symbol_are_dots() -> None:
    found = SymbolInput(("a", "b"), (0, 1, 0), 2)
    assert found.words == ("a", "b", "·")
    assert symbol(("a",), 0) == "a"
    assert symbol(("a",), 1) == "1"


SENTENCE = InputSpec({"y": ("a", "cat"), "x": ("a", "cat")})
BOAT = InputSpec(pictures=(sample("boat"),))


@pytest.mark.parametrize(
    ("system", "feed", "kept"),
    [
        ("multi-head-attention", SENTENCE, True),
        ("multi-head-attention", BOAT, False),
        ("multi-head-attention", InputSpec(), True),
        ("lenet", SENTENCE, False),
        ("lenet", BOAT, True),
        ("lenet", InputSpec(), True),
        ("layer-norm", SENTENCE, True),
        ("layer-norm", BOAT, False),
    ],
)
def test_a_term_takes_words_pictures_or_random_arrays(
    system: str, feed: InputSpec, kept: bool
) -> None:
    assert feed.fitting(ncd.catalogue[system].build()) == (feed if kept else InputSpec())
