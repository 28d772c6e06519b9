"""While a slider is moved the diagram follows at once, and the page's run agrees in the end."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waits import next_frame

pytestmark = pytest.mark.browser

PAGE = "multi-head-attention"
HOLD = """() => { // notes each drawing, and each that a run of the page has sent
  const find = (root) => [...root.querySelectorAll("*")].map((e) => e.shadowRoot).find(
    (shadow) => shadow?.querySelector(".drawing.whole"));
  const name = '.chips button[data-axis="m"]';
  const chip = () => find(document).querySelector(name).textContent.trim();
  window.seen = [];
  window.told = 0;
  document.addEventListener("ncd-drawn", () => { told += 1; });
  new MutationObserver(() => seen.push(chip())).observe(
    find(document).querySelector(".chips"), { childList: true });
}"""


def opened(page: Page, address: str) -> None:
    page.goto(f"{address}/{PAGE}")
    expect(page.locator(".whole svg")).to_be_visible()
    expect(page.locator(".cost")).to_contain_text("on cpu")
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    page.evaluate(HOLD)


def test_the_diagram_follows_a_drag_before_the_slider_is_let_go(page: Page, address: str) -> None:
    opened(page, address)
    box = page.locator(".st-key-m input").locator("xpath=../..").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y, steps=4)
    chip = page.locator('.chips button[data-axis="m"]')
    expect(chip).not_to_have_text("m 128")
    line = page.locator(".cost")
    expect(line).not_to_contain_text("32,768 parameters")  # it follows as well
    assert page.evaluate("told") == 0
    expect(page).to_have_url(re.compile(f"{PAGE}$"))
    page.mouse.up()
    asked = page.locator(".st-key-m input[type=range]").input_value()
    expect(page).to_have_url(re.compile(rf"\?m={asked}$"))
    assert page.evaluate("told") > 0
    expect(chip).to_have_text(f"m {asked}")


def test_what_was_left_meanwhile_is_not_shown_again(page: Page, address: str) -> None:
    opened(page, address)
    page.locator(".st-key-m input").focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
        next_frame(page)
    expect(page).to_have_url(re.compile(r"m=136"))
    expect(page.locator('.chips button[data-axis="m"]')).to_have_text("m 136")
    numbers = [int(text.split()[-1]) for text in page.evaluate("seen")]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 136
