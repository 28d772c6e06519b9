"""Both ways trained side by side in a browser: seen on the way, and one curve in the end."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.polling import to_pass

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_both_are_seen_to_learn_the_same(page: Page, address: str) -> None:
    page.goto(f"{address}/module-or-function?h=16&compared=both%20the%20same&epochs=100")
    status = page.get_by_role("status")
    expect(status.filter(has_text="not trained yet")).to_have_count(2)
    page.get_by_role("button", name="Train both").click()
    expect(page.get_by_text("the same to the last bit")).to_be_visible(timeout=90_000)
    expect(status.filter(has_text="epoch 100 of 100")).to_have_count(2)
    for name in ("nn.Module", "torch.func"):
        bar = page.get_by_role("progressbar", name=f"epochs of {name}")
        expect(bar).to_have_attribute("value", "100")
    lines = page.locator(".js-plotly-plot").first.locator("path.js-line")

    def alike() -> None:
        one, other = (lines.nth(n).get_attribute("d") for n in range(2))
        assert one == other != ""

    to_pass(alike)


def test_both_are_stopped_while_they_learn(page: Page, address: str) -> None:
    page.goto(f"{address}/module-or-function?h=2048&epochs=3000")
    page.get_by_role("button", name="Train both").click()
    expect(page.get_by_role("status").filter(has_text="epoch ")).to_have_count(2, timeout=90_000)
    page.get_by_role("button", name="Stop").dispatch_event("click")  # without waiting for a rest
    expect(page.get_by_role("button", name="Train both")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("apart, from epoch 1")).to_be_visible()
    expect(page.get_by_text("epoch 3,000 of 3,000")).to_have_count(0)


def test_the_weights_become_wires(page: Page, address: str) -> None:
    page.goto(f"{address}/module-or-function?panel=Two%20codes")
    expect(page.get_by_text("641 parameters")).to_be_visible()
    page.get_by_role("radio", name="function", exact=True).click()
    expect(page.get_by_text("0 parameters")).to_be_visible()
    for code in page.locator(".listings .code").all():  # long lines go on below
        assert code.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    expect(page.get_by_text("def mlp_fn(x, w1, b1, w2, b2):")).to_be_visible()
