"""A map that is guessed at before it is seen, and a head that is switched off."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def cell(page: Page, row: int, column: int, size: int) -> None:
    """Clicks a cell of the map."""
    frame = page.locator(".map .frame")
    expect(frame).to_be_visible()
    box = frame.bounding_box()
    assert box
    across, down = box["width"] / size, box["height"] / size
    frame.click(position={"x": (column + 0.5) * across, "y": (row + 0.5) * down})


def test_a_guess_is_clicked_and_the_map_shown(page: Page, address: str) -> None:
    visit(page, address, "/reversal?sequence=abcdefghijkl&row=2")
    expect(page.get_by_role("heading", name="Where will row 2 look?")).to_be_visible()
    expect(page.locator(".readers img")).to_have_count(0)
    expect(page.locator(".map .ramp")).to_be_hidden()
    page.locator(".map").scroll_into_view_if_needed()
    cell(page, 2, 9, 12)
    expect(page.locator(".question")).to_contain_text("As you said.")
    expect(page.locator(".question")).to_contain_text("looks most at place 9, j")
    expect(page.locator(".readers")).to_contain_text(re.compile(r"mirror 0\.[89]"))
    expect(page.locator(".mark.guess")).to_have_count(1)
    until_query(page, sequence="abcdefghijkl", row="2", guess="9")
    page.get_by_role("button", name="Ask me another").click()
    expect(page.locator(".readers img")).to_have_count(0)


def test_a_guess_is_made_with_the_keyboard(page: Page, address: str) -> None:
    visit(page, address, "/reversal")
    frame = page.locator(".map .frame")
    expect(frame).to_be_visible()
    frame.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):  # the first stands on the first cell
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".question")).to_contain_text("You said place 2")
    expect(page.locator(".map .tip")).to_contain_text("weight")
    expect(frame).to_be_focused()


def test_the_answer_is_read_and_a_head_that_is_off_spoils_it(page: Page, address: str) -> None:
    visit(page, address, "/induction?guess=all")
    page.get_by_role("textbox", name="A sequence").fill("abcdeabcdeab")
    page.keyboard.press("Enter")
    status = page.get_by_role("status").filter(has_text="right here")
    expect(status).to_contain_text("7 of 7 right here")
    says = page.locator(".strip tr").nth(2)
    expect(says.locator("td.right")).to_have_text([f"{s}✓" for s in "bcdeabc"])
    page.get_by_role("switch", name="on: Layer 1").click()
    expect(page.get_by_role("switch", name="off: Layer 1")).to_have_attribute(
        "aria-checked", "false"
    )
    expect(status).to_contain_text("with 1 head off")
    expect(says.locator("td.wrong").first).to_be_visible()
    until_query(page, sequence="abcdeabcdeab", off="0", guess="all")


def test_what_is_typed_is_escaped(page: Page, address: str) -> None:
    visit(page, address, "/recall")
    page.get_by_role("textbox", name="A sequence").fill("<img src=x onerror=alert(1)>")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“<” is none of the symbols here")).to_be_visible()
    expect(page.locator(".strip img")).to_have_count(0)
