"""The pages on training in a real browser: what is picked in their panels moves the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_a_row_of_the_paths_chooses_the_step(page: Page, address: str) -> None:
    visit(page, address, "/optimisers")
    lines = page.locator("polyline")
    expect(lines).to_have_count(5)
    before = lines.last.get_attribute("points")
    page.get_by_role("button", name="Muon", exact=True).click()
    until_query(page, kind="4")
    expect(page.locator(".drawing svg")).to_contain_text("Orthogonal")
    expect(lines.last).not_to_have_attribute("points", str(before))
    page.get_by_role("slider", name=re.compile("^start up")).press("ArrowLeft")
    until_query(page, start_y="9")


def test_larger_scores_overflow_unless_the_loss_is_one_op(page: Page, address: str) -> None:
    visit(page, address, "/cross-entropy?panel=Overflow&times=0")
    row = page.locator("tr", has_text="softmax, then log")
    expect(row).to_contain_text("✓")
    expect(row).not_to_contain_text("✗")
    page.get_by_role("slider", name=re.compile("^scores times")).press("End")
    until_query(page, times="6")
    expect(row).to_contain_text("✗ inf")
    expect(page.locator("tr", has_text="cross_entropy")).not_to_contain_text("nan")
    page.get_by_role("tab", name="Loss").click()
    page.get_by_role("slider", name=re.compile("^temperature")).press("ArrowRight")
    until_query(page, t="3")
    expect(page.locator(".drawing svg")).to_contain_text("÷ 2")
