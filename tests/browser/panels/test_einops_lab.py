"""A shape that is guessed, a line that is typed, one that is wrong; a digit that LeNet reads."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_a_shape_is_asked_for_before_it_is_shown(page: Page, address: str) -> None:
    visit(page, address, "/einops?asking=on")
    result = page.get_by_text("What comes out: shape")
    expect(page.get_by_text("Which shape comes out?")).to_be_visible()
    expect(result).to_have_count(0)
    page.get_by_role("button", name="576 96 3", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Not 576 96 3")).to_contain_text("96 576 3")
    expect(result).to_be_visible()
    page.get_by_role("button", name="space-to-depth", exact=True).first.click()
    expect(page.get_by_text("Which shape comes out?")).to_be_visible()
    page.get_by_role("button", name="6 12 48 48", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="✓ Right")).to_contain_text("6 12 48 48")
    until_query(page, pattern="10", asking="on")
    expect(page.locator(".drawing.whole")).to_contain_text("h1")


def test_a_wrong_line_is_told_where_and_a_right_one_is_drawn(page: Page, address: str) -> None:
    visit(page, address, "/einops")
    field = page.get_by_label("A line of einops")
    field.fill('rearrange(ims, "b h w -> h b w c")')
    field.press("Enter")
    expect(page.locator(".wrong mark")).to_have_text("c")
    expect(page.get_by_text("einops itself says")).to_be_visible()
    expect(page.locator(".wrong").last).to_contain_text("Identifiers only on one side")
    field.fill('repeat(ims[0], "h w c -> h (w n) c", n=3)')
    field.press("Enter")
    expect(page.get_by_text("What comes out: shape")).to_contain_text("96 288 3")
    expect(page.locator(".drawing.whole")).to_contain_text("n")  # the new axis is in the diagram
    expect(page).to_have_url(re.compile(r"call=repeat.*n=3"))


def test_lenet_learns_to_read(page: Page, address: str) -> None:
    visit(page, address, "/lenet?x=16&steps=300")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("digits right that it has not learned from")).to_contain_text(
        "It reads 2", timeout=120_000
    )
    page.get_by_role("tab", name="What it says").click()
    expect(page.get_by_text("as it goes in: 3 × 16 × 16 pixels")).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile(r"^Class \d"))).to_be_visible()
