"""The quiz as a class uses it: from a link, by the pointer, and by the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from ncd.circuit.circuit import array_names

pytestmark = pytest.mark.browser
ATTENTION = "/multi-head-attention"
CIRCUIT = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
NAMES = {name: id for id, name in array_names(CIRCUIT).items()}
SCORES, Q = NAMES["scores"], NAMES["q"]


def visit(page: Page, address: str, query: str) -> Locator:
    page.goto(f"{address}{ATTENTION}?{query}")
    expect(page.locator(".drawing svg").first).to_be_visible()
    return page.locator("form.quiz")


def field(page: Page) -> Locator:
    return page.get_by_label("What shape")


def address_says(page: Page, text: str) -> None:
    expect(page).to_have_url(re.compile(text))


def test_a_teachers_link_asks_for_a_wire_and_hides_sizes(page: Page, address: str) -> None:
    quiz = visit(page, address, f"quiz=1&select={SCORES}")
    expect(quiz.locator(".question")).to_have_text("What shape leaves Einsum scores?")
    wires = page.locator(f".drawing .wire[data-array={SCORES}]")
    expect(wires).to_have_count(3)
    expect(page.locator(f".drawing .wire.lit[data-array={SCORES}]")).to_have_count(3)
    expect(page.locator(f".drawing [data-array={SCORES}][data-axis]")).to_have_count(0)
    assert not re.search(r"size \d", page.locator(".drawing").first.inner_html())
    expect(page.locator(".chips .chip")).to_have_count(0)
    field(page).fill("y 20 x 22")
    field(page).press("Enter")
    expect(quiz.locator(".said")).to_have_text("You forgot h.")
    field(page).fill("y 20 x 22 k 16 h 4")
    quiz.get_by_role("button", name="Answer").click()
    expect(quiz.locator(".said")).to_have_text("k goes in, but does not leave here.")
    field(page).fill("y 20 x 22 h 4")
    field(page).press("Enter")
    expect(quiz.locator(".said")).to_contain_text("✓ y 20 · x 22 · h 4")
    expect(quiz.locator(".score")).to_have_text("0 of 1 at the first try")
    expect(page.locator(f".drawing .wire[data-array={SCORES}][data-axis=h]")).to_have_count(1)


def test_an_answer_is_clicked_together_and_a_wire_is_chosen(page: Page, address: str) -> None:
    quiz = visit(page, address, "")
    page.get_by_role("checkbox", name="quiz").check()
    address_says(page, "quiz=1")
    expect(quiz.locator(".question")).to_contain_text("Linear Q")
    wire = page.locator(f".drawing .wire[data-array={NAMES['v']}][data-axis=k]")
    wire.locator(".hit").click(force=True)
    expect(quiz.locator(".question")).to_contain_text("Linear V")
    address_says(page, f"select={NAMES['v']}")
    for axis in "xkh":
        quiz.get_by_role("button", name=re.compile(f"^add {axis} ")).click(force=True)
    expect(field(page)).to_have_value("x 22 k 16 h 4 ")
    field(page).press("Enter")
    expect(quiz.locator(".score")).to_have_text("1 of 1 at the first try")
    page.get_by_role("checkbox", name="quiz").uncheck()
    expect(quiz).to_have_count(0)
    expect(page.locator(".chips .chip").first).to_have_text("y 20")
    expect(page).not_to_have_url(re.compile("quiz"))


def test_a_round_by_the_keyboard_alone(page: Page, address: str) -> None:
    quiz = visit(page, address, f"quiz=1&select={Q}")
    field(page).focus()
    page.keyboard.type("y k h")
    page.keyboard.press("Enter")
    expect(quiz.locator(".said")).to_contain_text("✓")
    expect(quiz.get_by_role("button", name="Next wire")).to_be_focused()
    page.keyboard.press("Enter")
    expect(quiz.locator(".question")).to_contain_text("Linear K")
    expect(field(page)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(quiz.locator(".said")).to_contain_text("It is x 22 · k 16 · h 4")
    expect(quiz.locator(".score")).to_have_text("1 of 2 at the first try, 1 shown")
    page.keyboard.press("Escape")  # lets go of what is lit, and not of the question
    expect(quiz.locator(".question")).to_contain_text("Linear K")


def test_a_size_that_moves_asks_anew(page: Page, address: str) -> None:
    quiz = visit(page, address, f"quiz=1&select={Q}&panel=Shapes")
    field(page).fill("20 16 4")
    field(page).press("Enter")
    expect(quiz.locator(".said")).to_contain_text("✓")
    expect(page.locator("tr", has_text="Linear Q").locator("td").last).to_have_text(
        "y 20 · k 16 · h 4"
    )
    slider = page.get_by_role("slider", name=re.compile("features a head"))
    slider.focus()
    slider.press("ArrowRight")
    expect(field(page)).to_be_visible()
    expect(page.locator("tr", has_text="Linear Q").locator("td").last).to_have_text("?")


def test_no_file_answers_a_question(page: Page, address: str) -> None:
    visit(page, address, f"quiz=1&select={Q}")
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_text("Files tell sizes.")).to_be_visible()
    drawing = page.get_by_role("button", name="Drawing, SVG")
    expect(drawing).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="quiz").uncheck()
    expect(field(page)).to_have_count(0)
    page.get_by_role("button", name="Export").click()
    expect(drawing).to_be_visible()


def test_the_question_is_in_sight_with_its_wire(page: Page, address: str) -> None:
    """Also below a diagram that is as high as the window, and with what is said of an answer."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{address}/unet?quiz=1")
    wire = page.locator(".drawing .wire.lit .ink").first
    expect(wire).to_be_in_viewport()
    field(page).fill("nothing")
    field(page).press("Enter")
    said = page.locator("form.quiz .said")
    expect(said).to_contain_text("is no axis here")
    names = said.locator(".axis").all_inner_texts()
    assert len(names) == len(set(names)) > 5
    expect(page.locator("form.quiz")).to_be_in_viewport(ratio=1)
    expect(wire).to_be_in_viewport()
