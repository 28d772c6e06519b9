"""Every exported file names its origin: system, settings, seed, link, version and licence."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from PIL import Image

import ncd
from ncd.__main__ import main
from ncd.cli.output import FILES
from ncd.errors import short_repr
from ncd.write.file_facts import facts_of_file, onnx_with_facts, png_with_facts, tex_with_facts

ENTRY = ncd.catalogue["multi-head-attention"]
NASTY = {
    "title": "a\nb % \\end{} <!-- --> ]]> </metadata></script></ncd:about> é \u202e &lt;&amp;",
    "n": 1,
}
TERM = ncd.Id("m:3")


def test_files_are_titled(tmp_path: Path) -> None:
    """With the name that people search for, and at the size at which they are drawn."""
    entry, files = ncd.catalogue["residual-block"], {kind: tmp_path / f"x{kind}" for kind in FILES}
    for file in files.values():
        assert main(["render", entry.name, "-o", str(file)]) == 0
    for kind in (".svg", ".html"):
        assert f"<title>{entry.title}</title>" in files[kind].read_text()
    assert f"/Title ({entry.title})".encode() in files[".pdf"].read_bytes()
    with Image.open(files[".png"]) as found:
        assert found.info["dpi"] == pytest.approx((192, 192), abs=0.1)  # two pixels a unit
        assert found.text["Title"] == entry.title
        assert found.text["Description"].startswith("From (")
    model = onnx.load(files[".onnx"])
    assert (model.producer_name, model.producer_version) == (
        "neural-circuit-explorer",
        ncd.__version__,
    )
    (given,), (made,) = model.graph.input, model.graph.output
    term = entry.build()
    assert (given.doc_string, made.doc_string) == (str(term.dom), str(term.cod))


def test_a_module_of_ones_own_is_titled_by_its_place(tmp_path: Path) -> None:
    source = "from torch import nn\nnet = nn.Linear(3, 2)\n"
    (tmp_path / "model.py").write_text(source)
    place, file = f"{tmp_path / 'model.py'}:net", tmp_path / "x.svg"
    assert main(["import", place, "--inputs", "5x3", "-o", str(file)]) == 0
    assert f"<title>{place}</title>" in file.read_text()


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
    svg = ncd.write.term_json.svg_with_term(picture.svg(), TERM, NASTY)
    tex, png = tex_with_facts(picture.tex(), NASTY), png_with_facts(picture.png(), NASTY)
    for text in (svg, tex, ncd.html(TERM, about=NASTY)):
        assert facts_of_file(text.encode()) == NASTY
    assert facts_of_file(png) == facts_of_file(picture.pdf(NASTY)) == NASTY
    assert tex.split("\n", 1)[1] == picture.tex()  # the facts are one line
    (tmp_path / "x.png").write_bytes(png)
    with Image.open(tmp_path / "x.png") as found:
        found.load()  # its checksums are right
        assert "title" in found.text["ncd"]


@pytest.mark.parametrize("length", [127, 128, 129, 255, 256, 16_383, 16_384])
def test_facts_of_any_length_are_read_back_from_a_model(length: int) -> None:
    """Where their number of bytes needs one byte, two or three, and where its low bits are 0."""
    facts = {"title": "x" * (length - len('{"title": ""}'))}
    model = onnx.load_from_string(onnx_with_facts(b"", facts))
    (entry,) = model.metadata_props
    assert (entry.key, len(entry.value)) == ("ncd", length)
    assert facts_of_file(onnx_with_facts(b"", facts)) == facts


def test_a_file_without_facts_is_refused() -> None:
    picture = ncd.draw(TERM)
    said = "this file says nothing of its origin. Try a file that was exported here."
    cut_off = '% ncd: {"seed": 7}', '<metadata>{"about": {"seed": 7}, "term": ""}</metada'
    texts = (picture.svg(), picture.tex(), ncd.html(TERM), "% ncd: [1]\n", "% ncd: {\n", *cut_off)
    for data in (picture.png(), picture.pdf(), b"", *(text.encode() for text in texts)):
        with pytest.raises(ncd.ParseError) as error:
            facts_of_file(data)
        assert str(error.value) == said


def test_equal_drawings_are_equal_files_without_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or with the date that a build asks for, as distributions do."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    made = ncd.draw(TERM).pdf(NASTY)
    assert made == ncd.draw(TERM).pdf(NASTY) and b"CreationDate" not in made
    start = int(made[made.index(b"startxref") :].split()[1])
    assert made[start:].startswith(b"xref")  # its table is where it says
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = ncd.draw(TERM).pdf(NASTY)
    assert dated == ncd.draw(TERM).pdf(NASTY)
    assert b"/CreationDate (D:20231114221320Z" in dated


@pytest.mark.parametrize("seconds", ["9" * 30, "9" * 5000, "253402300800", "now", "-1e9"])
def test_a_date_that_no_calendar_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(ncd.ParseError) as error:
        ncd.draw(TERM).pdf()
    assert str(error.value) == (
        f"SOURCE_DATE_EPOCH is {short_repr(seconds)}, but it is the seconds since 1970. "
        "Try SOURCE_DATE_EPOCH=1700000000."
    )
