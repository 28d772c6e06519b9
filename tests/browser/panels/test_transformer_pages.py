"""The pages of transformers and norms, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_one_picker_leads_to_every_layer_head_and_kind(page: Page, address: str) -> None:
    visit(page, address, "/encoder-decoder?panel=Attention")
    expect(page.locator(".every h2")).to_have_count(6)
    expect(page.locator(".every button")).to_have_count(6 * 4)
    group = page.locator(".every h2", has_text="Decoder · layer 2 · Cross-Attention")
    group.locator("xpath=following-sibling::*[1]").locator("button").nth(2).click()
    expect(page.locator(".map .title.columns")).to_contain_text("h = 2")
    expect(page.locator(".map .frame")).to_have_attribute(
        "aria-label", re.compile("Cross-Attention, h = 2")
    )
    until_query(page, head="2")
    expect(page).to_have_url(re.compile("[?&]softmax=n"))


def test_the_averaged_axes_light_in_the_diagram(page: Page, address: str) -> None:
    visit(page, address, "/batch-norm?panel=Statistics")
    page.get_by_role("button", name="what batch norm averages over").click()
    expect(page.locator('.drawing .wire.lit[data-axis="b"]').first).to_be_visible()
    expect(page.locator('.drawing .wire.lit[data-axis="x"]').first).to_be_visible()
    expect(page.locator('.drawing .wire.lit[data-axis="c"]')).to_have_count(0)


def test_the_cache_turns_the_diagram_into_one_step(page: Page, address: str) -> None:
    visit(page, address, "/decoder-only-block?panel=KV%20cache")
    expect(page.locator(".content tbody tr")).to_have_count(12)
    page.get_by_text("Cache", exact=True).click()
    expect(page.get_by_text("Cached", exact=True).first).to_be_visible()
    until_query(page, cache="true")


def test_the_scripts_of_a_formula_can_be_read(page: Page, address: str) -> None:
    page.goto(f"{address}/scaled-dot-product-attention?panel=Equation")
    expect(page.locator(".paper table math").first).to_be_visible()
    least = page.locator(".paper math").evaluate_all(
        """all => Math.min(...all.flatMap(e => [...e.querySelectorAll("mi, mn, mo")])
        .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
    )
    assert least >= 9  # pixels, of a script at a script; what they stand at has 11 and more
