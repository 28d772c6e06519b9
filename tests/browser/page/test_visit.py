"""The pages as a visitor has them: in a real browser, on a real server."""

import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import ncd
from ncd.systems.inputs.text_inputs import tokens
from tests.browser.waits import location

pytestmark = pytest.mark.browser
ATTENTION = "/multi-head-attention"


def visit(page: Page, address: str, path: str = ATTENTION) -> Page:
    """A page once its first run is over."""
    page.goto(f"{address}{path}")
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.get_by_text("Why it works")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    return page


def said(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def query(page: Page) -> dict[str, str]:
    return said(location(page))


def until_query(page: Page, **wanted: str) -> None:
    page.wait_for_url(lambda url: wanted.items() <= said(url).items(), wait_until="commit")


def slider(page: Page, name: str) -> Locator:
    return page.locator(f'.stSlider [aria-label^="{name} "] input[type=range]').first


def op(page: Page, label: str) -> Locator:
    circuit = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
    id = next(cell.id for cell in circuit.cells if cell.op.display_name == label)
    return page.locator(f'.drawing .op[data-node="{id}"]').first


def wire(page: Page, array: str) -> Locator:
    return page.locator(f'.drawing .wire[data-array="{array}"]').first


def made_by(label: str) -> str:
    circuit = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
    return next(c.outputs[0].id for c in circuit.cells if c.op.display_name == label)


def test_a_slider_moves_diagram_shapes_and_link(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?labels=both&panel=Shapes")
    expect(page.locator("table")).to_contain_text("20 16 4")
    slider(page, "h").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("table")).to_contain_text("20 16 5")
    expect(page.locator(".legend")).to_contain_text("k·h = 80")
    expect(page.locator('.drawing .wire[aria-label*=": axis h, size 5"]').first).to_be_attached()
    until_query(page, h="5", labels="both", panel="Shapes")
    page.reload()
    expect(page.locator(".legend")).to_contain_text("k·h = 80")


def test_what_is_clicked_is_told_in_the_same_drawing(page: Page, address: str) -> None:
    visit(page, address)
    page.locator(".drawing svg").evaluate("svg => { svg.dataset.mine = 'yes' }")
    page.locator(".chip[data-axis=k]").click()
    until_query(page, axes="k")
    expect(page.locator(".drawing .wire.chosen").first).to_be_attached()
    scores = made_by("Einsum scores")
    wire(page, scores).dispatch_event("click")
    expect(page.get_by_role("tab", name="Values")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("made by Einsum scores")).to_be_visible()
    until_query(page, select=scores, panel="Values")
    op(page, "Linear K").dispatch_event("click")
    expect(page.get_by_role("heading", name="Linear K")).to_be_visible()
    expect(page.locator(".card math")).to_be_visible()
    expect(page.locator(".code").filter(has_text="self.K(x)")).to_be_visible()
    expect(page.locator(".drawing svg[data-mine=yes]")).to_have_count(1)
    page.locator(".drawing [data-fence] text", has_text="Scaled").first.dispatch_event("click")
    expect(page.get_by_text("What is inside")).to_be_visible()
    expect(page.locator(".drawing svg")).to_have_count(2)


def test_tab_enter_and_escape(page: Page, address: str) -> None:
    visit(page, address)
    words = []
    page.locator(".drawing [tabindex]").first.focus()
    for _ in range(3):
        focused = page.locator(".drawing [tabindex]:focus")
        words.append(focused.get_attribute("aria-label"))
        page.keyboard.press("Tab")
    assert len(set(words)) == 3 and all(words)
    op(page, "Linear Q").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Linear Q")).to_be_visible()
    expect(page).to_have_url(re.compile("select="))
    op(page, "Linear Q").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Linear Q")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("select="))


def test_an_axis_lights_everywhere_without_the_server(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Source")
    chip = page.locator(".chip[data-axis=k]")
    expect(page.locator(".line").first).to_be_visible()
    chip.hover()
    expect(page.locator(".drawing .wire.lit[data-axis=k]").first).to_be_attached()
    expect(page.locator(".drawing .wire.lit:not([data-axis=k])")).to_have_count(0)
    expect(page.locator(".string .axis.lit").first).to_have_text("k")
    page.get_by_text("Why it works").hover()
    expect(page.locator(".lit")).to_have_count(0)
    chip.click()
    until_query(page, axes="k")
    page.get_by_text("Why it works").hover()
    expect(page.locator(".drawing .wire.lit[data-axis=k]").first).to_be_attached()
    chip.click()
    expect(page.locator(".chosen")).to_have_count(0)


def test_an_axis_lights_its_title_on_the_map_and_a_head_is_chosen(page: Page, address: str) -> None:
    visit(page, address)
    keys, queries = (page.locator(f".map .title .axis[data-axis={axis}]") for axis in "xy")
    expect(keys).to_be_visible()
    page.locator(".chip[data-axis=x]").hover()
    expect(keys).to_have_class(re.compile(r"\blit\b"))
    expect(queries).not_to_have_class(re.compile(r"\blit\b"))
    page.get_by_text("Why it works").hover()
    expect(keys).not_to_have_class(re.compile(r"\blit\b"))
    heads = page.locator(".heads button")
    expect(heads).to_have_count(4)
    expect(page.locator(".map canvas").first).to_be_visible()
    heads.nth(2).click()
    expect(heads.nth(2)).to_have_attribute("aria-pressed", "true")
    until_query(page, head="2")


def test_a_line_and_its_op_light_each_other(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Source")
    line = page.locator(".line", has_text="softmax(-2)")
    line.hover()
    expect(op(page, "Softmax")).to_have_class(re.compile(r"\blit\b"))
    op(page, "Linear K").dispatch_event("pointerover", {"bubbles": True})
    expect(page.locator(".line.lit", has_text="self.K(x)")).to_be_attached()
    expect(line).not_to_have_class(re.compile(r"\blit\b"))


def test_every_panel_opens(page: Page, address: str) -> None:
    visit(page, address)
    for panel in ("Values", "Source", "Cost", "Autograd", "Shapes", "Attention"):
        page.get_by_role("tab", name=panel).click()
        open_tab = page.get_by_role("tabpanel", name=panel)
        expect(open_tab.locator(".content, .map, svg, img").first).to_be_visible()
        expect(page.locator(".stException")).to_have_count(0)


def test_sentences_label_the_map_and_are_escaped(page: Page, address: str) -> None:
    page.add_init_script("window.hacked = false")
    text = "<script>window.hacked=true</script> <img src=x onerror=window.hacked=true> ok"
    visit(page, address, f"{ATTENTION}?input=sentences&text_y={quote(text)}")
    expect(page.locator(".ticks.columns .tick").first).to_be_visible()
    ticks = page.locator(".ticks.columns .tick").all_text_contents()
    assert "<" in ticks and set(ticks) <= set(tokens(text))  # as many as have room
    assert page.evaluate("window.hacked") is False
    expect(page.locator("img[src=x]")).to_have_count(0)


def test_everything_can_be_taken_along(page: Page, address: str, tmp_path: Path) -> None:
    visit(page, address, f"{ATTENTION}?h=2")
    term = ncd.catalogue["multi-head-attention"].build(h=2)
    page.get_by_role("button", name="Export").click()
    kept = {}
    for label in ("Drawing, SVG", "Drawing, PNG", "Source, torch alone", "Term, JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        kept[file.suffix] = file.read_bytes()
    assert b"@font-face" in kept[".svg"]
    assert kept[".png"].startswith(b"\x89PNG")
    assert kept[".py"].decode().endswith(ncd.source(term, einops=False))
    assert ncd.from_json(kept[".json"].decode()) == term


def test_the_link_is_copied(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?h=2")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    expect(page).to_have_url(page.evaluate("navigator.clipboard.readText()"))


def test_two_visitors_do_not_meet(browser: Browser, context: BrowserContext, address: str) -> None:
    first, other = visit(context.new_page(), address), visit(browser.new_page(), address)
    slider(first, "h").focus()
    first.keyboard.press("ArrowRight")
    expect(first.locator(".legend")).to_contain_text("h 5")
    slider(other, "h").focus()
    other.keyboard.press("ArrowLeft")
    expect(other.locator(".legend")).to_contain_text("h 3")
    expect(first.locator(".legend")).to_contain_text("h 5")
    until_query(first, h="5")
    until_query(other, h="3")
    other.close()


def test_nothing_scrolls_sideways_in_a_narrow_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    visit(page, address)
    box = page.locator(".drawing").first
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.wait_for_function("document.documentElement.scrollWidth <= 420")
    natural = page.locator(".drawing svg").evaluate("s => s.viewBox.baseVal.width")
    assert page.locator(".drawing svg").bounding_box()["width"] >= 0.9 * natural  # type: ignore[index]


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ["seed=inf", "seed=1e400", f"head={'9' * 5000}", "h=inf"])
def test_a_link_with_a_wild_number_opens_the_page(page: Page, address: str, asked: str) -> None:
    visit(page, address, f"{ATTENTION}?{asked}")
    expect(page.locator(".heads button").first).to_be_visible()
    expect(page.locator(".stException")).to_have_count(0)
