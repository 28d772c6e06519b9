"""A draft of a story: the word that follows two others, guessed by counting, without a network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from ncd.systems.training.story_grammar import STORY_WORDS, story_lines
from ncd.systems.training.tasks import STORY_SIZES

LINES = 500  # that are read, each of as many words as the small model learns to read
READ_COUNT = LINES * STORY_SIZES["t"]
ORDER = 2  # words that a guess is made from, or fewer where these never stood together


def draft_scores(numbers: Sequence[int]) -> Tensor:
    """Returns the scores of the word that follows some words (v,): minus infinity if none has.

    The scores are the logarithms of how often each word stood there. The stories that are counted
    are of the kind that the small model has read.

    Source: Shannon 1948, "A Mathematical Theory of Communication", section 3, on digrams and
    trigrams.

    >>> scores = draft_scores([STORY_WORDS.index(word) for word in ("Leo", "wants", "to")])
    >>> STORY_WORDS[int(scores.argmax())]
    'play'
    """
    counts, known = torch.zeros(len(STORY_WORDS)), _counts()
    context = tuple(numbers[-ORDER:])
    while context not in known:
        context = context[1:]
    for word, count in known[context].items():
        counts[word] = count
    return counts.log()


@lru_cache
def _counts() -> Mapping[tuple[int, ...], Mapping[int, int]]:
    """Returns how often each word followed two others, one other, and any."""
    found: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    random = torch.Generator().manual_seed(0)
    lines = story_lines(LINES, STORY_SIZES["t"], len(STORY_WORDS), random)
    for line in lines.tolist():
        for end, word in enumerate(line):
            for first in range(max(0, end - ORDER), end + 1):
                found[tuple(line[first:end])][word] += 1
    return dict(found)
