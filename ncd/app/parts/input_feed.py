"""The controls for sentences, symbols and pictures that go in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from ncd.app.parts import image_picker
from ncd.app.state import knobs
from ncd.app.state.controls import Place, TextControl
from ncd.app.state.session import session
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs import (
    date_model,
    picture_inputs,
    story_model,
    text_inputs,
    token_inputs,
)
from ncd.systems.inputs.date_model import DateInput
from ncd.systems.inputs.run_inputs import RANDOM, InputSpec, sequences, takes_words
from ncd.systems.inputs.text_inputs import SAMPLE_SENTENCE, SymbolInput, doubt, parse, tokens, words
from ncd.systems.training import trained_weights
from ncd.systems.training.sequence_data import PROOFREADER_WORDS, SEQUENCES

# --- Symbol sequences that visitors type, or examples of the task from the seed

MAX_SYMBOLS = 256  # symbols of a sequence
SEQUENCE, TURN = (
    TextControl("sequence", longest=2 * MAX_SYMBOLS),
    Place("example", None),
)  # the example's number


def read(name: str, settings: Mapping[str, int], seed: int) -> SymbolInput | None:
    """Returns the input of a system that reads symbols, or None if it does not or is too long."""
    if name not in SEQUENCES or max(settings["t"], settings["v"]) > MAX_SYMBOLS:
        return None
    return parse(name, settings["t"], settings["v"], seed, TURN.value, SEQUENCE.value)


LEARNED_FROM = TextControl("corpus", longest=token_inputs.LONGEST_TEXT)  # a tokenizer's text


def story_text(seed: int) -> SymbolInput:
    """Returns the beginning of a story that a visitor has typed, or an example."""
    return story_model.story_beginning(seed, TURN.value, SEQUENCE.value)


def date(settings: Mapping[str, int], seed: int) -> DateInput | None:
    """Returns the date that a visitor has typed, or an example; None for too many places."""
    s, t, attend = (settings[name] for name in ("s", "t", "attend"))
    return date_model.date_input(s, t, attend, seed, TURN.value, SEQUENCE.value)


# --- The field for the sentence that multi-head attention reads with trained weights

KEY = "proofread"  # the session key of the sentence


def show_sentence(axes: Sequence[str], settings: Mapping[str, int]) -> None:
    """Shows the field for the sentence."""
    if KEY not in session():
        session()[KEY] = SAMPLE_SENTENCE
    st.text_area(
        "Its sentence",
        height=120,
        key=KEY,
        help=f"The words that it knows: {' '.join(PROOFREADER_WORDS)}",
        on_change=partial(_set_sizes, axes),
    )
    st.caption(_sentence_caption(words(str(session()[KEY] or "")), settings))


def _set_sizes(axes: Sequence[str]) -> None:
    """Sets the sizes of the axes to the number of words; a callback."""
    own = words(str(session()[KEY] or ""))[: trained_weights.LONGEST]
    for name in axes if own else ():
        knobs.clear_notice(name)
        session()[name] = len(own)


def _sentence_caption(words: Sequence[str], settings: Mapping[str, int]) -> str:
    """Returns a sentence about how much of the sentence is read.

    >>> _sentence_caption(["the", "cat"], {"k": 16, "m": 128, "y": 1, "x": 2})
    '2 words: y asks with 1 of them, x answers with 2.'
    """
    own, most = trained_weights.PROOFREADER_SIZES, trained_weights.LONGEST
    if not trained_weights.fits(settings):
        return (
            f"It has learned with k = {own['k']}, m = {own['m']} and at most {most} words. At the "
            "sizes set now, all numbers are random."
        )
    y, x = (min(settings[name], len(words)) for name in "yx")
    return doubt(words) or f"{len(words)} words: y asks with {y} of them, x answers with {x}."


# --- The inputs of a run: random arrays from the seed, sentences of the visitor, or pictures

INPUT, WORDS, TRAINED = "input", "sentences", "a trained model"
SAMPLE = "The cat sat on the mat because it was tired."
LONGEST = 2000  # characters of a text that are read
SHORT_LABELS = {TRAINED: "trained", WORDS: "words", RANDOM: "random"}


def choices(entry: Entry, sketch: Term) -> tuple[str, ...]:
    """Returns the kinds of inputs that a system accepts, its default first."""
    if entry.name in (date_model.TRANSLATOR, token_inputs.READER):  # their panels have fields
        return (RANDOM,)
    if entry.name == text_inputs.PAGE:
        return TRAINED, WORDS, RANDOM
    if picture_inputs.takes_pictures(sketch):
        shown = image_picker.CHOICES
        return (*shown, RANDOM) if picture_inputs.opens_with_sample(sketch) else (RANDOM, *shown)
    return (RANDOM, WORDS) if takes_words(sketch) else (RANDOM,)


def defaults(entry: Entry, sketch: Term) -> dict[str, str]:
    """Returns the default session values for the choice of inputs."""
    found = {INPUT: choices(entry, sketch)[0]}
    if entry.name == text_inputs.PAGE:
        found[KEY] = text_inputs.SAMPLE_SENTENCE
    if picture_inputs.takes_pictures(sketch):
        found |= {key: default for key, (default, _) in image_picker.session_keys(sketch).items()}
        found[image_picker.DRAWING] = ""
    return found


def feed(
    entry: Entry,
    sketch: Term,
    settings: Mapping[str, int] | None = None,
    seed: int | None = None,
) -> InputSpec:
    """Returns the inputs from the session, before any widget is made.

    ``settings`` and ``seed`` are those of the session if none are given.
    """
    if entry.name in SEQUENCES:
        own = knobs.current(entry) if settings is None else settings
        return _sequence(entry, sketch, own, knobs.seed() if seed is None else seed)
    if entry.name == story_model.READER:
        drawn = knobs.seed() if seed is None else seed
        return InputSpec(text=story_text(drawn).words)
    if entry.name == token_inputs.READER:
        own = knobs.current(entry) if settings is None else settings
        tokens = token_inputs.token_input(own["v"], own["t"], LEARNED_FROM.value)
        return InputSpec({"t": tokens.words}, numbers=tokens.numbers) if tokens else InputSpec()
    if entry.name == date_model.TRANSLATOR:
        own = knobs.current(entry) if settings is None else settings
        found = date(own, knobs.seed() if seed is None else seed)
        return InputSpec(found.words, numbers=found.numbers) if found else InputSpec()
    every = choices(entry, sketch)
    way = session().get(INPUT, every[0])
    if way not in every or way == RANDOM:
        return InputSpec()
    if way in (WORDS, TRAINED):
        own = knobs.current(entry) if settings is None else settings
        return read_words(entry, sketch, session(), own)
    return InputSpec(pictures=image_picker.chosen_pictures(sketch, way))


def read_words(
    entry: Entry, sketch: Term, held: Mapping[Any, Any], settings: Mapping[str, int]
) -> InputSpec:
    """Returns the words of the sentences in ``held``, a copy of the session."""
    way = held.get(INPUT, choices(entry, sketch)[0])
    if way == TRAINED and entry.name == text_inputs.PAGE:
        text = str(held.get(KEY, text_inputs.SAMPLE_SENTENCE) or "")
        words = text_inputs.read(text, sequences(sketch), settings)
        return InputSpec(words, trained=bool(words))
    return read_sentences(entry, sketch, held) if way == WORDS else InputSpec()


def read_sentences(entry: Entry, sketch: Term, held: Mapping[Any, Any]) -> InputSpec:
    """Returns the words of the sentences in ``held``, a copy of the session."""
    axes = sequences(sketch)
    found = {name: tokens(sentence(name, axes, held)) for name in axes}
    if not found[axes[0]]:
        return InputSpec()
    words = {name: found[name] or found[axes[0]] for name in axes}
    fitting = {name: tuple(own[: _max_word_count(entry, name)]) for name, own in words.items()}
    return InputSpec(fitting, held.get("positions", False) in (True, "1", "true"))


def _sequence(entry: Entry, sketch: Term, settings: Mapping[str, int], seed: int) -> InputSpec:
    """Returns the symbols that a system reads, if they are few enough to be typed."""
    found = read(entry.name, settings, seed)
    if found is None:
        return InputSpec()
    return InputSpec({sketch.dom[0][0].name: found.words}, numbers=found.numbers)


def sentence(name: str, axes: list[str], held: Mapping[Any, Any]) -> str:
    """Returns the sentence of an axis, cut at the longest length."""
    text = held.get(f"text_{name}", SAMPLE if name == axes[0] else "")
    return str(text or "")[:LONGEST]


def _max_word_count(entry: Entry, name: str) -> int:
    """Returns how many words are read: the upper end of the size's slider."""
    return next((knob.max for knob in entry.knobs if knob.name == name), LONGEST)


