"""Whatever is typed as a title, a name or a note stays text, in every file that is written."""

import shutil
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ncd
from tests.drawing.backends.test_tikz import compiled
from tests.support.html_files import whole

EVIL = '</script><b onload="x()">&amp;]]> \\undefined{ } % # ~ ^ _ é 漢'

LABEL = "<b onload='x()' &amp;]]\\undefined{}%^é"  # a name of an axis holds no such letters


@pytest.fixture(scope="module")
def term() -> ncd.Term:
    array = ncd.Array([ncd.Axis("e", 2, label=LABEL), ncd.Axis("m", 3)])
    return ncd.Block(ncd.Id(ncd.Type([array])) >> ncd.Softmax("m"), EVIL)


@pytest.fixture(scope="module")
def drawing(term: ncd.Term) -> ncd.Drawing:
    return ncd.draw(term, notes={EVIL: f"{EVIL} \x00\x1b\u2028"})


def test_the_svg_is_sound_and_has_no_element_of_theirs(drawing: ncd.Drawing) -> None:
    text = drawing.svg()
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}
    assert not tags & {"script", "b", "foreignObject"}
    assert "\\undefined{ }" in text and "<b" not in text


class Attributes(HTMLParser):
    """The names of all attributes, and how many scripts there are."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attrs}
        self.scripts += tag == "script"


def test_so_has_the_html(term: ncd.Term) -> None:
    found = Attributes()
    found.feed(whole(ncd.html(term)))
    assert found.scripts == 6 and "onload" not in found.names


def test_the_tex_has_no_command_of_theirs(drawing: ncd.Drawing) -> None:
    text = drawing.tex()
    assert "\\undefined" not in text and "undefined" in text
    for line in text.splitlines():
        assert line.isascii() or "é" in line


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")
def test_the_tex_compiles(drawing: ncd.Drawing, tmp_path: Path) -> None:
    assert compiled(drawing.tex(), tmp_path).startswith(b"%PDF")


def test_pdf_and_png_are_written(drawing: ncd.Drawing) -> None:
    assert drawing.pdf().startswith(b"%PDF") and drawing.png(1.0).startswith(b"\x89PNG")
