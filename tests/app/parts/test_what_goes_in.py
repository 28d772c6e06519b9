"""What goes into a run: the choice, sentences, symbols, pictures, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import streamlit as st

import ncd
from ncd.app.parts import html_panel, image_picker, input_feed
from ncd.app.parts.image_picker import DRAWN, SAME_PICTURE, SAMPLE, UPLOAD
from ncd.app.parts.input_feed import INPUT, LONGEST, TRAINED, WORDS, read
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.run_inputs import RANDOM, InputSpec
from tests.app.panels.views import tags, text

ATTENTION, LENET = ncd.catalogue["multi-head-attention"], ncd.catalogue["lenet"]


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def test_the_first_choice_is_what_a_system_opens_with() -> None:
    assert input_feed.choices(ATTENTION, ATTENTION.build()) == (TRAINED, WORDS, RANDOM)
    for entry in ncd.catalogue.values():
        sketch = entry.build()
        found = input_feed.choices(entry, sketch)
        pictures = picture_inputs.takes_pictures(sketch)
        if entry is not ATTENTION:
            assert (DRAWN in found) == pictures
            assert (found[0] == SAMPLE) == (pictures and picture_inputs.opens_with_sample(sketch))
        given = input_feed.defaults(entry, sketch)
        assert given[INPUT] == found[0]
        assert (image_picker.DRAWING in given) == pictures
        assert (input_feed.KEY in given) == (entry is ATTENTION)


@pytest.mark.parametrize(
    ("way", "words", "trained"),
    [
        (None, True, True),
        (TRAINED, True, True),
        (WORDS, True, False),
        (RANDOM, False, False),
        ("nonsense", False, False),
    ],
)
def test_the_words_are_those_of_the_chosen_input(
    way: str | None, words: bool, trained: bool, session: dict[str, Any]
) -> None:
    if way is not None:
        session[INPUT] = way
    found = input_feed.feed(ATTENTION, ATTENTION.build())
    assert (bool(found.words), found.trained) == (words, trained)
    own = input_feed.feed(ATTENTION, ATTENTION.build(), ATTENTION.settings({"k": 3}))
    assert not own.trained


@pytest.mark.parametrize(
    ("held", "y", "x", "positions"),
    [
        ({"text_y": "a b"}, ("a", "b"), ("a", "b"), False),
        ({"text_y": "a b", "text_x": "c"}, ("a", "b"), ("c",), False),
        ({"text_y": "a", "positions": True}, ("a",), ("a",), True),
        ({"text_y": "a", "positions": "1"}, ("a",), ("a",), True),
        ({"text_y": "a", "positions": "0"}, ("a",), ("a",), False),
    ],
)
def test_a_sentence_without_words_is_that_of_the_first_axis(
    held: dict[str, Any], y: tuple[str, ...], x: tuple[str, ...], positions: bool
) -> None:
    found = input_feed.read_sentences(ATTENTION, ATTENTION.build(), held)
    assert (found.words["y"], found.words["x"], found.positions) == (y, x, positions)
    assert input_feed.read_sentences(ATTENTION, ATTENTION.build(), {"text_y": " "}) == InputSpec()
    assert input_feed.read_words(ATTENTION, ATTENTION.build(), {INPUT: RANDOM}, {}) == InputSpec()


def test_a_sentence_is_cut_at_the_longest_length_and_at_its_slider() -> None:
    most = input_feed._max_word_count(ATTENTION, "y")
    assert most == next(knob.max for knob in ATTENTION.knobs if knob.name == "y")
    assert input_feed._max_word_count(ATTENTION, "none") == LONGEST
    long = {"text_y": "a " * 3000}
    assert input_feed.sentence("y", ["y"], long) == ("a " * 3000)[:LONGEST]
    assert input_feed.sentence("y", ["y"], {}) == input_feed.SAMPLE
    for nothing in ({}, {"text_x": None}):
        assert input_feed.sentence("x", ["y", "x"], nothing) == ""
    assert len(input_feed.read_sentences(ATTENTION, ATTENTION.build(), long).words["y"]) == most


@pytest.mark.parametrize(
    ("words", "most", "told"),
    [
        ("", 9, "No word yet."),
        ("one", 9, "1 word: y = 1."),
        ("one two", 2, "2 words: y = 2."),
        ("one two three", 2, "Only the first 2 of 3 words go in: y = 2."),
        ("a" * LONGEST, 9, "1 word: y = 1."),
        ("a" * (LONGEST + 1), 9, "Only the first 2,000 of 2,001 letters go in: y = 1."),
    ],
)
def test_how_much_of_a_sentence_is_read_is_told(words: str, most: int, told: str) -> None:
    assert input_feed._words_read_caption("y", "y", words, most) == told
    assert input_feed._words_read_caption("x", "y", " ", most) == "The sentence of y again."


@pytest.mark.parametrize(
    ("name", "way", "shown"),
    [
        ("multi-head-attention", TRAINED, "trained"),
        ("multi-head-attention", WORDS, "sentences"),
        ("multi-head-attention", RANDOM, ""),
        ("lenet", SAMPLE, "pictures"),
        ("reversal", RANDOM, None),
        ("elementwise", RANDOM, None),
    ],
)
def test_the_widgets_are_those_of_the_choice(
    name: str, way: str, shown: str | None, session: dict[str, Any]
) -> None:
    entry = ncd.catalogue[name]
    sketch = entry.build()
    session[INPUT] = way
    with (
        patch.object(st, "segmented_control") as control,
        patch.object(st, "toggle") as toggle,
        patch.object(input_feed, "show_sentence") as trained,
        patch.object(image_picker, "show_picker") as pictures,
        patch.object(input_feed, "_sentence") as sentence,
    ):
        input_feed.show_feed(entry, sketch)
    several = len(input_feed.choices(entry, sketch)) > 1 and shown is not None
    assert control.called == several
    assert (trained.called, pictures.called) == (shown == "trained", shown == "pictures")
    assert sentence.call_count == (2 if shown == "sentences" else 0)
    assert toggle.called == (shown == "sentences")
    assert bool(input_feed.widget_values(entry, sketch)) == several
    keys = input_feed.widget_values(entry, sketch)
    assert ("text_y" in keys) == (several and name == "multi-head-attention")
    assert (image_picker.TAKEN in keys) == (several and name == "lenet")


def test_each_sentence_has_a_field_and_what_is_read_of_it(session: dict[str, Any]) -> None:
    count = len(input_feed.tokens(input_feed.SAMPLE))
    with patch.object(st, "text_area") as field, patch.object(st, "caption") as said:
        for name in ("y", "x"):
            input_feed._sentence(ATTENTION, name, ["y", "x"])
        input_feed.show_sentence(("y", "x"), ATTENTION.settings({}))
    assert session == {
        **{"text_y": input_feed.SAMPLE, "text_x": ""},
        input_feed.KEY: input_feed.SAMPLE_SENTENCE,
    }
    assert [(call.args[0], call.kwargs.get("placeholder")) for call in field.call_args_list] == [
        ("A sentence, for y", "random arrays"),
        ("Another, for x", "empty: the sentence of y again"),
        ("Its sentence", None),
    ]
    own = input_feed.words(input_feed.SAMPLE_SENTENCE)
    assert [call.args[0] for call in said.call_args_list] == [
        f"{count} words: y = {count}.",
        "The sentence of y again.",
        input_feed._sentence_caption(own, ATTENTION.settings({})),
    ]


def test_tokens_have_no_positions_to_be_added(session: dict[str, Any]) -> None:
    session[INPUT] = WORDS
    sketch: Any = SimpleNamespace(dom=[SimpleNamespace(below="v")])
    with (
        patch.object(input_feed, "choices", lambda *_: (RANDOM, WORDS)),
        patch.object(input_feed, "sequences", lambda _: ["t"]),
        patch.object(input_feed, "_sentence"),
        patch.object(st, "segmented_control"),
        patch.object(st, "toggle") as toggle,
    ):
        input_feed.show_feed(LENET, sketch)
    assert not toggle.called


# --- symbols and the trained sentence -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "t", "v", "reads"),
    [
        ("reversal", 8, 5, True),
        ("reversal", 256, 5, True),
        ("reversal", 257, 5, False),
        ("reversal", 8, 257, False),
        ("lenet", 8, 5, False),
    ],
)
def test_symbols_are_read_if_they_can_be_typed(name: str, t: int, v: int, reads: bool) -> None:
    assert (read(name, {"t": t, "v": v}, 0) is not None) == reads


def test_the_words_of_a_trained_sentence_set_its_sizes(session: dict[str, Any]) -> None:
    session |= {input_feed.KEY: "the keys are old .", "notes": {"y": "note"}, "y": 1}
    input_feed._set_sizes(("y", "x"))
    assert (session["y"], session["x"], session["notes"]) == (5, 5, {})
    session[input_feed.KEY] = " "
    input_feed._set_sizes(("y",))
    assert session["y"] == 5
    longest = input_feed.trained_weights.LONGEST
    session[input_feed.KEY] = "the " * (longest + 3)
    input_feed._set_sizes(("y",))
    assert session["y"] == longest
    own = dict(input_feed.trained_weights.PROOFREADER_SIZES)
    sizes = {**ATTENTION.settings({}), **own}
    words = ["the", "keys", "are", "old", "."]
    told = input_feed._sentence_caption(words, {**sizes, "y": 3, "x": 9})
    assert told == "5 words: y asks with 3 of them, x answers with 5."
    assert "all numbers are random" in input_feed._sentence_caption(words, {**sizes, "k": 3})


# --- pictures -------------------------------------------------------------------------------------

SKETCH = LENET.build()
TWO = next(
    (
        entry.build()
        for entry in ncd.catalogue.values()
        if picture_inputs.takes_pictures(entry.build())
        and len(picture_inputs.names(entry.build())) > 1
    ),
    None,
)


def test_the_chosen_picture_is_a_sample_an_upload_or_a_drawing(session: dict[str, Any]) -> None:
    every = picture_inputs.samples(SKETCH)
    assert image_picker.chosen_pictures(SKETCH, SAMPLE) == (picture_inputs.sample(every[0]),)
    session["sample"] = every[1]
    assert image_picker.chosen_pictures(SKETCH, SAMPLE) == (picture_inputs.sample(every[1]),)
    session["sample"] = "nothing"
    assert image_picker.chosen_pictures(SKETCH, SAMPLE) == (picture_inputs.sample(every[0]),)
    own = picture_inputs.sample(every[2])
    session[image_picker.TAKEN] = own
    assert image_picker.chosen_pictures(SKETCH, SAMPLE) == (picture_inputs.sample(every[0]),)
    assert image_picker.chosen_pictures(SKETCH, UPLOAD) == (own,)
    assert image_picker.chosen_pictures(SKETCH, DRAWN) == (picture_inputs.drawing(""),)


@pytest.mark.parametrize("first", ["", "image"])
def test_samples_are_small_pictures_of_which_one_is_pressed(
    first: str, session: dict[str, Any]
) -> None:
    keys = {
        "sample": ("", picture_inputs.samples(SKETCH)),
        "sample_x": ("", picture_inputs.samples(SKETCH)),
    }
    key = "sample_x" if first else "sample"
    if not first:
        session["sample"] = picture_inputs.samples(SKETCH)[1]
    with (
        patch.object(image_picker, "session_keys", lambda _: keys),
        patch.object(html_panel, "render") as show,
    ):
        image_picker._gallery(SKETCH, key, first)
    html = show.call_args.args[0]
    buttons = tags(html, "button")
    assert len(buttons) == len(picture_inputs.samples(SKETCH)) + bool(first)
    pressed = [own["data-pick"] for own in buttons if own["aria-pressed"] == "true"]
    assert pressed == [SAME_PICTURE if first else picture_inputs.samples(SKETCH)[1]]
    assert (buttons[0]["data-pick"] == SAME_PICTURE) == bool(first)  # what the first input has
    assert ("Picture for x" in text(html)) == bool(first)
    wall = len(buttons) > image_picker.IN_A_ROW
    assert show.call_args.kwargs["key"] == f"{key} {'wall' if wall else 'gallery'}"
    show.call_args.kwargs["on_pick"]("one")
    assert session[key] == "one"
    show.call_args.kwargs["on_pick"](SAME_PICTURE)
    assert session[key] == ""


@pytest.mark.parametrize(("count", "place"), [(5, "gallery"), (6, "wall")])
def test_many_samples_have_the_room_of_several_rows(count: int, place: str) -> None:
    keys = {"sample": ("", picture_inputs.samples(SKETCH)[:1] * count)}
    with (
        patch.object(image_picker, "session_keys", lambda _: keys),
        patch.object(html_panel, "render") as show,
    ):
        image_picker._gallery(SKETCH, "sample", "")
    assert show.call_args.kwargs["key"] == f"sample {place}"


def test_an_upload_is_read_or_told(session: dict[str, Any]) -> None:
    session |= {image_picker.FILE: None, image_picker.TAKEN: "old", image_picker.WRONG: "old"}
    image_picker._take_upload()
    assert image_picker.TAKEN not in session and session[image_picker.WRONG] == ""
    session[image_picker.FILE] = SimpleNamespace(getvalue=lambda: b"no picture")
    image_picker._take_upload()
    assert image_picker.TAKEN not in session and session[image_picker.WRONG]
    own = picture_inputs.sample(picture_inputs.samples(SKETCH)[0])
    with patch.object(picture_inputs, "read_upload", lambda data: own):
        image_picker._take_upload()
    assert session[image_picker.TAKEN] is own and session[image_picker.WRONG] == ""


@pytest.mark.parametrize("state", ["none", "wrong", "held"])
def test_the_field_of_an_upload_says_what_goes_in(state: str, session: dict[str, Any]) -> None:
    if state == "wrong":
        session[image_picker.WRONG] = "It is no picture."
    if state == "held":
        session[image_picker.TAKEN] = picture_inputs.sample(picture_inputs.samples(SKETCH)[0])
    with (
        patch.object(st, "file_uploader"),
        patch.object(st, "caption", MagicMock()) as caption,
        patch.object(st, "html") as html,
    ):
        image_picker._upload()
    assert html.called == (state == "held")
    assert caption.called == (state != "held")
    if state == "wrong":
        assert "It is no picture." in caption.call_args.args[0]


def test_a_drawing_is_kept_if_it_is_one(session: dict[str, Any]) -> None:
    with patch.object(image_picker, "sent_value", lambda *_: None):
        image_picker._take_strokes()
    assert session[DRAWN] == image_picker.session_drawing() == ""
    with patch.object(image_picker, "_canvas") as canvas:
        image_picker.show_pad("label")
    assert canvas.call_args.kwargs["data"]["label"] == "label"


@pytest.mark.parametrize(
    ("way", "gallery", "upload", "pad"),
    [(SAMPLE, 1, False, False), (UPLOAD, 0, True, False), (DRAWN, 0, False, True)],
)
def test_the_widgets_of_pictures(way: str, gallery: int, upload: bool, pad: bool) -> None:
    with (
        patch.object(image_picker, "_gallery") as samples,
        patch.object(image_picker, "_upload") as field,
        patch.object(image_picker, "show_pad") as canvas,
    ):
        image_picker.show_picker(SKETCH, way)
        assert samples.call_count == gallery
        assert (field.called, canvas.called) == (upload, pad)
        if TWO is not None:
            image_picker.show_picker(TWO, way)
            assert samples.call_args.args[1].startswith("sample_")
