"""A file whose sizes are moved says what the file exported at those sizes says, in every text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import ncd
from ncd.site.document import document
from ncd.site.entry_page import of_entry
from tests.support.sampling import sample

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# What stands in the drawing, its words, and all that follows sizes and is not greyed.
TEXTS = """() => {
  const all = "svg.circuit :is(text, title, desc), .told > .said, [data-live]:not(.stale, :empty)";
  return [...document.querySelectorAll(all)].map((part) => part.textContent);
}"""
REFUSED = "document.querySelector('.refused').textContent"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


def exported(entry: ncd.Entry, settings: dict[str, int], folder: Path) -> str:
    """Writes the file of a system at these sizes; returns its address."""
    path = folder / f"{entry.name}-{'-'.join(map(str, settings.values()))}.html"
    term = entry.build(**settings)
    path.write_text(document(term, title=entry.title, system=of_entry(entry, settings)))
    return path.as_uri()


def moved(entry: ncd.Entry) -> Iterator[dict[str, int]]:
    """Yields the settings with each size at another value."""
    usual = entry.settings({})
    for knob in entry.knobs:
        if knob.is_size:
            step = 2 * knob.step if knob.default + 2 * knob.step <= knob.max else -knob.step
            settings = entry.with_clamped_indexes(
                {**usual, knob.name: knob.legal(knob.default + step)}
            )
            if settings[knob.name] != usual[knob.name]:
                yield settings


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_no_number_stays_behind(page: Page, name: str, tmp_path: Path) -> None:
    entry = ncd.catalogue[name]
    check(page, entry, sample([*moved(entry)], 3, name), tmp_path)


def test_no_number_of_a_title_a_mark_or_a_label_stays_behind(page: Page, tmp_path: Path) -> None:
    entry = ncd.catalogue["identity-resnet"]
    usual = entry.settings({})
    check(page, entry, [{**usual, "x": 20, "n1": 24}], tmp_path)


def check(page: Page, entry: ncd.Entry, every: Iterable[dict[str, int]], folder: Path) -> None:
    """Moves the sizes in a file to each of these settings, and compares it with their own file."""
    usual = entry.settings({})
    here = exported(entry, usual, folder)
    for settings in every:
        asked = "&".join(f"{k}={n}" for k, n in settings.items() if n != usual[k])
        page.goto(f"{here}?{asked}")
        page.wait_for_function("document.fonts.status === 'loaded'")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        if page.evaluate(REFUSED):  # another diagram, which is not in the file
            continue
        found = page.evaluate(TEXTS)
        page.goto(exported(entry, settings, folder))
        wanted = page.evaluate(TEXTS)
        assert found == wanted, asked
