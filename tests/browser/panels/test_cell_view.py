"""One cell of a map, as a class asks for it: by the pointer, and by the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from tests.browser.page.test_visit import ATTENTION, made_by, until_query, visit
from tests.browser.waits import location

pytestmark = pytest.mark.browser


def told(page: Page) -> Locator:
    return page.locator(".maps .foot .arithmetic")


def frame(page: Page) -> Locator:
    """The frame of the map, once it is there for the keys and the pointer."""
    found = page.locator(".map .frame")
    expect(found).to_be_visible()
    return found


def asked(page: Page, cell: str) -> None:
    """Waits until the link says which cell is looked at."""
    expect(page).to_have_url(re.compile(f"[?&]{cell}(&|$)"))


def hint(page: Page) -> Locator:
    return page.get_by_text("Click a cell, or press Enter on it")


def figures(line: Locator) -> list[float]:
    """The numbers of a line of a table."""
    cells = [text.replace("together", "") for text in line.locator("td").all_inner_texts()]
    return [float(text.replace("−", "-")) for text in cells if text.strip()]


def test_a_weight_is_explained_and_closed_by_the_keyboard_alone(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?input=random arrays")
    expect(hint(page)).to_be_visible()
    frame(page).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    asked(page, "cell=1,1")
    expect(hint(page)).to_be_hidden()
    expect(told(page)).to_be_in_viewport()
    run = ncd.trace(*_run())
    weight = run.values[made_by("Softmax")][1, 1, 0].item()
    title = told(page).locator("h2")
    shown = float(title.inner_text().rpartition(":")[2])
    assert shown == pytest.approx(weight, rel=0.01)
    powers = told(page).locator("tr.strong", has_text="their sum")
    *weights, whole = figures(powers)
    assert sum(weights) == pytest.approx(1, abs=0.01) and whole == 1
    page.keyboard.press("Escape")
    expect(told(page)).to_be_hidden()
    expect(page).not_to_have_url(re.compile("[?&]cell="))
    expect(frame(page)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map .tip")).to_contain_text("query y")


def _run() -> tuple[ncd.CircuitModule, *tuple[object, ...]]:
    term = ncd.catalogue["multi-head-attention"].build()
    return ncd.compile(term, seed=0), *ncd.example_inputs(term, seed=0)


def test_the_row_leads_on_to_its_other_keys_and_lights_the_diagram(
    page: Page, address: str
) -> None:
    visit(page, address, f"{ATTENTION}?cell=3,5&causal=true&input=random arrays")
    masked = told(page).locator("tr", has_text="if x > y")
    expect(masked).to_contain_text("−∞")
    masked.hover()
    circuit = ncd.elaborate(ncd.catalogue["multi-head-attention"].build(causal=1))
    mask = next(cell.id for cell in circuit.cells if cell.op.role == "mask")
    expect(page.locator(f'.drawing .op.lit[data-node="{mask}"]').first).to_be_attached()
    told(page).locator("thead").get_by_role("button", name="2", exact=True).focus()
    page.keyboard.press("Enter")
    asked(page, "cell=3,2")
    expect(told(page).locator("h2")).to_contain_text("x = 2")
    expect(page.locator(".map .mark.looks")).to_have_count(1)
    page.reload()
    expect(told(page).locator("h2")).to_contain_text("x = 2")


def test_a_click_on_the_map_again_lets_go(page: Page, address: str) -> None:
    visit(page, address)
    frame(page).click(position={"x": 4, "y": 4})
    asked(page, "cell=0,0")
    expect(told(page)).to_be_visible()
    frame(page).click(position={"x": 4, "y": 4})
    expect(told(page)).to_be_hidden()


def test_a_convolution_shows_its_window_over_the_picture(page: Page, address: str) -> None:
    visit(page, address, "/lenet?panel=Values&select=v1")
    frame(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    asked(page, "number=0,0")
    windows = told(page).locator(".windows figure")
    expect(windows).to_have_count(3)
    pane = windows.first.locator(".whole i")
    expect(pane).to_be_visible()
    left, top, width, whole = pane.evaluate(
        "e => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.parentNode.offsetWidth]"
    )
    assert (left, top) == (0, 0) and width / whole == pytest.approx(5 / 32, rel=0.2)


def test_a_number_is_followed_back_to_where_it_came_from(page: Page, address: str) -> None:
    """From the output of a block with two affine maps to what goes in, a number at a time."""
    visit(page, address, "/pointwise-feed-forward?conv=0&panel=Values&number=1,2")
    link = "[data-pick^=behind]"
    for kind in ("Linear", "Elementwise", "Linear", "It is given"):
        expect(told(page)).to_contain_text(kind)
        number = told(page).locator(link).first
        if kind == "It is given":
            expect(number).to_have_count(0)
            break
        value, was = number.inner_text(), location(page)
        number.press("Enter")
        expect(page).not_to_have_url(was)
        expect(told(page).locator("h2")).to_contain_text(re.compile(f"{re.escape(value)}$"))
    until_query(page, select="v0")


def test_a_cell_of_a_pooled_map_is_its_first_number(page: Page, address: str) -> None:
    visit(page, address, "/scaled-dot-product-attention?y=300&x=20&panel=Attention")
    frame(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    asked(page, "cell=4,0")
    expect(told(page).locator("h2")).to_contain_text("y = 4")
    expect(told(page)).to_contain_text("2 numbers: rows 4 to 5, column 0. This is row 4, column 0.")


def test_the_arithmetic_is_usable_at_400_pixels(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    visit(page, address, f"{ATTENTION}?cell=3,5")
    expect(told(page)).to_be_visible()
    box = told(page).bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 400
