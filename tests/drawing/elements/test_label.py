"""Labels are as wide and as high as the renderers draw them, and nothing typed breaks them."""

import io
from concurrent.futures import ThreadPoolExecutor
from html import escape
from itertools import pairwise

import pytest
import resvg_py
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ncd.drawing.elements.fonts import (
    FACES,
    FOLDER,
    Face,
    all_faces_css,
    font_faces,
    font_files,
    measure,
)
from ncd.drawing.elements.labels import Label, math, roman, sans, wrap

ZOOM, MARGIN = 4, 40


def ink(label: Label) -> tuple[float, float, float, float]:
    """The box of the pixels that resvg draws: left, top, right, bottom from the label's origin."""
    texts = "".join(
        f'<text x="{s.dx}" y="{s.dy}" font-family="{s.face.family}" font-size="{s.size}" '
        f'font-style="{s.face.style}" font-weight="{s.face.weight}">{escape(s.text)}</text>'
        for s in label.spans
    )
    bars = "".join(
        f'<path d="M{b.x0} {b.y}H{b.x1}" stroke="#000" stroke-width="{b.thickness}"/>'
        for b in label.bars
    )
    width, height = int(label.width) + 2 * MARGIN, 2 * MARGIN
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{-MARGIN} {-MARGIN} {width} {height}">{texts}{bars}</svg>'
    )
    png = resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=ZOOM,
        background="#fff",
        skip_system_fonts=True,
        font_files=[str(path) for path in font_files()],
    )
    dark = Image.open(io.BytesIO(png)).convert("L").point(lambda grey: 255 if grey < 160 else 0)
    left, top, right, bottom = (edge / ZOOM - MARGIN for edge in dark.getbbox() or (0, 0, 0, 0))
    return left, top, right, bottom


LABELS = (
    *(math(name) for name in ("k", "h", "f", "j", "y", "λ", "n_b", "x_1", "c_λ", "c_{5-λ}", "2c")),
    *(math(name) for name in ("128", "16×16", "k^{-1/2}", "* k^{-1/2}", "28²", "f^T", "𝔼")),
    *(math(name) for name in ("λ = 1", "N - 1", "C_λ →", "(s, N)", "x̄_i = 512 * 2^{1-i}", "𝐱̄_λ")),
    *(math(name, bar=True) for name in ("x", "y", "h", "x/s", "seq")),
    *(math(name, bold=True, bar=True) for name in ("x", "x/s", "x_{λ+1}")),
    *(math(name, 26, bold=True) for name in ("L^Q", "L_+", "L^Q_h", "x_i^2")),
    *(sans(title) for title in ("Multi-Head", "AVATo “Größe” — Łódź", "ΔλΩ ∈ $k × h$-shaped")),
    sans("Scaled Dot-Product Attention", 14, 700),
    roman("Max"),
)  # fmt: skip


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.words)
def test_the_box_is_the_ink_that_a_renderer_draws(label: Label) -> None:
    box = (0, -label.ascent, label.width, label.descent)
    assert ink(label) == pytest.approx(box, abs=1)


@pytest.mark.parametrize("face", FACES)
def test_every_face_is_named_as_css_names_it(face: Face) -> None:
    font = TTFont(FOLDER / FACES[face])
    assert font["name"].getDebugName(1) == face.family
    assert font["OS/2"].usWeightClass == face.weight
    assert bool(font["OS/2"].fsSelection & 1) == (face.style == "italic")


def test_runs_follow_each_other_by_the_advance_of_the_font() -> None:
    font = TTFont(FOLDER / "ncd-roman-italic.ttf")
    n, b = math("n_b", 100).spans
    assert b.dx - n.dx == pytest.approx(font["hmtx"]["n"][0] / 10 + 2, abs=0.01)


def test_kerning_counts() -> None:
    assert sans("AV").width < sans("A").width + sans("V").width - 0.5


@pytest.mark.parametrize(
    ("text", "gaps"),
    [
        ("a+b", [18, 18]),
        ("a=b", [28, 28]),
        ("a/b", [4, 4]),
        ("a,b", [0, 20]),
        ("-b", [0]),  # a sign, not an operation
        ("=b", [28]),
        ("a=-b", [28, 28, 0]),
        ("a=", [28]),
        ("a+", [0]),
        ("(a)", [0, 0]),
    ],
)
def test_operations_between_two_operands_and_relations_have_room(text: str, gaps) -> None:
    spans = math(text, 100).spans
    found = [b.dx - a.dx - 100 * measure(a.face, a.text).advance for a, b in pairwise(spans)]
    assert found == pytest.approx(gaps, abs=0.01)


def test_in_a_script_they_have_none_and_a_script_keeps_off_its_base() -> None:
    x, a, plus, b = math("x_{a+b}", 100).spans
    assert (a.size, a.dy, x.dy) == (72, 22, 0)
    assert a.dx - x.dx == pytest.approx(100 * measure(x.face, "x").advance + 2, abs=0.01)
    assert plus.dx - a.dx == pytest.approx(72 * measure(a.face, "a").advance, abs=0.01)
    assert b.dx - plus.dx == pytest.approx(72 * measure(plus.face, "+").advance, abs=0.01)
    f, two = math("f^2", 100).spans
    face = measure(f.face, "f")  # its ink reaches beyond its advance
    assert (two.size, two.dy) == (72, -37) and face.box is not None
    assert two.dx - f.dx == pytest.approx(100 * max(face.advance, face.box[2]) + 4, abs=0.01)
    y, *_ = (span for span in math("x_{i}y", 100).spans if span.text == "y")
    i = math("x_i", 100).spans[1]
    end = i.dx + 72 * measure(i.face, "i").advance
    assert y.dx == pytest.approx(end + 4, abs=0.01)


