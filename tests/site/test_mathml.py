"""No text makes a formula that breaks a page or runs in it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd.installation import package_path
from ncd.site.markup import ATTRIBUTE, ELEMENT, LONGEST, mathml
from tests.support.html_files import whole

SCRIPT = r"\text{<script>document.title='x'</script>}"
HOSTILE = (
    SCRIPT,
    r"\text{<svg/onload=alert(1)>}",
    r"\href{javascript:alert(1)}{x}",
    r"\class{x}{y}\style{background:url(//x)}{z}\data{onclick=x}{w}",
    "</math><script>1</script>",
    '" onmouseover="x',
    "&lt;script&gt;",
)
BROKEN = ("", "%", "^", "_", "{", "}", "\\", r"\left(", r"\frac", "&", "\x00\x1b\ud800", "{" * 3000)


class Strict(HTMLParser):
    """Fails at an element, an attribute or an end tag that no formula has."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.said = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert ELEMENT.fullmatch(tag), tag
        assert all(ATTRIBUTE.fullmatch(name) for name, _ in attrs), attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def read(html: str) -> Strict:
    found = Strict()
    found.feed(html)
    found.close()
    assert found.open == [], html
    return found


@pytest.mark.parametrize("text", [*HOSTILE, *BROKEN], ids=lambda text: text[:20] or "empty")
def test_hostile_and_broken_text_stays_text(text: str) -> None:
    for block in (False, True):
        read(mathml(text, block=block))


@given(st.text(alphabet=r"\{}_^%&<>\"'#$~ abhrefstyl(1)", max_size=40))
def test_any_text_stays_text(text: str) -> None:
    read(mathml(text))


def test_the_text_of_a_script_is_shown() -> None:
    assert read(mathml(SCRIPT)).said == "<script>document.title='x'</script>"


def test_signs_are_kept() -> None:
    assert read(mathml(r"a \leq b \cdot \mathbf{L}")).said == "a≤b·𝐋"


def test_text_that_is_no_formula_is_shown_as_it_is() -> None:
    assert read(mathml(r"\left(")).said == r"\left("
    assert read(mathml("a" * (LONGEST + 1))).said == "a" * LONGEST
    assert "<mtext>" in mathml("a" * (LONGEST + 1)) and "<mtext>" not in mathml("a" * LONGEST)


class Attributes(HTMLParser):
    """Collects the names of attributes, the addresses, and the number of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attrs}
        self.scripts += tag == "script"


@pytest.mark.parametrize("text", [*HOSTILE, "%", "^", "_", "{", r"a\left(b"])
def test_no_text_of_a_term_becomes_markup_in_a_file(text: str) -> None:
    found = Attributes()
    found.feed(whole(ncd.html(ncd.Axes(a=2, b=3)(ncd.Id("a b") >> ncd.Named("a b", text)))))
    assert found.scripts == 6  # drawings, cards, formulas, values, term as data, code
    assert not [name for name in found.names if name.startswith("on") or name == "src"]


def test_formulas_are_converted_in_one_place() -> None:
    files = [p for p in package_path("ncd").rglob("*.py") if "latex2mathml" in p.read_text()]
    assert [path.name for path in files] == ["markup.py"]
