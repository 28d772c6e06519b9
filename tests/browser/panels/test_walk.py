"""The walk through the diagram, as a class takes it: keys, a click, play, and back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.support.polling import to_pass

pytestmark = pytest.mark.browser
HERE = ".whole .op.here"


def at(page: Page, count: str) -> None:
    expect(page.locator(".walk .count")).to_have_text(count)


def ends(page: Page, *parts: str) -> None:
    """Waits until the address says this."""
    page.wait_for_function(
        "parts => parts.every((part) => location.search.includes(part))", arg=parts
    )


def test_the_keys_walk_and_ask_nothing_of_the_server(page: Page, address: str) -> None:
    sent: list[object] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda data: sent.append(data))

    page.on("websocket", listen)
    page.goto(f"{address}/multi-head-attention?panel=Step")
    at(page, "1 of 10")
    expect(page.locator(".whole .wire.here").first).to_have_attribute("data-array", "v0")
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()
    page.get_by_role("button", name="Previous").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    before = len(sent)
    for step in range(2, 7):
        page.keyboard.press("ArrowRight")
        at(page, f"{step} of 10")
    expect(page.locator(HERE)).to_have_attribute("data-node", "n4")
    expect(page.locator(".whole .wire.past[data-array=v6]").first).to_be_visible()
    expect(page.locator(".whole .wire[data-array=v11]").first).not_to_have_class("past")
    expect(page.locator(".stop h2")).to_have_text("Einsum scores")
    heads = page.locator(".stop .tiles img")  # of two inputs and of the result
    expect(heads).to_have_count(12)
    expect(page.locator(".stop .code")).to_contain_text("scores = einsum(q, k")
    page.keyboard.press("End")
    at(page, "10 of 10")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    at(page, "9 of 10")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")  # on Next
    at(page, "2 of 10")
    ends(page, "step=2")
    assert len(sent) == before


def test_the_place_outlives_a_knob_a_tab_and_a_reload(page: Page, address: str) -> None:
    page.goto(f"{address}/multi-head-attention?panel=Step&step=4")
    at(page, "4 of 10")
    page.get_by_role("button", name="Next").click()
    at(page, "5 of 10")
    page.get_by_role("slider", name="h · heads").press("ArrowRight")
    ends(page, "h=5", "step=5")
    expect(page.locator(".whole .op.here")).to_have_attribute("data-node", "n3")
    expect(page.locator(".stop figcaption").filter(has_text="h 5")).to_have_count(1)
    at(page, "5 of 10")
    page.get_by_role("tab", name="Shapes").click()
    expect(page.locator(".whole .here")).to_have_count(0)
    page.get_by_role("tab", name="Step").click()
    at(page, "5 of 10")
    page.reload()
    at(page, "5 of 10")


def test_the_place_is_written_beside_a_size_that_moves_meanwhile(page: Page, address: str) -> None:
    """A step is written after a moment, and a quick server writes a knob's value before that."""
    page.goto(f"{address}/multi-head-attention?panel=Step&step=4")
    at(page, "4 of 10")
    ends(page, "step=4")
    page.get_by_role("button", name="Next").evaluate(
        "(next) => (next.click(), history.replaceState(history.state, '', '?h=5&panel=Step'))"
    )
    ends(page, "h=5", "step=5")


def test_a_click_on_the_diagram_goes_there(page: Page, address: str) -> None:
    page.goto(f"{address}/multi-head-attention?panel=Step")
    at(page, "1 of 10")
    page.locator(".whole .op[data-node=n6]").click()
    at(page, "8 of 10")
    page.locator(".whole .wire[data-array=v0]").first.press("Enter")
    at(page, "1 of 10")
    expect(page.get_by_role("tab", name="Step")).to_have_attribute("aria-selected", "true")


def test_a_long_walk_is_fetched_as_it_goes_and_played(page: Page, address: str) -> None:
    page.goto(f"{address}/encoder-block?panel=Step&step=12")
    at(page, "12 of 37")
    page.get_by_role("combobox", name="Pace").select_option("500")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".walk .count")).to_have_text(re.compile(r"^(1[4-9]|[23]\d) of 37$"))
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("slider", name="Step").press("End")
    at(page, "37 of 37")
    expect(page.locator(".stop h2")).to_be_visible()
    ends(page, "step=37")


def test_the_gradients_walk_back(page: Page, address: str) -> None:
    page.goto(f"{address}/autograd?panel=Step")
    at(page, "1 of 6")
    page.get_by_role("button", name="Backward").click()
    at(page, "1 of 8")
    page.get_by_role("button", name="Next").focus()
    for step in range(2, 6):
        page.keyboard.press("ArrowRight")
        at(page, f"{step} of 8")
    expect(page.locator(".here-now")).to_contain_text("∇a = G bᵀ")
    expect(page.locator(HERE)).to_have_count(1)
    ends(page, "step=back5")
    page.get_by_role("button", name="Forward").click()
    at(page, "1 of 6")


def test_the_way_back_leads_to_the_same_step(page: Page, address: str) -> None:
    page.goto(f"{address}/multi-head-attention?panel=Step&step=4")
    at(page, "4 of 10")
    page.get_by_role("button", name="Next").click()
    ends(page, "step=5")
    page.get_by_role("link", name="Legend").click()
    expect(page.get_by_role("heading", name="Legend")).to_be_visible()
    page.go_back()
    at(page, "5 of 10")


def test_a_step_and_what_it_lights_fit_into_a_window(page: Page, address: str) -> None:
    """A high diagram scrolls by itself, so that its numbers are not far below it."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{address}/unet?panel=Step&step=4")
    at(page, "4 of 50")
    parts = [page.locator(f"{part} >> nth=0") for part in (HERE, ".stop .code", ".stAppHeader")]

    def fits() -> None:
        lit, code, bar = (part.bounding_box() for part in parts)
        assert lit is not None and code is not None and bar is not None
        assert code["y"] + code["height"] - lit["y"] < 720 - bar["height"]

    to_pass(fits)
