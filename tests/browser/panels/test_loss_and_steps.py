"""The pages on training in a real browser: what is picked in their panels moves the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser


def test_a_row_of_the_paths_chooses_the_step(page: Page, address: str) -> None:
    visit(page, address, "/optimisers")
    lines = page.locator("polyline")
    expect(lines).to_have_count(5)
    before = lines.last.get_attribute("points")
    page.get_by_role("button", name="Muon", exact=True).click()
    until_query(page, kind="4")
    expect(page.locator(".drawing svg")).to_contain_text("Orthogonal")
    expect(lines.last).not_to_have_attribute("points", str(before))
    page.get_by_role("slider", name=re.compile("^start up")).press("ArrowLeft")
    until_query(page, start_y="9")


def test_larger_scores_overflow_unless_the_loss_is_one_op(page: Page, address: str) -> None:
    visit(page, address, "/cross-entropy?panel=Overflow&times=0")
    row = page.locator("tr", has_text="softmax, then log")
    expect(row).to_contain_text("✓")
    expect(row).not_to_contain_text("✗")
    page.get_by_role("slider", name=re.compile("^scores times")).press("End")
    until_query(page, times="6")
    expect(row).to_contain_text("✗ inf")
    expect(page.locator("tr", has_text="cross_entropy")).not_to_contain_text("nan")
    page.get_by_role("tab", name="Loss").click()
    page.get_by_role("slider", name=re.compile("^temperature")).press("ArrowRight")
    until_query(page, t="3")
    expect(page.locator(".drawing svg")).to_contain_text("÷ 2")


def test_a_row_chooses_the_first_weights_and_sums_make_them_arrive(
    page: Page, address: str
) -> None:
    visit(page, address, "/initialisation")
    row = page.locator("tr", has_text="torch")
    expect(row).to_contain_text("both vanish")
    expect(page.locator("polyline")).to_have_count(10)
    page.get_by_role("button", name="Kaiming", exact=True).click()
    until_query(page, init="3")
    expect(page.locator("tr", has_text="Kaiming")).to_contain_text("both arrive")
    for name in ("Residual", "Norm"):
        page.get_by_text(name, exact=True).click()
    until_query(page, residual="true", norm="true")
    expect(row).to_contain_text("both arrive")
    expect(page.locator(".drawing svg")).to_contain_text("+")


def test_a_head_of_the_table_chooses_the_resnet(page: Page, address: str) -> None:
    visit(page, address, "/resnet?panel=Sizes")
    expect(page.locator(".drawing svg")).to_contain_text("Basic Block")
    page.get_by_role("button", name="50 layers", exact=True).click()
    until_query(page, depth="2")
    expect(page.locator(".drawing svg")).to_contain_text("Bottleneck")
    page.get_by_role("tab", name="Shortcuts").click()
    expect(page.locator(".content", has_text="through 16 blocks")).to_be_visible()


def test_a_loss_scale_makes_gradients_arrive_and_a_calculation_is_typed(
    page: Page, address: str
) -> None:
    visit(page, address, "/low-precision")
    content = page.locator(".content", has_text="Backward, in float16")
    expect(content).to_contain_text("Gradients vanish")
    scale = page.get_by_role("slider", name=re.compile("^loss scale"))
    for _ in range(2):
        scale.press("ArrowRight")
    until_query(page, s="2")
    expect(content).to_contain_text("The gradients arrive. The step divides by 65,536 again.")
    page.get_by_role("button", name="float8 E4M3", exact=True).first.click()
    until_query(page, format="e4m3")
    page.get_by_role("tab", name="Bits", exact=True).click()
    field = page.get_by_label("A calculation")
    field.fill("256 + 1")
    field.press("Enter")
    until_query(page, calculation="256 + 1")
    expect(page.locator("div", has_text=re.compile("^bfloat16.*256")).first).to_be_visible()
