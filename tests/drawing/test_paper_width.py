"""Drawings at a width in TeX units fit it, with labels of the usual size."""

import re

import pytest

import ncd

NAMES = ("multi-head-attention", "encoder-block", "unet", "gpt-2")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "points"), [("12cm", 341.44), ("3.5 in", 252.95), ("20pc", 240)])
def test_a_drawing_on_paper_is_not_wider(name: str, width: str, points: float) -> None:
    term = ncd.catalogue[name].build()
    drawing = ncd.draw(term, width=width)
    assert 0.6 * points < drawing.box.width / 2 <= points + 0.01
    found = re.search(r"\\pdfpagewidth=([\d.]+)pt", drawing.tex())
    assert found and float(found[1]) == pytest.approx(drawing.box.width / 2, abs=0.01)


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
