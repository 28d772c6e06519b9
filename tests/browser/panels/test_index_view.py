"""An index, set in the panels of section 2.3: table, diagram and link follow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_the_number_of_a_row_sets_the_index(page: Page, address: str) -> None:
    visit(page, address, "/indexes")
    rows = page.locator(".cells .state").first.locator("tr")
    page.get_by_role("button", name="3", exact=True).click()
    expect(rows.nth(4).locator(".touch")).to_have_count(3)
    expect(page.locator(".cells .op.index")).to_have_text("3")
    expect(page.locator(".drawing .op").first).to_contain_text("3")
    until_query(page, i="3")


def test_the_slider_above_the_cells_goes_on_by_key(page: Page, address: str) -> None:
    visit(page, address, "/broadcasting?panel=Cells")
    slider = page.locator('.cut input[type="range"]')
    slider.focus()
    for place in (1, 0):
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".cells .op.index").first).to_have_text(str(place))
        expect(slider).to_be_focused()


def test_a_number_among_the_pairs_sets_both_indexes(page: Page, address: str) -> None:
    visit(page, address, "/subtensors?panel=Every+pair")
    page.get_by_title("i = 4, j = 6").click()
    expect(page.locator(".cells .touch")).to_have_count(1)
    expect(page.get_by_title("i = 4, j = 6").locator("xpath=..")).to_have_class("touch")
