"""The field for the sentence that multi-head attention reads with trained weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from ncd.inputs.proofread_sentence import SAMPLE, doubt, words
from ncd.train import proofreader_weights
from ncd.train.sentence_patterns import WORDS
from ncd.view.base import knobs

KEY = "proofread"  # the session key of the sentence


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
    st.caption(_told(words(str(st.session_state[KEY] or "")), settings))


def _set_sizes(axes: Sequence[str]) -> None:
    """Sets the sizes of the axes to the number of words; a callback."""
    own = words(str(st.session_state[KEY] or ""))[: proofreader_weights.LONGEST]
    for name in axes if own else ():
        knobs.forget(name)
        st.session_state[name] = len(own)


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
    y, x = (min(settings[name], len(words)) for name in "yx")
    return doubt(words) or f"{len(words)} words: y asks with {y} of them, x answers with {x}."
