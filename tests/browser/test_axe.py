"""axe-core finds nothing of ours: on no page and tab, in no state, light or dark.

What is left out is Streamlit's own, by name, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import ncd
from ncd.view.page import navigation

pytestmark = pytest.mark.browser

# Selector: why what it selects is not looked at.
STREAMLITS = {
    "[data-testid=stFileUploaderDropzone]": "it is presentational and has a label; the button "
    "in it is what one reaches",
}


@dataclass(frozen=True)
class State:
    """A state of a page: its address, and what is done there."""

    name: str
    path: str
    do: Callable[[Page], None] = lambda page: None


def open_key(page: Page) -> None:
    page.locator(".key summary").click()


def open_export(page: Page) -> None:
    page.get_by_role("button", name="Export").click()


def answer_wrong(page: Page) -> None:
    page.get_by_label("What shape").fill("y")
    page.keyboard.press("Enter")
    expect(page.locator(".quiz .said")).to_contain_text("You forgot")


def search_nothing(page: Page) -> None:
    page.get_by_role("searchbox").fill("nothing at all")


def states() -> Iterator[State]:
    yield State("home", "/")
    yield State("home, nothing found", "/", search_nothing)
    yield State("legend", "/legend")
    yield State("an unknown address", "/no-such-page")
    seen: set[str] = set()
    for name, entry in ncd.catalogue.items():
        new = panels(entry) - seen
        yield State(name, f"/{name}", every_tab if new else State.do)
        seen |= new
    yield State("a step of the backward pass", "/autograd?back=5")
    attention = "/multi-head-attention"
    yield State("a step of the walk", f"{attention}?panel=Step&step=7")
    yield State("a step of the walk back", "/unet?panel=Step&step=back9")
    yield State("key", "/residual-block", open_key)
    yield State("export", attention, open_export)
    yield State("card of an op", f"{attention}?select=n3&panel=Values")
    yield State("card of a block", f"{attention}?select=f1&panel=Values")
    yield State("array", f"{attention}?select=v4&panel=Values")
    yield State("axes lit", f"{attention}?axes=k,h&panel=Source")
    yield State("a question", f"{attention}?quiz=1&select=v4", open_export)
    yield State("a wrong answer", f"{attention}?quiz=1&select=v4&panel=Source", answer_wrong)
    yield State("a cell of a map", f"{attention}?cell=3,5&causal=true")
    yield State("a number", "/lenet?panel=Values&select=v1&number=3,5")
    yield State("words", f"{attention}?input=words&panel=Attention")
    yield State("too large", f"{attention}?y=4096&x=4096&m=4096&panel=Shapes")
    yield State("a bad link", f"{attention}?h=inf&seed=1e400&who=me")
    yield State("does not fit", "/residual-block?x=1&s=4")


def panels(entry: ncd.Entry) -> set[str]:
    """The panels that a page's file names."""
    text = Path(navigation.file(entry)).read_text()
    found = re.search(r"panels=\((.*?)\)", text, re.DOTALL)
    assert found
    return set(re.findall(r"\w+", found[1]))


def every_tab(page: Page) -> None:
    """Looks at all tabs but the last, which is looked at in the end."""
    tabs = page.get_by_role("tab")
    expect(tabs.first).to_be_visible()
    for name in tabs.all_inner_texts():
        assert found(page) == [], name
        page.get_by_role("tab", name=name, exact=True).click()


def settle(page: Page) -> None:
    """Waits for the run to end: what is old is pale until then."""
    page.wait_for_timeout(500)
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached(timeout=30_000)
    expect(page.locator("[data-stale=true]")).to_have_count(0)
    page.wait_for_timeout(600)  # it comes back slowly


def found(page: Page) -> list[str]:
    """The rules that are broken, each with the place."""
    settle(page)
    context = {"exclude": [[selector] for selector in STREAMLITS]}
    report = Axe().run(page, context=context).response
    return [
        f"{rule['id']}: {node['html'][:200]} {_why(node)}"
        for rule in report["violations"]
        for node in rule["nodes"]
    ]


def _why(node: dict[str, list[dict[str, str]]]) -> str:
    return " ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"]))


@pytest.fixture(params=["light", "dark"])
def themed(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=request.param
    )
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("state", [*states()], ids=lambda state: state.name)
def test_nothing_is_found(themed: Page, address: str, state: State) -> None:
    themed.goto(f"{address}{state.path}")
    expect(themed.locator("h1")).to_be_visible(timeout=30_000)
    settle(themed)
    state.do(themed)
    assert found(themed) == []


def test_a_fault_would_be_found(themed: Page, address: str) -> None:
    themed.goto(f"{address}/legend")
    expect(themed.locator("h1")).to_be_visible(timeout=30_000)
    settle(themed)
    themed.locator(".entry").first.evaluate("e => e.innerHTML = '<img src=\"a.png\">'")
    assert any(rule.startswith("image-alt") for rule in found(themed))
