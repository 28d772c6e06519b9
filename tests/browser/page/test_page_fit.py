"""Pages fit their windows: nothing is cut off, too small to read, or moved while a page opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browser.waits import location, next_frame, quiet
from tests.support.polling import until
from tools.load.page_fit import SHIFT, WATCH, WINDOWS, opened

pytestmark = pytest.mark.browser

PAGES = ("multi-head-attention", "induction", "encoder-decoder", "lenet")
FACES = """() => [...document.fonts]
  .filter(face => face.family.includes("NCD")).map(face => face.status)"""
CHIPS = "chips => chips.scrollWidth - chips.clientWidth"


@pytest.mark.few(5)
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: f"{window[0]}x{window[1]}")
def test_the_diagram_fits_its_column(
    browser: Browser, address: str, window: tuple[int, int], name: str
) -> None:
    width, height = window
    for last in (False, True):
        page = browser.new_page(viewport={"width": width, "height": height})
        fit = opened(page, f"{address}/{name}")
        page.close()
        if last or fit.shift <= 2 * SHIFT:  # a busy machine shows the parts in more steps
            break
    assert fit.wide <= fit.column and fit.aside <= 0, fit
    assert fit.text > 10, fit  # 11, except where callouts take the width
    assert fit.shift <= 2 * SHIFT, fit


def test_no_size_below_a_diagram_is_cut(page: Page, address: str) -> None:
    page.goto(f"{address}/encoder-decoder")
    expect(page.locator(".chips .product").last).to_be_visible()
    assert page.locator(".chips .legend").evaluate(CHIPS) <= 0
    # Every font is asked for as the page opens: when it comes, letters change their widths.
    assert page.evaluate(FACES) == ["loaded"] * 6


def test_it_is_drawn_anew_where_the_column_changes(page: Page, address: str) -> None:
    page.goto(f"{address}/lenet")
    drawing = page.locator(".drawing.whole svg")
    expect(drawing).to_be_visible()
    quiet(page)
    one = drawing.evaluate("svg => svg.viewBox.baseVal.width")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(
        "([svg, one]) => svg.isConnected === false || svg.viewBox.baseVal.width < one / 2",
        arg=[drawing.element_handle(), one],
    )
    quiet(page)
    assert drawing.evaluate("svg => svg.viewBox.baseVal.width") < one / 2
    assert "wide" not in location(page)


def test_callouts_stand_below_the_diagram_on_a_phone(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/multi-head-attention")
    notes = page.locator(".noted li")
    expect(notes).to_have_count(5)
    expect(notes.first).to_contain_text("Learned fully connected layers generate")
    expect(page.locator(".drawing.whole")).not_to_contain_text("Learned fully")
    page.get_by_label("callouts").uncheck()
    expect(notes).to_have_count(0)
    expect(page).to_have_url(f"{address}/multi-head-attention?callouts=off")


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("", ".looks"),
        ("legend", ".ncd .content"),
        ("yours", ".drawing.whole svg"),
        ("nosuchpage", ".stPageLink"),
    ],
)
def test_a_page_of_its_own_kind_does_not_jump(
    browser: Browser, address: str, name: str, last: str
) -> None:
    for width, height in ((390, 844), (1280, 720)):
        page = browser.new_page(viewport={"width": width, "height": height})
        page.add_init_script(WATCH)
        page.goto(f"{address}/{name}")
        expect(page.locator(last).first).to_be_visible()
        quiet(page)
        assert page.evaluate("window.ncdShift") <= SHIFT, (name, width)
        if not name:
            door = page.get_by_text("New here?", exact=True)
            expect(door).to_be_visible()  # hidden while it may jump
            expect(page.get_by_role("textbox", name="A sentence")).to_be_visible()
        page.close()


SHOW = """() => {
  for (const each of document.getAnimations())
    if (each.animationName === "shown" && each.playState === "running") each.finish();
}"""  # what time alone would show


class Late:
    """Holds back what a server sends from its first drawing on, until it is released."""

    def __init__(self, page: Page) -> None:
        self.held: list[str | bytes] = []
        self.holds = True
        page.route_web_socket("**/_stcore/stream", self.listen)

    def listen(self, stream: WebSocketRoute) -> None:
        self.stream = stream
        stream.connect_to_server().on_message(self.heed)

    def heed(self, message: str | bytes) -> None:
        drawing = isinstance(message, bytes) and b"<svg" in message
        if self.holds and (drawing or self.held):
            self.held.append(message)
        else:
            self.stream.send(message)

    def release(self) -> None:
        while self.held:
            self.stream.send(self.held.pop(0))
        self.holds = False


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("module-or-function", (1280, 720)),
        ("multi-head-attention", (390, 844)),
        ("", (390, 844)),
    ],
)
def test_a_page_whose_diagram_comes_late_does_not_jump(
    browser: Browser, address: str, name: str, window: tuple[int, int]
) -> None:
    width, height = window
    page = browser.new_page(viewport={"width": width, "height": height})
    page.add_init_script(WATCH)
    late = Late(page)
    page.goto(f"{address}/{name}")
    expect(page.locator(".st-key-first, .st-key-panels").first).to_be_attached()
    until(lambda: page.title() and late.held)  # Playwright gets messages only while it is asked
    page.evaluate(SHOW)
    next_frame(page)
    late.release()
    expect(page.locator(".figure svg, .drawing.whole svg").first).to_be_visible()
    quiet(page)
    assert page.evaluate("window.ncdShift") <= SHIFT
    page.close()


def test_a_wire_that_is_asked_for_is_seen_on_a_phone(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/multi-head-attention?ask=shape:v7")
    wire = page.locator(".drawing.whole [data-array=v7]").first
    expect(wire).to_be_attached()
    page.locator(".answers .show").click()
    expect(page.locator(".predict [role=status]")).to_be_visible()
    expect(wire).to_be_attached()


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900)])
def test_the_heads_of_the_first_page_are_in_sight_whatever_their_number(
    page: Page, address: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(address)
    heads = page.locator(".looks section")
    expect(heads).to_have_count(4)
    quiet(page)
    parts = [page.locator(part) for part in (".asked", ".figure", ".looks", ".line")]
    tops = [part.evaluate("part => part.getBoundingClientRect().top") for part in parts]
    bottoms = [head.bounding_box() for head in heads.all()]
    assert all(box and box["y"] + box["height"] <= height for box in bottoms), bottoms
    page.get_by_role("slider", name="h · heads").focus()
    page.keyboard.press("End")
    expect(heads).to_have_count(8)
    quiet(page)
    assert [part.evaluate("part => part.getBoundingClientRect().top") for part in parts] == tops
