"""What the numbers are: maps, values and the graph, in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import ncd
from ncd.app.parts import heatmap
from tests.browser.page.test_visit import ATTENTION, made_by, query, visit
from tests.browser.server import FAREWELL, ROOT, awaited, free_port
from tests.browser.waits import next_frame
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser


def frame(page: Page) -> Locator:
    """The frame of the map, once it is there for the keys and the pointer."""
    found = page.locator(".map .frame")
    expect(found).to_be_visible()
    return found


def tip(page: Page) -> Locator:
    return page.locator(".map .tip")


def depth(page: Page, part: str) -> float:
    """How far below the beginning of the panels a part stands."""
    box, panels = (page.locator(e).first.bounding_box() for e in (part, ".st-key-panels"))
    assert box and panels
    return box["y"] - panels["y"]


def view(page: Page, inner: str = ".map .inner") -> str:
    """Which part of a picture is seen."""
    return str(
        page.locator(inner).evaluate("e => [e.style.width, e.style.left, e.style.top].join()")
    )


# --- what the numbers are ------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("panel", ["Attention", "Values", "Autograd"])
def test_untrained_weights_are_called_that(page: Page, address: str, panel: str) -> None:
    visit(page, address, f"{ATTENTION}?panel={panel}&input=random arrays")
    told = page.get_by_text(re.compile("and random inputs, from seed 0"))
    expect(told).to_be_visible()
    expect(page.locator("abbr", has_text="Untrained weights")).to_have_attribute(
        "title", re.compile("chance")
    )


def test_a_system_that_learns_nothing_says_so(page: Page, address: str) -> None:
    visit(page, address, "/scaled-dot-product-attention?panel=Attention")
    expect(page.get_by_text("Random inputs, from seed 0; nothing is learned here.")).to_be_visible()


def test_signs_of_the_graph_and_of_the_statistics_explain_themselves(
    page: Page, address: str
) -> None:
    visit(page, address, f"{ATTENTION}?panel=Autograd")
    foot = page.locator(".foot", has_text="‖∇‖")
    expect(foot).to_contain_text("length of the gradient")
    expect(foot).to_contain_text("“keeps” is the memory")
    page.get_by_role("tab", name="Values").click()
    expect(page.locator("abbr", has_text="Spread")).to_have_attribute("title", re.compile("mean"))
    page.get_by_text("Histogram", exact=True).click()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


# --- maps ----------------------------------------------------------------------------------------


def test_the_view_stays_when_the_head_changes(page: Page, address: str) -> None:
    visit(page, address)
    for _ in range(3):
        page.get_by_role("button", name="larger").click()
    near = view(page)
    assert near != "100%,0%,0%"
    page.locator(".heads button").nth(2).click()
    expect(page.locator(".map .title.columns")).to_contain_text("h = 2")
    assert view(page) == near
    page.get_by_role("button", name="all of it").click()
    assert view(page) == "100%,0%,0%"


def test_a_map_is_zoomed_and_moved_by_the_pointer(page: Page, address: str) -> None:
    visit(page, address)
    frame(page).scroll_into_view_if_needed()
    box = frame(page).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -100)
    assert view(page) == "100%,0%,0%"  # the page scrolls
    frame(page).scroll_into_view_if_needed()
    frame(page).dispatch_event("wheel", {"deltaY": -300, "ctrlKey": True, "clientX": x})
    near = view(page)
    assert near != "100%,0%,0%"
    box = frame(page).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y - 30, steps=3)
    page.mouse.up()
    assert view(page) != near


def test_a_vertical_swipe_scrolls_the_page(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True)
    page = visit(context.new_page(), address)
    frame(page).scroll_into_view_if_needed()
    box = frame(page).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = context.new_cdp_session(page)
    for n in range(14):
        kind = "touchMove" if n else "touchStart"
        points = [{"x": x, "y": y - 10 * n}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        next_frame(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def scrolled() -> None:
        after = frame(page).bounding_box()
        assert after is not None and after["y"] < box["y"] - 60

    to_pass(scrolled)
    assert view(page) == "100%,0%,0%"
    context.close()


def test_a_cell_says_its_query_its_key_and_its_weight(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?input=sentences&text_y=the+cat+sat")
    frame(page).hover(position={"x": 4, "y": 4})
    expect(tip(page)).to_have_text(re.compile(r"query y 0, the\s*key x 0, the\s*weight 0\.\d+"))
    page.mouse.move(0, 0)
    expect(tip(page)).to_be_hidden()


def test_a_pointer_on_the_edge_of_a_map_is_in_its_last_cell(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?y=3&x=5")
    own = frame(page)
    box = page.locator(".map .inner").bounding_box()
    assert box is not None
    edge = {"clientX": box["x"] + box["width"], "clientY": box["y"] + box["height"]}
    own.dispatch_event("pointermove", edge)
    expect(tip(page)).to_contain_text("query y 2")
    expect(tip(page)).to_contain_text("key x 4")


def test_the_cells_are_read_with_the_arrow_keys(page: Page, address: str) -> None:
    visit(page, address)
    told = page.locator(".aside", has_text="Rows are queries")
    expect(told).to_contain_text("each row sums to 1.")
    assert not re.search(r"\de-\d", told.inner_text())  # no developer's numbers
    frame(page).focus()
    page.keyboard.press("ArrowRight")
    expect(tip(page)).to_contain_text("query y 0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(tip(page)).to_contain_text("query y 1")
    expect(tip(page)).to_contain_text("key x 1")
    page.keyboard.press("+")
    assert view(page) != "100%,0%,0%"
    page.keyboard.press("0")
    assert view(page) == "100%,0%,0%"
    page.locator(".map .title .axis[data-axis=x]").hover()
    expect(page.locator(".drawing .wire.lit[data-axis=x]").first).to_be_attached()


def test_the_cells_of_two_sequences_are_square(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?y=10&x=22")
    box = frame(page).bounding_box()
    assert box is not None
    assert box["width"] / 22 == pytest.approx(box["height"] / 10, rel=0.02)


def test_what_is_chosen_is_in_the_link(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?head=9999")
    expect(page).to_have_url(re.compile("head=3"))
    page.locator(".heads button").nth(1).click()
    expect(page).to_have_url(re.compile("head=1"))
    page.reload()
    expect(page.locator(".heads button").nth(1)).to_have_attribute("aria-pressed", "true")


def test_each_head_has_its_own_picture(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?input=random arrays")
    pictures, maps = page.locator(".heads .part"), _run_maps()
    expect(pictures).to_have_count(len(maps))
    ends = heatmap.ColourRange.from_numbers(maps, signed=False)
    colours = np.frombuffer(heatmap.palette(heatmap.POSITIVE), np.uint8).reshape(256, 3).astype(int)
    for picture, own in zip(pictures.all(), maps, strict=True):
        seen = np.asarray(Image.open(BytesIO(picture.screenshot())).convert("RGB")).astype(int)
        down, across = (
            ((np.arange(n) + 0.5) * pixels / n).astype(int)
            for n, pixels in zip(own.shape, seen.shape, strict=False)
        )
        wanted = colours[np.round(255 * own / ends.high).astype(int)]
        inside = (slice(1, -1), slice(1, -1))  # the corners are round
        assert np.abs(seen[np.ix_(down, across)] - wanted)[inside].max() <= 3


def _run_maps() -> heatmap.CellGrid:
    """The weights of every head on the page of attention, on random arrays."""
    trace = ncd.trace(*_run())
    values: heatmap.CellGrid = trace.values[made_by("Softmax")].detach().permute(2, 0, 1).numpy()
    return values


# --- values --------------------------------------------------------------------------------------


def test_two_axes_make_the_picture_and_the_others_are_cut(page: Page, address: str) -> None:
    visit(
        page, address, f"{ATTENTION}?panel=Values&select={made_by('Softmax')}&input=random arrays"
    )
    page.get_by_label("Rows by columns").select_option("h,x")
    expect(page.locator(".map .title.rows")).to_have_text("h")
    expect(page).to_have_url(re.compile("picture=h(,|%2C)x"))
    row = page.locator(".heads button").nth(5)
    row.click()
    expect(page).to_have_url(re.compile(r"slices=y\.5"))
    expect(row).to_have_attribute("aria-pressed", "true")  # it comes with the map
    trace = ncd.trace(*_run())
    value = trace.values[made_by("Softmax")][5, 0, 0].item()
    frame(page).hover(position={"x": 3, "y": 3})
    shown = float(tip(page).inner_text().split()[-1].replace("−", "-"))
    assert shown == pytest.approx(value, rel=0.01)


def _run() -> tuple[ncd.CircuitModule, *tuple[object, ...]]:
    term = ncd.catalogue["multi-head-attention"].build()
    return ncd.compile(term, seed=0), *ncd.example_inputs(term, seed=0)


def test_arrays_and_axes_are_called_as_on_the_wires(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Values&select={made_by('Softmax')}")
    expect(page.locator("h2[data-array]")).to_contain_text("weights")
    expect(page.locator(".map .title .axis.bar[data-axis=x]")).to_be_visible()
    visit(page, address, "/residual-block?panel=Values")
    expect(page.locator(".heads sub").first).to_have_text("1")
    expect(page.locator(".map .title.rows")).to_have_text("x height")


# --- numbers that no page has --------------------------------------------------------------------


@pytest.fixture(scope="module")
def maps() -> Iterator[str]:
    port = free_port()
    script = str(Path(__file__).with_name("maps_app.py"))
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        yield awaited(port, process)
    finally:
        process.terminate()
        process.wait(FAREWELL)


def open_map(page: Page, address: str, case: str) -> None:
    """The first to come waits until torch is there."""
    page.goto(f"{address}?case={case}")
    expect(page.locator(".map canvas").first).to_be_visible(timeout=60_000)


def colours(page: Page) -> int:
    """How many different colours the cells have."""
    return int(
        page.locator(".map canvas").first.evaluate(
            """canvas => { const { width: w, height: h } = canvas;
            const all = canvas.getContext("2d").getImageData(0, 0, w, h).data;
            const found = new Set();
            for (let i = 0; i < all.length; i += 4) found.add(all.slice(i, i + 3).join());
            return found.size; }"""
        )
    )


def test_one_huge_number_does_not_hide_the_others(page: Page, maps: str) -> None:
    open_map(page, maps, "huge")
    told = page.locator(".beyond")
    expect(told).to_contain_text("1 number is much larger than all others, up to 1000 in size")
    assert colours(page) > 100
    told.get_by_role("button", name="Colours up to 1000").click()
    expect(told).to_contain_text("so the others look alike")
    assert colours(page) <= 3
    told.get_by_role("button").click()
    expect(told).to_contain_text("so the colours end before")


def test_names_of_long_sentences_thin_out(page: Page, maps: str) -> None:
    open_map(page, maps, "words")
    for side in ("rows", "columns"):
        ticks = page.locator(f".ticks.{side} .tick")
        expect(ticks.first).to_be_visible()
        boxes = ticks.evaluate_all("all => all.map((e) => e.getBoundingClientRect().toJSON())")
        at = sorted(
            (b["y"], b["height"]) if side == "rows" else (b["x"], b["width"]) for b in boxes
        )
        assert 5 < len(at) < 128
        assert all(a + size <= b + 1 for (a, size), (b, _) in pairwise(at))
    for _ in range(9):
        page.get_by_role("button", name="larger").click()
    names = page.locator(".ticks.rows .tick").all_inner_texts()
    numbers = [int(name.removeprefix("incomprehensibility")) for name in names]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))  # near by, every one


def test_a_large_map_keeps_its_structure(page: Page, maps: str) -> None:
    open_map(page, maps, "large")
    expect(page.locator(".foot")).to_contain_text("1,024 × 1,024 numbers, shown as the largest")
    light = page.locator(".heads img").evaluate(
        """async image => { await image.decode();
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = image.naturalWidth;
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0);
        return [5, 40, 70].map(i => [...pen.getImageData(i, i, 1, 1).data.slice(0, 3)]); }"""
    )
    assert light == [[253, 231, 37]] * 3  # the diagonal, at full strength


def test_an_image_is_an_image(page: Page, maps: str) -> None:
    open_map(page, maps, "image")
    expect(page.locator(".heads button")).to_have_count(4)
    expect(page.locator(".heads button").first).to_contain_text("in colours")
    pixels = page.locator(".map canvas").first.evaluate(
        "c => [0, 19].map(x => [...c.getContext('2d').getImageData(x, 3, 1, 1).data])"
    )
    assert pixels == [[255, 0, 0, 255], [0, 0, 255, 255]]
    box = frame(page).bounding_box()
    assert box is not None and box["width"] / 20 == pytest.approx(box["height"] / 12, rel=0.02)


# --- autograd ------------------------------------------------------------------------------------


def node(page: Page, label: str) -> Locator:
    return page.locator(".graph-view .node", has=page.locator("text", has_text=label)).first


def graph(page: Page, address: str, path: str = ATTENTION) -> Page:
    visit(page, address, f"{path}?panel=Autograd")
    expect(page.locator(".graph-view .node").first).to_be_visible()
    return page


@pytest.mark.few(2)
@pytest.mark.parametrize("path", [ATTENTION, "/residual-block"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_graph_fits_its_frame(page: Page, address: str, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    graph(page, address, path)
    scale = "svg => svg.getScreenCTM().a * 12"  # it begins with letters that can be read
    assert page.locator(".graph-view .inner svg").evaluate(scale) > 10.8
    if width < 500:  # at the left
        page.get_by_role("button", name="all of it").click()
    box, whole, buttons = (
        page.locator(f".graph-view {e}").bounding_box() for e in (".frame", ".graph", ".zoom")
    )
    assert box and whole and buttons
    assert buttons["x"] >= box["x"] + box["width"]  # no node lies below them
    assert whole["x"] >= box["x"] - 1 and whole["y"] >= box["y"] - 1
    assert whole["x"] + whole["width"] <= box["x"] + box["width"] + 1
    assert whole["y"] + whole["height"] <= box["y"] + box["height"] + 1


def test_the_graph_zooms_and_pans(page: Page, address: str) -> None:
    graph(page, address)
    inner = ".graph-view .inner"
    page.get_by_role("button", name="larger").click()
    assert view(page, inner) != "100%,0%,0%"
    before = view(page, inner)
    page.locator(".graph-view").scroll_into_view_if_needed()
    box = page.locator(".graph-view").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=3)
    page.mouse.up()
    assert view(page, inner) != before
    assert "select" not in query(page)  # a drag selects nothing
    page.get_by_role("button", name="all of it").click()
    assert view(page, inner) == "100%,0%,0%"


def test_the_graph_has_the_font_of_the_page(page: Page, address: str) -> None:
    graph(page, address)
    font = "e => getComputedStyle(e).fontFamily"
    own = page.locator(".graph-view text").first.evaluate(font)
    assert own == page.locator(".stMarkdown p").first.evaluate(font)


def test_the_nodes_are_reached_and_selected_with_the_keyboard(page: Page, address: str) -> None:
    graph(page, address)
    stops = page.locator(".graph-view [tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    labels = []
    for _ in range(4):
        focused = page.locator(".graph-view .node:focus")
        labels.append(focused.get_attribute("aria-label"))
        page.keyboard.press("ArrowRight")
    assert len(set(labels)) == 4 and all("gradient norm" in str(label) for label in labels)
    softmax = node(page, "Softmax")
    softmax.focus()
    expect(page.locator('.drawing .op.lit[data-node="n6"]').first).to_be_attached()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("select=n6"))
    expect(softmax).to_have_class(re.compile("chosen"))


def test_the_graph_keeps_its_place_and_its_view(page: Page, address: str) -> None:
    graph(page, address)
    page.get_by_role("button", name="larger").click()
    near, place = view(page, ".graph-view .inner"), depth(page, ".graph-view")
    page.get_by_role("switch", name="Causal").press(" ")
    expect(node(page, "CausalMask")).to_be_visible()
    assert view(page, ".graph-view .inner") == near
    assert depth(page, ".graph-view") == place


# --- in one view ---------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_the_diagram_and_the_beginning_of_its_map_are_in_one_view(
    page: Page, address: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    visit(page, address, f"{ATTENTION}{'?callouts=off' if height < 800 else ''}")
    expect(page.locator(".map canvas").first).to_be_visible()
    box, frame = (page.locator(p).first.bounding_box() for p in (".drawing svg", ".map"))
    assert box is not None and frame is not None
    assert box["y"] >= 0 and box["y"] + box["height"] < frame["y"] <= height - 100


def test_the_link_says_of_callouts_only_what_somebody_chose(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, address, f"{ATTENTION}?h=2")
    callouts = page.get_by_label("callouts")
    expect(callouts).to_be_checked()
    expect(page.locator(".drawing").first).to_contain_text("We copy the")
    expect(page).to_have_url(f"{address}{ATTENTION}?h=2")
    callouts.uncheck()
    expect(page).to_have_url(f"{address}{ATTENTION}?h=2&callouts=off")


def test_the_map_keeps_its_place_when_the_head_changes(page: Page, address: str) -> None:
    visit(page, address)
    expect(page.locator(".map canvas").first).to_be_visible()
    page.evaluate("document.fonts.ready.then(() => true)")
    before, size = depth(page, ".map"), frame(page).bounding_box()
    page.locator(".heads button").nth(1).click()
    expect(page.locator(".map .title.columns")).to_contain_text("h = 1")
    after = frame(page).bounding_box()
    assert size and after and (after["width"], after["height"]) == (size["width"], size["height"])
    assert depth(page, ".map") == before


@pytest.mark.few(1)
@pytest.mark.parametrize("panel", ["Attention", "Values", "Autograd"])
def test_a_panel_leaves_room_while_it_waits(page: Page, address: str, panel: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Source")
    tab = page.get_by_role("tab", name=panel)
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    room = page.get_by_role("tabpanel").filter(visible=True).bounding_box()
    assert room is not None and room["height"] >= 450


def test_zero_is_as_dark_as_the_page(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="dark")
    visit(page, address, "/multi-head-attention?panel=Values&select=v1")
    ramp = page.locator(".map .ramp canvas")
    expect(ramp).to_be_visible()
    zero = (
        "canvas => Math.max(...canvas.getContext('2d').getImageData(0, 127, 1, 1).data.slice(0, 3))"
    )
    assert ramp.evaluate(zero) < 60
    page.emulate_media(color_scheme="light")
    page.reload()
    expect(ramp).to_be_visible()
    assert ramp.evaluate(zero) > 220
