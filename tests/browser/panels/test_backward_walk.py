"""The backward pass, step by step: the keyboard, the wire that is lit, and the switches."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_the_arrow_keys_walk_back_and_the_wire_lights(page: Page, address: str) -> None:
    page.goto(f"{address}/autograd")
    page.get_by_role("button", name="Step through the backward pass").click()
    expect(page.locator(".turns b")).to_have_text("Step 1 of 8")
    for at in range(2, 6):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".turns b")).to_have_text(f"Step {at} of 8")
    array = page.locator(".backward figure[data-array]").first.get_attribute("data-array")
    wires = page.locator(f'.whole .wire[data-array="{array}"]')
    expect(wires.first).to_have_class("wire lit chosen")
    expect(page.locator(".node.now")).to_contain_text("Einsum")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".turns b")).to_have_text("Step 4 of 8")
    expect(page.locator(".node.now")).to_contain_text("Map z")
    page.locator(".node", has=page.locator("text", has_text="Map square")).click()
    expect(page.locator(".turns b")).to_have_text("Step 3 of 8")
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".turns")).to_have_count(0)


def test_a_switch_makes_the_graph_smaller(page: Page, address: str) -> None:
    page.goto(f"{address}/autograd")
    nodes = page.locator(".graph-view .node")
    expect(nodes).to_have_count(8)
    x = page.get_by_role("switch", name="x")
    x.focus()
    page.keyboard.press("Space")
    expect(nodes).to_have_count(7)
    expect(x).to_have_attribute("aria-checked", "false")
    expect(x).to_be_focused()
    page.reload()
    expect(nodes).to_have_count(7)
    page.get_by_role("button", name="all on").click()
    expect(nodes).to_have_count(8)


def test_a_block_that_is_recomputed_saves_fewer_bytes(page: Page, address: str) -> None:
    page.goto(f"{address}/multi-head-attention?panel=Autograd")
    told = page.locator(".foot [role=status]")
    expect(told).to_contain_text("Measured")
    switch = page.get_by_role("switch", name="Scaled Dot-Product Attention")
    switch.click()
    expect(told).to_contain_text("instead of 50 kB")
    page.reload()
    expect(switch).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="Draw the backward pass").click()
    both = page.locator(".foot figure svg")
    expect(both).to_have_count(2)
    expect(both.last).to_contain_text("Attention'")
    expect(both.last).not_to_contain_text("weights")
    switch.click()
    expect(told).not_to_contain_text("instead of")
    expect(both.last).to_contain_text("weights 7.04 kB")
    page.get_by_role("button", name="Hide the backward pass").click()
    expect(both).to_have_count(0)


def test_a_budget_sets_what_the_layers_recompute(page: Page, address: str) -> None:
    page.goto(f"{address}/vit?panel=Autograd")
    slider = page.get_by_role("slider", name="budget")
    expect(slider).to_have_value("2")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    told = page.locator(".foot [role=status]")
    expect(told).to_contain_text("79.7 kB are saved instead of 132 kB")
    page.reload()
    expect(slider).to_have_value("1")
    expect(page.locator(".js-plotly-plot .scatter")).to_have_count(2)
    page.get_by_role("switch", name="Feed-Forward").click()
    expect(page.get_by_text("no point of the curve")).to_be_visible()
