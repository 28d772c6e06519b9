"""Colours follow the system: in forced colours, and when its scheme changes on an open page."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waits import quiet, turn_to

pytestmark = pytest.mark.browser


def background(element: Locator) -> str:
    return str(element.evaluate("e => getComputedStyle(e).backgroundColor"))


def test_what_is_chosen_can_be_told_from_the_rest(page: Page, address: str) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(f"{address}/multi-head-attention?panel=Attention")
    expect(page.locator(".heads button")).to_have_count(4)
    quiet(page)
    for chosen, other in (
        (".stSidebar [aria-checked=true]", ".stSidebar [role=radio][aria-checked=false]"),
        (".labels label:has(:checked)", ".labels label:not(:has(:checked))"),
        (".heads [aria-pressed=true]", ".heads [aria-pressed=false]"),
    ):
        one, rest = page.locator(chosen).first, page.locator(other).first
        assert background(one) != background(rest)
        assert background(one) == page.evaluate(HIGHLIGHT)
    thumb = page.locator(".stSlider div:has(> [data-testid=stSliderThumbValue])").first
    track = thumb.locator("xpath=preceding-sibling::div")
    assert len({background(thumb), background(track), background(page.locator("body"))}) == 3


HIGHLIGHT = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style = "forced-color-adjust: none; background: Highlight";
  const found = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return found;
}"""


def test_drawings_and_maps_follow_the_scheme_of_the_system(page: Page, address: str) -> None:
    drawing = page.locator(".drawing.whole svg")
    painted = page.locator("canvas").first
    page.emulate_media(color_scheme="dark")
    page.goto(f"{address}/layer-norm?panel=Values")
    expect(page.locator(".drawing.whole svg.dark")).to_be_visible()
    expect(painted).to_be_visible()
    quiet(page)
    dark = painted.evaluate(PIXELS)
    page.emulate_media(color_scheme="light")
    expect(page.locator(".drawing.whole svg:not(.dark)")).to_be_visible()
    quiet(page)
    light = painted.evaluate(PIXELS)
    page.reload()
    expect(drawing).to_be_visible()
    expect(painted).to_be_visible()
    quiet(page)
    assert dark != light == painted.evaluate(PIXELS)
    turn_to(page, "/legend")  # a page without a diagram
    signs = page.locator("svg.dark")
    expect(page.get_by_role("heading", name="Legend", exact=True)).to_be_visible()
    expect(signs).to_have_count(0)
    page.emulate_media(color_scheme="dark")
    expect(signs).not_to_have_count(0)
    expect(page).to_have_url(f"{address}/legend")


PIXELS = "canvas => canvas.toDataURL()"
