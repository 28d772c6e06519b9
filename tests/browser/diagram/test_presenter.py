"""The presenter's view as a lecturer uses it: collected, walked by keys, taken along, printed."""

import re
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

import ncd
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import lesson_of
from tests.browser.page.test_links import move, says, visit
from tests.browser.waits import location, quiet, turn_to
from tests.support.polling import to_pass, until
from tests.support.sampling import sample
from tools.load.page_fit import MEASURE, READABLE

pytestmark = pytest.mark.browser
MHA, RESIDUAL = "multi-head-attention", "residual-block"
LIST = f"{MHA}?h=2#Two heads: how wide is one?;{MHA}?h=8&k=4;{RESIDUAL}?s=2"
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"


def asked(text: str) -> str:
    return re.sub("[?=&#; ]", lambda found: f"%{ord(found[0]):02X}", text)


def present(page: Page, address: str, views: str = LIST) -> None:
    page.goto(f"{address}/{MHA}?h=2&present=1&views={asked(views)}")
    settled_in(page)


def place(page: Page, text: str) -> None:
    expect(page.locator("output.place")).to_have_text(text)


def drawn(page: Page, axis: str, text: str) -> None:
    expect(page.locator(f".chip[data-axis={axis}]")).to_have_text(re.compile(rf"{text}$"))


def settled_in(page: Page) -> None:
    """The page, whose prose is hidden now, once its last message is there."""
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def test_a_list_is_collected_and_walked_by_the_keyboard(page: Page, address: str) -> None:
    visit(page, address, f"/{MHA}?h=2")
    add = page.get_by_role("button", name="Add this view to the presentation")
    add.focus()
    page.keyboard.press("Enter")
    move(page, "h")
    drawn(page, "h", "3")
    expect(page).to_have_url(re.compile("[?&]h=3"))  # of which the view is made
    add.focus()
    page.keyboard.press("Enter")
    visit(page, address, f"/{RESIDUAL}?s=2")
    add.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Present 3").focus()
    page.keyboard.press("Enter")
    for key, axis, size, counted in (
        ("", "b", "3", "3 / 3"),  # the page that it comes from
        ("Home", "h", "2", "1 / 3"),
        ("ArrowRight", "h", "3", "2 / 3"),
        ("PageDown", "b", "3", "3 / 3"),
        ("ArrowRight", "b", "3", "3 / 3"),
        ("PageUp", "h", "3", "2 / 3"),
        ("Home", "h", "2", "1 / 3"),
    ):
        if key:
            page.keyboard.press(key)
        drawn(page, axis, size)
        settled_in(page)
        place(page, counted)
    for hidden in (".stSidebar", ".stAppHeader", ".st-key-panels", ".st-key-export"):
        expect(page.locator(hidden)).to_be_hidden()
    while page.evaluate("document.fullscreenElement !== null"):  # Escape leaves it first
        page.keyboard.press("Escape")
        page.wait_for_function("document.fullscreenElement === null")
    page.keyboard.press("Escape")
    expect(page.locator(".stSidebar")).to_be_visible()
    expect(page).not_to_have_url(re.compile("present|views"))


def test_a_link_has_the_list_and_the_lines(page: Page, address: str, browser: Browser) -> None:
    present(page, address)
    expect(page.get_by_text("Two heads: how wide is one?")).to_be_visible()
    page.keyboard.press("ArrowRight")
    drawn(page, "k", "4")
    settled_in(page)
    other = browser.new_page(viewport={"width": 1280, "height": 720})
    other.goto(location(page))
    settled_in(other)
    place(other, "2 / 3")
    says(other, "h", "h 8")
    expect(other.locator(".drawing.whole svg")).to_be_in_viewport(ratio=1)
    drawing = other.locator(".drawing.whole svg").bounding_box()
    assert drawing is not None
    assert drawing["x"] >= 0 and drawing["x"] + drawing["width"] <= 1280
    assert drawing["height"] > 720 / 2 and drawing["y"] + drawing["height"] < 720
    other.close()


