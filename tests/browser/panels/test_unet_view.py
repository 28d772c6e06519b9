"""The U-Net's page in a browser: notes of memory or wires, and pictures under their masks."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_switch_draws_what_is_handed_over_as_wires(page: Page, address: str) -> None:
    page.goto(f"{address}/unet")
    saved = page.locator(".drawing [data-fence^=save]").first
    expect(saved).to_be_visible()
    page.get_by_test_id("stCheckbox").get_by_text("Skips", exact=True).click()  # not of the prose
    expect(saved).to_be_hidden()
    expect(page.locator(".drawing.whole [aria-label^='Down Scale Block']")).to_have_count(4)
    expect(page).to_have_url(f"{address}/unet?skips=true")


def test_a_picture_is_chosen_and_training_is_one_click_away(page: Page, address: str) -> None:
    page.goto(f"{address}/unet?panel=Mask&depth=2&c=1")
    pictures = page.locator(".masks ~ .heads button")
    expect(page.locator(".masks figcaption")).to_have_text(
        ["The picture", "What the network finds"]
    )
    pictures.nth(3).click()
    expect(pictures.nth(3)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".masks figcaption")).to_have_count(3)
    expect(page).to_have_url(f"{address}/unet?depth=2&c=1&panel=Mask&masked=3")
    page.get_by_role("button", name="Train them").click()
    expect(page.get_by_role("tab", name="Training")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
