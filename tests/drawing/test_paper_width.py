"""Drawings at a width in TeX units fit it, with labels of the usual size."""

import re
from io import BytesIO

import pytest
from PIL import Image

import ncd
from ncd.drawing.backends.drawing import Drawing

NAMES = ("multi-head-attention", "encoder-block", "unet", "gpt-2")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "points"), [("12cm", 341.44), ("3.5 in", 252.95), ("20pc", 240)])
def test_a_drawing_on_paper_is_not_wider(name: str, width: str, points: float) -> None:
    term = ncd.catalogue[name].build()
    drawing = ncd.draw(term, width=width)
    assert 0.6 * points < drawing.box.width / 2 <= points + 0.01
    found = re.search(r"\\pdfpagewidth=([\d.]+)pt", drawing.tex())
    assert found and float(found[1]) == pytest.approx(drawing.box.width / 2, abs=0.01)
    sizes = pdf_size(drawing), svg_size(drawing)
    wanted = [side / 2 * 72 / 72.27 for side in (drawing.box.width, drawing.box.height)]
    assert all(size == pytest.approx(wanted, abs=0.01) for size in sizes)
    assert png_size(drawing) == pytest.approx(wanted, abs=1)  # whole pixels


def pdf_size(drawing: Drawing) -> list[float]:
    """The sides of the page of a PDF, in points of 1/72 inch."""
    found = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", drawing.pdf())
    assert found
    return [*map(float, found.groups())]


def png_size(drawing: Drawing) -> list[float]:
    """The sides of a PNG at the density that it states, in points of 1/72 inch."""
    image = Image.open(BytesIO(drawing.png()))
    return [72 * side / image.info["dpi"][0] for side in image.size]


def svg_size(drawing: Drawing) -> list[float]:
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', drawing.svg(fonts=False))
    assert found
    return [*map(float, found.groups())]


def test_what_fits_no_other_way_is_shrunk() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    drawing = ncd.draw(term, width="2cm")
    assert drawing.box.width / 2 > 2 / 2.54 * 72.27
    assert pdf_size(drawing)[0] == svg_size(drawing)[0] == pytest.approx(2 / 2.54 * 72, abs=0.01)
    found = re.search(r"\\pdfpagewidth=([\d.]+)pt", drawing.tex())
    assert found and float(found[1]) == pytest.approx(2 / 2.54 * 72.27, abs=0.01)


def test_a_drawing_for_a_screen_has_pixels() -> None:
    drawing = ncd.draw(ncd.catalogue["multi-head-attention"].build())
    assert pdf_size(drawing)[0] == pytest.approx(0.75 * drawing.box.width, abs=0.01)
    width = re.search(r' width="([\d.]+)"', drawing.svg(fonts=False))
    assert width and float(width[1]) == pytest.approx(drawing.box.width, abs=0.01)


def test_labels_keep_their_size_on_narrow_paper() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    wide, narrow = (
        {text.label.spans[0].size for text in ncd.draw(term, width=width).labels}
        for width in ("30cm", "9cm")
    )
    assert wide == narrow


@pytest.mark.parametrize(
    "width", ["12", "cm", "12 ell", "0pt", "-3cm", "1e3cm", "9" * 400 + "pt", "", "a"]
)
def test_what_is_no_width_on_paper_is_refused(width: str) -> None:
    with pytest.raises(ncd.SizeError, match=r'is no width in TeX units \(pt, .*Try width="12cm"\.'):
        ncd.draw(ncd.Id("m:3"), width=width)
