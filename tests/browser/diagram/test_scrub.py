"""A size is scrubbed where it stands, and every number that follows from it does so at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.waits import next_frame
from tests.support.sampling import sample

pytestmark = pytest.mark.browser

MOVES = 60
LONG = 30_000
# Notes what stands everywhere at the first frame after each move of the pointer.
WATCH = """() => {
  const every = [...document.querySelectorAll("*")].flatMap((e) => e.shadowRoot ?? []);
  const own = every.find((root) => root.querySelector(".drawing.whole"));
  const table = every.find((root) => root.querySelector(".content table")).host;
  const texts = (root, name) => [...root.querySelectorAll(name)].map((e) => e.textContent.trim());
  const cell = (row) => row.lastChild.textContent;
  window.frames = [];
  addEventListener("pointermove", (event) => requestAnimationFrame(() => frames.push({
    chip: texts(own, '.chip[data-axis="m"]')[0],
    wires: [...new Set(texts(own, '.wire[data-axis="m"] > text:last-of-type'))],
    cost: texts(own, ".cost")[0],
    copy: table.isConnected && cell(table.shadowRoot.querySelector("tbody tr")),
  })), { capture: true });
}"""


class Runs:
    """Counts the runs that a page has asked for and that have not ended."""

    def __init__(self, page: Page) -> None:
        self.out = self.most = self.all = 0
        page.on("websocket", self.listen)

    def listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self.sent)
        socket.on("framereceived", self.came)

    def sent(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes) and BackMsg.FromString(frame).HasField("rerun_script"):
            self.out += 1
            self.all += 1
            self.most = max(self.most, self.out)

    def came(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            self.out -= ForwardMsg.FromString(frame).HasField("script_finished")


def opened(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}")
    expect(page.locator(".whole svg")).to_be_visible()
    expect(page.locator(".cost")).to_contain_text("on cpu")
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def chip(page: Page, axis: str) -> Locator:
    return page.locator(f'.chips button[data-axis="{axis}"]')


def reached(page: Page, axis: str) -> tuple[float, float]:
    """The middle of a chip, once it is known how it is scrubbed."""
    chip(page, axis).hover()
    expect(page.locator(".words .hint")).to_contain_text("Drag it")
    box = chip(page, axis).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def frame(page: Page) -> None:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def test_all_numbers_follow_a_drag_in_the_next_frame(page: Page, address: str) -> None:
    runs = Runs(page)
    opened(page, address, "multi-head-attention?labels=sizes&panel=Shapes")
    expect(page.locator(".content table").first).to_be_visible()
    x, y = reached(page, "m")
    page.evaluate(WATCH)
    runs.all = runs.most = runs.out = 0
    page.mouse.down()
    for i in range(1, MOVES + 1):
        page.mouse.move(x + 4 * i, y)
        frame(page)
    page.mouse.up()
    frames = page.evaluate("frames")
    assert len(frames) >= MOVES
    sizes = [int(each["chip"].split()[-1]) for each in frames]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) >= MOVES - 1
    for size, each in zip(sizes, frames, strict=True):
        parameters = f"{4 * 4 * 16 * size:,} parameters"  # Q, K, V and O, of 4 heads of 16
        assert each["wires"] == [f"{size}"]
        assert parameters in each["cost"]
        assert each["copy"] == f"22 {size} → 22 {size}, 22 {size}"  # and the panel stays
    last = sizes[-1]
    expect(page).to_have_url(re.compile(rf"[?&]m={last}\b"), timeout=LONG)
    expect(page.locator(".st-key-m input")).to_have_value(f"{last}")
    expect(chip(page, "m")).to_have_text(f"m {last}")
    expect(page.locator(".cost")).not_to_contain_text("–")
    copy = page.locator(".content tbody tr").first.locator("td").last
    expect(copy).to_have_text(f"22 {last} → 22 {last}, 22 {last}")
    assert 1 <= runs.all < MOVES
    assert runs.most == 1


PARTS = (("Source", ".st-key-source .line"), ("Cost", ".st-key-cost td:nth-child(-n+3)"))


@pytest.mark.parametrize(("panel", "part"), sample(PARTS, 1, "parts"))
def test_an_open_panel_says_what_the_server_will(
    page: Page, address: str, panel: str, part: str
) -> None:
    opened(page, address, f"multi-head-attention?panel={panel}")
    expect(page.locator(part).first).to_be_visible()
    before = page.locator(part).all_inner_texts()
    x, y = reached(page, "m")
    page.mouse.down()
    for i in range(1, 21):
        page.mouse.move(x + 4 * i, y)
        frame(page)
    during, size = page.locator(part).all_inner_texts(), chip(page, "m").inner_text().split()[-1]
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"[?&]m={size}\b"), timeout=LONG)
    opened(page, address, f"multi-head-attention?panel={panel}&m={size}")  # by the server alone
    expect(page.locator(part).first).to_be_visible()
    assert page.locator(part).all_inner_texts() == during != before


def test_keys_and_typed_numbers_stay_at_what_a_knob_can_be(page: Page, address: str) -> None:
    opened(page, address, "residual-block?labels=sizes")
    own = chip(page, "n_1")
    reached(page, "n_1")
    own.focus()
    page.keyboard.press("ArrowRight")
    expect(own).to_have_text("n1 68")
    expect(chip(page, "n_b")).to_have_text("nb 17")
    page.keyboard.press("Shift+ArrowRight")
    expect(own).to_have_text("n1 108")
    expect(own).to_be_focused()
    page.keyboard.press("7")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    expect(own).to_be_focused()
    expect(own).to_have_text("n1 108")
    page.keyboard.press("7")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(own).to_have_text("n1 72")
    expect(page).to_have_url(re.compile(r"n1=72"), timeout=LONG)
    expect(page.locator(".st-key-n1 input")).to_have_value("72")
    expect(own).to_be_focused()
    chip(page, "n_b").focus()  # a quarter of it
    page.keyboard.press("9")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"n1=36"), timeout=LONG)


def test_the_name_on_a_wire_is_dragged_and_a_press_still_selects(page: Page, address: str) -> None:
    opened(page, address, "multi-head-attention?labels=both")
    reached(page, "h")
    label = page.locator('.whole .wire[data-axis="h"] > text').first
    box = label.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"h=16"), timeout=LONG)  # as far as its slider
    expect(chip(page, "h")).to_have_attribute("aria-pressed", "false")
    chip(page, "h").click()
    expect(chip(page, "h")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"axes=h"), timeout=LONG)


@pytest.fixture
def finger(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True)
    yield context.new_page()
    context.close()


def test_a_finger_scrubs_as_well(finger: Page, address: str) -> None:
    opened(finger, address, "layer-norm")
    own = chip(finger, "m")
    own.scroll_into_view_if_needed()
    box = own.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand = finger.context.new_cdp_session(finger)
    before = own.inner_text()

    def touch(kind: str, *points: dict[str, float]) -> None:
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [*points]})

    touch("touchStart", {"x": x, "y": y})
    for i in range(1, 400):  # until it is known how it is scrubbed, and a little further
        touch("touchMove", {"x": x + (i % 40), "y": y})
        next_frame(finger)
        if own.inner_text() != before:
            break
    touch("touchMove", {"x": x + 60, "y": y})
    touch("touchEnd")
    expect(own).not_to_have_text(before)
    size = own.inner_text().split()[-1]
    expect(finger).to_have_url(re.compile(rf"m={size}\b"), timeout=LONG)
