"""The inputs of a run, those that a page opens with, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.run.seeding import example_inputs
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs import picture_inputs, text_inputs, token_inputs
from ncd.systems.inputs.date_model import TRANSLATOR, date_input
from ncd.systems.inputs.picture_inputs import InputPicture
from ncd.systems.inputs.story_model import READER, SCORE_COUNT, story_beginning, word_scores
from ncd.systems.inputs.text_inputs import BLANK_SYMBOL, as_text, embed, parse
from ncd.systems.training.sequence_data import SEQUENCES
from ncd.systems.training.trained_weights import word_vectors
from ncd.words import list_words

# --- The inputs of a run: random arrays from the seed, words, symbols, or pictures

RANDOM = "random arrays"
MAX_WORD_CHARACTERS = 20  # characters of a word that are shown


@dataclass(frozen=True)
class InputSpec:
    """The words of each sequence axis, or a picture for each input, or neither for random arrays.

    A word becomes a row of features or, where the array holds whole numbers, the index of the word
    among the distinct words; ``numbers`` can state other indexes, those of all inputs one after the
    other. If ``trained``, words are those of the proofreader. The first input can also be the
    scores of the word that follows ``text``.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positions: bool = False
    pictures: tuple[InputPicture, ...] = ()
    numbers: tuple[int, ...] = ()
    trained: bool = False
    text: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A text that identifies the inputs, apart from the term and the seed."""
        if self.text:
            return f"after {' '.join(self.text)}"
        if self.pictures:
            return repr([picture.key for picture in self.pictures])
        own = (sorted(self.words.items()), self.positions, self.numbers, self.trained)
        return repr(own) if self.words else RANDOM

    @property
    def is_random(self) -> bool:
        """Whether the inputs are drawn at random from the seed."""
        return not (self.pictures or self.numbers or self.trained or self.text)

    @property
    def code(self) -> str:
        """The arguments that make this Feed, as Python; empty for random arrays.

        >>> InputSpec({"y": ("a", "cat")}).code
        "{'y': ['a', 'cat']}, False"
        """
        if self.pictures:
            return f"pictures=({''.join(f'{picture.code}, ' for picture in self.pictures)})"
        if self.text:
            return f"text={self.text!r}"
        words = {name: list(own) for name, own in self.words.items()}
        numbers = f", numbers={self.numbers}" if self.numbers else ""
        trained = ", trained=True" if self.trained else ""
        return f"{words!r}, {self.positions}{numbers}{trained}" if words else ""

    @property
    def description(self) -> str:
        """A description of the inputs."""
        if self.pictures:
            titles = dict.fromkeys(picture.title for picture in self.pictures)
            return list_words(titles)
        if self.text:
            return f"the scores of a small trained GPT-2 behind “{as_text(self.text)}”"
        if self.numbers:
            line, *others = self.words.values()
            if others:  # the second is what a model has written of the first
                return f"“{''.join(line).rstrip(BLANK_SYMBOL)}”, and what was written of it before"
            return f"the sequence {' '.join(line)}"
        if self.trained:
            return "the words as the proofreader knows them"
        return "a random vector for each word" if self.words else "random inputs"

    @property
    def lengths(self) -> dict[str, int]:
        """The size of every axis that a sentence sets."""
        if self.numbers or self.trained:  # the sizes say how much is read
            return {}
        return {name: len(words) for name, words in self.words.items()}

    def axis_words(self, axis: str) -> tuple[str, ...]:
        """Returns the words along an axis, long ones shortened.

        >>> InputSpec({"y": ("a" * 400,)}).axis_words("y")
        ('aaaaaaaaaaaaaaaaaaa…',)
        """
        words = self.words.get(axis, ())
        return tuple(
            w if len(w) <= MAX_WORD_CHARACTERS else f"{w[: MAX_WORD_CHARACTERS - 1]}…"
            for w in words
        )

    def fitting(self, term: Term) -> InputSpec:
        """Returns these inputs if the term takes such ones, else random arrays.

        A step with a KV cache takes no sentence, and a convolution along a line no picture.

        >>> import ncd
        >>> line = ncd.catalogue["convolution"].build(n=1)
        >>> InputSpec(pictures=(picture_inputs.sample("boat"),)).fitting(line).is_random
        True
        """
        if self.text and not takes_scores(term):
            return InputSpec()
        strange = self.words and not takes_words(term)
        if strange or (self.pictures and not picture_inputs.takes_pictures(term)):
            return InputSpec()
        return self

    def tensors(self, term: Term, seed: int, device: str) -> tuple[Tensor, ...]:
        """Returns a tensor for each array of ``term.dom``."""
        if self.pictures:
            seen = picture_inputs.tensors(term, self.pictures, seed)
            return tuple(tensor.to(device) for tensor in seen)
        if self.text:
            scores = word_scores(self.text)[: term.dom[0].numel].to(device)
            return (scores, *example_inputs(term, seed, device)[1:])
        if self.numbers:
            sizes = [array.numel for array in term.dom]
            return torch.tensor(self.numbers, device=device).split(sizes)
        if not self.words:
            return example_inputs(term, seed, device)
        return tuple(self._tensor(array, seed).to(device) for array in term.dom)

    def _tensor(self, array: Array, seed: int) -> Tensor:
        words = self.words[array[0].name]
        if self.trained:
            return word_vectors(words)
        if array.below is None:
            return embed(words, array[1].numel, seed, self.positions)
        every = dict.fromkeys(word for own in self.words.values() for word in own)
        numbers = {word: i % array.below.numel for i, word in enumerate(every)}
        return torch.tensor([numbers[word] for word in words])


def takes_words(term: Term) -> bool:
    """Returns whether every input is a sequence of features ``ȳ m`` or whole numbers ``ȳ#v``."""
    return bool(term.dom) and all(_is_sequence(array) for array in term.dom)


