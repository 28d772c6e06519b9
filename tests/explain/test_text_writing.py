"""Texts that are written word by word, on a model that is small enough to try all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import exp, log

import pytest
import torch
from torch import Tensor

from ncd.explain.text_writing import WrittenText, search_beams, write_on

END, WORDS, COUNT = 0, 3, 4


def next_scores(numbers: Sequence[int]) -> Tensor:
    """Scores that depend on all words so far."""
    draw = torch.Generator().manual_seed(sum((3 * i + 1) * n for i, n in enumerate(numbers)))
    return 2 * torch.randn(WORDS, generator=draw)


def log_chance(begin: Sequence[int], words: Sequence[int]) -> float:
    so_far = [(*begin, *words[:i]) for i in range(len(words))]
    return sum(
        float(next_scores(text).log_softmax(0)[word])
        for text, word in zip(so_far, words, strict=True)
    )


def every_text() -> list[tuple[int, ...]]:
    """All texts that end with the end, or are as long as allowed."""
    texts = {
        words[: words.index(END) + 1] if END in words else words
        for words in product(range(WORDS), repeat=COUNT)
    }
    return sorted(texts)


@pytest.mark.parametrize("begin", [(1,), (2, 1), (1, 1, 2), (2,)])
def test_wide_beams_find_the_likeliest_text_and_narrow_ones_are_greedy(begin) -> None:
    best = max(every_text(), key=lambda words: log_chance(begin, words))
    wide = search_beams(begin, COUNT, END, next_scores, WORDS**COUNT)
    assert wide.numbers == best and wide.log_chance == pytest.approx(log_chance(begin, best))
    greedy = write_on(begin, COUNT, END, next_scores, lambda scores, _: int(scores.argmax()))
    assert search_beams(begin, COUNT, END, next_scores, 1) == greedy
    assert greedy.log_chance <= wide.log_chance


def test_a_text_ends_with_its_end_or_at_its_length() -> None:
    seen: list[int] = []

    def choose(scores: Tensor, n: int) -> int:
        seen.append(n)
        return (2, 1, END)[n]

    found = write_on((1,), COUNT, END, next_scores, choose)
    assert found.numbers == (2, 1, END) and seen == [0, 1, 2]
    assert found.log_chance == pytest.approx(log_chance((1,), (2, 1, END)))
    assert len(write_on((1,), 2, END, next_scores, lambda *_: 2).numbers) == 2


def test_perplexity_is_the_number_of_equally_likely_words() -> None:
    text = WrittenText((1, 2), (log(1 / 4), log(1 / 9)))
    assert text.perplexity == pytest.approx(6) == exp(-text.log_chance / 2)
    assert WrittenText().perplexity == 1
