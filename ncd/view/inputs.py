"""What goes in: random arrays from the seed, or sentences that the visitor types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st
import torch
from torch import Tensor

from ncd.lang.axes import Array
from ncd.lang.terms import Term
from ncd.models import Entry
from ncd.run import example_inputs
from ncd.view.words import embed, tokens

RANDOM, WORDS = "random arrays", "sentences"
SAMPLE = "The cat sat on the mat because it was tired."
LONGEST = 2000


@dataclass(frozen=True)
class Feed:
    """The words of each sequence axis, or none for random arrays.

    A word is a row of features or, where the array holds whole numbers, the number that it gets as
    the first, second, third, … of the different words.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positions: bool = False

    @property
    def key(self) -> str:
        """All that the arrays depend on, apart from the term and the seed."""
        return repr((sorted(self.words.items()), self.positions)) if self.words else RANDOM

    @property
    def lengths(self) -> dict[str, int]:
        """The size of every axis that a sentence sets."""
        return {name: len(words) for name, words in self.words.items()}

    def tensors(self, term: Term, seed: int, device: str) -> tuple[Tensor, ...]:
        """A tensor for each array of ``term.dom``."""
        if not self.words:
            return example_inputs(term, seed, device)
        return tuple(self._tensor(array, seed).to(device) for array in term.dom)

    def _tensor(self, array: Array, seed: int) -> Tensor:
        words = self.words[array[0].name]
        if array.below is None:
            return embed(words, array[1].numel, seed, self.positions)
        every = dict.fromkeys(word for own in self.words.values() for word in own)
        numbers = {word: i % array.below.numel for i, word in enumerate(every)}
        return torch.tensor([numbers[word] for word in words])


def takes_words(term: Term) -> bool:
    """Whether every input is a sequence: of feature vectors, ``ȳ m``, or whole numbers, ``ȳ#v``."""
    return bool(term.dom) and all(_is_sequence(array) for array in term.dom)


def _is_sequence(array: Array) -> bool:
    if not array or not array[0].sequence:
        return False
    if array.below is not None:
        return len(array) == 1
    return len(array) == 2 and not array[1].sequence and not array[1].spatial


def choose(entry: Entry, sketch: Term) -> Feed:
    """The choice of inputs, where the system has one."""
    if not takes_words(sketch):
        return Feed()
    kind = st.segmented_control(
        "What goes in",
        (RANDOM, WORDS),
        default=RANDOM,
        required=True,
        key="input",
        bind="query-params",
    )
    return _sentences(entry, sketch) if kind == WORDS else Feed()


def _sentences(entry: Entry, sketch: Term) -> Feed:
    axes = list(dict.fromkeys(array[0].name for array in sketch.dom))
    first, others = axes[0], axes[1:]
    texts = {first: _field(f"A sentence, for {first}", f"text_{first}", SAMPLE, "")}
    for name in others:
        texts[name] = _field(
            f"Another, for {name}", f"text_{name}", "", f"empty: the sentence of {first} again"
        )
    positions = any(array.below is None for array in sketch.dom) and st.toggle(
        "Positions",
        key="positions",
        bind="query-params",
        help="Adds sines and cosines of each word's place, as in Vaswani et al. 2017, section 3.5. "
        "Without them, the same word has the same vector wherever it stands.",
    )
    found = {name: tokens(text) for name, text in texts.items()}
    if not found[first]:
        st.caption("Type a sentence, and it goes in. Until then the arrays are random.")
        return Feed()
    words = {name: _bounded(entry, name, found[name] or found[first]) for name in axes}
    return Feed(words, bool(positions))


def _field(label: str, key: str, value: str, placeholder: str) -> str:
    text = st.text_area(
        label,
        value,
        height=80,
        max_chars=LONGEST,
        key=key,
        bind="query-params",
        placeholder=placeholder,
    )
    return (text or "")[:LONGEST]


def _bounded(entry: Entry, name: str, words: list[str]) -> tuple[str, ...]:
    most = next((knob.max for knob in entry.knobs if knob.name == name), len(words))
    if len(words) > most:
        st.caption(f"Only the first {most} of {len(words)} words go in: {name} is {most} at most.")
    return tuple(words[:most])