def test_keys_belong_to_what_has_the_focus(page: Page, address: str) -> None:
    present(page, address)
    page.get_by_role("button", name="Views", exact=True).click()
    line = page.get_by_label("Line shown with").nth(1)
    line.fill("Eight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("f")
    expect(line).to_have_value("Eighft")
    page.keyboard.press("Enter")
    place(page, "1 / 3")
    page.get_by_role("button", name=re.compile("^Remove: Residual")).click()
    place(page, "1 / 2")
    page.get_by_role("button", name=re.compile("^Earlier: ")).nth(1).click()
    place(page, "2 / 2")
    page.keyboard.press("Escape")
    expect(line).to_be_hidden()
    place(page, "2 / 2")
    page.keyboard.press("Home")
    drawn(page, "h", "8")
    expect(page.get_by_text("Eighft")).to_be_visible()


@pytest.mark.parametrize("width", sample([1280, 720, 400], 1, "widths"))
def test_the_bar_is_one_row_and_covers_nothing(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 720})
    present(page, address, f"{MHA}?panel=Shapes&with=panel;{RESIDUAL}?panel=Shapes")
    bar = page.get_by_role("region", name="Presenting")
    expect(bar).to_be_visible()
    place(page, "1 / 2")
    tops = bar.get_by_role("button").evaluate_all("all => all.map((e) => e.offsetTop)")
    assert max(tops) - min(tops) < 12
    box, main = bar.bounding_box(), page.locator(".stMain").bounding_box()
    assert box is not None and main is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert main["y"] + main["height"] <= box["y"]
    page.get_by_role("button", name="Views", exact=True).click()
    rows = bar.locator(".rows li > button:first-child")
    expect(rows).to_have_text(["Multi-head attention · Shapes", "Residual block"])


WRONG = ("nothing;../x?h=1", "a" * 9000, ";;;%ff#%ff", "?h=3")


@pytest.mark.parametrize("views", sample(WRONG, 1, "views"))
def test_a_list_that_names_no_page_is_none(page: Page, address: str, views: str) -> None:
    present(page, address, views.replace("%", "%25"))
    expect(page.get_by_role("region", name="Presenting")).to_be_visible()
    expect(page.locator(".walk")).to_be_hidden()
    expect(page.locator(".stException")).to_have_count(0)


def test_the_panel_is_part_of_a_view(page: Page, address: str) -> None:
    page.goto(f"{address}/{MHA}?panel=Source&present=1")
    settled_in(page)
    expect(page.locator(".st-key-panels")).to_be_hidden()
    page.get_by_role("button", name="Panel", exact=True).click()
    expect(page.locator(".code").first).to_be_visible()
    tall = "document.documentElement.style.getPropertyValue('--whole-tall') === `${0.38 * 900}px`"
    page.wait_for_function(tall)  # as high as beside a panel that fits: a longer one is scrolled
    page.get_by_role("button", name="Add this view", exact=True).click()
    page.wait_for_function("location.search.includes('views=')")
    views = page.evaluate("new URLSearchParams(location.search).get('views')")
    assert "with=panel" in views and "panel=Source" in views


def test_a_view_that_is_added_on_a_page_keeps_what_was_chosen_there(
    page: Page, address: str
) -> None:
    visit(page, address, f"/{MHA}?panel=Step&step=4&h=2")
    page.get_by_role("button", name="Add this view to the presentation").click()
    expect(page.get_by_role("button", name="Present 1")).to_be_visible()
    visit(page, address, "/yours")  # not in the list: the presentation begins outside of it
    page.get_by_role("button", name="Present 1").click()
    place(page, "– / 1")
    drawn(page, "d", "16")
    expect(page.get_by_text("Paste PyTorch, an einsum")).to_be_visible()  # the first sentence
    page.keyboard.press("ArrowRight")
    place(page, "1 / 1")
    drawn(page, "h", "2")
    expect(page.locator(".here-now")).to_contain_text("Linear K")
    page.goto(f"{address}/yours?present=lesson")
    expect(page.locator("output.place")).to_have_text(re.compile("^1 / "))
    expect(page).to_have_url(re.compile("present=1"))  # the lesson's views are in the address
    page.keyboard.press("ArrowRight")  # at once: the lesson does not begin again
    expect(page.locator("output.place")).to_have_text(re.compile("^2 / "))
    question = page.locator(".st-key-prediction .predict")
    expect(question).to_contain_text("What shape leaves Linear gate?")
    expect(page.locator(".drawing svg .wire").first).to_be_attached()
    page.goto(f"{address}/yours?present=1")  # the list is kept, and its first view is this page's
    place(page, "1 / 5")
    page.goto(f"{address}/lora?present=1")
    place(page, "– / 5")
    expect(page.locator("p.caption")).to_be_hidden()


