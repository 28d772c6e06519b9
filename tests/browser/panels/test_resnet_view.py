"""The ResNet unfolds in place, and what is lit: feature maps and equations, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import ncd
from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser

RESNET = "/identity-resnet"
DOT = "/scaled-dot-product-attention"
CIRCUIT = ncd.elaborate(ncd.catalogue["identity-resnet"].build())
BLOCK = next(fence.id for fence in CIRCUIT.fences if fence.title.startswith("Block"))
INSIDE = next(cell.outputs[0].id for cell in CIRCUIT.cells if cell.path == "block_1.conv_2")
CONV = next(cell.outputs[0].id for cell in CIRCUIT.cells if cell.name == "conv")


def test_a_block_unfolds_in_place_and_so_do_its_feature_maps(page: Page, address: str) -> None:
    visit(page, address, f"{RESNET}?panel=Feature+maps")
    maps = page.locator(".features figure")
    expect(maps.first).to_be_visible()
    expect(page.locator(f".features [data-array={INSIDE}]")).to_have_count(0)
    page.locator(f".op[data-fence={BLOCK}] text").first.dblclick()
    expect(page.locator(f".drawing .wire[data-array={INSIDE}]").first).to_be_attached()
    expect(page.locator(f".features [data-array={INSIDE}]")).to_have_count(1)
    page.locator(f".sign[data-fold={BLOCK}]").first.click()
    expect(page.locator(f".op[data-fence={BLOCK}]")).to_be_visible()
    expect(page.locator(f".features [data-array={INSIDE}]")).to_have_count(0)


def test_a_feature_map_lights_its_wire_and_selects_it(page: Page, address: str) -> None:
    visit(page, address, f"{RESNET}?panel=Feature+maps")
    figure = page.locator(f".features [data-array={CONV}]")
    figure.hover()
    wire = page.locator(f".drawing .wire[data-array={CONV}]").first
    expect(wire).to_have_class(re.compile(r"\blit\b"))
    before = figure.locator("img").get_attribute("src")
    page.locator(".images button", has_text="2").click()
    expect(figure.locator("img")).not_to_have_attribute("src", str(before))
    figure.focus()
    page.keyboard.press("Enter")
    expect(figure).to_have_class(re.compile(r"\bchosen\b"))
    until_query(page, slices="b.1")


def test_a_part_of_the_equation_lights_its_op(page: Page, address: str) -> None:
    visit(page, address, DOT)
    part = page.locator(".paper > math mrow[data-node]").first
    node = part.get_attribute("data-node")
    part.hover()
    expect(page.locator(f".drawing .op[data-node={node}]")).to_have_class(re.compile(r"\blit\b"))
    page.locator(f".paper tr[data-node={node}]").focus()
    page.keyboard.press("Enter")
    expect(part).to_have_class(re.compile(r"\bchosen\b"))


def test_the_callouts_are_hidden_by_their_switch(page: Page, address: str) -> None:
    visit(page, address, "/multi-head-attention")
    expect(page.locator(".drawing .note")).to_have_count(5)
    page.get_by_label("callouts").uncheck()
    expect(page.locator(".drawing .note")).to_have_count(0)
