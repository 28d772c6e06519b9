"""The file of a presentation: which addresses make one."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import ncd
from ncd.app.host.presenter_endpoints import (
    HEADS,
    NONE,
    _scene,
    _slide_drawing,
    answer_slides,
    presentation_html,
    slides,
)
from ncd.errors import SizeError
from ncd.site import markup
from ncd.site.document import Slide
from ncd.systems.lessons.lesson import LETTERS, Lesson, LessonStep


def test_an_address_that_is_too_long_makes_no_file() -> None:
    view = "subtensors#"
    longest = view + "x" * (LETTERS - len(view))
    assert presentation_html(longest).count('class="slide"') == 1
    assert presentation_html(longest + "x") == ""


@pytest.mark.parametrize(
    ("query", "status", "kind", "words"),
    [
        ("views=subtensors", 200, "text/html", "<title>Subtensors</title>"),
        (f"views=yours&text={quote('b i -> i b')}", 200, "text/html", "<title>Yours</title>"),
        ("views=nothing", 404, "text/plain", NONE),
        ("", 404, "text/plain", NONE),
    ],
)
def test_the_file_is_sent_to_be_saved_or_there_is_none(
    query: str, status: int, kind: str, words: str
) -> None:
    found = TestClient(answer_slides).get(f"/presentation.html?{query}")
    assert found.status_code == status and words in found.text
    assert found.headers["Content-Type"].startswith(kind)
    saved = 'attachment; filename="presentation.html"' if status == 200 else None
    assert found.headers.get("Content-Disposition") == saved


def test_what_can_be_drawn_is_on_its_slide_or_else_the_usual_system() -> None:
    entry = ncd.catalogue["lenet"]
    part = ncd.Softmax("m:3")
    assert _slide_drawing(part, entry) == ncd.draw(part)
    assert _slide_drawing(None, entry) == ncd.draw(entry.build())

    def wrong(**knobs: int) -> ncd.Term:
        raise SizeError("wrong")

    assert _slide_drawing(None, replace(entry, system=wrong)) is None


def test_one_view_is_titled_like_its_system_and_several_are_a_presentation() -> None:
    assert "<title>Subtensors</title>" in presentation_html("subtensors")
    assert "<title>Presentation</title>" in presentation_html("subtensors;residual-block")


def test_a_view_has_its_title_facts_and_the_panel_that_stands_open() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    plain = slide("h=2&k=4")
    assert plain.panel == "" and not plain.hides_sizes
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
    assert covered.hides_sizes and covered.panel == ""
    heads = slide("h=3&with=panel&panel=Attention").panel
    assert heads.count("<img") == heads.count("<figcaption>") == 3
    assert slide("h=17&k=1&with=panel&panel=Attention").panel.count("<img") == HEADS


def test_a_size_that_does_not_fit_is_told_on_its_slide() -> None:
    wrong = "an image of 33 × 33 cannot be halved 4 times, as 33 is no multiple of 16. Try x = 32."
    assert slide("x=33", page="unet").facts == f"<p>{wrong}</p>"
    found = slide("", page="lora")
    assert found.title == ncd.catalogue["lora"].title and found.panel == ""
    assert slide("with=panel&panel=Attention", page="lora").panel == ""


def test_a_slide_keeps_what_is_selected_and_lit_in_its_view() -> None:
    found = slide(f"h=2&select={'n' * 21}&axes=k,zz,h")
    assert (found.select, found.caption) == ("n" * 20, "Said.")
    assert {*filter(None, found.axes.split(","))} == {"k", "h"}


@pytest.mark.parametrize(
    ("asked", "seed", "trained", "lengths", "y"),
    [
        ({}, 0, True, {}, 20),
        ({"seed": "5"}, 5, True, {}, 20),
        ({"seed": "x", "dark": "1", "quiz": "1", "labels": "both"}, 0, True, {}, 20),
        ({"input": "sentences", "text_y": "a b c"}, 0, False, {"y": 3, "x": 3}, 3),
        ({"input": "random", "labels": "both"}, 0, False, {}, 20),
        ({"k": "3"}, 0, False, {}, 20),  # no weights are of this size
    ],
)
def test_a_view_has_the_inputs_and_weights_of_its_page(
    asked: dict[str, str], seed: int, trained: bool, lengths: dict[str, int], y: int
) -> None:
    found = _scene(ncd.catalogue["multi-head-attention"], asked)
    assert found is not None and found.dark is False
    assert (found.seed, found.settings["y"], found.inputs_spec.lengths) == (seed, y, lengths)
    assert found.inputs_spec.trained == (found.loaded_weights is not None) == trained
    assert found.labels == (asked.get("labels", "names") if "quiz" not in asked else "names")


def slide(query: str, page: str = "multi-head-attention") -> Slide:
    (found,) = slides(Lesson((LessonStep(page, query, "Said."),)), "")
    return found
