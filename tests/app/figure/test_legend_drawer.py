"""The key as HTML, and the gallery's cards, without a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import ncd
from ncd.app.figure.legend_page import FAMILIAR_SIGNS, all_signs, legend_html
from ncd.app.page import gallery
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.legend.legend import COLOURS, SIGNS, legend_entries
from ncd.site.page_tables import picture
from tests.app.page.test_pages import opened
from tests.drawing.figures import vision

DATA = re.compile(r'data-(node|array|axis|fence|part)="([^"]*)"')


def drawn(name: str, **look: Any) -> Drawing:
    return ncd.draw(ncd.catalogue[name].build(), **look)


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    **{name: partial(drawn, name) for name in ncd.catalogue},
    "a marked op": partial(drawn, "residual-block", dark=True, mark="n2"),
    "memory, rows, notes, an equation": lambda: vision.unet().draw(),
}


@pytest.mark.few(20)
@pytest.mark.parametrize("make", DRAWINGS.values(), ids=DRAWINGS)
def test_what_a_row_lights_is_in_the_drawing(make: Callable[[], Drawing]) -> None:
    drawing = make()
    svg, html = drawing.svg(fonts=False), legend_html(drawing, drawing.dark)
    rows = re.findall(r'<li class="entry"([^>]*)>', html)
    assert len(rows) == len(legend_entries(drawing))
    for kind, ids in DATA.findall(html):
        for id in ids.split():
            assert (f'class="{id}"' if kind == "part" else f'data-{kind}="{id}"') in svg
    assert all(DATA.search(row) for row in rows)


def test_signs_that_everyone_knows_stand_last() -> None:
    drawing = drawn("encoder-block")
    titles = re.findall("<div><b>(.*?)</b>", legend_html(drawing, False))
    known = {sign.title for sign in FAMILIAR_SIGNS}
    first = next(n for n, title in enumerate(titles) if title in known)
    assert 0 < first < len(titles) - 1
    assert {*titles[first:]} <= known and not known & {*titles[:first]}
    others = [each.sign.title for each in legend_entries(drawing)]
    assert titles[:first] == [title for title in others if title not in known]


def test_the_colours_are_those_of_the_blocks() -> None:
    """A repetition has brackets, and no colour."""
    drawing = drawn("lstm")
    blocks = [fence for fence in drawing.fences if not fence.brackets]
    assert len(blocks) < len(drawing.fences)
    html = legend_html(drawing, False)
    (chips,) = re.findall('<p class="colours">(.*?)</p>', html)
    lit = [id for ids in re.findall('data-fence="([^"]*)"', chips) for id in ids.split()]
    assert sorted(lit) == sorted(fence.id for fence in blocks)


@pytest.mark.parametrize("sign", SIGNS.values(), ids=lambda sign: sign.name)
def test_a_picture_is_only_looked_at(sign) -> None:
    svg = picture(sign, False)
    assert svg.startswith('<svg aria-hidden="true"')
    assert not re.search(r"data-|tabindex|role=|<title|<style|<script", svg)


def test_other_sizes_are_the_same_key() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    one, two = (ncd.draw(entry.build(h=h)) for h in (4, 8))
    assert legend_html(one, False) is legend_html(two, False)


def test_what_is_written_in_a_term_cannot_become_html() -> None:
    term = ncd.Block(ncd.Linear("m:3 -> k:2", "Q"), "<script>", "linear")
    html = legend_html(ncd.draw(term), False)
    assert "<script" not in html


def test_the_legend_has_every_sign_and_colour() -> None:
    html = all_signs(False)
    assert html.count('<li class="entry"') == len(SIGNS)
    assert all(f'id="{name}"' in html for name in SIGNS)
    assert html.count('class="role"') == len(COLOURS)
    assert '<a href="residual-block">Residual block</a>' in html


@pytest.mark.parametrize("page", ["home", "legend"])
def test_the_pages_run(page: str) -> None:
    run = opened(f"pages/{page}.py")
    assert not run.exception
    assert run.title[0].value


def test_a_card_is_found_by_name_op_and_axis() -> None:
    card = gallery.card(ncd.catalogue["residual-block"], False)
    assert {"Batch norm", "Convolution", "Sum of two arrays"} <= {*card["ops"]}
    assert card["axes"] == ["b", "n_0", "x", "n_b", "n_1"]
    assert card["lead"].startswith("An image takes two paths")
    assert card["svg"].startswith('<svg aria-hidden="true"')
