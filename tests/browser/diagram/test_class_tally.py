"""A class answers: a projector opens a question, two phones answer, the bars follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.diagram.test_presenter import MHA, asked, settled_in
from tests.support.polling import until

pytestmark = pytest.mark.browser
VIEWS = f"{MHA}?ask=shape:v7;{MHA}?h=2;{MHA}?ask=parameters:h=8"


@pytest.fixture
def phones(browser: Browser) -> Iterator[list[Page]]:
    size = {"width": 390, "height": 844}
    contexts = [browser.new_context(viewport=size, has_touch=True) for _ in range(2)]
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


def bars(page: Page) -> list[int]:
    return [
        int(text) for text in page.locator(".class-bars li > span:last-child").all_inner_texts()
    ]


def test_the_diagram_is_whole_beside_the_bars_on_a_small_projector(
    page: Page, address: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{address}/{VIEWS.split(';')[0]}&present=1&views={asked(VIEWS)}")
    settled_in(page)
    lead, whole = page.locator(".st-key-lead"), page.locator(".drawing.whole").first
    expect(lead).to_be_visible()
    page.get_by_role("button", name="Ask the class").click()
    page.locator(".class-door").click()
    expect(page.locator(".class-count")).to_have_text("0 answers")
    expect(lead).to_be_hidden()  # the bars have its room
    until(lambda: whole.evaluate("e => e.scrollHeight - e.clientHeight") <= 1)
    shown = whole.locator("svg").first.bounding_box()
    box = whole.bounding_box()
    assert shown and box and shown["y"] + shown["height"] <= box["y"] + box["height"] + 1


def test_two_phones_answer_a_question_and_the_projector_shows_the_sums(
    page: Page, address: str, phones: list[Page]
) -> None:
    page.goto(f"{address}/{VIEWS.split(';')[0]}&present=1&views={asked(VIEWS)}")
    settled_in(page)
    page.get_by_role("button", name="Ask the class").click()
    expect(page.locator(".class-count")).to_have_text("0 answers")
    code = page.locator(".class-code").get_attribute("src") or ""
    (link,) = parse_qs(urlsplit(code).query)["text"]
    door = page.locator(".class-door")
    expect(door).to_have_class(re.compile("large"))  # for those in the last row
    expect(page.locator(".class-hint")).to_have_text("Click for the question and its bars")
    assert (
        page.locator(".class-link").inner_text().replace("\n", "") in link
    )  # its gaps are margins
    assert [len(text) for text in page.locator(".class-link span").all_inner_texts()] == [4, 4, 4]
    door.click()
    expect(door).not_to_have_class(re.compile("large"))
    expect(page.locator(".class-hint")).to_have_text("Click to enlarge")
    door.click()
    page.keyboard.press("Escape")
    expect(door).not_to_have_class(re.compile("large"))
    for phone in phones:
        phone.goto(link)
        expect(phone.get_by_role("heading")).to_contain_text("What shape leaves")
        expect(phone.locator(".answers button")).to_have_count(4)
    one, two = phones
    one.locator(".answers button").nth(0).click()
    two.locator(".answers button").nth(2).click()
    until(lambda: bars(page) == [1, 0, 1, 0])
    one.locator(".answers button").nth(2).click()  # thinks again
    expect(one.get_by_role("status")).to_contain_text("You have chosen C.")
    until(lambda: bars(page) == [0, 0, 2, 0])
    one.reload()  # is the same phone
    one.locator(".answers button").nth(1).click()
    until(lambda: bars(page) == [0, 1, 1, 0])
    assert "1" not in two.locator(".told").inner_text()  # no sums on phones
    page.get_by_role("button", name="Next view").click()  # shows the answer, and closes
    expect(page.locator(".class-count")).to_have_text("2 answers, closed")
    expect(page.locator(".class-code")).to_be_hidden()
    expect(one.get_by_role("heading")).to_have_text("The question is closed.")
    page.get_by_role("button", name="Next view").click()
    expect(page.locator(".tally")).to_be_hidden()
    page.get_by_role("button", name="Next view").click()
    expect(page).to_have_url(re.compile("ask=parameters"))
    settled_in(page)
    page.get_by_role("button", name="Ask the class").click()
    expect(one.get_by_role("heading")).to_contain_text("parameters")  # comes by itself
    one.locator(".answers button").nth(3).click()
    until(lambda: bars(page) == [0, 0, 0, 1])
