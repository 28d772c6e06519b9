"""Every exported file names its origin: system, settings, seed, link, version and licence."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import ncd
from ncd.__main__ import main
from ncd.cli.picture_files import FILES
from ncd.file_facts import facts_of_file, png_with_facts, tex_with_facts

ENTRY = ncd.catalogue["multi-head-attention"]
NASTY = {"title": "a\nb % \\end{} <!-- --> ]]> </metadata></script></ncd:about> é \u202e", "n": 1}
TERM = ncd.Id("m:3")


@pytest.mark.parametrize("kind", FILES)
def test_a_file_leads_back_to_its_page(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"x{kind}"
    argv = ["render", ENTRY.name, "--set", "h=2", "--set", "causal=1", "-o", str(file)]
    assert main(argv) == 0
    assert facts_of_file(file.read_bytes()) == {
        "system": ENTRY.name,
        "title": ENTRY.title,
        "source": ENTRY.source,
        "settings": ENTRY.settings({"h": 2, "causal": 1}),
        "seed": 0,
        "link": "/multi-head-attention?h=2&causal=1",
        "version": ncd.__version__,
        "licence": "MIT",
    }


def test_facts_of_any_text_are_read_back(tmp_path: Path) -> None:
    picture = ncd.draw(TERM)
    svg = ncd.serial.svg_with_term(picture.svg(), TERM, NASTY)
    tex, png = tex_with_facts(picture.tex(), NASTY), png_with_facts(picture.png(), NASTY)
    for text in (svg, tex, ncd.html(TERM, about=NASTY)):
        assert facts_of_file(text.encode()) == NASTY
    assert facts_of_file(png) == facts_of_file(picture.pdf(NASTY)) == NASTY
    assert tex.split("\n", 1)[1] == picture.tex()  # the facts are one line
    (tmp_path / "x.png").write_bytes(png)
    with Image.open(tmp_path / "x.png") as found:
        found.load()  # its checksums are right
        assert "title" in found.text["ncd"]


def test_a_file_without_facts_is_refused() -> None:
    picture = ncd.draw(TERM)
    said = "this file says nothing of its origin. Try a file that was exported here."
    texts = (picture.svg(), picture.tex(), ncd.html(TERM), "% ncd: [1]\n", "% ncd: {\n")
    for data in (picture.png(), picture.pdf(), b"", *(text.encode() for text in texts)):
        with pytest.raises(ncd.ParseError) as error:
            facts_of_file(data)
        assert str(error.value) == said


def test_equal_drawings_are_equal_files() -> None:
    assert ncd.draw(TERM).pdf(NASTY) == ncd.draw(TERM).pdf(NASTY)