@pytest.mark.parametrize(("size", "script"), [(100, 72), (16, 11.52), (15, 11), (12, 10.32)])
def test_a_script_of_a_small_name_is_larger(size: float, script: float) -> None:
    assert math("x_i", size).spans[1].size == pytest.approx(script)


def test_an_overbar_lies_over_the_ink_and_leans_with_it() -> None:
    for bold, lean in ((False, 5), (True, 0)):
        label = math("x", 100, bold=bold, bar=True)
        (x,), (bar,) = label.spans, label.bars
        face = measure(x.face, "x")
        assert face.box is not None
        ends = (bar.x0 - x.dx, bar.x1 - x.dx, bar.y, bar.thickness)
        top = 100 * face.box[1] - 13 - 3
        assert ends == pytest.approx((lean + 2, 100 * face.advance + lean - 2, top, 6), abs=0.01)
        assert label.ascent == pytest.approx(-top + 3, abs=0.01)


def test_a_line_may_be_as_wide_as_is_permitted() -> None:
    width = sans("We copy").width
    assert [line.words for line in wrap("We copy", width)] == ["We copy"]
    assert [line.words for line in wrap("We copy", width - 0.01)] == ["We", "copy"]


def test_scripts_stand_above_and_below_without_touching() -> None:
    x, *scripts = math("x_i^2").spans
    above, below = sorted(scripts, key=lambda span: span.dy)
    assert (above.text, below.text) == ("2", "i")
    assert above.dy < x.dy < below.dy
    assert above.size == below.size < x.size
    assert math("x^2_i") == math("x_i^2")


def test_letters_slant_and_the_rest_stands() -> None:
    runs = [(span.text, span.face.style) for span in math("2c + 16λ").spans]
    upright = [("2", "normal"), ("+", "normal"), ("16", "normal")]
    assert sorted(runs) == sorted([*upright, ("c", "italic"), ("λ", "italic")])


def test_bold_and_bar_mark_the_first_name_alone() -> None:
    label = math("x/s", bold=True, bar=True)
    assert [span.face.weight for span in label.spans] == [700, 400, 400]
    assert len(label.bars) == 1
    assert label.bars[0].x1 < label.spans[1].dx + 0.5


@pytest.mark.parametrize("typed", ["ȳ", "y\u0304", "y\u0305"])
def test_a_bar_may_be_typed(typed: str) -> None:
    assert math(typed) == math("y", bar=True)


def test_a_mathematical_letter_is_a_plain_letter_in_its_face() -> None:
    assert math("𝐱_𝜆") == math("x_λ", bold=True)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (math("x", bar=True), "x bar"),
        (math("n_b"), "n sub b"),
        (math("k^{-1/2}"), "k to the minus one half"),
        (math("n_b = n_1/4"), "n sub b equals n sub 1 over 4"),
        (math("L^Q", bold=True), "L superscript Q"),
        (math("L_+", bold=True), "L sub plus"),
        (math("28^2"), "28 squared"),
        (math("16×16"), "16 by 16"),
        (math("x̄_{λ+1}"), "x bar sub lambda plus 1"),
        (math("n_1_2^2_3"), "n sub 1 , 2 , 3 squared"),
        (math("x^{-1}"), "x to the minus 1"),
        (math("1/4"), "one quarter"),
        (math("1/5"), "1 over 5"),
        (math("x^3 - 1/2"), "x cubed minus one half"),
        (math("𝔼 cross-entropy"), "expectation cross-entropy"),
        (math("λ = 1 … N"), "lambda equals 1 to N"),
        (sans("a $k$-deep vector"), "a k-deep vector"),
        (sans("from $1 to $2 or $3"), "from $1 to $2 or $3"),
    ],
)
def test_a_label_can_be_said(label: Label, words: str) -> None:
    assert label.words == words


def test_letters_that_no_font_has_get_a_plausible_width() -> None:
    assert sans("漢字", 10).width == 20
    assert sans("🙂", 10).width == 10
    assert sans("ש", 10).width == 6
    assert math("漢", 10).width == 10


def test_nothing_typed_is_nothing_drawn() -> None:
    assert math("") == sans("") == Label((), (), 0, 0, 0, "")
    assert wrap("", 100) == ()


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("_^{}$ x1-*/λ\u0304"))))
def test_any_text_makes_a_label(text: str) -> None:
    for label in (math(text), math(text, bold=True, bar=True), sans(text), *wrap(text, 50)):
        assert label.width >= 0
        assert label.ascent + label.descent >= 0


@given(st.text(alphabet="abc wide"), st.floats(20, 200))
def test_lines_keep_every_word_and_the_width(text: str, width: float) -> None:
    lines = wrap(text, width)
    assert " ".join(line.words for line in lines).split() == text.split()
    assert all(line.width <= width or " " not in line.words for line in lines)


def test_only_the_faces_in_use_are_embedded_and_only_their_letters() -> None:
    css = font_faces((*math("k_λ").spans, *math("L", bold=True).spans))
    assert css.count("@font-face") == 2
    assert len(css) < 5000
    assert font_faces(()) == ""
    assert font_faces(sans("漢").spans).count("@font-face") == 1
    assert all_faces_css().count("@font-face") == len(FACES)


def test_threads_get_the_same_labels() -> None:
    with ThreadPoolExecutor(8) as pool:
        labels = list(pool.map(lambda size: math("x_i^2", 16 + size % 3), range(64)))
    assert labels == [math("x_i^2", 16 + size % 3) for size in range(64)]
