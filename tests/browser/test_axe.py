"""axe-core finds nothing of ours: on no page and tab, in no state, light or dark; no script fails.

What is left out is Streamlit's own, by name, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import ncd
from ncd.site.entry_page import file
from tests.browser.page.test_own_answer import OUT, SIZES, WRONG
from tests.browser.page.test_own_page import READY, write
from tests.browser.waits import location, quiet, turn_to
from tests.support import sampling
from tests.support.sampling import sample

pytestmark = pytest.mark.browser

# Selector: why what it selects is not looked at.
STREAMLITS = {
    "[data-testid=stFileUploaderDropzone]": "it is presentational and has a label; the button "
    "in it is what one reaches",
}

# In the dark only colours differ: the tree of the document is that of the light page.
COLOURS = ["color-contrast", "link-in-text-block"]

SAID = "label-content-name-mismatch"  # not yet a usual rule in every version of axe-core
CLIPPED = 'class="chip"'  # where the row of chips ends, axe reads c of a c₅ that is cut off below

A_VISIT = 6  # pages that are looked at one after the other, as to load one takes long
VISITS = 6  # of nine or more

Step = Callable[[Page], object]


@dataclass(frozen=True)
class State:
    """A page by its address, and the steps that are taken there; axe looks after each."""

    name: str
    path: str
    steps: tuple[Step, ...] = (lambda page: None,)


def open_tab(entry: ncd.Entry, index: int, page: Page) -> None:
    if urlsplit(location(page)).path != f"/{entry.name}":
        turn_to(page, f"/{entry.name}")
        expect(page.get_by_role("heading", name=entry.title, exact=True)).to_be_visible()
        quiet(page)
    page.get_by_role("tab").nth(index).click()


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


def read_answer(page: Page) -> None:
    expect(page.locator("p.sentence")).to_have_text(OUT, timeout=READY)
    expect(page.locator(".findings li").first).to_be_visible(timeout=READY)


def read_failure(page: Page) -> None:
    write(page, WRONG)
    expect(page.locator(".cures button").first).to_be_visible(timeout=READY)


def read_form(page: Page) -> None:
    write(page, SIZES)
    expect(page.get_by_label("dim, assumed")).to_be_visible(timeout=READY)


def of_entries() -> Iterator[State]:
    """The panels that no page before has, on some pages a visit; every panel with ``--all``."""
    seen: set[str] = set()
    looks: dict[str, tuple[Step, ...]] = {}
    for name, entry in ncd.catalogue.items():
        every = panels(entry)
        new = [i for i, panel in enumerate(every) if sampling.everything or panel not in seen]
        seen |= {*every}
        looks[name] = tuple(partial(open_tab, entry, i) for i in new)
    for name in sample([name for name, steps in looks.items() if not steps], 2):
        looks[name] = (partial(open_tab, ncd.catalogue[name], 0),)
    names = [name for name, steps in looks.items() if steps]
    for first in range(0, len(names), A_VISIT):
        some = names[first : first + A_VISIT]
        steps = tuple(step for name in some for step in looks[name])
        yield State(" ".join(some), f"/{some[0]}", steps)


def states() -> Iterator[State]:
    yield State("home", "/")
    yield State("home, nothing found", "/", (search_nothing,))
    yield State("legend", "/legend")
    yield State("an unknown address", "/no-such-page")
    yield from sample(of_entries(), VISITS)
    yield State("a step of the backward pass", "/autograd?back=5")
    attention = "/multi-head-attention"
    yield State("a step of the walk", f"{attention}?panel=Step&step=7")
    yield State("a step of the walk back", "/unet?panel=Step&step=back9")
    yield State("key", "/residual-block", (open_key,))
    yield State("export", attention, (open_export,))
    yield State("card of an op", f"{attention}?select=n3&panel=Values")
    yield State("card of a block", f"{attention}?select=f1&panel=Values")
    yield State("array", f"{attention}?select=v4&panel=Values")
    yield State("axes lit", f"{attention}?axes=k,h&panel=Source")
    yield State("a question", f"{attention}?quiz=1&select=v4", (open_export,))
    yield State("a wrong answer", f"{attention}?quiz=1&select=v4&panel=Source", (answer_wrong,))
    yield State("a cell of a map", f"{attention}?cell=3,5&causal=true")
    yield State("a number", "/lenet?panel=Values&select=v1&number=3,5")
    yield State("words", f"{attention}?input=sentences&panel=Attention")
    yield State("too large", f"{attention}?y=4096&x=4096&m=4096&panel=Shapes")
    yield State("a bad link", f"{attention}?h=inf&seed=1e400&who=me")
    yield State("does not fit", "/residual-block?x=1&s=4")


def panels(entry: ncd.Entry) -> list[str]:
    """Returns the panels of a page in the order of its tabs."""
    found = re.search(r"panels=\((.*?)\)", Path(file(entry)).read_text(), re.DOTALL)
    assert found
    return [*re.findall(r"\w+", found[1]), "step", "compare"]


def found(page: Page, colours: bool = False) -> list[str]:
    """Returns the rules that are broken, each with the place; of ``colours`` alone if asked."""
    quiet(page)
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    only = {"runOnly": COLOURS} if colours else {"rules": {SAID: {"enabled": True}}}
    violations = page.evaluate(
        "([exclude, options]) => axe.run({exclude}, options).then((found) => found.violations)",
        [[[selector] for selector in STREAMLITS], {"resultTypes": ["violations"], **only}],
    )
    return [
        f"{rule['id']}: {node['html'][:200]} {_why(node)}"
        for rule in violations
        for node in rule["nodes"]
        if not (rule["id"] == SAID and CLIPPED in node["html"])
    ]


def _why(node: dict[str, list[dict[str, str]]]) -> str:
    return " ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"]))


@pytest.fixture
def scheme() -> str:
    """The colours of the page where a test does not name them as a parameter."""
    return "light"


@pytest.fixture
def themed(page: Page, scheme: Literal["light", "dark"]) -> Page:
    page.emulate_media(color_scheme=scheme)
    return page


YOURS = State("yours", "/yours", (read_answer, read_failure, read_form))
STATES = [*states(), YOURS]
DARK = [*sample(STATES[:-1], 5, "dark"), YOURS]


@pytest.mark.parametrize(
    ("scheme", "state"),
    [*(("light", state) for state in STATES), *(("dark", state) for state in DARK)],
    ids=lambda part: getattr(part, "name", part),
)
def test_nothing_is_found(themed: Page, address: str, scheme: str, state: State) -> None:
    errors: list[str] = []
    themed.on("pageerror", lambda error: errors.append(str(error)))
    opened(themed, f"{address}{state.path}")
    for step in state.steps:
        step(themed)
        assert found(themed, colours=scheme == "dark") == [], location(themed)
    assert not errors


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("h1")).to_be_visible(timeout=30_000)
    quiet(page)


def test_a_fault_would_be_found(themed: Page, address: str) -> None:
    opened(themed, f"{address}/legend")
    themed.locator(".entry").first.evaluate("e => e.innerHTML = '<img src=\"a.png\">'")
    assert any(rule.startswith("image-alt") for rule in found(themed))


@pytest.mark.parametrize("scheme", ["dark"])
def test_pale_letters_would_be_found_in_the_dark(themed: Page, address: str) -> None:
    opened(themed, f"{address}/legend")
    themed.locator("h1").evaluate("e => e.style.color = '#222'")
    assert any(rule.startswith("color-contrast") for rule in found(themed, colours=True))
