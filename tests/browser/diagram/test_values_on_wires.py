"""Values on the wires: chosen with one press, kept while a slider moves, opened by a press."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waits import quiet

pytestmark = pytest.mark.browser

LONG = 60_000


def pictures(page: Page) -> Locator:
    return page.locator(".drawing.whole .thumbnail")


def opened(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}")
    page.locator(".drawing.whole svg").wait_for(timeout=LONG)
    quiet(page)


def test_values_are_chosen_and_left_again(page: Page, address: str) -> None:
    opened(page, address, "multi-head-attention?callouts=off")
    assert not pictures(page).count()
    page.locator(".labels").get_by_text("values").click()
    expect(pictures(page)).to_have_count(9, timeout=LONG)
    page.wait_for_function("location.href.includes('labels=values')")
    names = [pictures(page).nth(n).get_attribute("aria-label") for n in range(9)]
    assert all(name and " numbers from " in name for name in names)
    page.locator(".labels").get_by_text("names").click()
    expect(pictures(page)).to_have_count(0, timeout=LONG)


def test_a_press_opens_the_array_among_the_values(page: Page, address: str) -> None:
    opened(page, address, "multi-head-attention?labels=values&callouts=off&panel=Values")
    page.locator('.thumbnail[data-array="v9"]').click()
    expect(page.locator('.thumbnail[data-array="v9"].chosen')).to_have_count(1, timeout=LONG)
    page.wait_for_function("location.href.includes('select=v9')")


def test_while_a_slider_moves_the_pictures_stay(page: Page, address: str) -> None:
    opened(page, address, "multi-head-attention?labels=values&callouts=off")
    expect(pictures(page)).to_have_count(9, timeout=LONG)
    page.evaluate("""() => {
      const every = [...document.querySelectorAll("*")].flatMap((e) => e.shadowRoot ?? []);
      const frame = every.map((root) => root.querySelector(".drawing.whole")).find(Boolean);
      window.fewest = Infinity;
      new MutationObserver(() => {
        const count = frame.querySelectorAll(".thumbnail image").length;
        window.fewest = Math.min(window.fewest, count);
      }).observe(frame, { childList: true });
    }""")
    slider = page.get_by_role("slider", name="k · features a head").first
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    quiet(page)
    assert page.evaluate("window.fewest") > 9


def test_on_a_phone_nothing_is_wider_than_the_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, address, "lenet?labels=values")
    expect(pictures(page).first).to_be_visible(timeout=LONG)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
