"""Two systems are compared at the same sizes, where they have some of one meaning."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

import ncd
from ncd.app.panels.walk.compared_diagrams import (
    HEAD,
    HEADS,
    NUMBERS,
    POSITIONS,
    WIDTH,
    _numbers,
    in_line,
    sizes,
)
from ncd.circuit.knob import Knob

ATTENTION = (
    *("multi-head-attention", "grouped-queries", "latent-attention", "encoder-block", "gpt-2"),
    *("llama", "mixtral", "rotary", "t5", "sliding-window"),
)


@pytest.mark.parametrize(("page", "other"), [*product(ATTENTION, ATTENTION)])
def test_heads_tokens_and_widths_are_those_of_the_page(page: str, other: str) -> None:
    here, there = ncd.catalogue[page], ncd.catalogue[other]
    settings = here.settings({})
    found = in_line(here, settings, there)
    now, then = sizes(here, settings), sizes(there, found)
    assert now[HEADS] == then[HEADS] and now[HEAD] == then[HEAD]
    assert now[POSITIONS] == then[POSITIONS]
    if any(knob.name == "m" for knob in there.knobs):  # else it follows from the heads
        assert now[WIDTH] == then[WIDTH]


def test_grouped_queries_have_fewer_parameters_than_the_heads_they_come_from() -> None:
    page, other = ncd.catalogue["multi-head-attention"], ncd.catalogue["grouped-queries"]
    grouped = ncd.cost(other.build(**in_line(page, page.settings({}), other)))
    h, k, m, shared = 4, 16, 128, 2
    assert ncd.cost(page.build()).parameters == 4 * m * h * k
    assert grouped.parameters == 2 * m * h * k + 2 * m * shared * k


@pytest.mark.parametrize(
    ("heads", "groups", "each"), [(1, 1, 1), (2, 2, 1), (4, 2, 2), (5, 1, 5), (6, 2, 3), (9, 1, 9)]
)
def test_heads_are_shared_by_as_many_groups_as_divide_them(
    heads: int, groups: int, each: int
) -> None:
    """By no more than the other system has."""
    page, other = ncd.catalogue["multi-head-attention"], ncd.catalogue["grouped-queries"]
    found = in_line(page, page.settings({"h": heads}), other)
    assert (found["g"], found["q"]) == (groups, each)
    back = in_line(other, other.settings({"g": 3, "q": 5}), page)
    assert back["h"] == 15
    llama = in_line(other, other.settings({"g": 3, "q": 5}), ncd.catalogue["llama"])
    assert (llama["g"], llama["q"]) == (3, 5)


def test_the_first_knob_of_a_meaning_has_its_size_and_letters_alone_have_none() -> None:
    knobs = (
        Knob("t", 1, 64, 8, help="queries"),
        Knob("s", 1, 64, 9, help="keys"),
        Knob("z", 1, 64, 3),
        Knob("k", 1, 64, 5, help="features"),
        Knob("h", 1, 64, 2, help=HEADS),
    )
    entry = replace(ncd.catalogue["lora"], knobs=knobs)
    settings = {knob.name: knob.default for knob in knobs}
    assert sizes(entry, settings) == {POSITIONS: 8, HEAD: 5, HEADS: 2, WIDTH: 10}
    wide = replace(entry, knobs=(*knobs, Knob("m", 1, 64, 7, help="features")))
    assert sizes(wide, {**settings, "m": 7})[WIDTH] == 7
    for left_out in (3, 4):
        fewer = tuple(knob for n, knob in enumerate(knobs) if n != left_out)
        assert WIDTH not in sizes(replace(entry, knobs=fewer), settings)


def test_a_system_without_such_sizes_has_its_own() -> None:
    page, other = ncd.catalogue["multi-head-attention"], ncd.catalogue["residual-block"]
    assert in_line(page, page.settings({}), other) == other.settings({})


def test_sizes_that_another_system_cannot_have_are_left_at_its_own() -> None:
    page, other = ncd.catalogue["lenet"], ncd.catalogue["convnext"]
    found = in_line(page, page.settings({"x": 36}), other)
    assert found["x"] % 32 == 0
    other.build(**found)


def test_the_cells_of_a_number_say_before_after_and_the_change() -> None:
    """An op that one side lacks counts as none there."""
    number = next(iter(NUMBERS))
    for one, two, wanted in (
        ({number: 2}, {number: 6}, ["2", "6", "+4 × 3"]),
        ({number: 2}, {}, ["2", "–", "−2"]),
        ({}, {number: 2}, ["–", "2", "+2"]),
        ({number: 2}, {number: 2}, ["2", "2", ""]),
        ({number: 0}, {number: 0}, ["0", "0", ""]),
        ({}, {}, ["–", "–", ""]),
    ):
        cells = re.findall("<td[^>]*>(.*?)</td>", _numbers(one, two))
        assert len(cells) == 3 * len(NUMBERS)
        assert [re.sub("<[^>]*>", "", cell) for cell in cells[:3]] == wanted
