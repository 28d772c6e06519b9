"""The panels stand beside the diagram where there is room, and follow what is pressed in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.waits import quiet
from tools.load.page_fit import opened

pytestmark = pytest.mark.browser

SOFTMAX, KEYS = "n6", "n2"  # ops of multi-head attention


def place(part: Locator) -> FloatRect:
    found = part.bounding_box()
    assert found is not None
    return found


def press(page: Page, op: str) -> None:
    page.locator(f'.drawing.whole .op[data-node="{op}"]').click()


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("tab", name=name, exact=True)


def in_sight(page: Page, part: Locator) -> FloatRect:
    """Returns where a part stands; all of it is in the window, which is not scrolled."""
    assert page.locator(".stMain").evaluate("main => main.scrollTop") == 0
    found, size = place(part), page.viewport_size
    assert size is not None
    assert found["x"] >= 0 and found["x"] + found["width"] <= size["width"]
    assert found["y"] >= 0 and found["y"] + found["height"] <= size["height"]
    return found


@pytest.mark.parametrize(
    ("width", "height"), [(1440, 900), (1440, 720), (1920, 1080)], ids=lambda side: str(side)
)
def test_what_is_pressed_is_shown_beside_the_diagram(
    page: Page, address: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    fit = opened(page, f"{address}/multi-head-attention?panel=Cost")
    assert fit.text >= 10.9 and fit.aside <= 0, fit
    press(page, SOFTMAX)
    expect(tab(page, "Attention")).to_have_attribute("aria-selected", "true")
    map = page.locator(".map .frame")
    expect(map).to_be_visible()
    quiet(page)
    drawing = place(page.locator(".drawing.whole"))
    assert in_sight(page, map)["x"] > drawing["x"] + drawing["width"]
    press(page, KEYS)
    expect(tab(page, "Values")).to_have_attribute("aria-selected", "true")
    card = page.locator(".card")
    expect(card).to_contain_text("What it has learned, its weight")
    expect(card.locator("img").first).to_be_visible()
    quiet(page)
    assert in_sight(page, card.locator("img").first)["width"] > 20
    expect(card).to_contain_text("self.K = nn.Linear")
    assert place(page.locator(".drawing.whole")) == drawing  # nothing has moved


def test_a_tab_pressed_by_hand_stays_until_nothing_is_selected(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, f"{address}/multi-head-attention")
    press(page, KEYS)
    expect(tab(page, "Values")).to_have_attribute("aria-selected", "true")
    quiet(page)
    tab(page, "Source").click()
    expect(page.locator(".line.chosen").first).to_contain_text("self.K")
    quiet(page)
    press(page, SOFTMAX)
    expect(page.locator(".line.chosen").first).to_contain_text("softmax")
    expect(tab(page, "Source")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(page.locator(".line.chosen")).to_have_count(0)
    quiet(page)
    press(page, SOFTMAX)
    expect(tab(page, "Attention")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_where_there_is_no_room_the_panels_stand_below(
    page: Page, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    opened(page, f"{address}/multi-head-attention")
    drawing, panels = place(page.locator(".drawing.whole")), place(page.get_by_role("tablist"))
    assert panels["y"] >= drawing["y"] + drawing["height"]
    assert abs(panels["x"] - drawing["x"]) < 2


def test_on_a_narrower_window_the_panels_come_beside_when_the_sidebar_goes(
    page: Page, address: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, f"{address}/multi-head-attention")
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    drawing, tabs = page.locator(".drawing.whole"), page.get_by_role("tablist")
    page.wait_for_function(
        "() => document.querySelector('[role=tablist]').getBoundingClientRect().x > 700"
    )
    quiet(page)
    assert in_sight(page, tabs)["x"] > place(drawing)["x"] + place(drawing)["width"]


def test_a_drawing_in_a_panel_is_scrolled_rather_than_too_small_to_read(
    page: Page, address: str
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, f"{address}/broadcasting")
    drawn = page.get_by_role("tabpanel").locator(".tight .drawing > svg").first
    expect(drawn).to_be_visible()
    sizes = drawn.evaluate("""svg => [...svg.querySelectorAll("text")].map(
        (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)""")
    assert min(sizes) > 10.9
