"""What the Pattern panel says of a line, without a page: its steps, pictures, question and end."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st
from torch import Tensor

import ncd
from ncd.app.panels.tensors import einops_pattern
from ncd.app.panels.tensors.einops_pattern import (
    EINOPS_PATTERN,
    _line_html,
    _marked_line,
    _plausible,
    colour_axes,
    input_array,
    outcome,
)
from ncd.app.panels.tensors.einops_shape_check import checked_line
from ncd.app.parts.heatmap import mosaic
from ncd.app.state import knobs
from ncd.systems.tensors.einops_patterns import TEXTS, term
from tests.app.panels.views import inside, scene, shown, tags, text

SIZES = {"b": 2, "h": 4, "w": 6, "c": 3}
HERE = scene("einops", **SIZES)


def html(line: str, **session: str) -> str:
    with patch.object(st, "session_state", session):
        return _line_html(HERE, line, SIZES)


def comes_out(line: str) -> Tensor:
    """What the diagram of a line gives."""
    given = input_array(checked_line(line, SIZES).parsed_line.input_name, SIZES)
    result: Tensor = ncd.compile(term(line, SIZES))(given)
    return result.detach()


def rows(page: str) -> list[list[str]]:
    return [[text(own) for own in inside(row, "td")] for row in inside(page, "tr")][1:]


@pytest.mark.parametrize(
    ("line", "name", "steps", "back"),
    [
        (
            'rearrange(ims, "b h w c -> c h (b w)")',
            "ims",
            [["rearrange: b h w c -> c h (b w)", "c = 3, h = 4, (b w) = 2 · 6 = 12", "3 4 12"]],
            "1, everywhere. In all that is 144.",
        ),
        (
            'reduce(ims[0], "h w c ->", "sum")',
            "ims[0]",
            [["reduce, sum: h w c ->", "none is left", "()"]],
            "1, everywhere. In all that is 72.",
        ),
        (
            'reduce(repeat(ims, "b h w c -> b h w c 2"), "b (h h1) w c n -> h 1 c", "max", h1=2)',
            "ims",
            [
                [
                    "repeat: b h w c -> b h w c 2",
                    "b = 2, h = 4, w = 6, c = 3, 2",
                    "2 4 6 3 2",
                ],
                ["reduce, max: b (h h1) w c n -> h 1 c", "h = 2, 1, c = 3", "2 1 3"],
            ],
            "from 0 to 1, as below. In all that is 6.",
        ),
    ],
)
def test_a_line_is_told_call_by_call_and_backwards(
    line: str, name: str, steps: list[list[str]], back: str
) -> None:
    page = html(line)
    assert rows(page) == steps
    assert f"for each number of {name}: {back}" in text(page)
    begun = "4 6 3" if name == "ims[0]" else "2 4 6 3"
    assert f"{name}: shape {begun}" in text(page)
    result = comes_out(line)
    assert f"What comes out: shape {steps[-1][-1]}" in text(page)
    pictures = 1 + (result.ndim > 0) + ("as below" in back)
    assert len(tags(page, "img")) == pictures
    if result.ndim == 0:
        number = re.findall("the number ([^ ]+)", text(page.partition("</p>")[0]))
        assert float(number[0]) == pytest.approx(float(result), rel=1e-2)


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ('rearrange(ims, "b h w c -> c h (b w)")', (3, 0)),
        ('rearrange(ims, "b h w c -> b h (w c)")', (3, None)),
        ('rearrange(ims[0], "h w c -> w h c")', (2, 2)),
        ('rearrange(x, "b c h w -> b h w c")', (1, 3)),
        ('rearrange(y, "b c h w -> b h w c")', (None, None)),  # twelve, which are no colours
        ('reduce(ims, "b h w c -> b", "mean")', (3, None)),
        ('rearrange(rearrange(ims, "b h w c -> c b h w"), "c b h w -> b c h w")', (3, 0, 1)),
    ],
)
def test_colours_are_followed_through_the_calls_and_are_those_of_the_pictures(
    line: str, places: tuple[int | None, ...]
) -> None:
    found = checked_line(line, SIZES)
    assert colour_axes(found) == places
    made, given = (
        outcome(line, found, SIZES, "cpu"),
        input_array(found.parsed_line.input_name, SIZES),
    )
    seen = given[0] if found.parsed_line.uses_first_image else given
    assert made.input_mosaic == mosaic(seen.numpy(), places[0])
    assert made.result == mosaic(comes_out(line).float().numpy(), places[-1])


def test_wrong_shapes_are_the_right_one_with_a_likely_mistake() -> None:
    assert list(_plausible((8, 9, 3), (6, 8, 9, 3))) == [
        *((9, 8, 3), (8, 3, 9), (6, 8, 9, 3), (8, 9)),
        *((8, 9, 3, 1), (1, 8, 9, 3), (217,), (2, 8, 9, 3)),
    ]
    assert list(_plausible((5,), (2, 5))) == [(2, 5), (), (5, 1), (1, 5), (6,), (2, 5)]


def test_a_question_is_asked_first_and_what_was_said_is_judged() -> None:
    line = 'rearrange(ims, "b h w c -> c h (b w)")'
    asked = html(line, asking="on")
    said = [own["data-pick"] for own in tags(asked, "button")]
    assert "What comes out" not in asked and len(said) == 6 and said[-1] == "asking=off"
    right, *_ = (own for own in said if own.startswith("shape=3 4 12 of "))
    blank = said[4]
    assert blank.startswith("shape= of ")
    for one in said[:4]:
        page = html(line, asking="on", **{einops_pattern.SAID: one.removeprefix("shape=")})
        mine = one.removeprefix("shape=").partition(" of ")[0]
        judged = "✓ Right" if one == right else f"✗ Not {mine}"
        assert f"{judged}: it is 3 4 12." in text(page) and "Ask me first" not in page
    shown_ = html(line, asking="on", **{einops_pattern.SAID: blank.removeprefix("shape=")})
    assert "What comes out" in shown_ and 'role="status"' not in shown_
    other = html(line, asking="on", **{einops_pattern.SAID: "3 4 12 of 1"})  # of another line
    assert "Which shape comes out?" in other
    never = html(line, **{einops_pattern.SAID: "3 4 12 of 1"})
    assert "What comes out" in never and 'role="status"' not in never and "Ask me first" in never


@pytest.mark.parametrize(
    ("spans", "marked"),
    [
        ((), "abcdef"),
        (((0, 2),), "<ab>cdef"),
        (((4, 6), (1, 2)), "a<b>cd<ef>"),
        (((0, 2), (2, 3)), "<ab><c>def"),
        (((0, 3), (2, 5)), "<abc>def"),  # one within another is marked once
    ],
)
def test_what_is_wrong_is_marked_in_the_line(
    spans: tuple[tuple[int, int], ...], marked: str
) -> None:
    error: Any = SimpleNamespace(spans=spans)
    found = _marked_line("abcdef", error)
    assert found.replace("<mark>", "<").replace("</mark>", ">") == marked


@pytest.mark.parametrize(
    ("picked", "put", "session"),
    [
        ("pattern=3", {"pattern": 3}, {"call": ""}),
        (f"pattern={len(TEXTS)}", None, {}),
        ("shape=4 of 1", None, {einops_pattern.SAID: "4 of 1"}),
        ("fit=1", einops_pattern.FIT, {}),
        ("else=1", None, {}),
    ],
)
def test_a_click_chooses_an_example_answers_or_makes_it_fit(
    picked: str, put: dict[str, int] | None, session: dict[str, str]
) -> None:
    sent: list[object] = []
    with (
        patch.object(st, "session_state", {}),
        patch.object(knobs, "set_values", sent.append),
    ):
        einops_pattern._pick(picked)
        assert st.session_state == session
    assert sent == ([put] if put else [])


@pytest.mark.parametrize(("most", "drawn"), [(144, True), (143, False)])
def test_the_example_is_pressed_and_pictures_may_be_so_large(most: int, drawn: bool) -> None:
    with (
        patch.object(st, "text_input", lambda *_, **__: None),
        patch.object(einops_pattern, "MAX_NUMBERS", most),
    ):
        told = shown(EINOPS_PATTERN, scene("einops", **SIZES, pattern=2))
    pressed = [own["aria-pressed"] for own in tags(told.html, "button") if "title" in own]
    assert pressed == [str(i == 2).lower() for i in range(len(TEXTS))]
    assert ("What comes out" in told.html) == drawn
    assert ("The pictures would be 144 numbers, and up to 143 are shown" in told.text) != drawn
