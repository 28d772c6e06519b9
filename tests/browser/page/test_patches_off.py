"""The app with the public API of Streamlit alone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    """A server of its own, with all patches off."""
    with served(NCD_STREAMLIT_PATCHES="off") as address:
        yield address


def test_pages_open_and_sizes_move(page: Page, plain: str) -> None:
    page.goto(f"{plain}/multi-head-attention")  # the first visitor of the process
    page.locator(".chips", has_text="y 20").wait_for()
    page.get_by_role("slider", name="y · queries").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_url("**/multi-head-attention?y=24")
    expect(page.locator(".chips")).to_contain_text("y 24")
    page.get_by_role("tab", name="Shapes").click()
    expect(page.get_by_role("tabpanel", name="Shapes")).to_contain_text("24")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".chips")).to_contain_text("y 20")
    page.get_by_role("link", name="Residual block").first.evaluate("link => link.click()")
    page.wait_for_url("**/residual-block*")
    expect(page.locator(".drawing svg").first).to_be_visible()
    page.go_back()
    expect(page.locator(".chips")).to_contain_text("y 20")
    page.goto(f"{plain}/legend")
    expect(page.get_by_role("heading", name="Legend", level=1)).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
