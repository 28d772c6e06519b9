"""The sentence that multi-head attention reads with the weights of the trained proofreader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from ncd.inputs.symbol_input import known_words
from ncd.train import proofreader_weights
from ncd.train.sentence_patterns import END, NUMBER, WORDS, readable

PAGE = "multi-head-attention"  # the system that can have these weights
SAMPLE = "Anna Hill said , “ the keys by the door are old ” . Tom found the box because it fell ."
LONGEST = 2000  # characters of a sentence that are read
SHOWN = 20  # characters of an unknown word that are shown


def read(text: str, axes: Sequence[str], settings: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Returns as many words as each axis has positions; missing words are full stops.

    There are none if the weights do not fit the settings.

    >>> read("the cat", "yx", {"k": 16, "m": 128, "y": 1, "x": 3})
    {'y': ('the',), 'x': ('the', 'cat', '.')}
    """
    own = words(text)
    if not own or not proofreader_weights.fits(settings):
        return {}
    line = [*own, *[END] * proofreader_weights.LONGEST]
    return {name: tuple(line[: settings[name]]) for name in axes}


def doubt(words: Sequence[str]) -> str:
    """Returns why it is not known what the trained heads look for in a sentence, or nothing.

    >>> doubt(["the", "keys", "is", "old"])
    ''
    >>> doubt(["the", "zebra", "is", "old"])
    'It does not know “zebra”: what its heads look for here is not known.'
    >>> doubt("The keys and the book is old .".split())
    'The sentences it has learned are built otherwise: what its heads look for here is not known.'
    """
    strange = next((word for word in words if word not in NUMBER), "")
    if strange:
        why = f"It does not know “{strange[:SHOWN]}”"
    elif words and not readable(torch.tensor([NUMBER[word] for word in words])).all():
        why = "The sentences it has learned are built otherwise"
    else:
        return ""
    return f"{why}: what its heads look for here is not known."


def words(text: str) -> list[str]:
    """Returns the words of a sentence."""
    return known_words(text[:LONGEST], WORDS)
