"""A visitor's own system in a real browser: typed, turned, corrected, and passed on by its link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from ncd.app.page.own_page import EXAMPLES
from ncd.app.parts.text_editor import SCRIPT
from tests.browser.page.test_links import move, visit
from tests.browser.waits import location

pytestmark = pytest.mark.browser
READY = 90_000  # milliseconds until the process that reads PyTorch has started


def write(page: Page, text: str) -> None:
    expect(page.locator(".cm-content")).to_be_visible()  # or else it is the field before it
    page.get_by_role("textbox", name="Your text").fill(text)


def test_a_line_of_pytorch_says_what_comes_out(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, "nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))")
    expect(page.locator(".chips")).to_contain_text("112×112", timeout=READY)
    expect(page.locator(".cost")).to_contain_text("9,472 parameters")  # 64 · (3 · 7 · 7 + 1)


def test_after_an_error_the_diagram_of_the_text_before_is_grey(page: Page, address: str) -> None:
    visit(page, address, "/yours?text=b+i,+i+j+-%3E+b+j")
    diagram = page.locator('[class*="st-key-diagram"]')
    expect(page.locator(".chips")).to_contain_text(re.compile(r"j\s*8"))
    expect(diagram).to_have_css("opacity", "1")
    write(page, "nn.Conv2d(3, 4, 3, strde=2)")
    told = "line 1, column 1: Conv2d has no argument 'strde'. Try stride."
    expect(page.locator("p.told")).to_have_text(told, timeout=READY)
    expect(diagram).to_have_css("opacity", "0.45")
    expect(page.get_by_text("Below is still the last text that could be read.")).to_be_visible()
    write(page, "nn.LSTM(8, 4)(torch.randn(10, 2, 8))")
    expect(page.locator("p.told")).to_contain_text("Read as a line of PyTorch.")
    expect(diagram).to_have_css("opacity", "1")


def test_a_link_whose_text_fails_shows_the_error_and_no_diagram(page: Page, address: str) -> None:
    page.goto(f"{address}/yours?text=nn.Linaer(8,+3)")
    told = "Linaer of torch.nn is not understood here."
    expect(page.locator("p.told")).to_contain_text(told, timeout=READY)
    expect(page.locator(".drawing, [role=tab], .stException")).to_have_count(0)
    write(page, "nn.Linear(8, 3)")
    expect(page.locator(".cost")).to_contain_text("27 parameters")


def test_a_presented_link_is_corrected_and_what_is_corrected_stays(
    page: Page, address: str
) -> None:
    page.goto(f"{address}/yours?text=nn.Lienar(3,+4)&present=1&d=5")
    expect(page.locator("p.told")).to_contain_text("Try Linear.", timeout=READY)
    whole = page.locator("html")
    for mark in ("data-opening", "data-present"):  # all is where it belongs, and to be seen
        expect(whole).not_to_have_attribute(mark, re.compile(""))
    expect(page.locator(".stAppViewContainer")).to_have_css("padding-left", "0px")
    expect(page).not_to_have_url(re.compile("present"))
    write(page, "nn.Linear(3, 4)")
    expect(page.locator(".cost")).to_contain_text("20 parameters")  # 5 · 3 weights and 5 biases
    page.get_by_role("tab", name="Cost").click()
    expect(page.get_by_role("tab", name="Cost")).to_have_attribute("aria-selected", "true")
    expect(page).to_have_url(re.compile("panel=Cost.*nn.Linear"))
    expect(page.locator("p.told")).to_have_text(re.compile("Read as a line of PyTorch"))
    page.reload()
    expect(page.locator("p.told")).to_have_text(re.compile("Read as a line of PyTorch"))
    expect(page.locator(".cost")).to_contain_text("20 parameters")


def test_two_mistakes_are_corrected_by_what_is_told(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, 'Liner("t:9 m:8 -> t k:2", "Q") >> Softmx("k")')
    told = page.locator("p.told")
    expect(told).to_contain_text("column 1: there is no op 'Liner'. Try Linear.")
    write(page, 'Linear("t:9 m:8 -> t k:2", "Q") >> Softmx("k")')
    expect(told).to_contain_text("column 36: there is no op 'Softmx'. Try Softmax.")
    write(page, 'Linear("t:9 m:8 -> t k:2", "Q") >> Softmax("k")')
    expect(page.locator("p.told")).to_have_text("Read as this project's language.")
    expect(page.locator(".chips")).to_contain_text(re.compile(r"t\s*9"))


def test_the_link_opens_the_same_in_another_browser(
    page: Page, address: str, browser: Browser
) -> None:
    visit(page, address, "/yours")
    write(page, "b i, i j -> b j")
    expect(page.locator(".chips")).to_contain_text(re.compile(r"j\s*8"))
    move(page, "i")
    expect(page).to_have_url(re.compile("i=9"))
    with browser.new_context() as other:
        again = other.new_page()
        again.goto(location(page))
        expect(again.locator(".chips")).to_contain_text(re.compile(r"i\s*9"))
        expect(again.get_by_role("textbox", name="Your text")).to_have_text("b i, i j -> b j")


def test_a_system_of_the_catalogue_is_edited(page: Page, address: str) -> None:
    visit(page, address, "/scaled-dot-product-attention?k=8")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("link", name="Edit this system as text").click()
    text = page.get_by_role("textbox", name="Your text")
    expect(text).to_have_text(re.compile(r"^Axes\(y=seq\(20\), k=8, x=seq\(22\)\)"))


def test_the_first_page_reads_a_sentence(page: Page, address: str) -> None:
    page.goto(address)
    card = page.locator(".looks section").filter(has_text="subject of the verb")
    shade = "e => getComputedStyle(e).getPropertyValue('--weight')"
    expect(card.locator("span", has_text="keys")).to_be_visible()
    assert int(card.locator("span", has_text="keys").evaluate(shade).rstrip("%")) > 30
    page.get_by_role("button", name="old", exact=True).click()
    expect(page.get_by_role("button", name="old", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    below = page.get_by_text("New here?", exact=True)
    before = below.bounding_box()
    move(page, "h")
    expect(page.get_by_role("status").first).to_contain_text("5 heads of 16 features")
    assert below.bounding_box() == before  # the diagram and the cards have their room
    expect(page.locator(".looks section")).to_have_count(5)
    expect(page.locator(".looks")).to_contain_text("not trained")


def test_pasted_source_is_drawn(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, EXAMPLES["A small GPT"])
    expect(page.locator(".chips")).to_contain_text(re.compile(r"t\s*16"), timeout=60_000)
    expect(page.locator("svg text", has_text="Layer").first).to_be_visible()
    expect(page.locator("svg text", has_text="×3").first).to_be_visible()
    expect(page.locator(".cost")).to_contain_text("parameters")
    move(page, "h")
    expect(page).to_have_url(re.compile("h=5"))


def test_a_published_configuration_opens_at_its_real_sizes(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, EXAMPLES["Llama 3 8B"])
    expect(page.locator(".cost")).to_contain_text("8,030,261,248 parameters")
    page.get_by_role("button", name="Small enough to run").click()
    expect(page.get_by_role("slider", name="n · layers")).to_have_value("2")
    expect(page.get_by_text("Too large to run here")).to_have_count(0)


def test_a_function_of_named_arrays_is_drawn(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, EXAMPLES["Delta rule"])
    expect(page.locator(".chips")).to_contain_text(re.compile(r"v\s*8"))
    expect(page.locator("p.told")).to_have_text("Read as this project's language.")


def test_a_file_is_opened(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    page.get_by_role("button", name="Open a file").click()
    text = b"b i, i j -> b j"
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": "line.txt", "mimeType": "text/plain", "buffer": text}
    )
    expect(page.get_by_role("textbox", name="Your text")).to_have_text(text.decode())


def test_the_diagram_follows_while_one_types(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, 'Linear("m:8 -> k:2", "Q")')
    expect(page.locator(".chips")).to_contain_text(re.compile(r"k\s*2"))
    page.get_by_role("textbox", name="Your text").press("Control+End")
    page.keyboard.type(" >> Soft")
    page.get_by_role("option", name="Softmax(axis, …)").click()
    page.keyboard.type('("k')  # the editor closes what is opened
    expect(page.get_by_role("textbox", name="Your text")).to_have_text(
        'Linear("m:8 -> k:2", "Q") >> Softmax("k")'
    )
    expect(page.locator("p.told")).to_have_text("Read as this project's language.")
    expect(page).to_have_url(re.compile(r"text=z\."))


def test_a_mistake_is_underlined_and_mended_by_a_click(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, 'Linear("t:9 m:8 -> t k:2", "Q") >> Softmx("k")')
    wrong = page.locator(".cm-lintRange-error")
    expect(wrong).to_have_text("Softmx")
    wrong.hover()
    page.get_by_role("button", name="Softmax").click()
    expect(page.locator("p.told")).to_have_text("Read as this project's language.")
    expect(wrong).to_have_count(0)


def test_the_tabulator_leaves_the_editor(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, "b i, i j -> b j")
    page.keyboard.press("Tab")
    inside = "document.activeElement.shadowRoot?.activeElement?.className ?? ''"
    page.wait_for_function(f"!({inside}).includes('cm-content')")


def test_an_example_replaces_what_was_typed(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    for name in ("einsum", "einops", "einsum"):
        write(page, 'Id("m:3")')
        expect(page.locator(".chips")).to_contain_text(re.compile(r"m\s*3"))
        page.locator(".st-key-example").get_by_text(name, exact=True).click()
        expect(page.get_by_role("textbox", name="Your text")).to_contain_text(
            EXAMPLES[name].splitlines()[0]
        )


def test_without_the_script_of_the_editor_there_is_a_plain_field(page: Page, address: str) -> None:
    page.route(f"**/{SCRIPT.name}", lambda route: route.abort())
    visit(page, address, "/yours")
    page.get_by_role("textbox", name="Your text").fill("b i, i j -> b j")
    expect(page.locator(".chips")).to_contain_text(re.compile(r"j\s*8"))
