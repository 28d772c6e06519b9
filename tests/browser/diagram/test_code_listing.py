"""The code beside a diagram: where it stands, and what it lights."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waits import turn_to

pytestmark = pytest.mark.browser


def test_code_stands_beside_the_diagram_where_there_is_room(page: Page, address: str) -> None:
    page.goto(f"{address}/image-recogniser")
    code, drawing = page.locator(".listing"), page.locator(".whole svg")
    expect(code).to_be_visible()
    left, right = code.bounding_box(), drawing.bounding_box()
    assert left and right and left["x"] + left["width"] < right["x"]
    assert left["y"] < right["y"] + right["height"] / 2 < left["y"] + left["height"]
    line = code.locator(".line", has_text="F.relu(x)").first
    line.hover()
    op = page.locator(f".whole .op[data-node={line.get_attribute('data-node')}]")
    expect(op).to_have_class(re.compile(r"\blit\b"))
    page.set_viewport_size({"width": 390, "height": 844})
    expect(code).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(code).to_be_visible()
    turn_to(page, f"{address}/lenet")
    expect(page.get_by_role("heading", name="LeNet")).to_be_visible()
    expect(code).to_be_hidden()
