"""What is said of a line of einops: the fact, the places that are marked, and what would help."""

from __future__ import annotations

import pytest

from ncd.app.panels.tensors import einops_pattern
from ncd.app.panels.tensors.einops_pattern import shaped_html, yours_page_link
from ncd.app.panels.tensors.einops_shape_check import (
    AXES,
    MAX_NUMBERS,
    _nearest_divisor,
    checked_line,
)
from ncd.systems.tensors.einops_patterns import CallError

SIZES = {"b": 2, "h": 4, "w": 6, "c": 3}


def wrong(text: str) -> tuple[str, list[str]]:
    """Returns the message of a line, and the words of it that are marked."""
    with pytest.raises(CallError) as error:
        checked_line(text, SIZES)
    return str(error.value), [text[start:end] for start, end in error.value.spans]


@pytest.mark.parametrize(
    ("text", "fact", "marked"),
    [
        (
            'rearrange(ims, "b h w c -> b h w")',
            "c stands on one side only. Try c on the right too",
            ["c"],
        ),
        ('rearrange(ims, "b h w -> b h w c")', "c stands on one side only. Try repeat", ["c"]),
        (
            'rearrange(ims, "b h w c -> b")',
            "but c, h and w stand on one side only. Try c, h and w on the right too",
            ["h", "w", "c"],
        ),
        ('rearrange(ims, "b h w c -> b h w & c")', "& means nothing in a pattern", ["&"]),
        ('rearrange(ims, "b (h w c -> b h w c")', "brackets do not close one by one", ["("]),
        (
            'rearrange(ims, "b ... w ... -> b w ...")',
            "three dots stand for the axes",
            ["...", "...", "..."],
        ),
        (
            'rearrange(ims, "b h w -> b h w")',
            "4 axes, 2 4 6 3, and the left side names 3",
            ["b h w "],
        ),
        ('rearrange(ims, "b h w c 2 -> b h w c 2")', "takes no number but 1", ["2", "2"]),
        (
            'rearrange(ims, "b (h h1) w c -> b h h1 w c", h1=3)',
            "the axis has length 4, and h1 = 3. Try h1 = 4.",
            ["(h h1)"],
        ),
        (
            'rearrange(ims, "b (h h1) w c -> b h h1 w c", h=2, h1=3)',
            "the axis has length 4, and h·h1 = 6. Try h·h1 = 4.",
            ["(h h1)"],
        ),
        (
            'rearrange(ims, "b h w 1 -> b h w")',
            "the axis has length 3, and a 1 in a pattern = 1",
            ["1"],
        ),
        (
            'repeat(ims, "b h w c -> b h w c n")',
            "nobody knows how long n is. Try n=2 behind",
            ["n"],
        ),
        ('repeat(ims, "b h w c -> b h w")', "repeat ends no axis, but c does not stand", ["c"]),
        ('reduce(ims, "b h w c -> b n", "max")', "reduce makes no new axis, such as n", ["n"]),
        (
            'rearrange(ims, "b (h h1 h2) w c -> b h h1 h2 w c", h2=2)',
            "not those of h and h1. Try h1=2 behind",
            ["h", "h1", "h", "h1"],
        ),
        ('rearrange(ims, "b h w c -> b h w c", z=2)', "the pattern has no axis z", ["z"]),
        ('rearrange(ims, "b h h c -> b h c")', "h stands twice on one side", ["h", "h", "h"]),
        ('rearrange(ims, "b h _w c -> b h _w c")', "_w is no name of an axis", ["_w", "_w"]),
        (
            'rearrange(ims, "b if w c -> b w c if")',
            "advises against the name if. Try if1",
            ["if", "if"],
        ),
        (
            'rearrange(ims, "b axis w c -> b w c axis")',
            "advises against the name axis",
            ["axis", "axis"],
        ),
    ],
)
def test_a_wrong_line_is_told_with_its_places(text: str, fact: str, marked: list[str]) -> None:
    said, places = wrong(text)
    assert fact in said
    assert places == marked


def test_a_side_has_so_many_words_at_most() -> None:
    ones = " 1" * (AXES - 4)
    assert len(checked_line(f'repeat(ims, "b h w c -> b h w c{ones}")', SIZES).shapes[-1]) == AXES
    assert "up to 12 words" in wrong(f'repeat(ims, "b h w c -> b h w c{ones} 1")')[0]


