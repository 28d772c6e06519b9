"""Seconds from the first page to a system of one's own: ``python -m tools.load.own_walks``.

With files of PyTorch source, ``python -m tools.load.own_walks model.py``, each is pasted instead.

Each walk begins on the first page in a fresh browser, goes on by the link to *Yours*, and ends when
the diagram and its numbers are there. Nothing waits between two steps of a walk, as a person would.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from ncd.app.page.own_page import EXAMPLES
from tests.browser.server import chromium, served

PATIENCE = 60_000  # milliseconds
CONVOLUTION = "nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))"
MISTAKEN = (
    'Liner("t:9 m:8 -> t k:2", "Q") >> Softmx("k")',
    'Linear("t:9 m:8 -> t k:2", "Q") >> Softmx("k")',
    'Linear("t:9 m:8 -> t k:2", "Q") >> Softmax("k")',
)


def to_yours(page: Page, address: str) -> None:
    """Goes from the first page to the editor."""
    page.goto(address)
    page.locator("a[href*=yours]").first.click()
    expect(page.locator(".cm-content")).to_be_visible()


def write(page: Page, text: str) -> None:
    """Replaces the text in the editor."""
    page.get_by_role("textbox", name="Your text").fill(text)


def paste(page: Page, text: str) -> None:
    """Replaces the text in the editor by what is pasted, as a person does."""
    field = page.get_by_role("textbox", name="Your text")
    field.press("ControlOrMeta+a")
    field.evaluate(
        """(field, text) => {
            const held = new DataTransfer();
            held.setData("text/plain", text);
            const options = {clipboardData: held, bubbles: true, cancelable: true};
            field.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )


def source(page: Page, address: str) -> None:
    """A small GPT as PyTorch source."""
    to_yours(page, address)
    paste(page, EXAMPLES["A small GPT"])
    expect(page.locator(".cost")).to_contain_text("parameters")
    expect(page.locator(".whole svg text", has_text="×3").first).to_be_visible()


def shape(page: Page, address: str) -> None:
    """A convolution with a shape."""
    to_yours(page, address)
    write(page, CONVOLUTION)
    expect(page.locator(".chips")).to_contain_text("112×112")


def config(page: Page, address: str) -> None:
    """The configuration of Llama 3 8B."""
    to_yours(page, address)
    write(page, EXAMPLES["Llama 3 8B"])
    expect(page.locator(".cost")).to_contain_text("8,030,261,248 parameters")


def mistakes(page: Page, address: str) -> None:
    """A term with two mistakes, corrected as the messages say."""
    to_yours(page, address)
    for text, told in zip(MISTAKEN, ("Try Linear", "Try Softmax", "Read as"), strict=True):
        write(page, text)
        expect(page.locator("p.told")).to_contain_text(told)
    expect(page.locator(".chips")).to_contain_text(re.compile(r"t\s*9"))


def link(page: Page, address: str) -> None:
    """A line of einsum, whose link opens in another browser."""
    to_yours(page, address)
    write(page, "b i, i j -> b j")
    expect(page.locator(".chips")).to_contain_text(re.compile(r"j\s*8"))
    expect(page).to_have_url(re.compile("text="))
    browser = page.context.browser
    assert browser
    with browser.new_context() as other:
        again = other.new_page()
        again.goto(page.url)
        expect(again.locator(".chips")).to_contain_text(re.compile(r"j\s*8"))


def file(path: Path) -> Callable[[Page, str], None]:
    """Returns the walk of a file with PyTorch source, to its diagram."""

    def walk(page: Page, address: str) -> None:
        to_yours(page, address)
        before = page.locator(".cost").inner_text().split()[0]
        paste(page, path.read_text())
        expect(page.locator("p.told")).to_contain_text("Read as PyTorch source")
        expect(page.locator(".cost")).not_to_contain_text(before)
        expect(page.locator(".whole svg").first).to_be_visible()

    walk.__doc__ = path.name
    return walk


WALKS: tuple[Callable[[Page, str], None], ...] = (source, shape, config, mistakes, link)


def seconds(browser: Browser, address: str, walk: Callable[[Page, str], None]) -> float:
    """Returns how long a walk takes in a fresh browser."""
    with browser.new_context(viewport={"width": 1280, "height": 720}) as context:
        context.set_default_timeout(PATIENCE)
        page, start = context.new_page(), time.perf_counter()
        walk(page, address)
        return time.perf_counter() - start


def main() -> None:
    """Prints the seconds of each walk, once with a server that has just started, and once again."""
    expect.set_options(timeout=PATIENCE)
    with served() as address, chromium() as browser:
        for walk in [file(Path(name)) for name in sys.argv[1:]] or WALKS:
            first, again = (seconds(browser, address, walk) for _ in range(2))
            print(f"{first:5.1f} s, then {again:4.1f} s  {walk.__doc__}")


if __name__ == "__main__":
    main()
