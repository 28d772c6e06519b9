"""A PDF has the shapes and words of its drawing where they stand in it."""

from __future__ import annotations

import re
import zlib

import pytest

import ncd
from ncd.drawing.backends.pdf_png import pdf
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import PIXEL, Dot

NUMBER = r"(-?[\d.]+)"


def page(term: ncd.Term, **options: object) -> tuple[ncd.Drawing, str]:
    drawing = ncd.draw(term, **options)
    data = pdf(drawing)
    streams = re.findall(rb"stream\n(x.*?)endstream", data, re.DOTALL)
    texts = [zlib.decompressobj().decompress(own).decode("latin-1") for own in streams]
    return drawing, next(own for own in texts if " cm /GS" in own)


def spots(text: str, pattern: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, found)) for found in re.findall(pattern, text)]


def test_every_word_stands_where_the_drawing_has_it() -> None:
    drawing, text = page(ncd.Linear("~x:4 m:2 -> ~x k:3", "L") >> ncd.Softmax("k"))
    high = drawing.box.height * PIXEL
    wanted = [
        (
            (label.position.x + span.dx - drawing.box.x0) * PIXEL,
            high - (label.position.y + span.dy - drawing.box.y0) * PIXEL,
        )
        for label in drawing.texts
        for span in label.label.spans
    ]
    found = spots(text, rf"BT {NUMBER} {NUMBER} Td")
    assert sorted(found) == [pytest.approx(at, abs=0.011) for at in sorted(wanted)]
    bars = [
        (
            (label.position.x + bar.x0 - drawing.box.x0) * PIXEL,
            high - (label.position.y + bar.y - bar.thickness / 2 - drawing.box.y0) * PIXEL,
            (bar.x1 - bar.x0) * PIXEL,
            -bar.thickness * PIXEL,
        )
        for label in drawing.texts
        for bar in label.label.bars
    ]
    drawn = spots(text, rf"{NUMBER} {NUMBER} {NUMBER} {NUMBER} re")
    assert bars and [own for own in drawn if own[2] < 50] == [
        pytest.approx(own, abs=0.011) for own in bars
    ]


def test_a_dark_page_is_painted_to_its_edges_and_a_light_one_not() -> None:
    drawing, text = page(ncd.Softmax("k:3"), dark=True)
    first = spots(text, rf"{NUMBER} {NUMBER} {NUMBER} {NUMBER} re f")[0]
    wide, high = drawing.box.width * PIXEL, drawing.box.height * PIXEL
    assert (first[0], abs(first[2]), abs(first[3])) == pytest.approx((0, wide, high), abs=0.011)
    _, light = page(ncd.Softmax("k:3"))
    assert "re f" not in light


def test_dots_are_circles_of_their_size() -> None:
    drawing, text = page(ncd.Copy("k:3"))
    dots = [item for glyph in drawing.glyphs for item in glyph.items if isinstance(item, Dot)]
    high = drawing.box.height * PIXEL
    assert dots
    for dot in dots:
        x, y = (
            (dot.center.x - drawing.box.x0) * PIXEL,
            high - (dot.center.y - drawing.box.y0) * PIXEL,
        )
        r = dot.radius * PIXEL
        starts = spots(text, rf"{NUMBER} {NUMBER} m")
        ends = {(x + r, y), (x - r, y), (x, y + r), (x, y - r)}
        assert any(start == pytest.approx(end, abs=0.02) for start in starts for end in ends)


def test_lines_have_their_width_dashes_and_ends() -> None:
    two = ncd.Linear("m:2 -> k:3", "L") @ ncd.Linear("a:2 -> b:3", "M")
    _, text = page(two)
    dash = " ".join(f"{n * PIXEL:g}" for n in style.DASH)
    assert f"[{dash}] 0 d" in text
    widths = {float(n) for n in re.findall(rf"{NUMBER} w", text)}
    assert min(widths) > 0 and max(widths) < 20 * PIXEL
    assert " l " in text and " c " not in text  # all of it is straight
    assert " c " in page(ncd.Id("m:2 k:3") >> ncd.Swap("m", "k"))[1]


def test_equal_drawings_are_equal_files_until_a_date_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = ncd.draw(ncd.Softmax("k:3"))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert pdf(drawing) == pdf(drawing) and b"CreationDate" not in pdf(drawing)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert b"/CreationDate (D:20231114221320" in pdf(drawing)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(ncd.NCDError, match="Try SOURCE_DATE_EPOCH=1700000000"):
        pdf(drawing)
