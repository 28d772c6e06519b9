"""The key below a diagram, and the page of all signs, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from ncd.app.scene.scene import SUBSCRIPTS
from ncd.drawing.legend.legend import GROUPS, SIGNS, legend_entries
from tests.browser.waits import quiet

pytestmark = pytest.mark.browser


def opened(page: Page, address: str, path: str) -> Locator:
    """The key of a page, open, once the first run is over."""
    page.goto(f"{address}{path}")
    ended(page)
    drawer = page.locator(".key")
    drawer.locator("summary").click()
    return drawer


def ended(page: Page) -> None:
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def entry(drawer: Locator, sign: str) -> Locator:
    return drawer.locator(".entry").filter(
        has=drawer.page.get_by_text(SIGNS[sign].title, exact=True)
    )


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_the_key_lists_just_the_signs_of_the_diagram(page: Page, address: str, name: str) -> None:
    drawer = opened(page, address, f"/{name}")
    entry = ncd.catalogue[name]
    look = entry.look({})
    look["width"] = min(look["width"], SUBSCRIPTS * 860)  # of a window 1,280 pixels wide
    titles = {found.sign.title for found in legend_entries(ncd.draw(entry.build(), **look))}
    expect(drawer.locator(".entry svg")).to_have_count(len(titles))
    assert set(drawer.locator(".entry b").all_inner_texts()) == titles


def test_a_reader_finds_out_what_the_circle_is(page: Page, address: str) -> None:
    """It stands first in the key, in sight, and lights with the three circles."""
    drawer = opened(page, address, "/residual-block")
    norm = entry(drawer, "batchnorm")
    expect(norm).to_contain_text("A ring in the wire of the channels")
    expect(norm).to_contain_text("nn.BatchNorm2d")
    norm.hover()
    expect(page.locator(".drawing .op.lit")).to_have_count(3)
    ring = page.locator(".drawing .op", has=page.locator("circle.shape")).first
    ring.hover()
    expect(norm).to_have_class("entry lit")
    expect(drawer.locator(".entry.lit b").first).to_have_text("Batch norm")


def test_dashes_axes_and_blocks_light_as_well(page: Page, address: str) -> None:
    drawer = opened(page, address, "/residual-block")
    entry(drawer, "tuple").hover()
    expect(page.locator(".drawing .dash.lit")).to_have_count(1)
    entry(drawer, "spatial").hover()
    lit, double = page.locator(".drawing .wire.lit"), page.locator(".drawing .wire.double")
    expect(lit).to_have_count(double.count())
    drawer.locator(".colours span", has_text="residual component").hover()
    expect(page.locator(".drawing .fence.lit")).to_have_count(1)


def test_the_key_is_worked_from_the_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/residual-block")
    ended(page)
    page.locator(".key summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".key .entry").first).to_be_focused()
    expect(page.locator(".drawing .lit").first).to_be_attached()


def test_the_key_stays_open_when_a_knob_moves(page: Page, address: str) -> None:
    drawer = opened(page, address, "/multi-head-attention")
    expect(drawer).to_have_attribute("open", "")
    page.locator('.stSlider [aria-label^="h "] input[type=range]').first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".chip", has_text="h 5")).to_be_visible()
    expect(drawer).to_have_attribute("open", "")


def test_the_legend_has_all_signs_by_groups(page: Page, address: str) -> None:
    page.goto(f"{address}/legend")
    expect(page.locator(".entry b")).to_have_text([sign.title for sign in SIGNS.values()])
    expect(page.locator("h2")).to_have_text([*GROUPS, "Colours"])
    expect(page.locator(".entry .look svg")).to_have_count(len(SIGNS))


def test_menu_and_key_lead_to_the_legend_and_the_legend_back(page: Page, address: str) -> None:
    drawer = opened(page, address, "/residual-block")
    drawer.get_by_role("link", name="All signs").click()
    expect(page).to_have_url(f"{address}/legend")
    page.locator("#batchnorm").get_by_role("link", name="Residual block").click()
    expect(page.get_by_role("heading", name="Residual block")).to_be_visible()
    page.get_by_role("navigation", name="App pages").get_by_role("link", name="Legend").click()
    expect(page.get_by_role("heading", name="Legend", exact=True)).to_be_visible()


def test_the_letters_of_signs_can_be_read(page: Page, address: str) -> None:
    """As large as at 0.9 of a diagram, in whole pixels; wide ones beside words are smaller."""
    page.goto(f"{address}/legend")
    signs = page.locator(".content > .signs .look svg")
    for width, least in ((390, 0.85), (1280, 0.69)):  # at 0.69 letters of 16 have 11 pixels
        page.set_viewport_size({"width": width, "height": 844})
        expect(signs.first).to_be_visible()
        quiet(page)
        scale = "all => Math.min(...all.map((e) => e.clientWidth / e.viewBox.baseVal.width))"
        found = signs.evaluate_all(scale)
        assert found >= least, (width, found)
