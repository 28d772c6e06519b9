"""Byte-pair encoding: merges that are learned from a text, and texts cut into tokens by them.

Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", section
3.2, on bytes as in Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ncd.language.cached_property import lazy_property
from ncd.systems.language_models.byte_pair_tokens import BYTES

LEAST_COUNT = 2  # a pair that stands once is merged with nothing gained
# A word, a number or signs with the space before it, or spaces: no token reaches over their ends.
WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
Pair = tuple[int, int]


@dataclass(frozen=True)
class Merges:
    """The pairs of tokens that are merged, the first before the others.

    The token of the first has the number 256: those before are the bytes. ``counts`` is how often
    each pair stood side by side when it was merged, ``lengths`` how many tokens the text had before
    the first merge and after each.
    """

    pairs: tuple[Pair, ...]
    counts: tuple[int, ...]
    lengths: tuple[int, ...]

    @lazy_property
    def tokens(self) -> tuple[bytes, ...]:
        """The bytes of every token.

        >>> learn_merges("low lower", 2).tokens[BYTES:]
        (b'lo', b'low')
        """
        found = [bytes([i]) for i in range(BYTES)]
        for left, right in self.pairs:
            found.append(found[left] + found[right])
        return tuple(found)

    @lazy_property
    def ranks(self) -> Mapping[Pair, int]:
        """The place of each pair."""
        return {pair: i for i, pair in enumerate(self.pairs)}

    def prefix(self, count: int) -> Merges:
        """Returns the first merges."""
        return Merges(self.pairs[:count], self.counts[:count], self.lengths[: count + 1])


def learn_merges(text: str, count: int) -> Merges:
    """Merges the pair of tokens that stands side by side most often, again and again.

    Of pairs that are as frequent, the one that comes first in the text is taken. It ends where no
    pair stands twice.

    Args:
        text: What is learned from.
        count: How many merges are made at most.

    >>> found = learn_merges("low lower lowest", 3)
    >>> found.tokens[BYTES:], found.counts, found.lengths
    ((b'lo', b'low', b' low'), (3, 3, 2), (16, 13, 10, 8))
    """
    words = Counter(split_words(text))
    cut = [[*word.encode()] for word in words]
    times = [*words.values()]
    pairs: list[Pair] = []
    counts: list[int] = []
    lengths = [sum(len(word) * n for word, n in zip(cut, times, strict=True))]
    while len(pairs) < count:
        found = pair_counts(cut, times)
        best = max(found, key=found.__getitem__, default=None)
        if best is None or found[best] < LEAST_COUNT:
            break
        merged = BYTES + len(pairs)
        cut = [merge_pair(word, best, merged) for word in cut]
        pairs.append(best)
        counts.append(found[best])
        lengths.append(sum(len(word) * n for word, n in zip(cut, times, strict=True)))
    return Merges(tuple(pairs), tuple(counts), tuple(lengths))


def split_words(text: str) -> list[str]:
    """Returns a text in words, each with the space before it.

    >>> split_words("Tom has 12 cats, he says.")
    ['Tom', ' has', ' 12', ' cats', ',', ' he', ' says', '.']
    """
    return WORD.findall(text)


def pair_counts(words: Iterable[Sequence[int]], times: Iterable[int]) -> Counter[Pair]:
    """Returns how often each pair of tokens stands side by side in words that occur so often.

    >>> pair_counts([[1, 2, 1, 2], [2, 1]], [1, 3])
    Counter({(2, 1): 4, (1, 2): 2})
    """
    found: Counter[Pair] = Counter()
    for word, n in zip(words, times, strict=True):
        for pair in pairwise(word):
            found[pair] += n
    return found


def merge_pair(word: Sequence[int], pair: Pair, merged: int) -> list[int]:
    """Returns a word with a token in place of a pair, from the left.

    >>> merge_pair([1, 1, 1, 2], (1, 1), 9)
    [9, 1, 2]
    """
    found: list[int] = []
    i = 0
    while i < len(word):
        if (word[i], *word[i + 1 : i + 2]) == pair:
            found.append(merged)
            i += 2
        else:
            found.append(word[i])
            i += 1
    return found


def encode(text: str, merges: Merges) -> list[int]:
    """Returns the numbers of the tokens of a text.

    >>> merges = learn_merges("low lower lowest", 3)
    >>> [merges.tokens[i] for i in encode("slow lows", merges)]
    [b's', b'low', b' low', b's']
    """
    known: dict[str, list[int]] = {}
    found: list[int] = []
    for word in split_words(text):
        if word not in known:
            known[word] = _encode_word([*word.encode()], merges.ranks)
        found += known[word]
    return found


def _encode_word(word: list[int], ranks: Mapping[Pair, int]) -> list[int]:
    """Returns a word with the earliest of the merges that fit made first."""
    while fitting := [pair for pair in pairwise(word) if pair in ranks]:
        pair = min(fitting, key=ranks.__getitem__)
        word = merge_pair(word, pair, BYTES + ranks[pair])
    return word


def decode(numbers: Iterable[int], merges: Merges) -> str:
    """Returns the text of some tokens; bytes that are no whole letter become �.

    >>> decode(encode("naïve 🙂", merges := learn_merges("", 0)), merges)
    'naïve 🙂'
    """
    return b"".join(merges.tokens[i] for i in numbers).decode(errors="replace")
