"""The search that every page has: by a key or the button, with the answers of the gallery."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import ncd
from tests.browser.page.test_links import ATTENTION, settled, visit

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    yield visit(page, address, ATTENTION)
    context.close()


def test_a_key_opens_it_and_enter_opens_what_is_found(page: Page) -> None:
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search for a page")
    expect(field).to_be_focused()
    options = page.get_by_role("option")
    expect(options).to_have_count(len(ncd.catalogue) + 3)  # and the first page, Legend and Yours
    field.fill("kv cache")
    first = options.first
    expect(first).to_contain_text(ncd.catalogue["decoder-only-block"].title)
    expect(first).to_have_attribute("aria-selected", "true")
    field.press("ArrowDown")
    second = options.nth(1)
    expect(second).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", str(second.get_attribute("id")))
    title = second.locator("b").inner_text()
    field.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    settled(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Multi-head attention")


def test_the_button_opens_it_and_escape_gives_the_page_back(page: Page) -> None:
    button = page.get_by_role("button", name="Search Ctrl K")
    button.click()
    field = page.get_by_role("combobox", name="Search for a page")
    field.fill("unett")
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text(
        "Nothing matches “unett”. The nearest: LeNet, U-Net"
    )
    expect(page.get_by_role("option")).to_have_count(0)
    field.press("Enter")  # there is nothing to open
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()


def test_a_press_opens_a_page(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search for a page").fill("lstm")
    page.get_by_role("option").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("LSTM")
    expect(page.get_by_role("dialog")).to_have_count(0)