def test_the_file_walks_the_same_views_offline(
    page: Page, address: str, browser: Browser, tmp_path: Path
) -> None:
    present(page, address)
    page.get_by_role("button", name="Views", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as one HTML file").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720})
    other, heard = context.new_page(), set()
    other.on("console", lambda message: heard.add(message.text))
    other.on("request", lambda request: heard.add(request.url))
    other.goto(file.as_uri())
    seen = other.locator(".slide:visible")
    expect(seen).to_contain_text("Two heads: how wide is one?")
    for key, title, size in (
        ("ArrowRight", "Multi-head attention", "h 8"),
        ("PageDown", "Residual block", "s"),
        ("ArrowLeft", "Multi-head attention", "k 4"),
    ):
        other.keyboard.press(key)
        expect(seen.locator("h1")).to_have_text(title)
        expect(seen.locator(".legend")).to_contain_text(size)
    other.keyboard.press("End")
    expect(other.locator(".place")).to_have_text("3 / 3")
    other.evaluate(AXE.read_text())
    assert other.evaluate("axe.run().then((found) => found.violations.map((v) => v.help))") == []
    assert heard == {file.as_uri()}
    context.close()


@pytest.mark.parametrize("scheme", sample(["light", "dark"], 1, "paper"))
def test_on_paper_the_page_is_whole_and_light(page: Page, address: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    visit(page, address, "/encoder-block?panel=Source")
    quiet(page)  # the script that listens to the print has come
    ink = "document.querySelector('.st-key-diagram [data-testid=stBidiComponentIsolated]')"
    ink = f"{ink}.shadowRoot.querySelector('.drawing svg').getAttribute('color')"
    before = page.evaluate(ink)
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print", color_scheme=scheme)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) == "#16181d"
    for hidden in (".stSidebar", ".stAppHeader", ".st-key-export", ".labels", ".share"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.locator(".drawing.whole svg")).to_be_visible()

    @to_pass
    def fits() -> None:  # drawn again for the paper's width
        drawing = page.locator(".drawing.whole svg").bounding_box()
        assert drawing is not None and drawing["x"] >= 0 and drawing["x"] + drawing["width"] <= 794

    wide = "e => e.scrollWidth <= e.clientWidth + 1"
    assert page.locator(".code").first.evaluate(wide)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink) == before
    turn_to(page, "/multi-head-attention?panel=Attention")
    frame, aside = page.locator(".map .frame"), page.locator(".both .aside")
    expect(aside).to_contain_text("each row sums to 1")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".map .zoom")).to_be_hidden()
    left, below = frame.bounding_box(), aside.bounding_box()
    assert left and below and below["y"] > left["y"] + left["height"]


def test_axe_finds_nothing(page: Page, address: str) -> None:
    present(page, address)
    page.get_by_role("button", name="Views", exact=True).click()
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then((found) => found.violations.map((v) => v.help))")
    assert found == []


BELOW = """() => { // by how much the question and its answer stick out of the screen
  const end = document.querySelector(".stMain").getBoundingClientRect().bottom;
  const { bottom } = document.querySelector(".st-key-prediction-box").getBoundingClientRect();
  return bottom - end;
}"""


@pytest.mark.parametrize("name", [MHA, "lenet", "unet", "lstm", "delta-rule"])
def test_no_answer_is_cut_off(page: Page, address: str, name: str) -> None:
    """Nor why the wrong answer is wrong that has most to be said about."""
    entry = ncd.catalogue[name]
    query = next(view.query for view in lesson_of(entry).views if "ask=" in view.query)
    found = question(entry, entry.settings({}), query.partition("ask=")[2])
    assert found is not None
    longest = max(found.feedback, key=len)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{address}/{name}?{query}&present=1")
    settled_in(page)
    show = page.locator(".answers .show")
    for width, height in ((1920, 1080), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        expect(show).to_be_visible()
        until(lambda: page.evaluate(BELOW) < 1)
    tall = page.locator(".drawing.whole").bounding_box()
    page.locator(f".answers [data-pick='{found.feedback.index(longest)}']").click()
    expect(page.locator(".predict [role=status]")).to_contain_text(longest.partition("_")[0])
    for width, height in ((1440, 900), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        until(lambda: page.evaluate(BELOW) < 1)
    assert tall is not None and tall["height"] > 900 / 3


def test_a_large_diagram_is_scrolled_in_its_place(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}/gpt-2?present=1")
    settled_in(page)
    svg = page.locator(".drawing.whole svg")
    readable = "svg => svg.parentElement && (" + MEASURE + ")(svg).text"  # while it is replaced
    until(lambda: (svg.evaluate(readable) or 0) >= READABLE - 0.05)
    more = "e => e.scrollHeight - e.clientHeight"
    assert page.locator(".drawing.whole").evaluate(more) > 0
    assert page.locator(".stMain").evaluate(more) <= 0
