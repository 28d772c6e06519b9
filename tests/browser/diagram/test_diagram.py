"""The diagram in a real browser: what is lit, opened and folded, by pointer and by keyboard."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from ncd.circuit.circuit import array_names
from tests.browser.waits import location
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser
ATTENTION = "/multi-head-attention"
CIRCUIT = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
ATTEND = next(fence.id for fence in CIRCUIT.fences if fence.title.startswith("Scaled"))
FOCUSED = """() => {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found?.getAttribute("aria-label") || found?.innerText || "";
}"""
# With how a size is changed, once that is known.
WEIGHTS = re.compile(r"^weights y 20 · x 22 · h 4(Drag it, press ← or →, or type a number\.)?\s*$")


def visit(page: Page, address: str, path: str = ATTENTION) -> Page:
    """A page once its first run is over."""
    page.goto(f"{address}{path}")
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.locator(".chip").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    return page


def op(label: str) -> str:
    return next(cell.id for cell in CIRCUIT.cells if cell.op.display_name == label)


def array(name: str) -> str:
    return next(id for id, own in array_names(CIRCUIT).items() if own == name)


def chip(page: Page, axis: str) -> Locator:
    return page.locator(f".chip[data-axis={axis}]")


def block(page: Page, id: str) -> Locator:
    return page.locator(f".drawing [data-fence={id}]").first


def lit(page: Page) -> set[str]:
    """The axes that are lit in the diagram."""
    wires = page.locator(".drawing .wire.lit")
    return set(wires.evaluate_all("all => all.map((wire) => wire.dataset.axis ?? '')"))


FRAMES = """new Promise((done) => {
    const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : done());
    next(4);
})"""


def asked(page: Page, name: str, value: str | None) -> None:
    """Waits until the address says so; None: until it says nothing."""
    if value is None:
        expect(page).not_to_have_url(re.compile(rf"[?&]{name}="))
        return
    expect(page).to_have_url(re.compile(rf"[?&]{name}="))
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value",
        arg=[name, value],
    )


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(location(page)).query).items()}


def away(page: Page) -> None:
    """Moves the pointer to where nothing is lit."""
    page.locator("h1").hover()


def aim(page: Page, id: str) -> None:
    """Points at a block where nothing else stands: below its title."""
    block(page, id).locator("rect").first.hover(position={"x": 24, "y": 14})


# Axes ----------------------------------------------------------------------------------------


def test_up_to_four_axes_are_lit_each_in_its_own_colour(page: Page, address: str) -> None:
    visit(page, address)
    for axis in "khxm":
        chip(page, axis).click()
    asked(page, "axes", "k,h,x,m")
    away(page)
    assert lit(page) == set("khxm")
    colour = "axis => getComputedStyle(axis).borderColor"
    assert len({chip(page, axis).evaluate(colour) for axis in "khxm"}) == 4
    for axis in "khxm":
        name = page.locator(f".drawing .wire.lit[data-axis={axis}] text").first
        assert name.evaluate("e => getComputedStyle(e).fill") == chip(page, axis).evaluate(colour)
    chip(page, "y").click()  # a fifth one takes the place of the last
    asked(page, "axes", "k,h,x,y")


def test_an_answer_to_an_earlier_click_puts_nothing_out(page: Page, address: str) -> None:
    visit(page, address)
    answer = """([axes, lit]) => {
      const find = (root) => [...root.querySelectorAll("*")].map((e) => e.shadowRoot).find(
        (shadow) => shadow?.querySelector(".drawing.whole"));
      for (const axis of axes) find(document).querySelector(`.chip[data-axis=${axis}]`).click();
      const told = document.ncdTold["ncd-drawn"];
      document.ncdTold["ncd-drawn"] = { ...told, lit };
      document.dispatchEvent(new Event("ncd-drawn"));
      return [...document.ncdLight.axes];
    }"""
    assert page.evaluate(answer, [["k", "h"], "k"]) == ["k", "h"]
    assert page.evaluate(answer, [[], "k,h"]) == ["k", "h"]
    assert page.evaluate(answer, [[], "x"]) == ["x"]  # such as by the way back


def test_letting_an_axis_go_leaves_the_others_their_colours(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?axes=k,h")
    colour = "axis => getComputedStyle(axis).borderColor"
    before = chip(page, "h").evaluate(colour)
    chip(page, "k").click()
    asked(page, "axes", ",h")
    away(page)
    assert chip(page, "h").evaluate(colour) == before
    expect(chip(page, "h")).to_have_attribute("aria-pressed", "true")
    expect(chip(page, "k")).to_have_attribute("aria-pressed", "false")
    page.reload()
    expect(chip(page, "h")).to_have_attribute("aria-pressed", "true")
    assert chip(page, "h").evaluate(colour) == before


def test_an_axis_is_lit_from_a_wires_name_and_from_a_panel(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Shapes")
    page.locator(".drawing .wire[data-axis=k] text").first.click()
    asked(page, "axes", "k")
    page.locator("table .axis[data-axis=h]").first.click()
    asked(page, "axes", "k,h")
    assert "select" not in query(page)


def test_an_axis_is_lit_from_the_title_of_the_map(page: Page, address: str) -> None:
    visit(page, address)
    page.locator(".map .axis[data-axis=x]").first.click()
    asked(page, "axes", "x")
    expect(chip(page, "x")).to_have_attribute("aria-pressed", "true")


def test_an_axis_that_is_not_there_is_not_lit(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?axes=k,nothing,h")
    expect(chip(page, "h")).to_have_attribute("aria-pressed", "true")
    asked(page, "axes", "k,,h")


# What is pointed at --------------------------------------------------------------------------


def test_wires_and_blocks_answer_to_the_pointer_and_to_a_click(page: Page, address: str) -> None:
    visit(page, address)
    for name in ("scores", "scaled scores", "weights"):  # told apart aloud, though of one shape
        wire = page.locator(f".drawing .wire[data-array={array(name)}][data-axis=h]").first
        called = re.compile(rf"^(h: )?axis h, size 4, of array {name} \(y x h\)$")
        expect(wire).to_have_attribute("aria-label", called)
    page.locator(f".drawing .wire[data-array={array('weights')}] text").first.hover()
    expect(page.locator(".words")).to_have_text(WEIGHTS)
    title = block(page, ATTEND).locator("text").first
    title.hover()
    expect(block(page, ATTEND)).to_have_class(re.compile(r"\blit\b"))
    expect(page.locator(".words")).to_contain_text("Scaled Dot-Product Attention")
    away(page)
    expect(page.locator(".fence.lit")).to_have_count(0)
    expect(page.locator(".words")).to_be_hidden()
    title.click()
    asked(page, "select", ATTEND)
    expect(page.get_by_role("heading", name="Scaled Dot-Product Attention")).to_be_visible()


# Letting go ----------------------------------------------------------------------------------


def test_a_click_beside_the_diagram_lets_go(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?axes=k&select={array('weights')}")
    expect(page.locator(".drawing .chosen").first).to_be_attached()
    page.locator(".drawing").first.click(position={"x": 5, "y": 5})
    asked(page, "select", None)
    asked(page, "axes", None)
    away(page)
    expect(page.locator(".drawing :is(.lit, .chosen)")).to_have_count(0)


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["h1", ".stSlider [role=slider], .stSlider input", ".chip"])
def test_escape_lets_go_wherever_the_focus_is(page: Page, address: str, where: str) -> None:
    visit(page, address, f"{ATTENTION}?axes=k,h&select={ATTEND}")
    expect(page.locator(".drawing .chosen").first).to_be_attached()
    page.locator(where).first.focus()
    page.keyboard.press("Escape")
    asked(page, "select", None)
    asked(page, "axes", None)


def test_escape_closes_the_key_before_it_lets_go(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?axes=k")
    page.locator(".key summary").click()
    expect(page.locator(".key > .sheet")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".key > .sheet")).to_be_hidden()
    assert query(page)["axes"] == "k"
    page.keyboard.press("Escape")
    asked(page, "axes", None)


# Folding -------------------------------------------------------------------------------------


def test_a_block_folds_and_unfolds_by_its_sign(page: Page, address: str) -> None:
    visit(page, address)
    page.locator(f".sign[data-fold={ATTEND}]").click()
    expect(page.locator(f".op[data-fence={ATTEND}]")).to_be_visible()
    expect(page.locator(f".drawing .op[data-node={op('Softmax')}]")).to_have_count(0)
    asked(page, "folded", ATTEND)
    page.reload()
    expect(page.locator(f".op[data-fence={ATTEND}]")).to_be_visible()
    page.locator(f".sign[data-fold={ATTEND}]").click()
    expect(page.locator(f".drawing .op[data-node={op('Softmax')}]")).to_be_visible()
    asked(page, "folded", "none")


def test_a_double_click_folds_and_a_click_on_the_box_opens_its_card(
    page: Page, address: str
) -> None:
    visit(page, address)
    title = block(page, ATTEND).locator("text").first.bounding_box()
    assert title is not None
    page.mouse.move(title["x"] + title["width"] / 2, title["y"] + title["height"] / 2)
    for count in (1, 2):  # one click some frames after the other, as of a hand
        page.mouse.down(click_count=count)
        page.mouse.up(click_count=count)
        page.evaluate(FRAMES)
    box = page.locator(f".op[data-fence={ATTEND}]")
    expect(box).to_be_visible()
    asked(page, "select", None)
    asked(page, "panel", None)
    box.click()
    expect(page.get_by_role("heading", name="Scaled Dot-Product Attention")).to_be_visible()
    page.get_by_role("button", name="Unfold in the diagram").click()
    expect(page.locator(f".drawing .op[data-node={op('Softmax')}]").first).to_be_visible()


# A block's inside ----------------------------------------------------------------------------


def test_the_inside_of_a_block_has_the_ids_of_the_whole(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?select={ATTEND}&panel=Values")
    inside = page.locator(".card .drawing")
    expect(inside.locator(".op")).to_have_count(4)
    for label in ("Scale", "Softmax"):
        inside.locator(f".op[data-node={op(label)}]").hover()
        others = page.locator(f".drawing .op.lit:not([data-node={op(label)}])")
        expect(page.locator(f".drawing .op.lit[data-node={op(label)}]")).to_have_count(2)
        expect(others).to_have_count(0)


def test_ops_inside_a_block_open_in_turn_and_lead_back(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?select={ATTEND}&panel=Values")
    page.locator(f".card .drawing .op[data-node={op('Softmax')}]").click()
    expect(page.get_by_role("heading", name="Softmax")).to_be_visible()
    asked(page, "select", op("Softmax"))
    around = page.get_by_role("navigation", name="The blocks around it")
    expect(around.get_by_role("button")).to_have_text(
        ["Multi-Head Attention", "Scaled Dot-Product Attention"]
    )
    around.get_by_role("button").last.click()
    expect(page.get_by_role("heading", name="Scaled Dot-Product Attention")).to_be_visible()
    asked(page, "select", ATTEND)


# What stands on the wires --------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(("path", "both"), [(ATTENTION, True), ("/residual-block", False)])
def test_choosing_labels_moves_nothing_below_the_diagram(
    page: Page, address: str, path: str, both: bool
) -> None:
    """Where names and sizes together are too wide to be read, they take rows of their own."""
    visit(page, address, path)
    choice = page.locator(".labels")
    expect(page.locator(".cost")).to_contain_text("on cpu")
    page.evaluate("document.fonts.ready.then(() => true)")
    before = choice.bounding_box()
    choice.get_by_text("sizes").click()
    asked(page, "labels", "sizes")
    expect(page.locator(".drawing .wire text").filter(has_text="16").first).to_be_visible()
    assert choice.bounding_box() == before
    if not both:
        return
    page.keyboard.press("ArrowRight")
    asked(page, "labels", "both")
    expect(page.locator(".drawing .wire text").filter(has_text="=").first).to_be_visible()
    assert choice.bounding_box() == before


# The keyboard --------------------------------------------------------------------------------


def tab_to(page: Page, text: str) -> None:
    """Presses Tab until what has the focus is called like this."""
    for _ in range(120):
        if re.match(text, page.evaluate(FOCUSED)):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {text}")


def test_the_whole_page_is_worked_with_the_keyboard_alone(page: Page, address: str) -> None:
    visit(page, address)
    tab_to(page, "(h: )?axis h, size 4, of array weights")  # a wire is opened
    page.keyboard.press("Enter")
    asked(page, "softmax", op("Softmax"))  # in the panel of its maps
    tab_to(page, "k 16: axis k 16, light it everywhere")  # an axis is lit
    page.keyboard.press("Enter")
    asked(page, "axes", "k")
    page.keyboard.press("Escape")
    asked(page, "axes", None)
    page.locator("h1").evaluate("e => { e.tabIndex = -1; e.focus() }")
    tab_to(page, "Scaled Dot-Product Attention")  # a block is folded, and unfolded
    page.keyboard.press("f")
    expect(page.locator(f".op[data-fence={ATTEND}]")).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator(f".fence[data-fence={ATTEND}]")).to_be_focused()
    tab_to(page, "Attention")  # a panel is read
    for _ in ("Equation", "Values", "Source"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".code .line").first).to_be_visible()
    tab_to(page, r"\s*weights = scores\.softmax")
    expect(page.locator(f".drawing .op.lit[data-node={op('Softmax')}]")).to_be_attached()


def test_one_key_jumps_over_the_diagram(page: Page, address: str) -> None:
    visit(page, address)
    tab_to(page, "Skip the diagram")
    expect(page.get_by_role("button", name="Skip the diagram")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".chip").first).to_be_focused()


def test_the_focus_is_seen_in_the_diagram(page: Page, address: str) -> None:
    visit(page, address)
    tab_to(page, "(h: )?axis h, size 4, of array weights")
    wire = page.locator(".drawing .wire:focus")
    ink = wire.locator(".ink").evaluate("e => parseFloat(getComputedStyle(e).strokeWidth)")
    assert ink > 2
    expect(page.locator(".words")).to_have_text(WEIGHTS)


# The window ----------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [(640, 360), (400, 800), (1280, 720)])
def test_nothing_lies_on_the_title_and_the_buttons(
    page: Page, address: str, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    visit(page, address)
    collapse = page.locator("[data-testid=stSidebarCollapseButton] button")
    if size[0] > 1000:
        page.locator("[data-testid=stSidebar]").hover()
        collapse.click()
        expect(page.locator("[data-testid=stExpandSidebarButton]")).to_be_visible()

    def free() -> None:
        bar = page.locator("[data-testid=stHeader]").bounding_box()
        for part in (page.locator("h1"), page.get_by_role("button", name="Copy link")):
            box = part.bounding_box()
            assert bar and box and box["y"] >= bar["y"] + bar["height"] - 1
            assert box["x"] >= 0 and box["x"] + box["width"] <= size[0]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    to_pass(free)  # the menu at the side goes slowly
