"""A pasted text is answered in a real browser: what comes out, what fails, its cure by a press."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from ncd.app.page.own_page import OPENING
from ncd.installation import package_path
from tests.browser.page.test_links import visit
from tests.browser.page.test_own_page import READY, write

pytestmark = pytest.mark.browser
WRONG = OPENING.replace("16 * 16 * 16", "16 * 8 * 8")
OUT = "out: 8 × 10 (batch, classes)"


PARTS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.more = nn.Linear(3, 3)
    def forward(self, x):
        return self.fc(x).softmax(0)
"""


def test_a_failing_text_is_cured_by_a_press_and_the_press_is_undone(
    page: Page, address: str
) -> None:
    visit(page, address, "/yours")
    sentence, told = page.locator("p.sentence"), page.locator("p.told")
    expect(sentence).to_have_text(OUT, timeout=READY)
    beside = page.locator(".cm-beside")
    expect(beside).to_contain_text("8×16×16×16")
    below = page.locator('[class*="st-key-diagram"]').first
    before = below.bounding_box()
    write(page, WRONG)
    expect(sentence).to_contain_text(re.compile("4,?096"), timeout=READY)
    expect(told).to_be_hidden()
    expect(page.locator(".raw p")).to_be_hidden()  # torch's own words are folded
    form = page.locator(".form").bounding_box()
    expect(sentence).to_contain_text("fc (Linear) gets 4096", timeout=READY)
    expect(page.locator(".waiting")).to_be_hidden()
    after = page.locator(".form").bounding_box()
    assert after == pytest.approx(form, abs=0.5)  # pixels: nothing jumps as the reason comes
    page.locator(".raw summary").click()
    expect(page.locator(".raw p")).to_contain_text("RuntimeError")
    expect(beside).to_contain_text("8×4096 ✗")
    cure = page.locator(".cures button").first
    expect(cure).to_have_text(re.compile(r"^line 5: self\.fc = nn\.Linear\("))
    cure.click()
    expect(sentence).to_have_text(OUT)
    expect(page.locator(".cures button")).to_have_text(["Undo"])
    expect(page.locator(".cost")).to_contain_text("41,418 parameters")  # 4096 · 10 + 10 + 448
    assert below.bounding_box() == before
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("textbox", name="Your text")).to_contain_text("16 * 8 * 8")
    expect(sentence).to_contain_text("4096")


MARKED = """async (selects) => {
  const { codeEditor } = await import("/codemirror.js");
  const nothing = () => {};
  const text = "one\\ntwo\\nthree";
  const view = codeEditor({ parent: document.body, text, label: "text", changed: nothing,
    complete: () => [], finished: nothing, moved: nothing });
  view.beside([[1, "1×1", ""], [2, "2×2 ✗", ""], [3, "3×3", ""]]);
  const content = document.querySelector(".cm-content");
  content.focus();
  const range = document.createRange();
  const lines = document.querySelectorAll(".cm-line");
  selects === "all" ? range.selectNodeContents(content) : range.selectNodeContents(lines[1]);
  if (selects === "end") range.collapse(false);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


@pytest.mark.parametrize(
    ("selects", "keys", "left"),
    [
        ("all", "another", []),
        ("line", "second", ["1×1", "3×3"]),  # what stood there is gone
        ("end", "nd", ["1×1", "2×2 ✗", "3×3"]),
    ],
)
def test_marks_beside_lines_go_with_them(
    page: Page, selects: str, keys: str, left: list[str]
) -> None:
    script = package_path("assets", "editor", "codemirror.js").read_text()
    page.route("**/*", lambda route: route.fulfill(content_type="text/html"))
    page.route("**/*.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    page.goto("http://explorer.test/yours")
    page.evaluate(MARKED, selects)
    page.keyboard.insert_text(keys)
    expect(page.locator(".cm-content")).to_contain_text(keys)
    assert [said for said in page.locator(".cm-beside span").all_inner_texts() if said] == left


def test_the_line_that_fails_is_in_view_once_after_a_paste(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    expect(page.locator("p.sentence")).to_have_text(OUT, timeout=READY)
    page.set_viewport_size({"width": 1280, "height": 720})
    write(page, WRONG.strip().replace("Net()(", "\n" * 60 + "Net()("))
    fails = page.locator(".cm-line", has_text="return self.fc")
    expect(fails).to_be_in_viewport(timeout=READY)
    expect(page.locator(".cures button").first).to_be_in_viewport(timeout=READY)
    expect(page.locator("p.sentence")).to_be_in_viewport()
    page.get_by_role("textbox", name="Your text").press("Control+End")
    expect(fails).not_to_be_in_viewport()
    for key in ("Backspace", "Backspace", "Backspace", "4", ")", ")"):
        page.keyboard.press(key)
    expect(page.locator("p.sentence")).to_contain_text(re.compile("4,?352"))  # 16 · 16 · 17
    expect(fails).not_to_be_in_viewport()


def test_what_is_found_lights_its_wires_and_sizes_are_folded(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, f"{PARTS}Net()(torch.randn(3, 4))\n")
    found = page.locator(".findings > li.silent", has_text="softmax")
    found.get_by_role("button", name="Show it").click(timeout=READY)
    wires = page.locator(".drawing .wire.chosen[data-array]")
    expect(wires).not_to_have_count(0)
    sizes = page.locator(".findings > li.size")
    expect(sizes).to_have_count(1, timeout=READY)
    expect(sizes.locator("li")).not_to_have_count(0)
    expect(sizes.locator("li").first).to_be_hidden()
    expect(sizes.locator("summary")).not_to_contain_text("`")  # names are code, not their signs
    sizes.locator("summary").click()
    expect(sizes.locator("li").first).to_be_visible()


def test_the_first_page_has_a_field_and_a_phone_an_answer(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as phone:
        page = phone.new_page()
        page.goto(address)
        page.get_by_label(re.compile("^Paste your own PyTorch")).fill(WRONG)
        page.get_by_role("button", name="Read it").click()
        expect(page).to_have_url(re.compile("/yours"))
        expect(page.locator("p.sentence")).to_contain_text("4096", timeout=READY)
        cure = page.locator(".cures button").first
        box = cure.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
        cure.click()
        expect(page.locator("p.sentence")).to_have_text(OUT, timeout=READY)
        wide = "document.documentElement.scrollWidth <= innerWidth"
        assert page.evaluate(wide)


SKIP = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.pool = nn.Conv2d(3, 16, 3, padding=1), nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 16, 2, stride=2)
    def forward(self, x):
        y = self.down(x)
        return torch.cat([self.up(self.pool(y)), y], dim=1)
Net()(torch.randn(1, 3, 66, 35))
"""
PAST = """e => {
  const box = e.closest(".answer").getBoundingClientRect(), own = e.getBoundingClientRect();
  return Math.max(own.bottom - box.bottom, own.right - box.right);
}"""


