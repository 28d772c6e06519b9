"""Tiles that are dragged until the loop is refused, and the walk to flash attention by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_a_tile_is_dragged_until_it_is_refused_and_attention_becomes_one_pass(
    page: Page, address: str
) -> None:
    visit(page, address, "/flash-attention?panel=What+moves")
    moves = page.locator(".moves")
    expect(moves.locator("[role=status]")).to_contain_text("One loop moves")
    expect(moves.locator(".drawing .wire.fast.grouped.streamed")).to_have_count(0)
    assert moves.locator(".drawing .wire.fast.grouped").count() > 0
    assert moves.locator(".drawing .wire.fast.streamed").count() > 0
    moves.locator("input[data-set=group_of]").fill("3")
    expect(moves.locator(".cut").first).to_have_text("gy = 8")
    moves.locator("input[data-set=fast_memory]").fill("12")
    expect(moves).to_contain_text("fast memory 4,096 B")
    expect(moves.locator("[role=status]")).to_contain_text("One loop moves")
    moves.locator("input[data-set=group_of]").fill("6")
    expect(moves.locator("[role=alert]")).to_contain_text("Refused.")
    expect(moves.locator("[role=alert]")).to_contain_text("and there are 4,096")
    until_query(page, group_of="6", fast_memory="12")
    moves.get_by_role("button", name="Take these tiles").click()
    expect(moves.locator("[role=status]")).to_contain_text("One loop moves")
    expect(moves.locator("[role=alert]")).to_have_count(0)

    page.get_by_role("tab", name="From three passes to one").click()
    step = page.locator("input[data-set=flash_step]")
    expect(page.locator("h2", has_text="Three passes")).to_be_visible()
    step.focus()
    step.press("ArrowRight")
    expect(page.locator("h2", has_text="two passes")).to_be_visible()
    expect(page.locator(".moves [role=status]")).to_contain_text("✓")
    step.press("ArrowRight")
    expect(page.locator("h2", has_text="One pass")).to_be_visible()
    expect(page.locator("tr.chosen")).to_contain_text("0 to 7")
    step.press("End")
    expect(page.locator(".moves [role=status]")).to_contain_text("✓ After the last tile")
