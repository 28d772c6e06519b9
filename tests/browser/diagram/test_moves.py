"""A size that moves in the diagram is one request; the session follows once it rests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import SIZE
from tests.browser.diagram.test_scrub import LONG, Runs, chip, opened, reached
from tests.browser.waits import location, next_frame, quiet

pytestmark = pytest.mark.browser

# No size comes to rest: what waits for that waits until the size is let go, or left by a key.
RESTLESS = """
const later = window.setTimeout;
window.setTimeout = (act, wait, ...more) => wait === 300 ? 0 : later(act, wait, ...more);
"""
# What the page says that follows from sizes, but for the measured time.
SHOWN = """() => {
  const roots = [...document.querySelectorAll("*")].flatMap((e) => e.shadowRoot ?? []);
  const html = (name) => roots.map((root) => root.querySelector(name)?.innerHTML ?? "").join("")
    .replace(/ (class|style|aria-pressed|tabindex|aria-expanded)="[^"]*"/g, ""); // what is lit
  const canvas = roots.map((root) => root.querySelector(".map:not([hidden]) .inner canvas"));
  return {
    drawing: html(".drawing.whole"),
    chips: roots.flatMap((root) => [...root.querySelectorAll(".chip")].map((e) => e.innerText)),
    cost: html(".cost").replace(/ ·[^·]*on cpu/, ""),
    parts: [".content", ".side", ".aside", ".foot:not(:has(.cost))"].map(html),
    maps: canvas.map((each) => each?.toDataURL()),
  };
}"""
STEPS = 8


@pytest.fixture
def restless(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE)
    context.add_init_script(RESTLESS)
    yield context.new_page()
    context.close()


def arrived(page: Page, size: str) -> None:
    """Waits until both lines of the answer for a query have come."""
    page.wait_for_function(
        "size => document.ncdDiagram.data.ask.includes(size) && !document.ncdDiagram.asker.asked",
        arg=size,
    )


def dragged(page: Page, axis: str, steps: int = STEPS) -> str:
    """Drags a chip to the right without letting go; returns the setting, as in the link."""
    x, y = reached(page, axis)
    page.mouse.down()
    for i in range(1, steps + 1):
        page.mouse.move(x + 12 * i, y)
        next_frame(page)
    size = f"{axis.replace('_', '')}={chip(page, axis).inner_text().split()[-1]}"
    arrived(page, size)
    return size


def shown(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(SHOWN)
    return found


VIEWS = (
    ("multi-head-attention", "y"),
    ("multi-head-attention?labels=values&select=v9&panel=Values", "x"),
    ("multi-head-attention?panel=Values&select=n3&axes=m", "m"),
    ("encoder-block?n=1&t=8&h=2&k=8&d=32&folded=none&panel=Values", "h"),
    ("vit?folded=f2&panel=Attention", "k"),
    ("lstm?panel=Gates", "t"),
)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("view", "axis"), VIEWS)
@pytest.mark.few(4)
def test_a_drag_shows_what_the_run_at_rest_will(
    restless: Page, address: str, view: str, axis: str, dark: bool
) -> None:
    page = restless
    runs = Runs(page)
    page.emulate_media(color_scheme="dark" if dark else "light")
    opened(page, address, view)
    quiet(page)
    before, runs.all = shown(page), 0
    size = dragged(page, axis)
    quiet(page)  # a map is painted some frames after its answer has come
    during = shown(page)
    assert runs.all == 0
    assert size not in location(page)
    moved = {part for part in during if during[part] != before[part]}
    assert moved >= {"drawing", "chips"} and moved & {"parts", "maps"}
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"[?&]{size}\b"), timeout=LONG)
    quiet(page)
    assert shown(page) == during
    assert runs.all == 1


def test_keys_are_answered_and_the_session_follows_once(restless: Page, address: str) -> None:
    page = restless
    runs = Runs(page)
    opened(page, address, "multi-head-attention")
    reached(page, "h")
    chip(page, "h").focus()
    runs.all = 0
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    arrived(page, "h=7")
    expect(page.locator(".maps .side [data-pick]")).to_have_count(7)
    assert runs.all == 0
    page.keyboard.press("Tab")  # what ends a move as well
    expect(page).to_have_url(re.compile(r"\?h=7$"), timeout=LONG)
    expect(page.locator(".st-key-h input")).to_have_value("7")
    assert runs.all == 1


def test_a_size_moves_in_a_view_of_a_lesson(page: Page, address: str) -> None:
    opened(page, address, "multi-head-attention")
    page.get_by_role("button", name="Lesson", exact=True).click()
    expect(page.locator("output.place")).to_have_text("1 / 7")
    quiet(page)
    reached(page, "h")
    chip(page, "h").focus()
    page.keyboard.press("ArrowRight")
    arrived(page, "h=5")
    expect(page).to_have_url(re.compile(r"[?&]h=5\b"), timeout=LONG)
    expect(page.locator("output.place")).to_have_text("1 / 7")
    assert "views" in location(page)


def typed(page: Page, axis: str, number: str) -> None:
    reached(page, axis)
    chip(page, axis).focus()
    for digit in number:
        page.keyboard.press(digit)
    page.keyboard.press("Enter")


def test_a_number_that_a_size_cannot_be_says_so(page: Page, address: str) -> None:
    opened(page, address, "residual-block")
    typed(page, "n_1", "71")
    expect(chip(page, "n_1")).to_have_text("n1 72")
    note = page.get_by_text("n₁ cannot be 71: it is a multiple of 4")
    expect(note).to_contain_text("The nearest is 72.", timeout=LONG)
    expect(page.locator(".st-key-n1 input")).to_have_value("72")


def test_what_is_too_large_says_so_and_offers_a_cure(restless: Page, address: str) -> None:
    page = restless
    opened(page, address, "multi-head-attention")
    typed(page, "y", "9000000")
    reason = page.locator(".cost").get_by_text("Too large to run here.")
    expect(reason).to_be_visible()
    page.keyboard.press("Tab")
    cure = page.locator(".st-key-refusal").get_by_role("button").first
    cure.click(timeout=LONG)
    expect(page.locator(".st-key-refusal")).to_have_count(0, timeout=LONG)
    expect(reason).to_have_count(0)


@pytest.mark.parametrize("host", ["app", "frame"])
def test_a_slow_server_is_asked_for_the_newest_size_only(
    page: Page, address: str, host: str
) -> None:
    asked: list[str] = []
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "scrub=" in route.request.url:
            return route.continue_()
        asked.extend(re.findall(r"[?&]h=(\d+)", route.request.url))
        held.append(route)

    if host == "app":
        opened(page, address, "multi-head-attention")
        quiet(page)
        reached(page, "h")
        chip(page, "h").focus()
    else:
        page.goto(f"{address}/embed/multi-head-attention")
        quiet(page)
        page.locator("input[type=range]").first.focus()
    page.route("**/_ncd/**", hold)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        next_frame(page)
    assert len(asked) == 1
    with page.expect_request(re.compile("[?&]h=8")):
        held[0].continue_()
    next_frame(page)
    held[1].continue_()
    expect(page.locator(".drawing svg").first).to_be_visible()
    assert asked[1:] == ["8"]
