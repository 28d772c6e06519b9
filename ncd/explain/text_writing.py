"""The writing of a text word by word: by a rule for the next word, or by a search with beams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf

from torch import Tensor

NextScores = Callable[[Sequence[int]], Tensor]  # from the words so far to the scores of the next


@dataclass(frozen=True)
class WrittenText:
    """The words that were added to a text, with the logarithms of their chances.

    The chances are those of the model: of all words, at a temperature of 1.
    """

    numbers: tuple[int, ...] = ()
    log_chances: tuple[float, ...] = ()

    @property
    def log_chance(self) -> float:
        """The logarithm of the chance of all words."""
        return sum(self.log_chances)

    @property
    def perplexity(self) -> float:
        """The number of equally likely words between which the model was unsure, on average."""
        return exp(-self.log_chance / max(len(self.numbers), 1))

    def with_word(self, number: int, log_chance: float) -> WrittenText:
        """Returns the text with one word more."""
        return WrittenText((*self.numbers, number), (*self.log_chances, log_chance))

    def has_ended(self, end: int) -> bool:
        """Returns whether the last word is the one that ends a text."""
        return self.numbers[-1:] == (end,)


def write_on(
    begin: Sequence[int],
    count: int,
    end: int,
    next_scores: NextScores,
    choose: Callable[[Tensor, int], int],
) -> WrittenText:
    """Adds words to a text, each as ``choose`` says of the scores and the number of words so far.

    Args:
        begin: The words that it begins with.
        count: How many words are added at most.
        end: The word after which none is added.
        next_scores: The model.
        choose: The number of the next word.
    """
    found = WrittenText()
    while len(found.numbers) < count and not found.has_ended(end):
        scores = next_scores((*begin, *found.numbers))
        number = choose(scores, len(found.numbers))
        found = found.with_word(number, float(scores.log_softmax(0)[number]))
    return found


def search_beams(
    begin: Sequence[int], count: int, end: int, next_scores: NextScores, width: int
) -> WrittenText:
    """Returns the likeliest text that is found if the best few are kept after each word.

    Args:
        begin: The words that it begins with.
        count: How many words are added at most.
        end: The word that ends a text.
        next_scores: The model.
        width: How many texts are kept; with one the likeliest word is taken each time.

    Source: Graves 2012, "Sequence Transduction with Recurrent Neural Networks", section 3.
    """
    beams = [WrittenText()]
    for _ in range(count):
        longer = [beam for beam in beams if beam.has_ended(end)]
        for beam in beams:
            if beam not in longer:
                logs = next_scores((*begin, *beam.numbers)).log_softmax(0)
                best = logs.topk(min(width, len(logs)))
                pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
                longer += [beam.with_word(number, log) for number, log in pairs if log > -inf]
        beams = sorted(longer, key=lambda beam: -beam.log_chance)[:width]
    return beams[0]
