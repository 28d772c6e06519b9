"""Section 2.4: the walk through figure 18, and the wire that is pulled straight."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def heights(page: Page) -> set[float]:
    """At which heights the wire of the stage runs."""
    d = page.locator(".stage path:not(.dash)").get_attribute("d") or ""
    return {round(float(point.split()[1])) for point in d.strip("M").split("L")}


def test_the_walk_goes_on_and_the_bent_wire_is_pulled_straight(page: Page, address: str) -> None:
    visit(page, address, "/linear-algebra")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".walk h2")).to_have_text("2. A bent wire is a wire")
    until_query(page, step="2")
    slider = page.locator(".walk input[type=range]")
    expect(slider).to_have_value("1000")  # it has been pulled
    assert len(heights(page)) == 1
    slider.fill("0")
    assert len(heights(page)) > 5
    page.get_by_role("button", name="Play").click()
    expect(slider).to_have_value("1000")
    assert len(heights(page)) == 1


def test_a_step_is_chosen_and_the_diagram_follows(page: Page, address: str) -> None:
    visit(page, address, "/linear-algebra?step=2")
    page.get_by_role("button", name="Shift an outer product").click()
    expect(page.locator(".walk [aria-current]")).to_have_text("Shift an outer product")
    expect(page.locator(".drawing.whole .note")).to_contain_text("Simultaneously broadcasting")
    before = page.locator(".walk td").first.inner_text()
    page.get_by_role("button", name="Another input").click()
    until_query(page, seed="1")
    expect(page.locator(".walk td").first).not_to_have_text(before)
    expect(page.locator(".walk [role=status]")).to_contain_text("✓")


def test_who_wants_no_motion_gets_none(browser: Browser, address: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    visit(page, address, "/linear-algebra?step=2")
    slider = page.locator(".walk input[type=range]")
    expect(slider).to_have_value("1000")
    seen = slider.evaluate(
        "slider => { const button = slider.closest('.walk').querySelector('.pull');"
        " button.click(); const one = slider.value; button.click(); return [one, slider.value]; }"
    )
    context.close()
    assert seen == ["0", "1000"]
