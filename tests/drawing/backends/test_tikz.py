"""TikZ and PDF: the same drawing for a paper."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import ncd
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.painting import Stroke, layers
from ncd.drawing.backends.tikz import latex
from ncd.drawing.elements.labels import math, roman, sans
from ncd.drawing.elements.primitives import Point, Text
from tests.drawing.figures.test_figures import FIGURES
from tests.support.sampling import sample

ENTRIES = list(ncd.catalogue.values())
HARD = [
    "100%",
    "{a}",
    "a\\b~^#$&",
    "漢字",
    "été",
    "x^2'",
    "a'^2",
    "",
    "_",
    "^",
    "Γ+ζ_1",
    "≝",
    "½ ☃",
]
needs_latex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")


def compiled(text: str, folder: Path) -> bytes:
    (folder / "figure.tex").write_text(rf"\pdfobjcompresslevel=0{text}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "figure.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "figure.pdf").read_bytes()


def page(pdf: bytes) -> tuple[float, float]:
    """The size of its one page, in points of a big inch."""
    (box,) = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    return float(box[0]), float(box[1])


@pytest.fixture(scope="module")
def attention() -> Drawing:
    return ncd.draw(ncd.catalogue["multi-head-attention"].build())


# --- LaTeX ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (math("x", bar=True), r"$\overline{x}$"),
        (math("k^{-1/2}"), "$k^{-1/2}$"),
        (math("L^Q", bold=True), r"$\mathbf{L}^{Q}$"),
        (math("c_{5-λ}"), r"$c_{5-{\lambda}}$"),
        (math("∗k"), "$*k$"),
        (math("qkv"), r"$\mathit{qkv}$"),
        (math("𝔼"), r"${\mathbb{E}}$"),
        (math("漢"), r"$\text{\itshape ?}$"),
        (roman("Max"), "Max"),
        (sans("50% & $n_b$", weight=700), r"\textsf{\textbf{50\% \& $n_{b}$}}"),
    ],
)
def test_a_label_is_text_in_the_document_s_font(label, text):
    assert latex(label) == text


def test_every_primitive_is_there(attention):
    text = attention.tex()
    parts = list(layers(attention))
    strokes = [part for part in parts if isinstance(part, Stroke)]
    assert text.count("\\node[") == len(attention.texts)
    assert text.count("ncd/dash]") == len(attention.dashes)
    assert text.count("draw=ncdedge,") == len(attention.fences)
    paper = replace(attention, palette="paper").tex()
    assert paper.count(",ncd/soft]") == len(attention.fences) and "draw=ncdedge" not in paper
    assert text.count("line width=.62pt,line cap=round]") == len(attention.wires)
    assert len(strokes) >= len(attention.wires) + len(attention.fences)
    assert r"{$\overline{x}$}" in text and r"{\textsf{Multi-Head Attention}}" in text


def test_the_picture_alone_can_be_put_in(attention):
    text = attention.tex(alone=False)
    assert text.startswith(r"\begin{tikzpicture}") and text.endswith("\\end{tikzpicture}\n")
    assert text in attention.tex()


@needs_latex
def test_it_compiles_to_one_page_of_its_size(attention, tmp_path):
    width, height = page(compiled(attention.tex(), tmp_path))
    points = 72 / 72.27 / 2  # in a drawing unit
    assert (width, height) == pytest.approx(
        (attention.box.width * points, attention.box.height * points), abs=0.1
    )


@needs_latex
@pytest.mark.slow
def test_systems_and_every_figure_compile(tmp_path):
    """In one document, for LaTeX takes long to begin."""
    systems = [ncd.draw(entry.build(), dark=True) for entry in sample(ENTRIES, 20, "tikz")]
    figures = [make().draw() for parts in FIGURES.values() for make in parts]
    pictures = "\\newpage\n".join(d.tex(alone=False) for d in (*systems, *figures))
    head = r"\documentclass{article}\usepackage{amsmath,amssymb,tikz}\begin{document}"
    data = compiled(f"{head}\n{pictures}\\end{{document}}\n", tmp_path)
    assert data.count(b"/Type /Page\n") == len(systems) + len(figures)


@needs_latex
def test_whatever_is_typed_compiles(attention, tmp_path):
    labels = [make(text) for text in HARD for make in (math, sans, roman)]
    texts = tuple(Text(label, Point(0, 20.0 * n)) for n, label in enumerate(labels))
    drawing = replace(attention, labels=texts)
    assert compiled(drawing.tex(), tmp_path).startswith(b"%PDF")


# --- PDF -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_a_pdf_is_one_page_with_its_own_letters(dark):
    drawing = ncd.draw(ncd.catalogue["multi-head-attention"].build(), dark=dark)
    data = drawing.pdf()
    assert data.startswith(b"%PDF") and data.count(b"/Type /Page\n") == 1
    assert page(data) == pytest.approx(
        (drawing.box.width * 0.75, drawing.box.height * 0.75), abs=0.1
    )
    fonts = set(re.findall(rb"/BaseFont /[A-Z]+\+(\w+)", data))
    assert fonts == {b"NCDRoman", b"NCDRomanItalic", b"NCDRomanBold", b"NCDSans"}
    assert len(data) < 40_000


def test_the_same_drawing_gives_the_same_pdf(attention):
    assert attention.pdf() == attention.pdf()
