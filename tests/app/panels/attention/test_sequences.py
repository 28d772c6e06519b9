"""What is told of a sequence that a system reads: its table, its heads, its map."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention import sequence_reading
from ncd.app.panels.attention.sequence_reading import (
    HeadQuestion,
    Look,
    covered_cells,
    seen_cells,
)
from ncd.app.panels.walk.checkpoint_choice import blocks, titles
from ncd.app.parts import heatmap
from ncd.app.parts import input_feed as typed
from ncd.app.scene.scene import Scene
from ncd.run.head_switches import Head
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.text_inputs import SymbolInput
from ncd.systems.training.sequence_data import NOT_ASKED

LETTERS = SymbolInput(("a", "b", "c"), (0, 2, 1), 3)


def cells(html: str, row: str) -> list[str]:
    """The texts of a row of the table, all tables after each other."""
    found = re.findall(rf"<tr[^>]*><td>{row}</td>(.*?)</tr>", html)
    parts = [part for line in found for part in re.findall("<t[dh][^>]*>(.*?)</t[dh]>", line)]
    return [re.sub("<[^>]*>", "", part) for part in parts]


def test_a_table_says_what_is_read_said_and_right() -> None:
    scores = torch.tensor([[9.0, 0, 0], [9.0, 0, 0], [0, 0, 9.0]])
    html = sequence_reading.html(LETTERS, scores, (0, 1, NOT_ASKED), 1)
    assert cells(html, "place") == ["0", "1", "2"]
    assert cells(html, "reads") == ["a", "c", "b"]
    assert cells(html, "says") == ["a✓", "a✗", "·"]
    assert cells(html, "right is") == ["a", "b", ""]
    assert re.findall('class="(right|wrong|idle)"', html) == ["right", "wrong", "idle"]
    assert re.findall('data-pick="row=(\\d)" aria-pressed="true"', html) == ["1"]
    chance = float(scores[0].softmax(-1)[0])
    assert f"right, with a chance of {chance:.0%}" in html
    doubt = sequence_reading.html(LETTERS, scores, (0, 1, 2), 1, in_doubt={1})
    assert cells(doubt, "right is") == ["a", "not known", "c"]
    assert cells(doubt, "says") == ["a✓", "a", "c✓"]


def test_a_chance_is_one_of_all_symbols_at_its_place() -> None:
    html = sequence_reading.html(LETTERS, torch.tensor([[0.0, 0, 0.01]] * 3), (0, 0, 0), 0)
    assert re.findall("chance of (\\d+)%", html) == ["34"] * 3


@pytest.mark.parametrize(("count", "tables"), [(12, 1), (13, 2), (24, 2), (25, 3)])
def test_words_go_on_in_a_second_table_and_letters_do_not(count: int, tables: int) -> None:
    for symbols, wanted in ((("one", "two"), tables), (("a", "b"), 1)):
        read = SymbolInput(symbols, (0,) * count, count)
        html = sequence_reading.html(read, torch.zeros(count, 2), (0,) * count, 0)
        assert html.count("<table") == wanted
        assert cells(html, "place") == [str(i) for i in range(count)]


def test_a_letter_is_no_word() -> None:
    assert sequence_reading.count_correct(torch.eye(3), (0, 1, 1)) == (2, 3)
    assert sequence_reading.count_correct(torch.eye(4), (0, NOT_ASKED)) == (1, 1)


# --- heads ----------------------------------------------------------------------------------------


def look(*heads: Head) -> Look:
    each = np.eye(3, dtype=np.float32)
    maps = {head: each * np.float32((i + 1) / 4) for i, head in enumerate(heads)}
    answers = (NOT_ASKED, 1, 1)
    return Look(LETTERS, torch.zeros(3, 3), answers, maps, torch.eye(3), frozenset())


def test_heads_are_called_by_layer_and_by_number_where_there_are_several() -> None:
    several = look(Head("n1", 0), Head("n1", 1), Head("n9", 0))
    assert [*several.names.values()] == ["Layer 1, head 0", "Layer 1, head 1", "Layer 2, head 0"]
    assert [*look(Head("n1", 0), Head("n9", 0)).names.values()] == ["Layer 1", "Layer 2"]


def test_a_head_finds_what_its_row_weighs_on_the_answers() -> None:
    several = look(Head("n1", 0), Head("n1", 1))
    assert [several.finds(head, 2) for head in several.heads] == [0.25, 0.5]
    assert several.question_positions == (1, 2)
    silent = Look(LETTERS, torch.zeros(3, 3), (NOT_ASKED,) * 3, {}, torch.eye(3), frozenset())
    assert silent.question_positions == (0, 1, 2)


def test_a_map_that_looks_back_alone_hides_what_comes_later() -> None:
    causal, free = np.tril(np.ones((3, 3), np.float32)), np.ones((3, 3), np.float32)
    assert np.isnan(seen_cells(causal)).tolist() == np.triu(np.ones((3, 3), bool), 1).tolist()
    assert not np.isnan(seen_cells(free)).any()
    dark = covered_cells(causal)
    assert dark.shape == (3, 3, 3)
    assert (dark[..., 0] == 90).tolist() == np.triu(np.ones((3, 3), bool), 1).tolist()
    board = covered_cells(free)[..., 0]
    assert (board[0, 0], board[0, 1], board[1, 0], board[1, 1]) == (205, 223, 223, 205)
    heatmap.DARK.set(True)
    night = covered_cells(causal)[..., 0]
    heatmap.DARK.set(False)
    assert night.max() < 100 and night[0, 1] < night[0, 0]  # nothing glares


# --- what is asked --------------------------------------------------------------------------------


ONE, OTHER, LAST, BEST = HEADS = (Head("n1", 0), Head("n1", 1), Head("n9", 0), Head("n9", 1))


@pytest.mark.parametrize(
    ("session", "head", "row", "is_revealed", "guess"),
    [
        ({}, BEST, 2, False, None),
        ({"softmax": "n1"}, ONE, 2, False, None),
        ({"softmax": "n1", "head": "1", "row": "1"}, OTHER, 1, False, None),
        ({"softmax": "n2"}, LAST, 2, False, None),  # there is none, so it is the last layer
        ({"guess": "1"}, BEST, 2, True, 1),
        ({"guess": "9"}, BEST, 2, True, 2),
        ({"guess": "all"}, BEST, 2, True, None),
    ],
)
def test_the_question_is_about_the_best_head_of_the_last_layer_or_the_chosen_one(
    session: dict[str, str], head: Head, row: int, is_revealed: bool, guess: int | None
) -> None:
    with patch("streamlit.session_state", session):
        asked = sequence_reading._current_question(look(*HEADS))
    assert asked == HeadQuestion(head, row, is_revealed, guess)


def test_of_many_questions_the_one_after_two_thirds_is_asked_at_first() -> None:
    silent = replace(look(*HEADS), answers=(NOT_ASKED,) * 3)
    nine = replace(silent, read=SymbolInput(("a",), (0,) * 9, 9), cells=torch.zeros(9, 9))
    nine = replace(nine, maps={head: np.eye(9, dtype=np.float32) for head in HEADS})
    with patch("streamlit.session_state", {}):
        assert sequence_reading._current_question(nine).row == 6


@pytest.mark.parametrize(
    ("is_revealed", "name", "value", "put"),
    [
        (False, "map", "n9.1", {"softmax": "n9", "head": "1"}),
        (False, "cell", "2,1", {"row": "2", "guess": "1"}),
        (True, "cell", "2,1", {"row": "2", "guess": "all"}),
        (False, "row", "2", {"row": "2", "guess": ""}),
        (True, "row", "2", {"row": "2", "guess": "all"}),
        (True, "ask", "1", {"row": "1", "guess": ""}),
        (True, "else", "1", {}),
    ],
)
def test_a_click_asks_or_answers(
    is_revealed: bool, name: str, value: str, put: dict[str, str]
) -> None:
    session: dict[str, str] = {}
    with patch("streamlit.session_state", session):
        sequence_reading._pick(HeadQuestion(ONE, 0, is_revealed, None), name, value)
    assert session == put


@pytest.mark.parametrize(
    ("guess", "turn", "after"),
    [("1", "", {"guess": "", "turn": "1"}), ("all", "4", {"guess": "all", "turn": "5"})],
)
def test_another_example_is_the_next_and_hides_the_answer(
    guess: str, turn: str, after: dict[str, str]
) -> None:
    names = (sequence_reading.GUESS.name, typed.TURN.name)
    session = dict(zip(names, (guess, turn), strict=True)) | {typed.SEQUENCE.name: "abc"}
    with patch("streamlit.session_state", session):
        sequence_reading._choose_next_example()
    assert (session[names[0]], session[names[1]]) == (after["guess"], after["turn"])
    assert session[typed.SEQUENCE.name] == "" == session[sequence_reading.ROW.name]


@pytest.mark.parametrize(
    ("share", "says"), [(0.75, "first 0.75"), (0.625, "first 0.62"), (0.6, "nothing in particular")]
)
def test_a_head_says_what_it_does_and_what_is_right_without_it(share: float, says: str) -> None:
    report: Any = SimpleNamespace(
        does=lambda head: ("first", share),
        even={"first": 0.5},
        scores_without_head={BEST: 0.875},
        attention_shares={BEST: {"little": 0.125, "much": 0.75}},
    )
    own = replace(look(*HEADS), disabled_heads=frozenset({LAST}))
    for seen in (False, True):
        asked = HeadQuestion(BEST, 1, seen, None)
        html = sequence_reading._heads(own, asked, report)
        rows = re.findall(r"<tr([^>]*)>(.*?)</tr>", html)
        assert [kind for kind, _ in rows] == ["", "", " class=idle", ""]
        told = [re.findall(r"<b>(.*?)</b><br>(.*?)<br>", row)[0] for _, row in rows]
        names = [f"Layer {n}, head {i}" for n in (1, 2) for i in (0, 1)]
        assert told == [(name, says if seen else "looks at …") for name in names]
        assert [row.count("<img") for _, row in rows] == [int(seen)] * 4
        assert ["right without it: 87.5%" in row for _, row in rows] == [False] * 3 + [True]
        pressed = [
            re.findall('data-pick="(map=[^"]*)" aria-pressed="true"', row) for _, row in rows
        ]
        assert pressed == [[], [], [], ["map=n9.1"]]
        checked = [re.findall('aria-checked="(.*?)"', row) for _, row in rows]
        assert checked == [["true"], ["true"], ["false"], ["true"]]
        does = sequence_reading._does(asked, report)
        shares = re.findall(r'<tr><td>(.*?)</td><td class="number">(.*?)</td>', does)
        assert shares == ([("much", "0.75"), ("little", "0.12")] if seen else [])


def test_a_map_says_which_row_is_asked_for_and_where_it_looks() -> None:
    own = look(*HEADS)
    for asked, kinds in (
        (HeadQuestion(BEST, 1, False, None), [("row", 1, None)]),
        (HeadQuestion(BEST, 1, True, None), [("row", 1, None), ("looks", 1, 1)]),
        (
            HeadQuestion(BEST, 1, True, 2),
            [("row", 1, None), ("looks", 1, 1), ("guess", 1, 2)],
        ),
    ):
        found = sequence_reading._map(own, asked)
        assert [(mark.kind, mark.row, mark.column) for mark in found.marks] == kinds
        assert (found.ends.low, found.ends.high) == (0.0, 1.0)
        assert (found.pixels is None) == asked.is_revealed
    dim = replace(own, maps={head: np.float32(0.25) * each for head, each in own.maps.items()})
    assert sequence_reading._map(dim, HeadQuestion(ONE, 0, True, None)).ends.high == 0.0625
    nothing = replace(own, maps={ONE: np.zeros((3, 3), np.float32)})
    assert sequence_reading._map(nothing, HeadQuestion(ONE, 0, True, None)).ends.high == 1.0


# --- what is saved --------------------------------------------------------------------------------


def test_equal_titles_of_blocks_are_numbered_and_others_are_not() -> None:
    entry = ncd.catalogue["encoder-block"]
    settings = entry.settings({})
    scene = Scene(
        entry, settings, 0, "cpu", InputSpec(), False, "names", "", entry.build(**settings)
    )
    found, own = titles(scene), blocks(scene)
    assert len(found) == len(own) > 3
    assert len(set(found)) == len(found)
    bare = [re.sub(r" \d+$", "", title) for title in found]
    for name in set(bare):
        numbers = [title.removeprefix(name).strip() for title in found if title.startswith(name)]
        own_numbers = [n for n in numbers if n.isdecimal()]
        assert own_numbers in ([], [str(i + 1) for i in range(len(own_numbers))])
        assert len(own_numbers) != 1
