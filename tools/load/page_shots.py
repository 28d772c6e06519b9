"""Pictures of every page, wide and narrow, light and dark: ``python -m tools.load.page_shots``."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from ncd import catalogue
from tests.browser.server import chromium, served

FOLDER = Path(__file__).parents[2] / "shots"
WIDTHS = {"wide": (1280, 720), "narrow": (420, 900)}
THEMES = ("light", "dark")
SETTLED = 1500  # milliseconds, for the plots to be drawn


def main() -> None:
    """Starts the app, and writes ``shots/PAGE-WIDTH-THEME.png``, whole pages."""
    FOLDER.mkdir(exist_ok=True)
    with served() as address, chromium() as browser:
        for name in ("", *catalogue):
            for width in WIDTHS:
                for theme in THEMES:
                    print(take(browser, address, name, width, theme))


def take(browser: Browser, address: str, name: str, width: str, theme: str) -> Path:
    """One picture, as high as the page is."""
    w, h = WIDTHS[width]
    scheme = "dark" if theme == "dark" else "light"
    page = browser.new_page(viewport={"width": w, "height": h}, color_scheme=scheme)
    page.goto(f"{address}/{name}")
    page.locator("svg.circuit").first.wait_for()
    page.wait_for_timeout(SETTLED)
    height = page.locator(".stMainBlockContainer").evaluate("e => e.scrollHeight")
    page.set_viewport_size({"width": w, "height": max(h, height + 20)})
    page.wait_for_timeout(SETTLED // 2)
    file = FOLDER / f"{name or 'home'}-{width}-{theme}.png"
    page.screenshot(path=file)
    page.close()
    return file


if __name__ == "__main__":
    main()
