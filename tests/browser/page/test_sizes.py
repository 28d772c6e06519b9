"""What can be set, as a visitor has it: sizes typed and published, refusals, wild links."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from tests.browser.page.test_visit import ATTENTION, said, slider, until_query, visit
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser
expect.set_options(timeout=20_000)
LLAMA = ncd.catalogue["multi-head-attention"].preset("llama-3-8b").knobs
SHAPES = f"{ATTENTION}?panel=Shapes"


def field(page: Page) -> Locator:
    return page.get_by_label("Sizes, typed", exact=True)


def box(found: Locator) -> dict[str, float]:
    """Where something stands, once it is seen."""
    expect(found).to_be_visible()
    place = found.bounding_box()
    assert place is not None
    return dict(place)


def too_large(panel: str) -> str:
    return f"{ATTENTION}?panel={panel}&" + "&".join(f"{k}={v}" for k, v in LLAMA.items())


def test_any_legal_size_is_typed_and_stays_in_the_link(page: Page, address: str) -> None:
    visit(page, address, SHAPES)
    field(page).focus()
    page.keyboard.type("y=300 m=1,024; h 40")
    page.keyboard.press("Enter")
    expect(page.locator(".legend")).to_contain_text("h 40")
    expect(page.locator(".legend")).to_contain_text("m 1024")
    expect(field(page)).to_have_value("")
    until_query(page, y="300", m="1024", h="40")
    page.reload()
    expect(page.locator(".legend")).to_contain_text("h 40")
    slider(page, "h").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".legend")).to_contain_text("h 41")
    expect(slider(page, "h")).to_be_focused()


def test_published_sizes_are_chosen_by_the_keyboard(page: Page, address: str) -> None:
    visit(page, address, SHAPES)
    page.get_by_label("Sizes as published").focus()
    page.keyboard.type("vit")
    page.keyboard.press("Enter")
    expect(page.locator(".legend")).to_contain_text("y 197")
    expect(page.locator(".stSidebar")).to_contain_text("An Image is Worth 16x16 Words")
    until_query(page, h="12", k="64", m="768", y="197", x="197", panel="Shapes")
    slider(page, "h").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".legend")).to_contain_text("h 13")
    expect(page.locator(".stSidebar")).not_to_contain_text("An Image is Worth")


FOOT = "e => Math.max(...[...e.querySelectorAll('p')].map(p => p.getBoundingClientRect().bottom))"


def test_an_index_goes_as_far_as_its_axis(page: Page, address: str) -> None:
    visit(page, address, "/torch-multihead-attention?panel=Shapes")
    expect(slider(page, "pad")).to_have_attribute("max", "3")
    slider(page, "x").focus()
    page.keyboard.press("ArrowRight")
    expect(slider(page, "pad")).to_have_attribute("max", "4")
    ends = page.locator(".st-key-x [data-testid=stSliderTickBar]")  # shown while it has the focus
    expect(ends).to_have_css("opacity", "1")
    below = page.locator(".st-key-pad label")
    assert ends.evaluate(FOOT) <= below.evaluate("e => e.getBoundingClientRect().top")


def test_reset_keeps_the_page(page: Page, address: str) -> None:
    visit(page, address, f"{SHAPES}&h=300&seed=5&causal=1&select=axis:k")
    until_query(page, causal="true")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".legend")).to_contain_text("h 4")
    expect(page.get_by_role("tab", name="Shapes")).to_have_attribute("aria-selected", "true")
    expect(page).not_to_have_url(re.compile("[?&](h|seed|causal)="))
    expect(slider(page, "h")).to_have_attribute("max", "16")


@pytest.mark.few(1)
@pytest.mark.parametrize(("panel", "shown"), [("Cost", "Linear Q"), ("Source", "import torch")])
def test_what_is_too_large_is_still_told_and_a_button_makes_it_fit(
    page: Page, address: str, panel: str, shown: str
) -> None:
    visit(page, address, too_large(panel))
    refusal = page.locator(".st-key-refusal")
    expect(refusal).to_contain_text("2.2 TFLOP")
    expect(page.locator(".drawing .op.marked")).to_have_count(0)  # its sizes fit
    expect(page.get_by_role("tabpanel").filter(visible=True)).to_contain_text(shown)
    page.get_by_role("tab", name="Shapes").click()
    refusal.get_by_role("button", name="y = x = 1,024").click()
    expect(page.locator(".legend")).to_contain_text("y 1024")
    expect(refusal).to_have_count(0)


def test_a_refusal_moves_neither_the_diagram_nor_the_tabs(page: Page, address: str) -> None:
    visit(page, address, f"{SHAPES}&h=32&k=128&y=1024")
    places = [page.locator(".drawing svg"), page.get_by_role("tablist")]
    expect(page.locator(".content table")).to_be_visible()
    before = [box(place) for place in places]
    field(page).fill("y=9000 x=9000")
    field(page).press("Enter")
    expect(page.locator(".st-key-refusal")).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("y 9000")  # the last drawing

    def stayed() -> None:
        after = [box(place)["y"] for place in places]
        assert after == pytest.approx([place["y"] for place in before], abs=2)

    to_pass(stayed)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("seed=inf", {}),
        ("seed=1e400", {}),
        (f"head={'9' * 5000}", {}),
        ("h=-7", {"h": "1"}),
        ("h=%D9%A8", {"h": "8"}),
        ("causal=1", {"causal": "true"}),
        ("causal=True&y=abc", {"causal": "true"}),
        ("nothing=1&%3Cb%3E=2", {}),
        (f"k={'9' * 5000}", {}),
    ],
)
def test_the_link_holds_what_a_wild_one_became(
    page: Page, address: str, asked: str, left: dict[str, str]
) -> None:
    visit(page, address, f"{SHAPES}&{asked}")
    wanted = {"panel": "Shapes", **left}
    # Which heads there are, the panel knows that shows them.
    page.wait_for_url(
        lambda url: {**said(url), "head": ""} == {**wanted, "head": ""}, wait_until="commit"
    )
    expect(page.locator(".stException")).to_have_count(0)


def test_a_text_that_is_too_long_says_how_much_is_taken(page: Page, address: str) -> None:
    visit(page, address, f"{SHAPES}&input=sentences")
    text = page.get_by_label("A sentence, for y")
    text.fill("word " * 300)
    text.press("Control+Enter")
    expect(page.locator(".stSidebar")).to_contain_text("Only the first 256 of 300 words go in")
    expect(page.locator(".legend")).to_contain_text("y 256")


def test_nothing_lies_on_the_text_of_a_sentence(page: Page, address: str) -> None:
    visit(page, address, f"{SHAPES}&input=sentences")
    text = page.get_by_label("A sentence, for y")
    text.press("End")
    page.keyboard.type(" and it goes on for some more words than fit into the box at once")
    told = page.locator(".stTextArea [data-testid=InputInstructions]").first
    expect(told).to_be_visible()

    def above() -> None:
        assert box(told)["y"] + box(told)["height"] <= box(text)["y"] + 1

    to_pass(above)


@pytest.mark.few(1)
@pytest.mark.parametrize("panel", ["Attention", "Values"])
def test_a_word_of_400_letters_breaks_no_picture(page: Page, address: str, panel: str) -> None:
    text = quote(f"a {'w' * 400} b")
    visit(page, address, f"{ATTENTION}?panel={panel}&input=sentences&text_y={text}")
    expect(page.get_by_role("tabpanel").filter(visible=True)).to_contain_text("www…")
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    whole = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.outerHTML).join()")
    assert "Infinity" not in whole and "NaN" not in whole


def test_the_hint_of_the_mask_says_what_it_does(page: Page, address: str) -> None:
    visit(page, address, SHAPES)
    page.get_by_label("Help for Causal").focus()
    expect(page.get_by_role("tooltip")).to_contain_text("A query sees only the keys")
