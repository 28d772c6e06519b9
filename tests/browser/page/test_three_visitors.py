"""A newcomer, a lecturer and an engineer, each on their way through the app."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from ncd.app.host.presenter_endpoints import svg
from tests.browser.page.test_links import says
from tests.browser.waits import location

pytestmark = pytest.mark.browser
PREDICTION = ".st-key-prediction .predict"


def drawn(page: Page) -> None:
    expect(page.locator(".drawing svg .wire").first).to_be_attached()


def test_a_newcomer_drags_a_size_and_opens_a_system(page: Page, address: str) -> None:
    page.goto(address)
    heads = page.get_by_role("slider", name="h · heads")
    expect(page.get_by_text("4 heads of 16 features each")).to_be_visible()
    heads.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("5 heads of 16 features each: 40,960 parameters")).to_be_visible()
    page.get_by_role("button", name="Cut head 3").click()  # it says which verb it is
    expect(page.get_by_role("button", name="Put back head 3")).to_be_visible()
    expect(page.locator(".asked ins")).not_to_have_text("are")
    page.get_by_role("link", name="multi-head attention", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"/multi-head-attention\?panel=Step$"))
    drawn(page)
    section = page.get_by_test_id("stTopNavSection").filter(has_text="Attention").first
    expect(section).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Encoder block →").click()
    expect(page.get_by_role("heading", name="Encoder block")).to_be_visible()
    expect(page.get_by_role("link", name="← Multi-head attention")).to_be_attached()


def test_a_lecturer_gives_a_lesson_and_a_phone_follows(
    page: Page, address: str, browser: Browser
) -> None:
    page.goto(f"{address}/multi-head-attention")
    drawn(page)
    page.get_by_role("button", name="Lesson", exact=True).click()
    expect(page.locator("output.place")).to_have_text("1 / 7")
    expect(
        page.get_by_text("Every position of y looks at every position of x, in h")
    ).to_be_visible()
    page.keyboard.press("PageDown")  # as a clicker does
    question = page.locator(PREDICTION)
    expect(question).to_contain_text("What shape leaves Einsum scores?")
    expect(question.get_by_role("button")).to_have_count(5)

    page.get_by_role("button", name="QR code").click()
    code = page.get_by_role("dialog", name="This view on a phone")
    link = code.locator(".where").inner_text()
    assert link.startswith(f"{address}/multi-head-attention?")
    assert parse_qs(urlsplit(link).query)["ask"] == ["shape:v7"]
    assert "views" not in link and "present" not in link
    shown = page.request.get(str(code.locator("img").evaluate("image => image.src")))
    assert shown.body() == svg(link)  # which encodes this address and no other
    expect(code.locator(".warn")).to_contain_text("only known on this computer")
    page.keyboard.press("Escape")
    expect(code).to_be_hidden()

    phone = browser.new_page(viewport={"width": 390, "height": 844})
    phone.goto(link)
    asked = phone.locator(PREDICTION)
    asked.get_by_role("button", name=re.compile("^B")).click()
    expect(asked.get_by_role("status")).to_contain_text("Right.")
    assert phone.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    phone.close()

    page.keyboard.press("PageDown")  # the answer comes before the next view
    expect(question.get_by_role("status")).to_contain_text("It is B. Einsum, contracts k")
    expect(page.locator("output.place")).to_have_text("2 / 7")
    page.keyboard.press("PageDown")
    expect(page.locator("output.place")).to_have_text("3 / 7")
    expect(page.get_by_text("k is summed over, which is the dot product.")).to_be_visible()
    shared_and_saved(page, browser)


def shared_and_saved(page: Page, browser: Browser) -> None:
    """The lesson is edited, and comes back from a link and a file; a bad file is told so."""
    page.get_by_role("button", name="Views", exact=True).click()
    page.get_by_role("button", name=re.compile("^Remove: ")).last.click()
    expect(page.locator("output.place")).to_have_text("3 / 6")
    page.get_by_role("button", name="Copy a link to these views").click()
    expect(page.locator(".told")).to_contain_text("Copied")
    link = str(page.evaluate("navigator.clipboard.readText()"))
    assert "views=z." in link and len(link) < 1200
    other = browser.new_page()
    other.goto(link)
    expect(other.locator("output.place")).to_have_text("1 / 6")
    other.close()
    field = page.locator(".open input")
    bad = b'{"views": [{"page": "unnet"}]}'
    field.set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": bad})
    expect(page.locator(".told")).to_have_text("view 1: there is no page 'unnet'. Try unet.")
    saved = page.request.get(str(page.locator("a.kept").evaluate("link => link.href"))).body()
    assert saved.count(b'"page"') == 6
    field.set_input_files({"name": "b.json", "mimeType": "application/json", "buffer": saved})
    expect(page.locator("output.place")).to_have_text("1 / 6")


def test_an_engineer_finds_a_layer_and_shares_sizes(
    page: Page, address: str, browser: Browser
) -> None:
    page.goto(address)
    page.get_by_role("searchbox").fill("llama")
    page.locator(".cards a:visible").filter(has=page.get_by_text("Llama", exact=True)).click()
    drawn(page)
    sizes = page.get_by_placeholder("Type any size")
    sizes.fill("d_model=128 n=1")
    sizes.press("Enter")
    says(page, "m", "m 128")
    expect(page).to_have_url(re.compile("[?&]m=128"))
    sizes.fill("m=4.5")
    sizes.press("Enter")
    expect(page.get_by_text("m is a whole number: 4.5 became")).to_be_visible()
    expect(sizes).to_have_value("")  # it is emptied once its text was read
    sizes.fill("m=128")
    sizes.press("Enter")
    says(page, "m", "m 128")
    for size in ("m=128", "n=1"):
        expect(page).to_have_url(re.compile(f"[?&]{size}"))
    other = browser.new_page()
    other.goto(location(page))
    says(other, "m", "m 128")
    other.close()
