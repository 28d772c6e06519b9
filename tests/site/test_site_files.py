"""The pages without a server: what they lead to."""

from __future__ import annotations

import json
import re

import pytest

import ncd
from ncd.cli.output import entry_facts
from ncd.drawing.legend.legend import SIGNS
from ncd.site.entry_page import card, markdown_html
from ncd.site.markup import mathml
from ncd.site.scripts import script
from ncd.site.site_files import START_JS, THEME_JS, entry_page, gallery, legend


def test_a_page_leads_to_the_systems_before_and_after_it() -> None:
    entries = [ncd.catalogue[name] for name in ("elementwise", "linear-algebra", "indexes")]
    first, middle, last = (entry.name for entry in entries)
    expected = [[(middle, "next")], [(first, "prev"), (last, "next")], [(middle, "prev")]]
    for entry, beside in zip(entries, expected, strict=True):
        page, _ = entry_page(entry, entries, entry_facts)
        assert re.findall(r'href="\.\./([^"/]+)/" rel="(\w+)"', page) == beside


def test_the_first_page_holds_the_cards_and_one_script_that_shows_them() -> None:
    """The app's script of the gallery is a module there, and a plain function here."""
    entry = ncd.catalogue["elementwise"]
    made = card(entry, entry.build(), ncd.draw(entry.build()))
    hostile = card(entry, entry.build(), ncd.draw(entry.build())) | {"title": "</script><b>"}
    page = gallery([made, hostile])
    (cards,) = re.findall(r'<script type="application/json" id="cards">(.*?)</script>', page)
    assert json.loads(cards) == [made, hostile]
    (js,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(re.findall(r"function gallery ?\(", js)) == 1 and "export" not in js
    assert js.endswith(script(THEME_JS, START_JS)[-100:]) and "import {" not in js


def test_the_legend_explains_every_sign_and_names_systems_with_it() -> None:
    entries = [ncd.catalogue[name] for name in ("elementwise", "indexes")]
    page = legend(entries, {entry.name: ncd.draw(entry.build()) for entry in entries})
    assert set(SIGNS) <= {*re.findall(r'<li[^>]* id="([^"]+)"', page)}
    used = re.findall(r'<p class="used">(.*?)</p>', page)
    assert used and all('href="../' in one for one in used)
    assert {link for one in used for link in re.findall(r'"\.\./([^/]+)/"', one)} == {
        "elementwise",
        "indexes",
    }


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("## A head\n\nOne\nline.", "<h2>A head</h2><p>One\nline.</p>"),
        ("- a\n- *b*", "<ul><li>a\n</li><li><i>b</i></li></ul>"),
        ("1. a\n2. **b**", "<ol><li>a\n</li><li><b>b</b></li></ol>"),
        (
            "[a](x) or [b](y?c=1) or [c](#d)",
            '<p><a href="../x/">a</a> or <a href="../y/?c=1">b</a> or <a href="../#d">c</a></p>',
        ),
        ("$n$ and $m$", f"<p>{mathml('n')} and {mathml('m')}</p>"),
        ("`a * b` * c", "<p><code>a * b</code> * c</p>"),
    ],
)
def test_the_prose_of_a_page_is_written_as_html(text: str, html: str) -> None:
    assert markdown_html(text, "../") == html