def test_both_shapes_that_do_not_meet_and_the_message_are_in_sight(
    browser: Browser, address: str
) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as phone:
        page = phone.new_page()
        visit(page, address, "/yours")
        write(page, SKIP)
        beside = page.locator(".cm-beside .cm-gutterElement", has_text="1×16×66×34, 1×16×66×35 ✗")
        expect(beside).to_be_visible(timeout=READY)
        assert beside.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        assert beside.evaluate("e => e.scrollHeight - e.clientHeight") <= 0  # the mark stands there
        page.set_viewport_size({"width": 1280, "height": 720})
        write(page, WRONG)
        cures, message = page.locator(".cures button"), page.locator(".raw summary")
        expect(cures).to_have_count(3, timeout=READY)
        low, high = (each.evaluate("e => e.offsetTop") for each in (cures.first, cures.last))
        assert low < high  # buttons take two rows
        assert message.evaluate(PAST) <= 0


SIZES = """class Part(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, 2 * dim)
    def forward(self, x):
        return self.layer(x)
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        self.part, self.last = Part(dim), nn.Linear(2 * dim, {1: 5, 2: 7}[kind])
    def forward(self, x):
        return self.last(self.part(x))
"""


def test_sizes_that_a_text_leaves_open_are_fields_that_write_its_last_line(
    page: Page, address: str
) -> None:
    visit(page, address, "/yours")
    write(page, SIZES)
    text, sentence = page.get_by_role("textbox", name="Your text"), page.locator("p.sentence")
    expect(page.get_by_label("dim, assumed")).to_have_value("64", timeout=READY)
    page.locator("select[name=class]").select_option("Net")  # it cannot be drawn yet
    page.get_by_label("kind, missing").fill("1")
    page.get_by_label("kind, missing").press("Enter")
    expect(sentence).to_have_text(re.compile("^out: 1 × 5"))
    expect(text).to_contain_text("Net(dim=64, kind=1)")
    page.get_by_label("x, assumed").fill("two")
    page.get_by_label("x, assumed").press("Enter")
    assert page.get_by_label("x, assumed").evaluate("field => !field.validity.valid")
    page.get_by_label("x, assumed").fill("3 x 7 x 64")
    page.get_by_label("x, assumed").press("Enter")
    expect(sentence).to_have_text(re.compile("^out: 3 × 7 × 5"))
    expect(text).to_contain_text("Net(dim=64, kind=1)(torch.randn(3, 7, 64))")
    expect(page.locator(".form .title")).to_have_count(0)  # nothing is assumed any more
    page.locator("select[name=class]").select_option("Part")
    expect(sentence).to_have_text(re.compile("^out: 1 × 128"))
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(sentence).to_have_text(re.compile("^out: 3 × 7 × 5"))


ROWS = """class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 8)
    def forward(self, x, places, n):
        return {(2, 3): self.table(places)}[tuple(x.shape)][:, :n]
"""


def test_an_input_is_typed_as_sizes_as_whole_numbers_or_as_code(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    write(page, ROWS)
    for name, typed in (("x", "2 × 3"), ("places", "2 × 5 # 9"), ("n", "4")):
        field = page.get_by_label(f"{name}, missing")
        expect(field).to_be_visible(timeout=READY)
        field.fill(typed)
    field.press("Enter")
    expect(page.locator("p.sentence")).to_have_text(re.compile("^out: 2 × 4 × 8"))
    text = page.get_by_role("textbox", name="Your text")
    expect(text).to_contain_text("Rows()(torch.randn(2, 3), torch.randint(9, (2, 5,)), 4)")


def test_a_line_and_its_ops_light_each_other(page: Page, address: str) -> None:
    visit(page, address, "/yours")
    expect(page.locator(".cm-beside")).to_contain_text("8×16×16×16", timeout=READY)
    lit, lines = page.locator(".drawing .lit[data-node]"), page.locator(".cm-lit")
    page.locator(".cm-line", has_text="self.conv = ").hover()
    expect(lit).to_have_attribute("data-node", "n0")
    page.locator('.drawing [data-node="n0"]').first.hover()
    expect(lines).to_have_text([re.compile("self.conv = "), re.compile(r"self\.conv\(x\)")])
