"""No text that people see, or hear, has the marks that typesetting reads: no $, no TeX."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import ncd
from ncd.site.document import document
from ncd.site.entry_page import of_entry
from tests.support.html_files import whole

RAW = re.compile(r"\$|\\[a-zA-Z]+|[_^]\{")
UNSEEN = ("script", "style", "metadata")
SPOKEN = ("title", "aria-label", "aria-description", "alt", "placeholder")
ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)


class Seen(HTMLParser):
    """Collects what a page or picture shows and says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hidden, self.texts = 0, list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in UNSEEN
        self.texts += [value or "" for name, value in attrs if name in SPOKEN]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in UNSEEN

    def handle_data(self, data: str) -> None:
        self.texts += [] if self.hidden else [data]


def raw(text: str) -> list[str]:
    return [seen for seen in Seen(text).texts if RAW.search(seen)]


@pytest.mark.few(20)
@ENTRIES
def test_a_drawing_has_the_title_of_its_system_and_plain_words(entry: ncd.Entry) -> None:
    """However its blocks are called, and however they are collapsed."""
    term, look = entry.build(), entry.look({})
    for folded in ("auto", ()):
        drawing = ncd.draw(term, **look, folded=folded)
        svg = drawing.svg(fonts=False)
        assert Seen(svg).texts[0] == entry.title == drawing.title
        assert raw(svg) == []
        assert not RAW.search(drawing.description)
    for cell in ncd.elaborate(term).cells:
        assert not RAW.search(cell.description)


@pytest.mark.few(6)
@ENTRIES
def test_a_page_shows_and_says_plain_words(entry: ncd.Entry) -> None:
    system = of_entry(entry, entry.settings({}))
    assert raw(whole(document(entry.build(), title=entry.title, system=system))) == []


def test_what_was_wrong() -> None:
    """A numbered stage as the name of a button, a note in a picture, a formula aloud."""
    body = ncd.Map("m, m -> m", "$1 + $2") >> ncd.Linear("m -> m", "L") >> ncd.Softmax("m")
    stage = ncd.Wire("m -> m, m") >> ncd.Block(body, "Stage $1$") >> ncd.Scale("2")
    term = ncd.Axes(m=3)(stage)
    assert ">Stage 1</button>" in ncd.html(term)
    note = next(e for e in ncd.draw(term, notes={"Map": "$a$ and $b$"}).extras if e.kind == "note")
    assert note.words == "a and b"
    assert ncd.elaborate(term).cells[1].description.startswith("a + b, for every number of ")
