"""The sentence that multi-head attention reads with the weights of the trained proofreader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from ncd.train import proofreader_weights
from ncd.train.sentence_grammar import END, NUMBER, WORDS
from ncd.view.base import knobs
from ncd.view.inputs.symbols import known_words

PAGE = "multi-head-attention"  # the system that can have these weights
KEY = "proofread"  # the session key of the sentence
SAMPLE = "Anna Hill said , “ the keys by the door are old ” . Tom found the box because it fell ."
LONGEST = 2000  # characters of a sentence that are read
SHOWN = 20  # characters of an unknown word that are shown


def read(
    axes: Sequence[str], held: Mapping[Any, Any], settings: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """Returns as many words as each axis has positions; missing words are full stops.

    There are none if the weights do not fit the settings.

    >>> read("yx", {KEY: "the cat"}, {"k": 16, "m": 128, "y": 1, "x": 3})
    {'y': ('the',), 'x': ('the', 'cat', '.')}
    """
    words = _words(held)
    if not words or not proofreader_weights.fits(settings):
        return {}
    line = [*words, *[END] * proofreader_weights.LONGEST]
    return {name: tuple(line[: settings[name]]) for name in axes}


def _words(held: Mapping[Any, Any]) -> list[str]:
    """Returns the words of the sentence."""
    return known_words(str(held.get(KEY, SAMPLE) or "")[:LONGEST], WORDS)


def show(axes: Sequence[str], settings: Mapping[str, int]) -> None:
    """Shows the field for the sentence."""
    if KEY not in st.session_state:
        st.session_state[KEY] = SAMPLE
    st.text_area(
        "Its sentence",
        height=120,
        key=KEY,
        help=f"The words that it knows: {' '.join(WORDS)}",
        on_change=partial(_set_sizes, axes),
    )
    st.caption(_told(_words(st.session_state), settings))


def _set_sizes(axes: Sequence[str]) -> None:
    """Sets the sizes of the axes to the number of words; a callback."""
    words = _words(st.session_state)[: proofreader_weights.LONGEST]
    for name in axes if words else ():
        knobs.forget(name)
        st.session_state[name] = len(words)


def _told(words: Sequence[str], settings: Mapping[str, int]) -> str:
    """Returns a sentence about how much of the sentence is read.

    >>> _told(["the", "cat"], {"k": 16, "m": 128, "y": 1, "x": 2})
    '2 words: y asks with 1 of them, x answers with 2.'
    """
    own, most = proofreader_weights.OWN, proofreader_weights.LONGEST
    if not proofreader_weights.fits(settings):
        return (
            f"It has learned with k = {own['k']}, m = {own['m']} and at most {most} words. At the "
            "sizes set now, all numbers are random."
        )
    for word in words:
        if word not in NUMBER:
            return f"It does not know “{word[:SHOWN]}”, and reads the mean of all its words there."
    y, x = (min(settings[name], len(words)) for name in "yx")
    return f"{len(words)} words: y asks with {y} of them, x answers with {x}."
