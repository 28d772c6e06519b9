"""The small GPT-2 that ships: the beginning of a story, and the scores of the word that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor
from torch.distributions import Categorical

from ncd.run.guard import compile
from ncd.run.module import CircuitModule
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.inputs.text_inputs import SymbolInput, parse
from ncd.systems.training.story_grammar import STORY_WORDS
from ncd.systems.training.tasks import STORY_SIZES
from ncd.systems.training.trained_weights import read_weights, shipped_file

NAME = "gpt-2"
READER = "sampling"  # the system whose scores are those of this model
LONGEST = STORY_SIZES["t"]  # words that it has learned to read
SCORE_COUNT = next(knob.default for knob in CATALOGUE[NAME].knobs if knob.name == "v")
SAMPLE = "Mia has a"
EXAMPLE = 12  # words of an example, before it is cut


def story_beginning(seed: int, turn: str = "", text: str = "") -> SymbolInput:
    """Reads the words of a text; an empty or wrong one becomes the beginning of a story.

    An example ends where the model is least sure of the next word.

    >>> story_beginning(0).words, story_beginning(0, turn="2").words
    (('Mia', 'has', 'a'), ('Tom', 'has', 'six'))
    """
    if text or not turn:
        read = parse(NAME, LONGEST - 1, len(STORY_WORDS), seed, text=text or SAMPLE)
        return replace(read, numbers=read.numbers[: read.length])
    read = parse(NAME, EXAMPLE, len(STORY_WORDS), seed, turn)
    unsure = Categorical(logits=scores_after(read.numbers)).entropy()
    count = int(unsure.argmax()) + 1
    return replace(read, numbers=read.numbers[:count], length=count)


def word_scores(words: Sequence[str]) -> Tensor:
    """Returns the scores of the word that follows some words, at most ``LONGEST`` of them (v,).

    >>> STORY_WORDS[int(word_scores("Leo wants to".split()).argmax())]
    'play'
    """
    return scores_after(tuple(map(STORY_WORDS.index, words)))[-1]


@lru_cache(256)
def scores_after(numbers: tuple[int, ...]) -> Tensor:
    """Returns the scores of the word that follows each of some words, in one pass (n, v)."""
    padded = (*numbers, *(0,) * (LONGEST - len(numbers)))
    with torch.no_grad():
        found: Tensor = _model()(torch.tensor(padded))
    return found[: len(numbers)]


@lru_cache
def _model() -> CircuitModule:
    entry = CATALOGUE[NAME]
    sizes = entry.settings({"t": LONGEST})
    weights = shipped_file(entry, sizes)
    assert weights is not None, f"assets/weights/{NAME}.safetensors is missing"
    return read_weights(compile(entry.build(**sizes)), weights)
