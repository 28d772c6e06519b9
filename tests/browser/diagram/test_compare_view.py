"""Two settings beside each other, by the keyboard alone, and as a link opens them."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from ncd.app.scene.pin import VIEWS
from tests.browser.page.test_visit import ATTENTION, slider, until_query, visit
from tests.browser.test_axe import found
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser


def act(page: Page, name: str) -> None:
    """Presses a button of the panel by the keyboard."""
    button = page.locator(".acts").get_by_role("button", name=name, exact=True)
    expect(button).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")


def facts(page: Page) -> Locator:
    return page.locator(".changes")


def differing(page: Page) -> set[str]:
    """The axes of the wires that are marked in both diagrams."""
    wires = page.locator(".two .drawing .wire[data-differs]")
    return set(wires.evaluate_all("wires => wires.map(wire => wire.dataset.axis)"))


def test_a_class_pins_a_setting_and_moves_a_knob(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Compare&callouts=off")
    act(page, "Pin this setting")
    expect(page.get_by_text("Both are alike.")).to_be_visible()
    slider(page, "h").focus()
    page.keyboard.press("ArrowRight")
    expect(facts(page)).to_contain_text("4 → 5")
    until_query(page, h="5", pin="h=4", panel="Compare", callouts="off")
    expect(page.locator(".two .drawing svg")).to_have_count(2)

    def marked() -> None:
        assert differing(page) == {"h"}

    to_pass(marked)
    inks = page.locator(".two .wire:is([data-differs], :not([data-differs])) .ink")
    strokes = set(inks.evaluate_all("inks => inks.map(ink => getComputedStyle(ink).stroke)"))
    assert len(strokes) == 2

    def scaled_alike() -> None:
        scales = page.locator(".two svg").evaluate_all(
            "all => all.map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
        )
        assert scales[0] == pytest.approx(scales[1], rel=0.02)

    to_pass(scaled_alike)
    act(page, "Cost")
    expect(page.locator(".ncd tfoot td").first).to_have_text("Total")
    act(page, "Source")
    expect(page.locator(".line.new")).to_have_count(1)
    act(page, "Swap")
    expect(facts(page)).to_contain_text("5 → 4")
    until_query(page, pin="h=5", compare="source", panel="Compare", callouts="off")
    act(page, "Unpin")
    expect(facts(page)).to_have_count(0)
    expect(page).not_to_have_url(re.compile("[?&]pin="))


def test_a_link_brings_both_back_with_maps_in_one_scale(page: Page, address: str) -> None:
    said: list[ConsoleMessage] = []
    page.on("console", lambda message: said.append(message))
    visit(page, address, f"{ATTENTION}?panel=Compare&compare=maps&pin=h=2,seed=3&callouts=off")
    expect(facts(page)).to_contain_text("2 → 4")
    ramps = page.locator(".maps .ramp:visible")
    expect(ramps).to_have_count(2)
    ends = ramps.all_inner_texts()
    assert ends[0] == ends[1]
    page.locator(".maps").nth(1).locator(".heads button").nth(1).focus()
    page.keyboard.press("Enter")
    pressed = page.locator('.maps .heads button[aria-pressed="true"]')
    expect(pressed).to_have_text(["h = 1", "h = 1"])
    until_query(page, head="1", pin="h=2,seed=3", compare="maps", panel="Compare", callouts="off")
    assert [message.text for message in said if message.type == "error"] == []


def test_another_page_shows_what_was_pinned_on_this_one(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Compare&callouts=off")
    act(page, "Pin this setting")
    expect(page.get_by_text("Both are alike.")).to_be_visible()
    page.get_by_test_id("stTopNavSection").filter(has_text="Attention").click()
    page.get_by_role("menuitem", name="Grouped queries", exact=True).click()
    expect(page.get_by_role("heading", name="Grouped queries")).to_be_visible()
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator(".two h2")).to_have_text(
        ["Pinned: Multi-head attention", "Now: Grouped queries"]
    )
    expect(page.locator(".two .drawing svg")).to_have_count(2)
    expect(facts(page)).to_contain_text("Cache of a token, bfloat16256 B → 128 B")
    expect(facts(page)).to_contain_text("32,768 → 40,960")
    told = page.locator(".ncd .content")
    expect(told).to_contain_text(
        "Multi-head attention is at other sizes: h = 4, not 8; y = 20, not 12; x = 22, not 12."
    )
    act(page, "Give it this page’s sizes")
    expect(facts(page)).to_contain_text("65,536 → 40,960")
    expect(told).to_contain_text(
        "Multi-head attention has this page’s sizes: h = 8, not 4; y = 12, not 20; x = 12, not 22."
    )
    expect(page.get_by_role("button", name="Give it this page’s sizes")).to_have_count(0)
    act(page, "Cost")
    expect(page.locator(".ncd tfoot td").first).to_have_text("Total")
    until_query(page, pin="multi-head-attention:h=8,y=12,x=12", compare="cost", panel="Compare")


def test_another_system_is_pinned_at_the_sizes_of_the_page(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Compare&callouts=off")
    page.get_by_label("Pin another system").select_option("grouped-queries")
    expect(page.locator(".ncd .content")).to_contain_text(
        "Grouped queries has this page’s sizes: q = 2, not 4; t = 20, not 12."
    )
    expect(facts(page)).to_contain_text("24,576 → 32,768")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, address: str, colours: str) -> None:
    scheme: Literal["light", "dark"] = "dark" if colours == "dark" else "light"
    page = browser.new_context(
        viewport={"width": 1280, "height": 720}, color_scheme=scheme
    ).new_page()
    visit(page, address, f"{ATTENTION}?panel=Compare&pin=h=2,causal=1&callouts=off")
    for view in ("diagrams", "source") if colours == "dark" else ("cost", "maps"):
        act(page, view.capitalize())
        expect(page.locator('.views [aria-pressed="true"]')).to_have_text(view.capitalize())
        assert found(page) == [], view
    page.context.close()


def test_on_a_phone_nothing_stands_out_of_the_page(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    visit(page, address, f"{ATTENTION}?panel=Compare&pin=h=2,k=8&callouts=off")
    for view in VIEWS:
        act(page, view.capitalize())
        expect(page.locator('.views [aria-pressed="true"]')).to_have_text(view.capitalize())
        page.wait_for_function("document.documentElement.scrollWidth <= 400")
    page.close()
