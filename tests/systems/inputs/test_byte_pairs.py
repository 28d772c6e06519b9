"""Byte-pair encoding beside a plain one, and beside the tokenizers that models ship with."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncd.systems.inputs.byte_pairs import (
    LEAST_COUNT,
    WORD,
    Merges,
    decode,
    encode,
    learn_merges,
    split_words,
)
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from ncd.systems.inputs.token_inputs import (
    LONGEST_TEXT,
    OTHER_SAMPLE,
    SAMPLE,
    text_merges,
    token_input,
    token_text,
)
from ncd.systems.language_models.byte_pair_tokens import BYTES, TOKENIZER

TEXTS = st.text(st.sampled_from("aab bé.1\n"), max_size=60)
ANY = st.text(max_size=40)
OTHERS = (
    OTHER_SAMPLE,
    "It isn't 12,345 — naïve  café\n\n\tx = [1, 2]; 猫が好き 🙂 under_score",
    "",
    "   three spaces before,   and behind   ",
)


# A token of the plain encoding is a byte, or the pair of tokens that it was merged from.


def plain_merges(text: str, count: int) -> list[Any]:
    """Sennrich's algorithm on the words of a text, one after the other, with no table."""
    words: list[list[Any]] = [[*word.encode()] for word in split_words(text)]
    merges: list[Any] = []
    while len(merges) < count:
        pairs = [pair for word in words for pair in pairwise(word)]
        counts = Counter(pairs)
        if not pairs or max(counts.values()) < LEAST_COUNT:
            break
        merges.append(next(pair for pair in pairs if counts[pair] == max(counts.values())))
        words = [plain_merge(word, merges[-1]) for word in words]
    return merges


def plain_merge(word: list[Any], pair: Any) -> list[Any]:
    if len(word) < 2:
        return word
    if (word[0], word[1]) == pair:
        return [pair, *plain_merge(word[2:], pair)]
    return [word[0], *plain_merge(word[1:], pair)]


def plain_encode(text: str, merges: list[Any]) -> list[Any]:
    """Makes every merge, in order, wherever it fits."""
    words: list[list[Any]] = [[*word.encode()] for word in split_words(text)]
    for pair in merges:
        words = [plain_merge(word, pair) for word in words]
    return [token for word in words for token in word]


def as_tree(number: int, merges: Merges) -> Any:
    if number < BYTES:
        return number
    return tuple(as_tree(part, merges) for part in merges.pairs[number - BYTES])


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 12), TEXTS)
def test_merges_and_tokens_are_those_of_the_plain_encoding(text: str, n: int, other: str) -> None:
    merges, plain = learn_merges(text, n), plain_merges(text, n)
    assert [as_tree(BYTES + i, merges) for i in range(len(merges.pairs))] == plain
    for each in (text, other):
        found = [as_tree(number, merges) for number in encode(each, merges)]
        assert found == plain_encode(each, plain)


def test_the_sample_is_cut_as_the_plain_encoding_cuts_it() -> None:
    merges, plain = text_merges(SAMPLE), plain_merges(SAMPLE, 1000)
    assert [as_tree(BYTES + i, merges) for i in range(len(merges.pairs))] == plain
    for text in (SAMPLE, *OTHERS):
        assert [as_tree(n, merges) for n in encode(text, merges)] == plain_encode(text, plain)


@given(ANY)
def test_every_text_has_tokens_and_comes_back(text: str) -> None:
    assert "".join(split_words(text)) == text
    assert decode(encode(text, text_merges(SAMPLE)), text_merges(SAMPLE)) == text
    assert encode(text, text_merges("")) == [*text.encode()]


@given(TEXTS)
def test_each_merge_takes_as_many_tokens_away_as_it_was_frequent(text: str) -> None:
    found = learn_merges(text, 20)
    assert found.lengths[0] == len(text.encode()) and list(found.counts) == sorted(
        found.counts, reverse=True
    )
    for n in range(len(found.pairs) + 1):
        assert len(encode(text, found.prefix(n))) == found.lengths[n]
    for before, after, count in zip(found.lengths, found.lengths[1:], found.counts, strict=False):
        assert (
            count / 2 <= before - after <= count
        )  # in aaa a pair stands twice, and is merged once


def test_tokens_end_with_their_words() -> None:
    words = {word.encode() for word in split_words(SAMPLE)}
    for token in text_merges(SAMPLE).tokens[BYTES:]:
        assert any(token in word for word in words) and b" " not in token[1:]


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("count", [0, 10, 1000])
def test_tokens_are_those_of_tokenizers(text: str, count: int) -> None:
    """The library that the tokenizers of GPT-2 and Llama run on, with our merges."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers

    merges = text_merges(SAMPLE).prefix(count)
    signs = byte_signs()
    names = ["".join(signs[byte] for byte in token) for token in merges.tokens]
    assert len({*names}) == len(names)
    pairs = [(names[left], names[right]) for left, right in merges.pairs]
    model = models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=pairs)
    theirs = tokenizers.Tokenizer(model)
    words = pre_tokenizers.Split(tokenizers.Regex(WORD.pattern), "isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([words, bytes_])
    assert theirs.encode(text).ids == encode(text, merges)


def byte_signs() -> list[str]:
    """The visible letter that stands for each byte in the files of GPT-2."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in seen else next(others)) for byte in range(256)]


@pytest.mark.parametrize("text", OTHERS)
def test_tokens_are_those_of_tiktoken(text: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    merges = text_merges(SAMPLE)
    ranks = {token: i for i, token in enumerate(merges.tokens)}
    theirs = tiktoken.Encoding(
        "sample", pat_str=WORD.pattern, mergeable_ranks=ranks, special_tokens={}
    )
    assert theirs.encode(text) == encode(text, merges)


# --- The tokens that go in


def test_the_first_tokens_of_a_text_go_in() -> None:
    merges = text_merges(SAMPLE).prefix(40)
    found = token_input(BYTES + 40, 6)
    assert list(found.numbers) == encode(SAMPLE, merges)[:6]
    assert found.words == tuple(token_text(merges.tokens[i]) for i in found.numbers)
    assert token_input(BYTES, 4, "é!").words == ("‹C3›", "‹A9›", "!", "·")
    assert token_input(BYTES, 4, "é!").numbers == (0xC3, 0xA9, 33, 0)
    assert len(token_input(BYTES, 5000, "a" * 5000).words) == 5000
    assert token_input(BYTES, 5000, "a" * 5000).words.count("a") == LONGEST_TEXT
    assert len(token_input(BYTES, 4 * LONGEST_TEXT, "a").words) == 4 * LONGEST_TEXT
    assert token_input(BYTES, 4 * LONGEST_TEXT + 1, "a") is None


def test_it_opens_with_the_sample() -> None:
    found = opening_inputs(TOKENIZER, TOKENIZER.build())
    (numbers,) = found.tensors(TOKENIZER.build(), 0, "cpu")
    assert tuple(numbers.tolist()) == token_input(296, 24).numbers == found.numbers
    assert found.axis_words("t")[:3] == ("The", "␣river", "␣is") and not found.is_random
    again = eval(f"InputSpec({found.code})", {"InputSpec": InputSpec})
    assert again.numbers == found.numbers


@pytest.mark.parametrize(
    ("token", "shown"),
    [(b" a\n", "␣a↵"), (b"\t", "⇥"), ("猫".encode(), "猫"), ("猫".encode()[:2], "‹E7›‹8C›")],
)
def test_every_token_can_be_shown(token: bytes, shown: str) -> None:
    assert token_text(token) == shown
