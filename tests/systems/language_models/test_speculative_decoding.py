"""Speculative decoding draws as the model would alone: all outcomes are walked through, exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from math import prod

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ncd.systems.inputs.story_draft import ORDER, draft_scores
from ncd.systems.language_models.speculative_decoding import (
    Draw,
    SpeculativePass,
    Words,
    agreement,
    expected_words,
    leftover,
    speculate,
)
from ncd.systems.training.story_grammar import STORY_WORDS, story_lines

WORDS = 3  # that there are
Table = Callable[[Words], Tensor]  # from a text to the chances of the next word


def outcomes(run: Callable[[Draw], tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every result of something that draws, with its chance: each draw takes each place in turn."""
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        path, chance = waiting.pop()
        taken = iter(path)

        def draw(chances: Tensor, taken: Iterator[int] = taken) -> int:
            place = next(taken, None)
            if place is None:
                raise _Branch(chances)
            return place

        try:
            yield run(draw), chance
        except _Branch as branch:
            more = enumerate(branch.chances.tolist())
            waiting += [((*path, place), chance * own) for place, own in more if own > 0]


class _Branch(Exception):
    def __init__(self, chances: Tensor) -> None:
        self.chances = chances


def random_table(random: torch.Generator, sharp: float) -> Table:
    """Chances that differ from text to text; some are 0."""
    known: dict[Words, Tensor] = {}

    def table(words: Words) -> Tensor:
        if words not in known:
            own = torch.rand(WORDS, generator=random, dtype=torch.float64) ** sharp
            own[torch.randint(WORDS, (1,), generator=random)] *= float(len(known) % 3 > 0)
            known[words] = own / own.sum()
        return known[words]

    return table


def one_pass(p: Table, q: Table, begin: Words, count: int, draw: Draw) -> SpeculativePass:
    def check(words: Words, last: int) -> Tensor:
        return torch.stack([p(tuple(words[: len(words) - n])) for n in range(last, -1, -1)])

    return speculate(begin, count, q, check, draw)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 3), sharp=st.sampled_from([0.3, 1.0, 4.0]))
def test_a_text_is_as_likely_as_if_the_model_wrote_it_alone(
    seed: int, count: int, sharp: float
) -> None:
    random = torch.Generator().manual_seed(seed)
    p, q, length = random_table(random, sharp), random_table(random, 1.0), 2

    def written(draw: Draw) -> tuple[int, ...]:
        words: tuple[int, ...] = ()
        while len(words) < length:
            words += one_pass(p, q, words, count, draw).words
        return words[:length]

    found: dict[tuple[int, ...], float] = defaultdict(float)
    for words, chance in outcomes(written):
        found[words] += chance
    for words in product(range(WORDS), repeat=length):
        wanted = prod(float(p(words[:n])[word]) for n, word in enumerate(words))
        assert found[words] == pytest.approx(wanted, abs=1e-12)
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_formula_counts_the_words_of_a_pass_if_each_stays_alike(count: int) -> None:
    p = torch.tensor([0.6, 0.4, 0.0], dtype=torch.float64)
    q = torch.tensor([0.3, 0.5, 0.2], dtype=torch.float64)
    assert agreement(p, q) == pytest.approx(0.7)

    def added(draw: Draw) -> tuple[int, ...]:
        own = one_pass(lambda _: p, lambda _: q, (), count, draw)
        assert own.agreements == pytest.approx([0.7] * len(own.agreements))
        assert len(own.agreements) == min(own.accepted_count + 1, count)
        return own.words

    mean = sum(len(words) * chance for words, chance in outcomes(added))
    closed = (1 - 0.7 ** (count + 1)) / (1 - 0.7)
    assert mean == pytest.approx(closed) == pytest.approx(expected_words(0.7, count))


@pytest.mark.parametrize("count", [1, 3])
def test_a_draft_that_is_the_model_is_never_rejected_and_one_that_never_agrees_always_is(
    count: int,
) -> None:
    p = torch.tensor([0.25, 0.75, 0.0])
    never = torch.tensor([0.0, 0.0, 1.0])
    for q, stays in ((p, count), (never, 0)):
        every = [
            one_pass(lambda _: p, lambda _, q=q: q, (), count, draw)  # type: ignore[misc]
            for draw in (lambda chances: int(chances.argmax()),)
        ]
        assert [own.accepted_count for own in every] == [stays]
        assert [own.own_word for own in every] == [1]
    assert torch.equal(leftover(p, p), p) and torch.equal(leftover(p, never), p)


def test_a_draft_counts_what_followed_two_words_or_one_or_stood_anywhere() -> None:
    lines = story_lines(500, 64, len(STORY_WORDS), torch.Generator().manual_seed(0)).tolist()
    the, once = STORY_WORDS.index("the"), STORY_WORDS.index("has")
    for context in ((the,), (once, the), ()):
        wanted = torch.zeros(len(STORY_WORDS))
        for line in lines:
            for end in range(len(context), len(line)):
                if tuple(line[end - len(context) : end]) == context:
                    wanted[line[end]] += 1
        assert torch.equal(draft_scores(context), wanted.log())
    unseen = next(
        (i, the)
        for i in range(len(STORY_WORDS))
        if not any((i, the) in pairwise(line) for line in lines)
    )
    assert torch.equal(draft_scores(unseen), draft_scores((the,)))
    assert torch.equal(draft_scores((5, 6, once, the)[-ORDER:]), draft_scores((5, 6, once, the)))
