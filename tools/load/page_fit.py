"""How well each page fits its window: ``python -m tools.load.page_fit [PAGE …]``.

For every page and window: the width of the diagram and of its column, the smallest text of the
diagram, how far the page or the diagram scrolls sideways, all in pixels, and the layout shift as
the page opens. Layout shift is the browser's own measure, without shifts after a click.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from playwright.sync_api import Browser, Page

from ncd import catalogue
from tests.browser.server import chromium, served
from tests.browser.waits import quiet

WINDOWS = ((1440, 900), (1280, 720), (1920, 1080), (1024, 768), (768, 1024), (390, 844))
READABLE, SHIFT = 11.0, 0.05  # pixels of the smallest text at least, and the layout shift at most

WATCH = """
window.ncdShift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.ncdShift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
MEASURE = """(svg) => {
  const place = svg.parentElement;
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const sizes = [...svg.querySelectorAll("[font-size]")].map((e) => e.getAttribute("font-size"));
  const { scrollWidth } = document.documentElement;
  return {
    wide: svg.getBoundingClientRect().width,
    column: place.clientWidth,
    text: scale * Math.min(...sizes, 16),
    aside: Math.max(place.scrollWidth - place.clientWidth, scrollWidth - innerWidth),
    shift: window.ncdShift,
  };
}"""


class Fit(NamedTuple):
    """The widths of diagram and column, the smallest text, sideways scrolling, layout shift."""

    wide: float
    column: float
    text: float
    aside: float
    shift: float

    @property
    def good(self) -> bool:
        """Whether nothing is cut off, too small, or jumps."""
        small = round(self.text, 1) < READABLE
        return not small and self.aside <= 0 and self.shift <= SHIFT


def opened(page: Page, url: str) -> Fit:
    """Opens a page that has not been opened before, and measures it once it is at rest."""
    page.add_init_script(WATCH)
    page.goto(url)
    svg = page.locator(".drawing.whole svg")
    svg.wait_for()
    quiet(page)
    return Fit(**svg.evaluate(MEASURE))


def line(browser: Browser, address: str, name: str, window: tuple[int, int]) -> str:
    """Returns one line of the table, with a mark where something does not fit."""
    width, height = window
    page = browser.new_page(viewport={"width": width, "height": height})
    try:
        fit = opened(page, f"{address}/{name}")
    finally:
        page.close()
    found = f"{fit.wide:5.0f}/{fit.column:<5.0f} {fit.text:5.1f} {fit.aside:4.0f} {fit.shift:6.3f}"
    return f"{name:30} {width:4}×{height:<4} {found} {'' if fit.good else '*'}"


def main() -> None:
    """Prints the table, and how many combinations of page and window fit."""
    lines = []
    with served() as address, chromium() as browser:
        for name in sys.argv[1:] or catalogue:
            for window in WINDOWS:
                lines.append(line(browser, address, name, window))
                print(lines[-1], flush=True)
    print(f"{sum(not own.endswith('*') for own in lines)} of {len(lines)} fit")


if __name__ == "__main__":
    main()