def takes_scores(term: Term) -> bool:
    """Returns whether the first input is a vector, not longer than the scores of all words."""
    return len(term.dom[0]) == 1 and term.dom[0].numel <= SCORE_COUNT


def _is_sequence(array: Array) -> bool:
    if not array or not array[0].sequence:
        return False
    if array.below is not None:
        return len(array) == 1
    return len(array) == 2 and not array[1].sequence and not array[1].spatial


def sequences(term: Term) -> list[str]:
    """Returns the sequence axes of the inputs; each takes a sentence, by default the first."""
    return list(dict.fromkeys(array[0].name for array in term.dom))


# --- A sentence that says where the numbers of a run come from

UNTRAINED_TEXT = "Untrained weights"


def origin(feed: InputSpec, trained: str, learns: bool, seed: int) -> str:
    """Returns how the weights and inputs of a run were made.

    ``trained`` describes the training of the weights, if there was one; ``learns`` is false for a
    system without weights.

    >>> origin(InputSpec(), "", True, 0), origin(InputSpec(), "trained for 3 steps", True, 0)
    ('Untrained weights and random inputs, from seed 0.',
     'Weights trained for 3 steps, and random inputs, from seed 0.')
    """
    given = feed.description.rstrip(" .")
    seeded = f"from seed {seed}"
    if not learns:
        random = f", {seeded}; nothing is learned here" if feed.is_random else ""
        return f"{given[:1].upper()}{given[1:]}{random}."
    if feed.is_random:
        weights = f"Weights {trained}, and" if trained else f"{UNTRAINED_TEXT} and"
        return f"{weights} {given}, {seeded}."
    weights = f"Weights {trained}" if trained else f"{UNTRAINED_TEXT} {seeded}"
    return f"{weights}, and {given}."


# --- The inputs that the page of a system opens with


def opening_inputs(
    entry: Entry, term: Term, settings: Mapping[str, int] | None = None, seed: int = 0
) -> InputSpec:
    """Returns the example that a system opens with at some settings, or random arrays.

    >>> import ncd
    >>> def opened(name):
    ...     return opening_inputs(ncd.catalogue[name], ncd.catalogue[name].build())
    >>> opened("lenet").description, opened("layer-norm").description
    ('digit 7', 'random inputs')
    >>> opened("multi-head-attention").words["y"][:4]
    ('Anna', 'Hill', 'said', ',')
    """
    settings = settings or entry.settings({})
    if entry.name in SEQUENCES:
        read = parse(entry.name, settings["t"], settings["v"], seed)
        return InputSpec({term.dom[0][0].name: read.words}, numbers=read.numbers)
    if entry.name == READER and takes_scores(term):
        return InputSpec(text=story_beginning(seed).words)
    if entry.name == token_inputs.READER:
        tokens = token_inputs.token_input(settings["v"], settings["t"])
        return InputSpec({"t": tokens.words}, numbers=tokens.numbers) if tokens else InputSpec()
    if entry.name == TRANSLATOR:
        date = date_input(settings["s"], settings["t"], settings["attend"], seed)
        return InputSpec(date.words, numbers=date.numbers) if date else InputSpec()
    if entry.name == text_inputs.PAGE:
        axes = sequences(term)
        words = text_inputs.read(text_inputs.SAMPLE_SENTENCE, axes, settings)
        return InputSpec(words, trained=bool(words))
    if picture_inputs.opens_with_sample(term):
        one = picture_inputs.sample(picture_inputs.samples(term)[0])
        return InputSpec(pictures=(one,) * len(picture_inputs.names(term)))
    return InputSpec()
