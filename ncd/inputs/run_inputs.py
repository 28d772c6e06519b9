"""The inputs of a run: random arrays from the seed, words, symbols, or pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ncd.inputs import images
from ncd.inputs.images import Picture
from ncd.inputs.sentences import embed
from ncd.lang.plain_text import listed
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.run import example_inputs
from ncd.train import proofreader_weights

RANDOM = "random arrays"
LONG = 20  # characters of a word that are shown


@dataclass(frozen=True)
class Feed:
    """The words of each sequence axis, or a picture for each input, or neither for random arrays.

    A word becomes a row of features or, where the array holds whole numbers, the index of the
    word among the distinct words; ``numbers`` can state other indexes. If ``trained``, words are
    those of the proofreader.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positions: bool = False
    pictures: tuple[Picture, ...] = ()
    numbers: tuple[int, ...] = ()
    trained: bool = False

    @property
    def key(self) -> str:
        """A text that identifies the inputs, apart from the term and the seed."""
        if self.pictures:
            return repr([picture.key for picture in self.pictures])
        own = (sorted(self.words.items()), self.positions, self.numbers, self.trained)
        return repr(own) if self.words else RANDOM

    @property
    def is_random(self) -> bool:
        """Whether the inputs are drawn at random from the seed."""
        return not (self.pictures or self.numbers or self.trained)

    @property
    def code(self) -> str:
        """The arguments that make this Feed, as Python; empty for random arrays.

        >>> Feed({"y": ("a", "cat")}).code
        "{'y': ['a', 'cat']}, False"
        """
        if self.pictures:
            return f"pictures=({''.join(f'{picture.code}, ' for picture in self.pictures)})"
        words = {name: list(own) for name, own in self.words.items()}
        numbers = f", numbers={self.numbers}" if self.numbers else ""
        trained = ", trained=True" if self.trained else ""
        return f"{words!r}, {self.positions}{numbers}{trained}" if words else ""

    @property
    def description(self) -> str:
        """A description of the inputs."""
        if self.pictures:
            titles = dict.fromkeys(picture.title for picture in self.pictures)
            return listed(titles)
        if self.numbers:
            return f"the sequence {' '.join(*self.words.values())}"
        if self.trained:
            return "the words as the proofreader knows them"
        return "a random vector for each word" if self.words else "random inputs"

    @property
    def lengths(self) -> dict[str, int]:
        """The size of every axis that a sentence sets."""
        if self.numbers or self.trained:  # the sizes say how much is read
            return {}
        return {name: len(words) for name, words in self.words.items()}

    def shown(self, axis: str) -> tuple[str, ...]:
        """Returns the words along an axis, long ones shortened.

        >>> Feed({"y": ("a" * 400,)}).shown("y")
        ('aaaaaaaaaaaaaaaaaaa…',)
        """
        words = self.words.get(axis, ())
        return tuple(w if len(w) <= LONG else f"{w[: LONG - 1]}…" for w in words)

    def tensors(self, term: Term, seed: int, device: str) -> tuple[Tensor, ...]:
        """Returns a tensor for each array of ``term.dom``."""
        if self.pictures:
            seen = images.tensors(term, self.pictures, seed)
            return tuple(tensor.to(device) for tensor in seen)
        if self.numbers:
            return (torch.tensor(self.numbers, device=device),)
        if not self.words:
            return example_inputs(term, seed, device)
        return tuple(self._tensor(array, seed).to(device) for array in term.dom)

    def _tensor(self, array: Array, seed: int) -> Tensor:
        words = self.words[array[0].name]
        if self.trained:
            return proofreader_weights.word_vectors(words)
        if array.below is None:
            return embed(words, array[1].numel, seed, self.positions)
        every = dict.fromkeys(word for own in self.words.values() for word in own)
        numbers = {word: i % array.below.numel for i, word in enumerate(every)}
        return torch.tensor([numbers[word] for word in words])


def takes_words(term: Term) -> bool:
    """Returns whether every input is a sequence of features ``ȳ m`` or whole numbers ``ȳ#v``."""
    return bool(term.dom) and all(_is_sequence(array) for array in term.dom)


def _is_sequence(array: Array) -> bool:
    if not array or not array[0].sequence:
        return False
    if array.below is not None:
        return len(array) == 1
    return len(array) == 2 and not array[1].sequence and not array[1].spatial


def sequences(term: Term) -> list[str]:
    """Returns the sequence axes of the inputs; each takes a sentence, by default the first."""
    return list(dict.fromkeys(array[0].name for array in term.dom))
