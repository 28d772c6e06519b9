"""The app with an unknown version of Streamlit, of which nothing private is used."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import started
from tests.browser.waits import location, quiet

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_without_patches_pages_open_and_sizes_move(page: Page) -> None:
    with started(NCD_STREAMLIT_PATCHES="off") as server:
        page.goto(server.address)
        quiet(page)
        for name, size in (("multi-head-attention", "h"), ("lstm", "t"), ("unet", "depth")):
            page.goto(f"{server.address}/{name}?panel=Shapes")
            slider = page.get_by_role("slider").first
            before = int(slider.get_attribute("aria-valuenow") or 0)
            slider.press("ArrowRight")
            expect(slider).not_to_have_attribute("aria-valuenow", str(before))
            quiet(page)
            expect(page.get_by_test_id("stException")).to_have_count(0)
            assert f"{size}=" in location(page)
