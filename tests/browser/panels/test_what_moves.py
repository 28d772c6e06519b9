"""Tiles that are dragged until the loop is refused, and the walk to flash attention by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit
from tests.browser.waits import turn_to

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


MET = """([a, b]) => {
  const [one, other] = [a, b].map(e => e.getBoundingClientRect());
  return one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom;
}"""


def test_on_a_phone_a_chart_and_its_tables_are_not_covered_or_cut(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, address, "/identity-resnet?panel=Cost")
    chart = page.locator(".js-plotly-plot").first
    chart.scroll_into_view_if_needed()
    chart.hover()
    buttons = chart.locator(".modebar-container .modebar").first.element_handle()
    for place in (".g-gtitle", ".legend"):
        words = chart.locator(place).first.element_handle()
        assert not page.evaluate(MET, [buttons, words]), place
    turn_to(page, "/identity-resnet?panel=Shapes")
    cells = page.locator("[role=tabpanel] td:has(> .role)", has_text="Elementwise relu")
    expect(cells.first).to_be_visible()
    for cell in cells.all()[:3]:  # its colour stands beside the first word, not above it
        colour, first = cell.evaluate(BESIDE)
        assert abs(colour - first) < 6, (colour, first)
    turn_to(page, "/flash-attention?panel=What+moves")
    table = page.locator(".moves table", has_text="measured here")
    expect(table).to_be_visible()
    assert table.evaluate("e => e.getBoundingClientRect().right") <= 390


BESIDE = """cell => {
  const range = document.createRange(), text = cell.lastChild;
  range.setStart(text, 0);
  range.setEnd(text, 3);
  return [cell.querySelector(".role"), range]
    .map(e => e.getBoundingClientRect()).map(box => (box.top + box.bottom) / 2);
}"""
