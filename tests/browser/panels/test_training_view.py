"""A run of training in a browser: begun, seen, ended, and its weights taken along."""

import re

import pytest
from playwright.sync_api import Page, expect
from safetensors.torch import load_file

pytestmark = pytest.mark.browser

# Where what stands below the curves has been; it must not jump.
WATCH = """() => {
  window.tops = new Set();
  const look = () => {
    const below = document.querySelector("[data-testid=stFileUploader]");
    if (below) tops.add(Math.round(below.getBoundingClientRect().top));
    requestAnimationFrame(look);
  };
  look();
}"""


def test_a_run_is_seen_and_what_it_learned_is_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/image-recogniser?n=512&steps=3000")
    status = page.get_by_role("status").filter(has_text="Not trained yet")
    expect(status).to_be_visible()
    expect(page.locator(".mistakes figure")).to_have_count(12)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    page.evaluate(WATCH)
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_role("status").filter(has_text="Step ").wait_for(timeout=60_000)
    page.get_by_role("figure", name="Loss of each batch: from").first.wait_for()
    expect(page).to_have_url(re.compile("trained=1"))
    page.reload()  # the run goes on, and the page finds it again
    page.get_by_role("status").filter(has_text="Step ").wait_for(timeout=60_000)
    page.evaluate(WATCH)
    page.get_by_role("button", name="Stop").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the weights").click()
    assert load_file(download.value.path())["L.weight"].shape == (512, 784)
    assert page.evaluate("tops.size") == 1
    page.get_by_role("tab", name="What it says").click()
    expect(page.get_by_text("trained for")).to_be_visible()


def test_what_a_run_learned_is_shown_in_whatever_panel_is_open(page: Page, address: str) -> None:
    page.goto(f"{address}/image-recogniser?n=64&steps=100")
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_role("tab", name="Values").click()
    expect(page.get_by_text("Weights trained for 100 steps")).to_be_visible(timeout=60_000)
