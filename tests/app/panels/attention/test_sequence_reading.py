"""A sequence that is typed, what is said to it, and heads that are switched off."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.page.gallery import _looks, _scene
from ncd.app.panels.attention import attention_maps, sequence_reading
from ncd.app.parts import input_feed
from ncd.app.parts import input_feed as inputs
from ncd.app.parts import input_feed as typed
from ncd.app.scene.scene import Scene
from ncd.systems.inputs.text_inputs import BLANK_SYMBOL, SymbolInput, doubt, parse
from ncd.systems.training.sequence_data import SEQUENCES
from ncd.systems.training.trained_weights import TrainedWeights, write_weights
from tests.app.page.test_pages import fine, page

NAMES = list(SEQUENCES)


def scene(name: str, text: str, seed: int = 0) -> tuple[Scene, SymbolInput]:
    """An untrained system, with a text as what goes in."""
    entry = ncd.catalogue[name]
    settings = entry.settings({})
    read = parse(name, settings["t"], settings["v"], seed, text=text)
    feed = inputs.InputSpec({"t": read.words}, numbers=read.numbers)
    term = entry.build()
    return Scene(entry, settings, seed, "cpu", feed, False, "names", "", term), read


def field(app: AppTest, text: str) -> AppTest:
    """Types a sequence."""
    return app.text_input(key=typed.SEQUENCE.name).set_value(text).run()


# --- what is typed -------------------------------------------------------------------------------


def test_what_is_typed_is_what_goes_in() -> None:
    here, read = scene("reversal", "abc def, ghi jkl")
    assert here.inputs[0].tolist() == list(range(12))
    assert read.words == tuple("abcdefghijkl")
    assert here.axis_words("t") == tuple("abcdefghijkl")
    assert here.inputs_spec.description == "the sequence a b c d e f g h i j k l"


@pytest.mark.parametrize("name", NAMES)
def test_the_field_takes_any_example_and_gives_it_back(name: str) -> None:
    knobs = ncd.catalogue[name].settings({})
    for turn in ("", "1", "2"):
        example = parse(name, knobs["t"], knobs["v"], 0, turn)
        again = parse(name, knobs["t"], knobs["v"], 0, text=" ".join(example.words))
        assert again == example


def test_a_shorter_sequence_is_read_where_nothing_behind_it_counts() -> None:
    read = parse("induction", 24, 16, 0, text="abcab")
    assert (read.length, len(read.numbers), read.error_text) == (5, 24, "")
    assert read.words == (*"abcab", *[BLANK_SYMBOL] * 19)
    longer, short = scene("induction", "abcabdddd"), scene("induction", "abcab")
    one, two = (sequence_reading.head_look(*each, frozenset()) for each in (longer, short))
    assert two.answers == (-100, -100, -100, 1, 2)
    assert len(two.scores) == 5 and next(iter(two.maps.values())).shape == (5, 5)
    assert (one.scores[:5] - two.scores).abs().max() < 1e-6
    assert "not" not in parse("reversal", 12, 12, 0, text="abc").error_text
    assert parse("reversal", 12, 12, 0, text="abc").error_text.endswith("and these are 3.")


@pytest.mark.parametrize("text", ["<script>", "abx", "ab" * 40, "é" * 12, "0", "a" * 500])
@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_read_is_said_and_an_example_stands_there(name: str, text: str) -> None:
    knobs = ncd.catalogue[name].settings({})
    t, v = knobs["t"], knobs["v"]
    read, example = parse(name, t, v, 0, text=text), parse(name, t, v, 0)
    if set(text) <= set(read.symbols) and len(text) <= t:
        assert not read.error_text and read.numbers[0] == read.symbols.index(text[0])
    else:
        assert read.error_text and read.numbers == example.numbers


def test_the_page_says_what_is_wrong() -> None:
    app = field(page("reversal"), "<b>")
    fine(app)
    (note,) = app.warning
    assert note.value.startswith("“<” is none of the symbols here: a b c")
    fine(field(app, "abcdefghijkl"))
    assert not app.warning


@pytest.mark.parametrize("wrong", ["-1", "<b>", "9" * 80, "1,2,x"])
def test_any_link_opens(wrong: str) -> None:
    fine(page("induction", sequence=wrong, off=wrong, row=wrong, guess=wrong, example=wrong))


def test_too_many_places_are_not_read() -> None:
    app = page("induction", t="300")
    fine(app)
    assert typed.SEQUENCE.name not in {widget.key for widget in app.text_input}
    assert typed.SEQUENCE.name in {widget.key for widget in page("induction", t="256").text_input}


def test_another_example_is_another_one() -> None:
    app = page("recall")
    seen = [app.text_input(key=typed.SEQUENCE.name).placeholder]
    for _ in range(3):
        fine(app.button(key="another").click().run())
        seen.append(app.text_input(key=typed.SEQUENCE.name).placeholder)
    assert len(set(seen)) == 4


# --- heads ---------------------------------------------------------------------------------------


def test_heads_that_are_off_change_the_answers_and_are_shown_as_off() -> None:
    here, read = scene("brackets", "([{")
    every = sequence_reading.heads(here)
    whole, less = (
        sequence_reading.head_look(here, read, frozenset(off)) for off in ((), every[:1])
    )
    assert not whole.scores.equal(less.scores)
    assert whole.maps[every[0]].tolist() == less.maps[every[0]].tolist()  # it still looks
    assert whole.maps[every[1]].tolist() != less.maps[every[1]].tolist()
    able = sequence_reading.measure_skill(here, less.disabled_heads)
    asked = sequence_reading.HeadQuestion(every[0], 1, is_revealed=True, guess=None)
    html = sequence_reading._heads(less, asked, able)
    assert html.count('aria-checked="false"') == 1 and html.count('aria-checked="true"') == 1
    told = sequence_reading._score_status(less, able)
    assert f"{able.current_score:.1%}</b> with 1 head off" in told and "not trained" not in told
    told = sequence_reading._score_status(less, able, learned=False)
    assert "right here, by weights that are not trained. Of all answers" in told


@pytest.mark.parametrize("learned", [False, True])
def test_so_many_sequences_are_tried_as_there_is_time_for(learned: bool) -> None:
    here, _ = scene("brackets", "([{")
    own = TrainedWeights(write_weights(here.module, {}), "trained") if learned else None
    here = replace(here, loaded_weights=own)
    every, flops, most = len(sequence_reading.heads(here)), here.cost.flops, 512 if learned else 64
    data = SimpleNamespace(unseen=torch.zeros(999, 2), answers=torch.zeros(999, 2))
    enough = 16 * (every + 2)  # for each head, without any, and as it is

    def tried(affordable: int) -> tuple[int, bool]:
        with (
            patch.object(sequence_reading, "cached_value", lambda *_, make: make()),
            patch.object(sequence_reading, "_run_out_of_turn", lambda make: make()),
            patch.object(
                sequence_reading.mistakes, "budget", lambda _: -(-affordable * flops // 4)
            ),
            patch.object(sequence_reading.mistakes, "examples", lambda *_: data),
            patch.object(sequence_reading, "skill") as skill,
        ):
            sequence_reading.measure_skill(here, frozenset())
        _, _, given, answers, each = skill.call_args.args
        assert len(given) == len(answers)
        return len(given), each

    assert tried(enough) == (16, True)
    assert tried(enough - 1) == (min(most, (enough - 1) // 2), False)
    assert tried(10**6) == (most, True) and tried(0) == (1, False)


def test_the_maps_are_hidden_until_a_guess_is_made() -> None:
    here, read = scene("reversal", "abcdefghijkl")
    look, able = (
        sequence_reading.head_look(here, read, frozenset()),
        sequence_reading.measure_skill(here, frozenset()),
    )
    (head,) = look.heads
    before, after = (
        sequence_reading.HeadQuestion(head, 4, shown, guess) for shown, guess in ((0, None), (1, 7))
    )
    hidden, seen = (sequence_reading._map(look, asked).data for asked in (before, after))
    assert "cells" not in hidden and "cells" in seen
    assert "<img" not in sequence_reading._heads(look, before, able)
    assert "Where will row 4 look?" in sequence_reading._question(look, before)
    best = int(look.maps[head][4].argmax())
    assert ["guess", 4, 7] in seen["marks"] and ["looks", 4, best] in seen["marks"]
    right = sequence_reading._question(look, sequence_reading.HeadQuestion(head, 4, True, best))
    assert "As you said" in right and "As you said" not in sequence_reading._question(look, after)


@pytest.mark.parametrize(
    ("guess", "told"),
    [
        (0, "✓ <b>As you said.</b> "),
        (1, "✓ <b>You said place 1</b>, which gets 0.25 (dashed). "),
        (2, "✗ <b>You said place 2</b>, which gets 0.24 (dashed). "),
        (3, "✗ <b>You said place 3</b>, which it cannot see (dashed). "),
    ],
)
def test_half_of_the_largest_weight_is_as_good_as_all(guess: int, told: str) -> None:
    weights = np.array([0.5, 0.25, 0.2399, 0.0], np.float32)
    assert sequence_reading._verdict(guess, 0, weights) == told


def test_the_next_question_is_about_another_row_with_an_answer() -> None:
    rows = (3, 4, 5, 9)
    seen, row = set(), 3
    for _ in range(8):
        following = sequence_reading._next_row(rows, row)
        assert following in rows and following != row
        seen.add(row := following)
    assert len(seen) > 1
    assert sequence_reading._next_row(rows, 7) == sequence_reading._next_row(
        rows, rows[0]
    )  # without one


# --- sentences that the grammar does not know -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "rest"),
    [
        ("The keys and the book is old .", ["is"], "No answer is known for “is”"),
        ("The keys by the door is old . The door is red .", ["is"], "of 1 right here"),
        ("The keys by the door is old .", [], "of 1 right here"),
    ],
)
def test_what_no_answer_is_known_for_is_neither_right_nor_wrong(
    text: str, words: list[str], rest: str
) -> None:
    here, read = scene("proofreader", text)
    look, able = (
        sequence_reading.head_look(here, read, frozenset()),
        sequence_reading.measure_skill(here, frozenset()),
    )
    table = sequence_reading.html(read, look.scores, look.answers, 0, look.in_doubt)
    assert table.count("not known") == len(words) == table.count("no answer is known here")
    assert table.count("✓") + table.count("✗") == sum(answer >= 0 for answer in look.answers)
    told = sequence_reading._score_status(look, able)
    assert rest in told
    named = ", ".join(f"“{word}”" for word in words)
    assert (f"No answer is known for {named}: the sentences" in told) == bool(words)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The keys by the door is old .", ""),
        ("The keys and the book is old .", "The sentences it has learned are built otherwise"),
        ("The zebra is old .", "It does not know “zebra”"),
    ],
)
def test_heads_are_named_by_what_they_look_for_where_that_is_known(text: str, why: str) -> None:
    """On the first page and in the Attention panel, which say why not."""
    words = text.split()
    shown = _scene(words, 5)
    looks = _looks(shown, words, 0, frozenset())
    (cell,) = (cell for cell in shown.circuit.cells if cell.op.role == "softmax")
    own = attention_maps.weights(cell, shown.trace.values[cell.outputs[0].id])
    _, small = attention_maps._overview(shown, own, 0)
    for html in (looks, small):
        assert ("subject of the verb" in html) == (not why)
    assert doubt(words).startswith(why) and bool(doubt(words)) == bool(why)
    sizes = shown.settings
    assert input_feed._sentence_caption(words, sizes).startswith(
        why or f"{len(words)} words: y asks"
    )
