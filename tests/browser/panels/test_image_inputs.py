"""Pictures in a real browser: drawn with the mouse, uploaded, and clicked patch by patch."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.page.test_visit import until_query, visit

pytestmark = pytest.mark.browser
VISUAL, DIGITS = "/visual-attention", "/image-recogniser"
Line = tuple[tuple[float, float], ...]
SEVEN: Line = ((0.25, 0.2), (0.75, 0.2), (0.45, 0.85))


def board(page: Page) -> Locator:
    """The canvas, once its script has named it and drawn what is known."""
    return page.locator(".board canvas[aria-label]")


def draw(page: Page, line: Line) -> None:
    """A line with the mouse, in shares of the canvas."""
    board(page).scroll_into_view_if_needed()
    box = board(page).bounding_box()
    assert box
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in line]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=8)
    page.mouse.up()


def ink(page: Page) -> float:
    """The share of the canvas that is drawn on."""
    share: float = board(page).evaluate("""canvas => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, i) => i % 4 === 3 && value > 127).length / (data.length / 4);
    }""")
    return share


def picture(page: Page, which: str) -> str:
    """The address of a picture of the panel."""
    return str(page.locator(f".{which} img").get_attribute("src"))


def test_what_is_drawn_goes_in_and_into_the_link(page: Page, address: str) -> None:
    visit(page, address, f"{DIGITS}?panel=Values&select=v0&input=drawing")
    assert ink(page) == 0
    draw(page, SEVEN)
    page.wait_for_url(re.compile("drawing=[0-9a-f]{24}"))
    expect(page.get_by_text("and a drawing")).to_be_visible()
    drawn = ink(page)
    assert 0.05 < drawn < 0.3
    page.reload()
    expect(board(page)).to_be_visible()
    page.wait_for_function("() => location.search.includes('drawing=')")
    assert ink(page) == pytest.approx(drawn, rel=0.1)


def test_strokes_are_taken_back_with_the_keyboard(page: Page, address: str) -> None:
    visit(page, address, f"{DIGITS}?panel=Values&input=drawing")
    draw(page, SEVEN)
    first = ink(page)
    draw(page, ((0.2, 0.9), (0.8, 0.9)))
    page.wait_for_url(re.compile(r"drawing=[0-9a-f]+\.[0-9a-f]+"))
    expect(board(page)).to_be_focused()
    page.keyboard.press("Backspace")
    page.wait_for_url(re.compile(r"drawing=[0-9a-f]+(&|$)"))
    assert ink(page) == pytest.approx(first, rel=0.01)
    page.keyboard.press("Delete")
    expect(page).not_to_have_url(re.compile("[?&]drawing="))
    assert ink(page) == 0
    expect(page.get_by_role("button", name="Clear")).to_be_disabled()


def test_a_click_on_a_patch_lays_its_weights_over_the_picture(page: Page, address: str) -> None:
    visit(page, address, VISUAL)
    asks, said = page.locator(".asks"), page.locator(".patches .words")
    expect(said).to_contain_text("Patch 5, 5 of 10 × 10")
    before = picture(page, "answers")
    box = asks.bounding_box()
    assert box
    asks.click(position={"x": 0.83 * box["width"], "y": 0.17 * box["height"]})
    expect(said).to_contain_text("Patch 1, 8 of 10 × 10")
    expect(page.locator(".answers img")).not_to_have_attribute("src", before)
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("Patch 2, 8 of 10 × 10")
    until_query(page, patch="2.8")
    one = picture(page, "answers")
    page.get_by_role("button", name="head 2").click()
    until_query(page, head="2")
    expect(page.locator(".answers img")).not_to_have_attribute("src", one)


def test_the_weights_of_a_patch_are_told_under_the_pointer(page: Page, address: str) -> None:
    visit(page, address, f"{VISUAL}?h=1&y=12&x=12")
    answers = page.locator(".answers")
    expect(page.locator(".patches .words")).to_contain_text("Patch")  # by the script that tells
    answers.locator("img").evaluate("image => image.decode()")
    box = answers.bounding_box()
    assert box
    total = 0.0
    for i in range(4):
        for j in range(4):
            at = {"x": (j + 0.5) * box["width"] / 4, "y": (i + 0.5) * box["height"] / 4}
            answers.hover(position=at)
            told = page.locator(".patches .tip").inner_text()
            assert told.startswith(f"patch {i}, {j}\n")
            total += float(told.rsplit(" ", 1)[1])
    assert total == pytest.approx(1, abs=0.01)


def test_an_uploaded_picture_goes_in_and_a_broken_one_is_refused(page: Page, address: str) -> None:
    visit(page, address, f"{VISUAL}?input=upload")
    before = picture(page, "asks")
    data = io.BytesIO()
    Image.radial_gradient("L").convert("RGB").save(data, "jpeg")
    box = page.get_by_test_id("stFileUploader").locator("input")
    box.set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": data.getvalue()})
    expect(page.locator("img[alt='the uploaded picture']")).to_be_visible()
    expect(page.locator(".asks img")).not_to_have_attribute("src", before)
    expect(page.get_by_text("and an uploaded picture")).to_be_visible()
    box.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": b"<svg/>"})
    expect(page.get_by_text("The file is no picture that can be read here")).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)
