"""What is told of a sequence that a system reads: its table, its heads, its map."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention import sequence_reading
from ncd.app.panels.attention.sequence_reading import Look, covered_cells, seen_cells
from ncd.app.panels.walk.checkpoint_choice import blocks, titles
from ncd.app.parts import heatmap
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