# --- the widgets ----------------------------------------------------------------------------------


def show_feed(entry: Entry, sketch: Term) -> None:
    """Shows the choice of inputs, if the system has one."""
    every = choices(entry, sketch)
    if len(every) == 1 or entry.name in SEQUENCES:
        return
    st.segmented_control(
        "What goes in",
        every,
        default=every[0],
        required=True,
        key=INPUT,
        format_func=lambda way: SHORT_LABELS.get(way, image_picker.SHORT_LABELS.get(way, way)),
    )
    way = session()[INPUT]
    if way == RANDOM:
        return
    if way == TRAINED:
        show_sentence(sequences(sketch), knobs.current(entry))
        return
    if way != WORDS:
        image_picker.show_picker(sketch, way)
        return
    axes = sequences(sketch)
    for name in axes:
        _sentence(entry, name, axes)
    if any(array.below is None for array in sketch.dom):
        st.toggle(
            "Positions",
            key="positions",
            help="Adds sines and cosines of each word's place, as in Vaswani et al. 2017, section "
            "3.5. Without them, the same word has the same vector wherever it stands.",
        )


def widget_values(entry: Entry, sketch: Term) -> dict[str, object]:
    """Returns what these widgets show, by session key; switches keep their own value."""
    every = choices(entry, sketch)
    if len(every) == 1 or entry.name in SEQUENCES:
        return {}
    if WORDS in every:
        keys = [INPUT, KEY, *(f"text_{name}" for name in sequences(sketch))]
    else:
        keys = [INPUT, *image_picker.session_keys(sketch), image_picker.TAKEN, image_picker.WRONG]
    return {key: session().get(key) for key in keys}


