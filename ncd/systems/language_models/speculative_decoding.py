"""Speculative decoding: a draft proposes words, and one pass of the model checks all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Words = Sequence[int]
Draft = Callable[[Words], Tensor]  # from the words so far to the chances of the next
Check = Callable[[Words, int], Tensor]  # the chances behind as many of the last words, and one more
Draw = Callable[[Tensor], int]  # a place, with the chances that it is given


@dataclass(frozen=True)
class SpeculativePass:
    """The words that one pass of the model adds to a text.

    Args:
        proposals: The words of the draft.
        accepted_count: How many of them stay, from the first on.
        own_word: The word that the model draws itself: in place of the next, or after all.
        agreements: For each word that was checked, the chance that a word of the draft stays.
    """

    proposals: tuple[int, ...]
    accepted_count: int
    own_word: int
    agreements: tuple[float, ...]

    @property
    def words(self) -> tuple[int, ...]:
        """The words that are added: those that stay, and the model's own."""
        return (*self.proposals[: self.accepted_count], self.own_word)


def agreement(p: Tensor, q: Tensor) -> float:
    """Returns the chance that a word drawn with q stays, if p is the model's: Σ min(p, q).

    >>> agreement(torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75]))
    0.75
    """
    return float(torch.minimum(p, q).sum())


def leftover(p: Tensor, q: Tensor) -> Tensor:
    """Returns the chances of the word in place of a rejected one: max(0, p − q), summing to 1.

    >>> leftover(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])).tolist()
    [0.5, 0.5, 0.0]
    """
    rest = (p - q).clamp(min=0)
    return rest / rest.sum() if rest.any() else p  # equal but for rounding


def speculate(begin: Words, count: int, draft: Draft, check: Check, draw: Draw) -> SpeculativePass:
    """Proposes words, checks them in one pass of the model, and draws one word more.

    A proposed word with the chances p of the model and q of the draft stays with min(1, p / q). The
    first that does not is replaced, and those behind it are dropped.

    Args:
        begin: The words so far.
        count: How many words are proposed.
        draft: The chances of the next word, from which the draft proposes.
        check: The model: its chances (count + 1, v) before each of the last ``count`` words of a
            text, and after it.
        draw: Draws a place from chances.

    Source: Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via Speculative
    Decoding", algorithm 1; Chen et al. 2023, "Accelerating Large Language Model Decoding with
    Speculative Sampling", algorithm 2.
    """
    proposed: list[int] = []
    guesses: list[Tensor] = []
    for _ in range(count):
        guesses.append(draft((*begin, *proposed)))
        proposed.append(draw(guesses[-1]))
    chances = check((*begin, *proposed), count)
    agreements: list[float] = []
    for n, (p, q, word) in enumerate(zip(chances, guesses, proposed, strict=False)):
        agreements.append(agreement(p, q))
        stays = (p[word] / q[word]).clamp(max=1)
        if draw(torch.stack((stays, 1 - stays))):
            return SpeculativePass(tuple(proposed), n, draw(leftover(p, q)), tuple(agreements))
    return SpeculativePass(tuple(proposed), count, draw(chances[-1]), tuple(agreements))


def expected_words(agreement: float, count: int) -> float:
    """Returns how many words a pass adds on average: (1 − a^(count + 1)) / (1 − a).

    Each word that is proposed stays with the same chance a, whatever stands before it.

    Source: Leviathan, Kalman and Matias 2023, equation 1.

    >>> expected_words(0.5, 2), expected_words(0.0, 4), expected_words(1.0, 4)
    (1.75, 1.0, 5.0)
    """
    return sum(agreement**n for n in range(count + 1))
