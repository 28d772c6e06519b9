"""Systems changed on their diagrams, by pointer and by keyboard: undone, passed on, and run."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from ncd.app.page.own_page import EXAMPLES
from ncd.app.state.link_text import compress_text
from tests.browser.page.test_links import visit
from tests.browser.waits import location, quiet

pytestmark = pytest.mark.browser
READY = 90_000  # milliseconds until the process that reads PyTorch has started
RUNS = re.compile(r"parameters? · .* on cpu")  # as the line under the diagram ends after a run


def op(page: Page, node: str) -> Locator:
    return page.locator(f'.drawing.whole .op[data-node="{node}"]')


def menu(page: Page, title: str) -> Locator:
    return page.get_by_role("toolbar", name="Change the diagram").get_by_role("button", name=title)


def by_pointer(page: Page, node: str, title: str, item: str = "") -> None:
    """Presses an op, a menu and an item of it."""
    op(page, node).click()
    menu(page, title).click()
    if item:
        page.get_by_role("menuitem", name=item, exact=True).click()


def by_keyboard(page: Page, node: str, title: str, item: str = "") -> None:
    """Selects an op, goes to the menus by E, and walks them by the arrow keys."""
    op(page, node).focus()
    page.keyboard.press("Enter")
    expect(menu(page, title)).to_be_visible()
    if not item:
        op(page, node).focus()
        return page.keyboard.press("Delete")
    page.keyboard.press("e")
    wanted = menu(page, title)
    for _ in range(6):
        if wanted.evaluate("each => each.matches(':focus')"):
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    asked = page.get_by_role("menuitem", name=item, exact=True)
    for _ in range(16):
        if asked.evaluate("each => each.matches(':focus')"):
            break
        page.keyboard.press("ArrowDown")
    return page.keyboard.press("Enter")


def of(name: str) -> str:
    return f"/yours?of={name}&folded=none"


def pasted(text: str) -> str:
    return f"/yours?text={quote(compress_text(EXAMPLES[text]))}&folded=none"


Edit = tuple[Callable[[Page, str, str, str], None], str, str, str, str, str]
EDITS: list[Edit] = [
    (by_pointer, of("multi-head-attention"), "n6", "Replace", "Sigmoid", "Softmax: Replace by"),
    (by_keyboard, of("multi-head-attention"), "n5", "Remove", "", "Remove Scale"),
    (by_pointer, of("residual-block"), "n1", "Replace", "GELU", "relu: Replace by GELU"),
    (by_keyboard, of("swiglu"), "n2", "Replace", "Tanh", "silu: Replace by tanh"),
    (by_pointer, of("lenet"), "n6", "Remove", "", "Remove Elementwise relu"),
    (by_keyboard, of("rotary"), "n15", "Insert", "Dropout", "Insert dropout on"),
    (by_pointer, of("gpt-2"), "n14", "Remove", "", "Remove Scale"),
    (by_pointer, pasted("A small network"), "n1", "Replace", "SiLU", "relu: Replace by SiLU"),
    (by_keyboard, pasted("A small network"), "n1", "Remove", "", "Remove Elementwise relu"),
    (by_keyboard, pasted("LeNet"), "n4", "Replace", "ReLU", "tanh: Replace by ReLU"),
    (by_pointer, pasted("Grouped queries"), "n5", "Insert", "Dropout", "Insert dropout on"),
    (by_keyboard, pasted("Grouped queries"), "n4", "Remove", "", "Remove Scale"),
]


DERIVATIONS = [  # a page, the name of its derivation, and words of each of its sentences
    (
        "linear-attention",
        "Linear attention",
        ("one product of three arrays", "grows with the length"),
    ),
    ("lora", "A low-rank adapter merged", ("one map, whose weights are", "costs nothing")),
]


@pytest.mark.parametrize(("name", "title", "sentences"), DERIVATIONS)
def test_a_derivation_is_walked_law_by_law(
    page: Page, address: str, name: str, title: str, sentences: tuple[str, ...]
) -> None:
    """From the page of the system, by redo; each law says its sentence, and that it holds."""
    page.goto(f"{address}/{name}")
    link = page.get_by_role("link", name=re.compile(f"{title}.*, law by law"))
    page.goto(f"{address}/{link.get_attribute('href', timeout=READY)}")
    difference, redo = page.locator(".difference"), page.get_by_role("button", name="Redo")
    expect(difference).to_contain_text(f"in {len(sentences)} laws", timeout=READY)
    for sentence in sentences:
        expect(page.locator(".cost")).to_have_text(RUNS)
        quiet(page)
        redo.click()
        expect(difference).to_contain_text(sentence)
        expect(difference).to_contain_text("largest difference")
    expect(redo).to_be_disabled()


@pytest.mark.parametrize(("way", "path", "node", "title", "item", "label"), EDITS)
def test_an_edit_runs_and_is_undone(
    page: Page,
    address: str,
    way: Callable[[Page, str, str, str], None],
    path: str,
    node: str,
    title: str,
    item: str,
    label: str,
) -> None:
    page.goto(address + path)
    expect(op(page, node)).to_be_visible(timeout=READY)
    quiet(page)
    expect(page.locator(".cost")).to_contain_text("parameters")
    before = page.locator(".drawing.whole > svg").evaluate("each => each.outerHTML.length")
    way(page, node, title, item)
    difference = page.locator(".difference")
    expect(difference).to_contain_text(label)
    expect(difference).not_to_have_class(re.compile("wrong"))
    expect(page.locator(".cost")).to_have_text(RUNS)
    expect(page).to_have_url(re.compile("edits="))
    quiet(page)
    page.keyboard.press("Control+z")
    expect(difference).to_have_text("")
    expect(page).not_to_have_url(re.compile("edits="))
    quiet(page)
    drawn = page.locator(".drawing.whole > svg").evaluate("each => each.outerHTML.length")
    assert abs(drawn - before) < 400  # but for what is lit
    page.keyboard.press("Control+Shift+z")
    expect(difference).to_contain_text(label)


def test_edits_are_passed_on_by_the_link_and_the_text_follows(
    page: Page, address: str, browser: Browser
) -> None:
    visit(page, address, "/multi-head-attention?h=2")
    op(page, "n5").click()  # the link takes it along before the address or a server knows of it
    page.get_by_role("link", name="Change it").click()
    expect(page.locator(".edits .subject")).to_have_text("Scale")
    menu(page, "Remove").click()
    expect(page.locator(".difference")).to_contain_text("Remove Scale: the same parameters")
    op(page, "n3").click()
    menu(page, "Insert").click()
    page.get_by_role("menuitem", name="Layer norm").click()
    page.get_by_role("combobox", name="over").select_option("k")
    page.get_by_role("form", name="Layer norm").get_by_role("button", name="Insert").click()
    expect(page.locator(".difference")).to_contain_text("+ 32 parameters")
    page.get_by_text("Its text", exact=True).click()
    text = page.get_by_role("textbox", name="Your text")
    expect(text).to_contain_text("LayerNorm('k')")
    expect(text).not_to_contain_text("Scale('k')")
    expect(page).to_have_url(re.compile("edits="))
    quiet(page)
    with browser.new_context() as other:
        again = other.new_page()
        again.goto(location(page))
        expect(again.locator(".difference")).to_contain_text("+ 32 parameters")
        again.get_by_role("button", name="2 changes").click()
        again.get_by_role("menuitem", name="As it was").click()
        expect(again.locator(".difference")).to_have_text("")
        expect(again.locator(".cost")).to_contain_text("16,384 parameters")
        again.get_by_role("button", name="0 changes").click()
        again.get_by_role("menuitem", name="Remove Scale").click()
        expect(again.locator(".difference")).to_contain_text("Remove Scale")


def test_an_empty_canvas_is_filled_and_the_search_lists_the_edits(page: Page, address: str) -> None:
    visit(page, address, "/yours?text=%22y%20m,%20x%20m%22")
    page.locator('.drawing.whole .wire[data-array="v0"]').first.focus()
    page.keyboard.press("Enter")
    expect(menu(page, "Insert")).to_be_visible()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search for a page")
    field.fill("insert tanh")
    expect(page.get_by_role("option").first).to_contain_text("Insert: Tanh")
    field.press("Enter")
    expect(page.locator(".difference")).to_contain_text("Insert tanh on y m")
    expect(op(page, "n0")).to_be_visible()
    page.get_by_role("textbox", name="Your text").press("Control+z")  # is an undo of the text
    expect(page.locator(".difference")).to_contain_text("Insert tanh on y m")
