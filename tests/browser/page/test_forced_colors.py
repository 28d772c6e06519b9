"""In forced colours nothing is told by a background of ours alone."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waits import quiet

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