def _sentence(entry: Entry, name: str, axes: list[str]) -> None:
    """Shows a field for a sentence, and how much of it is read."""
    key, first = f"text_{name}", axes[0]
    if key not in session():
        session()[key] = sentence(name, axes, session())
    st.text_area(
        f"A sentence, for {name}" if name == first else f"Another, for {name}",
        height=80,
        key=key,
        placeholder="random arrays" if name == first else f"empty: the sentence of {first} again",
    )
    st.caption(
        _words_read_caption(name, first, str(session()[key] or ""), _max_word_count(entry, name))
    )


def _words_read_caption(name: str, first: str, text: str, most: int) -> str:
    """Returns a sentence that says how much of the text is read.

    >>> _words_read_caption("y", "y", "one two", 256)
    '2 words: y = 2.'
    >>> _words_read_caption("y", "y", "one two three", 2)
    'Only the first 2 of 3 words go in: y = 2.'
    >>> _words_read_caption("y", "y", "a" * 3000, 256)
    'Only the first 2,000 of 3,000 letters go in: y = 1.'
    """
    count = len(tokens(text[:LONGEST]))
    if not count:
        return "No word yet." if name == first else f"The sentence of {first} again."
    if count > most:
        return f"Only the first {most:,} of {count:,} words go in: {name} = {most:,}."
    if len(text) > LONGEST:
        return f"Only the first {LONGEST:,} of {len(text):,} letters go in: {name} = {count:,}."
    return f"{count:,} word{'s' if count > 1 else ''}: {name} = {count:,}."
