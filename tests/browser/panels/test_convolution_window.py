"""The window in a real browser: dragged, stepped and played, with its number written out."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.page.test_visit import slider, until_query, visit
from tests.support.polling import until

pytestmark = pytest.mark.browser
PAGE = "/convolution?x=16&filter=6&c=3&window=4.4"


def panel(page: Page) -> Locator:
    return page.locator(".ncd.window")


def numbers(page: Page) -> tuple[float, float]:
    """What the browser has added up, and what torch has computed."""
    data = panel(page).evaluate("e => [e.dataset.sum, e.dataset.result].map(Number)")
    return data[0], data[1]


def drag(page: Page, box: Locator, x: float, y: float) -> None:
    found = box.bounding_box()
    assert found
    page.mouse.move(found["x"] + found["width"] * 0.5, found["y"] + found["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(found["x"] + found["width"] * x, found["y"] + found["height"] * y, steps=4)
    page.mouse.up()


def test_the_window_moves_and_its_sum_is_the_number_of_the_map(page: Page, address: str) -> None:
    visit(page, address, PAGE)
    at = panel(page).locator(".at")
    expect(at).to_have_text("row 5, column 5")
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4) and ours != 0
    expect(panel(page).locator(".products div")).to_have_count(9)
    first = panel(page).locator(".products").inner_text()
    panel(page).get_by_role("button", name="blue").click()
    assert panel(page).locator(".products").inner_text() != first
    assert numbers(page) == (ours, theirs)

    drag(page, panel(page).locator(".taken .picture"), 0.99, 0.99)
    expect(at).to_have_text("row 16, column 16")
    until_query(page, window="15.15")
    drag(page, panel(page).locator(".made .picture"), 0.01, 0.51)
    expect(at).to_have_text("row 9, column 1")
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4)

    panel(page).locator(".made .picture").press("ArrowRight")
    expect(at).to_have_text("row 9, column 2")
    until_query(page, window="8.1")
    panel(page).get_by_role("button", name="The window before").click()
    expect(at).to_have_text("row 9, column 1")


def test_a_slider_beside_the_formula_is_the_knob(page: Page, address: str) -> None:
    visit(page, address, PAGE)
    panel(page).get_by_role("slider", name=re.compile("stride")).press("ArrowRight")
    expect(panel(page).locator(".formula")).to_contain_text("= 8")
    until_query(page, s="2")
    expect(slider(page, "s")).to_have_value("2")
    expect(panel(page).locator(".fallen-off")).to_have_count(2)
    panel(page).get_by_role("combobox", name="filter").select_option("blur")
    until_query(page, filter="3")


def test_the_pixels_are_marked_whose_copies_are_the_padding(page: Page, address: str) -> None:
    visit(page, address, f"{PAGE}&window=0.5")
    found = panel(page).locator(".taken .source")
    expect(found).to_have_count(0)
    panel(page).get_by_role("combobox", name="padding").select_option("reflect")
    until_query(page, mode="1")
    expect(found).to_have_count(3)  # the second row of the picture, for the row before the first
    places = found.evaluate_all("all => all.map((e) => [e.getAttribute('y'), e.getAttribute('x')])")
    assert places == [["2", "5"], ["2", "6"], ["2", "7"]]
    expect(panel(page).locator(".products div").first).to_have_attribute(
        "title", re.compile(r", the pixel of row 2, column 5$")
    )
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4)
    panel(page).get_by_role("combobox", name="padding").select_option("circular")
    expect(found.first).to_have_attribute("y", "16")


def test_a_tour_uncovers_the_map_number_by_number(page: Page, address: str) -> None:
    visit(page, address, PAGE)
    play = panel(page).get_by_role("button", name="Play")
    play.click()
    expect(panel(page).locator(".rest")).to_have_count(2)
    page.wait_for_function(
        """() => [...document.querySelectorAll("*")].map((e) => e.shadowRoot?.querySelector(".at"))
        .find(Boolean)?.textContent.startsWith("row 2")"""
    )
    panel(page).get_by_role("button", name="Pause").click()
    expect(panel(page).locator(".rest")).to_have_count(0)
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_transposed_convolution_is_a_window_over_pixels_apart(page: Page, address: str) -> None:
    visit(page, address, "/transposed-convolution?x=8&filter=3&window=5.4")
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4) and ours != 0
    expect(panel(page).locator(".products .pad")).to_have_count(9 - 2)
    expect(panel(page).locator(".fallen")).to_contain_text("1 or 2 windows: a checkerboard")
    drag(page, panel(page).locator(".made .picture"), 0.99, 0.99)
    expect(panel(page).locator(".at")).to_have_text("row 16, column 16")
    ours, theirs = numbers(page)
    assert ours == pytest.approx(theirs, abs=1e-4)
    panel(page).get_by_role("slider", name=re.compile("^stride")).press("ArrowLeft")
    until_query(page, s="1")
    expect(panel(page).locator(".formula")).to_contain_text("= 8")
    expect(panel(page).locator(".fallen")).to_contain_text("no checkerboard")


def test_a_place_of_the_result_shows_what_it_sees(page: Page, address: str) -> None:
    visit(page, address, "/receptive-field?n=2&x=16&seen_from=8.8")
    field = page.locator(".ncd.field")
    expect(field.locator(".foot")).to_contain_text("✓ By formula and by gradient it is the same 25")
    frame = field.locator(".taken .frame.in")
    expect(frame).to_have_attribute("x", "6")
    expect(frame).to_have_attribute("width", "5")
    heat = field.locator(".heat").get_attribute("src")
    drag(page, field.locator(".taken .picture"), 0.01, 0.01)
    expect(frame).to_have_attribute("width", "3")
    until_query(page, seen_from="0.0")
    expect(field.locator(".foot")).to_contain_text("the same 9 pixels")
    assert field.locator(".heat").get_attribute("src") != heat
    field.locator(".made .picture").press("ArrowDown")
    until_query(page, seen_from="1.0")


BESIDE = """(panel) => {
  const pictures = [...panel.querySelectorAll(".picture")];
  const [taken, made] = pictures.map((each) => each.getBoundingClientRect());
  const parts = [panel, ...panel.querySelectorAll(".fields")]; // a table may be cut as well
  const whole = parts.every((each) => each.scrollWidth <= each.clientWidth);
  return taken.top === made.top && taken.right < made.left && whole;
}"""


@pytest.mark.parametrize("path", ["/transposed-convolution", "/receptive-field"])
def test_the_result_stands_whole_beside_the_picture(page: Page, address: str, path: str) -> None:
    visit(page, address, path)
    for width, height in ((1280, 1024), (1440, 900), (1200, 1600), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        until(lambda: panel(page).evaluate(BESIDE))
