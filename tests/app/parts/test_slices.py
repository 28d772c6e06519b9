"""Which slice of an array is shown, and the controls that choose another one."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from ncd.app.parts import map_component, slice_picker
from ncd.app.parts.slice_picker import ALL_COLOURS, ArraySlice, default_slice, dimensions
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Array


def cut(text: str, shown: tuple[int, ...], at: tuple[int, ...] = ()) -> ArraySlice:
    own = dimensions(Array.parse(text))
    return ArraySlice(own, shown, at or (0,) * len(own))


def counting(text: str) -> torch.Tensor:
    shape = Array.parse(text).shape
    return torch.arange(float(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize(
    ("text", "names", "rows", "columns", "along"),
    [
        ("k:5", "k", None, "k", None),
        ("y:2 x:3", "y x", "y", "x", None),
        ("h:4 y:2 x:3", "h y x", "h", "y", "x"),
        ("c:4 x:2x3", "c x_h x_w", "x_h", "x_w", "c"),
        ("x:2x3 c:4", "x_h x_w c", "x_h", "x_w", "c"),
        ("b:4 c:4 x:2x3", "b c x_h x_w", "x_h", "x_w", "c"),
        ("b:5 c:4 x:2x3", "b c x_h x_w", "x_h", "x_w", "b"),
        ("b:1 c:1 x:2x3", "b c x_h x_w", "x_h", "x_w", None),
    ],
)
def test_the_first_slice(
    text: str, names: str, rows: str | None, columns: str, along: str | None
) -> None:
    found = default_slice(Array.parse(text))
    called = [d.name.replace("_height", "_h").replace("_width", "_w") for d in found.dimensions]
    assert len(called) == len(names.split())
    short = dict(zip([d.name for d in found.dimensions], names.split(), strict=True))
    assert (found.rows and short[found.rows.name]) == rows
    assert short[found.columns.name] == columns
    assert (
        None if found.gallery_dim is None else short[found.dimensions[found.gallery_dim].name]
    ) == along
    assert found.image == ("x:2x3" in text)


@pytest.mark.parametrize(
    ("text", "coloured"),
    [
        ("c:3 x:4x4", True),
        ("x:4x4 c:3", True),
        ("c:4 x:4x4", False),
        ("c:2 x:4x4", False),
        ("c:3 b:2 x:4x4", False),
        ("x:4x4 b:2 c:3", False),
        ("c:3 y:4 x:4", False),
    ],
)
def test_three_channels_beside_an_image_are_its_colours(text: str, coloured: bool) -> None:
    found = default_slice(Array.parse(text))
    assert found.is_colour_image == coloured
    assert (ALL_COLOURS in found.positions) == coloured


def test_rows_and_columns_are_alike_for_images_and_for_pairs_of_positions() -> None:
    assert default_slice(Array.parse("c:2 x:4x4")).alike
    assert default_slice(Array.parse("~y:4 ~x:4")).alike
    assert not default_slice(Array.parse("~y:4 x:4")).alike
    assert not default_slice(Array.parse("y:4 ~x:4")).alike
    assert not default_slice(Array.parse("~x:4")).alike


def test_the_numbers_of_a_picture_are_those_at_its_place() -> None:
    whole = counting("a:2 b:3 c:4")
    assert (
        slice_picker.grid(whole, cut("a:2 b:3 c:4", (1, 2), (1, 0, 0))) == whole[1].numpy()
    ).all()
    turned = slice_picker.grid(whole, cut("a:2 b:3 c:4", (2, 0), (0, 2, 0)))
    assert (turned == whole[:, 2].T.numpy()).all()
    assert slice_picker.grid(torch.ones(4), cut("k:4", (0,))).shape == (1, 4)
    some = torch.tensor([[1.0, -torch.inf], [torch.inf, torch.nan]])
    assert np.isnan(slice_picker.numbers(some)).tolist() == [[False, True], [True, True]]
    assert (
        slice_picker.grid(whole, cut("a:2 b:3 c:4", (1, 2), (-1, 0, 0))) == whole[0].numpy()
    ).all()


def test_small_pictures_follow_the_longest_other_axis() -> None:
    whole = counting("a:2 b:5 c:3 d:4")
    found = slice_picker.stack(whole, cut("a:2 b:5 c:3 d:4", (3, 2), (1, 0, 0, 0)), range(1, 4))
    assert found.shape == (3, 4, 3)
    assert (found == whole[1, 1:4].permute(0, 2, 1).numpy()).all()


def test_controls_offer_every_pair_and_a_slider_for_what_is_neither_shown_nor_along() -> None:
    assert slice_picker.controls(cut("k:4", (0,))) == ""
    html = slice_picker.controls(cut("a:2 b:5 c:3 d:4", (2, 3), (1, 0, 0, 0)))
    assert len(re.findall("<option", html)) == 12
    assert re.findall('<option value="([^"]*)" selected', html) == ["c,d"]
    assert re.findall('max="(\\d+)" value="(\\d+)" data-set="(\\w+)"', html) == [("1", "1", "a")]
    assert "d,c" in re.findall('data-pick="([^"]*)"', html)[0]


def test_an_overview_has_the_chosen_picture_pressed() -> None:
    assert slice_picker.thumbnails_html(cut("a:2 b:3", (0, 1)), torch.zeros(2, 3), False) == ""
    text = "n:40 y:2 x:2"
    html = slice_picker.thumbnails_html(cut(text, (1, 2), (37, 0, 0)), counting(text), False)
    assert re.findall('data-pick="([^"]*)" aria-pressed="true"', html) == ["n=37"]
    assert re.findall('data-pick="n=(\\d+)" aria-pressed', html) == ["36", "37", "38", "39"]
    assert "36 to 39 of 40" in html
    text = "c:3 x:2x2"
    every = slice_picker.thumbnails_html(default_slice(Array.parse(text)), counting(text), True)
    assert re.findall('data-pick="([^"]*)" aria-pressed="true"', every) == ["c="]
    assert len(re.findall("<button", every)) == 4
    one = slice_picker.thumbnails_html(cut(text, (1, 2), (2, 0, 0)), counting(text), True)
    assert re.findall('data-pick="([^"]*)" aria-pressed="true"', one) == ["c=2"]


def slices() -> None:
    """Shows what the link chooses."""
    import streamlit as st

    from ncd.app.parts import slice_picker
    from ncd.language.axes import Array

    array = Array.parse("a:2 b:5 c:3 d:4")
    cut = slice_picker.chosen_slice(array)
    st.text(
        f"{cut.picture_dims} {cut.positions} {slice_picker.place('a')} {slice_picker.PICTURE.value}"
    )
    if st.button("show"):
        st.text(slice_picker.select_slice_of(array, (1, 4, 2, 3)))
        st.text(slice_picker.SLICES.value)


@pytest.mark.parametrize(
    ("picture", "places", "told"),
    [
        ("", "", "(0, 1) (0, 0, 0, 0) 0"),
        ("c,d", "a.1", "(2, 3) (1, 0, 0, 0) 1"),
        ("d,a", "b.4,c.2", "(3, 0) (0, 4, 2, 0) 0"),
        ("d,a", "b.9,c.2", "(3, 0) (0, 4, 2, 0) 0"),  # the last
        ("d,d", "", "(0, 1) (0, 0, 0, 0) 0"),
        ("d", "a.x,.3", "(0, 1) (0, 0, 0, 0) 0"),
        ("d,z,b", "", "(3, 1) (0, 0, 0, 0) 0"),
    ],
)
def test_a_link_chooses_the_slice(picture: str, places: str, told: str) -> None:
    app = AppTest.from_function(slices)
    app.session_state["picture"], app.session_state["slices"] = picture, places
    app.run()
    assert not app.exception
    assert app.text[0].value.startswith(told)


# --- the buttons beside a map ---------------------------------------------------------------------


def test_earlier_and_later_pictures() -> None:
    assert map_component.pager("n", range(4), 4) == ""
    for run, words in (
        (range(4), ["later"]),
        (range(4, 8), ["earlier", "later"]),
        (range(8, 9), ["earlier"]),
    ):
        html = map_component.pager("n", run, 9)
        assert re.findall('data-pick="n=(\\d+)">(\\w+)', html) == [
            (str(run.start - 1 if word == "earlier" else run.stop), word) for word in words
        ]
        assert f"{run.start} to {run.stop - 1} of 9" in html


@pytest.mark.parametrize(("count", "across"), [(1, 2), (4, 2), (5, 4)])
def test_few_pictures_are_large(count: int, across: int) -> None:
    pictures = [(f"n={i}", str(i), "data:") for i in range(count)]
    html = map_component.thumbnail_buttons(pictures, "n=0")
    assert f"--across:{across};" in html
    assert html.count('aria-pressed="true"') == 1


def test_outliers_are_told_with_an_offer() -> None:
    assert map_component.outlier_notice(ColourRange(0, 1), ColourRange(0, 1)) == ""
    few, one = ColourRange(0, 2.0, 3, 50.0), ColourRange(0, 2.0, 1, 50.0)
    html = map_component.outlier_notice(few, few)
    assert "3 numbers are much larger than all others, up to 50 in size, so the colours end" in html
    assert "Colours up to 50" in html
    html = map_component.outlier_notice(one, one.with_outliers)
    assert "1 number is much larger than all others, up to 50 in size, so the others look" in html
    assert "Colours up to 2<" in html
