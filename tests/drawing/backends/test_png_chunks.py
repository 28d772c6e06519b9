"""Texts and the size of a pixel in a PNG, as another program reads them."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from ncd.drawing.backends.png_chunks import text_of, with_density, with_text


def picture() -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (3, 2), "red").save(buffer, "PNG")
    return buffer.getvalue()


def test_texts_stand_under_their_keywords() -> None:
    png = with_text(with_text(picture(), "Title", "Größe"), "Description", "")
    read = Image.open(BytesIO(png))
    read.load()  # checks the sums
    assert read.info["Title"] == "Größe" and read.info["Description"] == ""
    assert read.size == (3, 2) and read.getpixel((0, 0)) == (255, 0, 0)
    assert (text_of(png, "Title"), text_of(png, "Description")) == ("Größe", "")
    assert text_of(png, "Titl") is None and text_of(picture(), "Title") is None


@pytest.mark.parametrize(("per_inch", "metre"), [(96, 3780), (72, 2835), (192.5, 7579)])
def test_pixels_are_stated_for_a_metre_each_way(per_inch: float, metre: int) -> None:
    read = Image.open(BytesIO(with_density(picture(), per_inch)))
    assert read.info["dpi"] == pytest.approx((metre * 0.0254, metre * 0.0254))
