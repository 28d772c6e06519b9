"""The puzzle of the notes solved by choosing, a number that is read, a picture cut otherwise."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_the_puzzle_is_solved_by_choosing_axes(page: Page, address: str) -> None:
    visit(page, address, "/memory-order?panel=Puzzle")
    said = page.get_by_role("status").filter(has_text="stand where they should")
    expect(said).to_contain_text("✗ 8 of 16")
    page.get_by_label("axis at place 0").select_option("h")
    expect(page.get_by_label("axis at place 1")).to_have_value("b")
    expect(said).to_contain_text("✓ Solved")
    expect(page.locator(".drawing [data-array]").first).to_be_visible()
    until_query(page, order="13")
    page.get_by_role("tab", name="Source").click()
    expect(page.locator(".code").first).to_contain_text("h b w c")


def test_a_number_in_the_table_is_found_in_memory(page: Page, address: str) -> None:
    visit(page, address, "/memory-order?order=13")
    page.get_by_role("button", name="12", exact=True).click()
    expect(page.get_by_text("its place in memory")).to_contain_text("0·2 + 1·8 + 0·1 + 1·4 = 12")
    until_query(page, read="5")
    page.get_by_label("read: number 5").press("ArrowRight")
    expect(page.locator(".cells td.touch")).to_have_text("9")


def test_a_picture_cut_in_the_wrong_order(page: Page, address: str) -> None:
    visit(page, address, "/memory-order?panel=Patches")
    said = page.get_by_role("status").filter(has_text="squares of the picture")
    expect(said).to_contain_text("✓ 16 of 16")
    page.get_by_role("button", name="q before W′").click()
    expect(said).to_contain_text("✗ 0 of 16")
    page.get_by_role("button", name="2 × 2").click()
    expect(said).to_contain_text("✗ 0 of 4")
    until_query(page, cut="strided", along="2")
