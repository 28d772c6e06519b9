"""The file of a presentation: which addresses make one."""

from __future__ import annotations

import ncd
from ncd.export import markup
from ncd.export.page.slides import Slide
from ncd.lessons.lesson import LETTERS, Lesson, View
from ncd.view.server.slides_endpoint import HEADS, slides, written


def test_an_address_that_is_too_long_makes_no_file() -> None:
    view = "subtensors#"
    longest = view + "x" * (LETTERS - len(view))
    assert written(longest).count('class="slide"') == 1
    assert written(longest + "x") == ""


def test_one_view_is_titled_like_its_system_and_several_are_a_presentation() -> None:
    assert "<title>Subtensors</title>" in written("subtensors")
    assert "<title>Presentation</title>" in written("subtensors;residual-block")


def test_a_view_has_its_title_facts_and_the_panel_that_stands_open() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    plain = slide("h=2&k=4")
    assert plain.panel == "" and not plain.covered
    cost = ncd.cost(entry.build(h=2, k=4))
    assert f"{cost.parameters:,} parameters · {markup.flops(cost.flops)}" in plain.facts
    for title, words in (
        ("Source", "number-literal"),
        ("Shapes", "<table"),
        ("Cost", f"{cost.parameters:,}"),
        ("Attention", "rows are queries, columns keys"),
    ):
        assert words in slide(f"h=2&k=4&with=panel&panel={title}").panel, title
    assert slide("h=2&panel=Cost").panel == ""
    assert slide("with=panel&panel=Nothing").panel == ""
    covered = slide("h=2&with=panel&panel=Cost&quiz=1&labels=sizes")
    assert covered.covered and covered.panel == ""
    heads = slide("h=3&with=panel&panel=Attention").panel
    assert heads.count("<img") == heads.count("<figcaption>") == 3
    assert slide("h=17&k=1&with=panel&panel=Attention").panel.count("<img") == HEADS


def test_a_size_that_does_not_fit_is_told_on_its_slide() -> None:
    found = slide("", page="lora")
    assert found.title == ncd.catalogue["lora"].title and found.panel == ""
    assert slide("with=panel&panel=Attention", page="lora").panel == ""


def slide(query: str, page: str = "multi-head-attention") -> Slide:
    (found,) = slides(Lesson((View(page, query, "Said."),)), "")
    return found