def test_a_length_has_six_digits_at_most_and_an_array_so_many_numbers() -> None:
    most = MAX_NUMBERS // (2 * 4 * 6 * 3)
    line = 'repeat(ims, "b h w c -> b h w c n", n={})'
    assert checked_line(line.format(most), SIZES).shapes[-1] == (2, 4, 6, 3, most)
    assert "it would make" in wrong(line.format(most + 1))[0]
    assert "it would make" in wrong('repeat(ims, "b h w c -> b h w c 999999")')[0]
    said, marked = wrong('repeat(ims, "b h w c -> b h w c 9999999")')
    assert "too large a length" in said and marked == ["9999999"]


def test_a_name_of_einops_own_is_told_if_it_has_a_length() -> None:
    said, marked = wrong('rearrange(ims, "b (h tensor) w c -> b h w (c tensor)", tensor=2)')
    assert "called tensor. Try tensor1" in said and marked == ["tensor", "tensor", "tensor"]
    assert checked_line('rearrange(ims, "b tensor w c -> b w c tensor")', SIZES)


@pytest.mark.parametrize(
    ("size", "asked", "near"), [(96, 5, 6), (96, 200, 96), (12, 5, 6), (7, 3, 1), (6, 6, 6)]
)
def test_the_nearest_length_divides_the_axis(size: int, asked: int, near: int) -> None:
    assert _nearest_divisor(size, asked) == near


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ('rearrange(ims, "b h w c -> c h (b w)")', (3, 0)),
        ('rearrange(ims, "b h w c -> b h (w c)")', (3, None)),
        ('rearrange(ims[0], "h w c -> c h w")', (2, 0)),
        ('rearrange(x, "b c h w -> b h w c")', (1, 3)),
        ('reduce(x, "b c h w -> b h w", "max")', (1, None)),
    ],
)
def test_the_axis_of_the_colours_is_followed(text: str, axes: tuple[int | None, ...]) -> None:
    assert einops_pattern.colour_axes(checked_line(text, SIZES)) == axes
    grey = checked_line(text, {**SIZES, "c": 4})
    assert einops_pattern.colour_axes(grey) == (None, None)  # only three channels are colours


@pytest.mark.parametrize(
    "text",
    [
        'rearrange(ims, "b h w c -> c h (b w)")',
        'reduce(ims, "b h w c -> b", "sum")',
        'reduce(ims, "b h w c -> ", "max")',
    ],
)
def test_the_right_shape_stands_among_three_plausible_ones(text: str) -> None:
    found = checked_line(text, SIZES)
    four = einops_pattern.choices(text, found)
    assert len(set(four)) == 4 and found.shapes[-1] in four
    plausible = {*einops_pattern._plausible(found.shapes[-1], found.shapes[-2])}
    assert set(four) <= plausible | {found.shapes[-1]}


def test_likely_wrong_shapes() -> None:
    every = [*einops_pattern._plausible((4, 5, 6), (2, 3))]
    assert every == [
        *((5, 4, 6), (4, 6, 5), (2, 3), (4, 5), (4, 5, 6, 1)),
        *((1, 4, 5, 6), (121,), (2, 4, 5, 6)),
    ]
    assert [*einops_pattern._plausible((4,), (2, 3))][:2] == [(2, 3), ()]
    assert [*einops_pattern._plausible((4, 5), (2, 3))][:3] == [(5, 4), (5, 4), (2, 3)]


def test_the_array_of_each_name() -> None:
    ims, x, y = (einops_pattern.input_array(name, SIZES) for name in ("ims", "x", "y"))
    assert (ims.shape, x.shape, y.shape) == ((2, 4, 6, 3), (2, 3, 4, 6), (2, 12, 2, 3))
    assert float(x[1, 2, 3, 4]) == float(ims[1, 3, 4, 2])
    assert float(y[1, 1 * 6 + 0 * 3 + 2, 1, 2]) == float(x[1, 2, 3, 4])  # (h1 w1 c)
    text = 'reduce(ims, "b h w c -> ", "sum")'
    outcome = einops_pattern.outcome(text, checked_line(text, SIZES), SIZES, "cpu")
    assert outcome.result is None and outcome.number == pytest.approx(float(ims.sum()), rel=1e-4)
    assert outcome.extremes == (1.0, 1.0) and outcome.total == 144


def test_a_line_that_yours_can_read_has_a_link_there() -> None:
    assert "in Yours" in shaped_html('rearrange(x, "b c -> c b")', (2, 3))
    assert shaped_html("nonsense (", (2, 3)) == yours_page_link("nonsense (") == ""
