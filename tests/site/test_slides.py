"""The file of views: what is in it, what a list may say, and that every system can be in it."""

from html.parser import HTMLParser
from urllib.parse import quote

import pytest

import ncd
from ncd.app.host.presenter_endpoints import presentation_html
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import MAX_VIEWS
from tests.site.test_document import Balance

MHA = "multi-head-attention"


class Slides(HTMLParser):
    """The attributes of every slide, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attrs: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("class", "slide") in attrs:
            self.attrs.append(dict(attrs))
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def test_the_file_is_sound_and_asks_for_nothing() -> None:
    text = presentation_html(f"{MHA}?h=2;{MHA}?h=3&with=panel&panel=Source;residual-block")
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert "default-src 'none'" in text and "http-equiv" in text
    assert "<filter" not in text


def test_a_question_is_asked_and_its_answer_is_closed() -> None:
    text = presentation_html(f"{MHA}?h=2&ask=shape:v7;{MHA}?ask=parameters:h=8")
    first, second = Slides(text).texts
    found = question(ncd.catalogue[MHA], ncd.catalogue[MHA].settings({"h": 2}), "shape:v7")
    assert found and found.text in first and "What becomes of the 32,768 parameters?" in second
    one, other = text.split('class="slide"')[1:]
    for slide in (one, other):
        shown, closed = slide.split("<summary>The answer</summary>")
        assert found.explanation in closed or "twice as many" in closed
        assert found.explanation not in shown
    hidden = "an axis of the array that is asked for"
    assert (one.count(hidden), other.count(hidden)) == (3, 0)
    assert 'data-select="v7"' in one and "<summary>Show the sizes</summary>" in one


def test_a_slide_is_what_the_page_shows() -> None:
    views = (
        f"{MHA}?h=2&axes=k&select=n6#Two%20heads",
        f"{MHA}?h=3&with=panel&panel=Source",
        f"{MHA}?with=panel&panel=Attention&h=5",
    )
    text = presentation_html(";".join(views))
    found = Slides(text)
    assert [own["data-axes"] for own in found.attrs] == ["k", "", ""]
    assert found.attrs[0]["data-select"] == "n6" and "hidden" not in found.attrs[0]
    assert all("hidden" in own for own in found.attrs[1:])
    assert "Two heads" in found.texts[0] and "h 2" in found.texts[0]
    assert "class MultiHeadAttention" in found.texts[1] and "h: int = 3" in found.texts[1]
    assert "class MultiHeadAttention" not in found.texts[0]
    assert text.count("data:image/png") == 5  # a map for each head


def test_sentences_set_the_sizes_as_on_the_page() -> None:
    view = f"{MHA}?input=sentences&text_y={quote('The cat sat')}"
    assert "y 3" in Slides(presentation_html(view)).texts[0]


def test_a_question_stays_one() -> None:
    text = presentation_html(f"{MHA}?quiz=1&labels=sizes&with=panel&panel=Shapes")
    before, _, after = text.partition('<div class="drawing whole">')[2].partition("<details>")
    assert ">128<" not in before and "Show the sizes" in after


def test_what_cannot_be_built_says_why() -> None:
    entry = ncd.catalogue["residual-block"]
    assert len(Slides(presentation_html(f"{entry.name}?x=1&s=4")).texts) == 1


@pytest.mark.parametrize(
    "views",
    ["", "nothing", "../../etc/passwd", ";;;", "x" * 9000, "%00?h=%ff#%ff", "?h=2"],
)
def test_a_list_that_names_no_system_is_no_file(views: str) -> None:
    assert presentation_html(views) == ""


def test_a_list_is_bounded_and_escaped() -> None:
    assert len(Slides(presentation_html(";".join(["tensors"] * 60))).texts) == MAX_VIEWS
    evil = quote('</script><script>alert("x")</script>')
    text = presentation_html(f"{MHA}?axes={evil}&select={evil}&panel={evil}&h={evil}#{evil}")
    assert len(Slides(text).texts) == 1 and "<script>alert" not in text


@pytest.mark.catalogue
def test_every_system_can_be_presented() -> None:
    entries = list(ncd.catalogue.values())[:MAX_VIEWS]
    found = Slides(presentation_html(";".join(entry.name for entry in entries)))
    assert [own["aria-label"] for own in found.attrs] == [entry.title for entry in entries]
