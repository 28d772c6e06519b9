"""From a key pressed on a knob to the new diagram: ``python -m tools.load.keypress [PAGE KNOB]``.

Timed inside the browser, in turns with a page of one slider and a text, so that a noisy machine is
as noisy for both. The knob goes to a new value at each press, then back over the same ones.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from tests.browser.server import awaited, chromium, free_port, served

ROUNDS = 25
BARE = """
import streamlit as st
st.text(f"chosen: {st.slider('n', 1, 99, 10)}")
"""
SETTINGS = {
    "browser.gatherUsageStats": "false",
    "runner.postScriptGC": "false",
    "server.address": "127.0.0.1",
    "server.fileWatcherType": "none",
    "server.headless": "true",
}

# Resolves with the milliseconds from the next key press to the first change of what is watched,
# and to the frame that shows it.
TIMER = """
([slider, watched]) => {
  const find = (selector) => {
    for (const host of [document, ...document.querySelectorAll("*")]) {
      const found = (host.shadowRoot ?? (host === document ? host : null))?.querySelector(selector);
      if (found) return found;
    }
  };
  document.querySelector(`input[type=range][aria-label^="${slider}"]`).focus();
  window.timed = new Promise((resolve) => {
    let pressed;
    addEventListener("keydown", (e) => { pressed = e.timeStamp; }, { capture: true, once: true });
    new MutationObserver((_, observer) => {
      observer.disconnect();
      const changed = performance.now();
      requestAnimationFrame(() => setTimeout(() =>
        resolve([changed - pressed, performance.now() - pressed])));
    }).observe(find(watched), { childList: true, characterData: true, subtree: true });
  });
}
"""


@contextmanager
def bare() -> Iterator[str]:
    """The address of a server with a page of one slider."""
    with tempfile.TemporaryDirectory() as folder:
        file, port = Path(folder, "bare.py"), free_port()
        file.write_text(BARE)
        flags = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = [sys.executable, "-m", "streamlit", "run", str(file), f"--server.port={port}"]
        process = subprocess.Popen([*command, *flags], cwd=folder)
        try:
            yield awaited(port, process)
        finally:
            process.terminate()
            process.wait(10)


def opened(browser: Browser, address: str, watched: str) -> Page:
    """The page, once it is there and still."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.locator(watched).first.wait_for()
    page.wait_for_timeout(3000)
    return page


def press(page: Page, key: str, slider: str, watched: str) -> tuple[float, float]:
    """Milliseconds to the change, and to the frame that shows it."""
    page.bring_to_front()
    page.evaluate(TIMER, [slider, watched])
    page.keyboard.press(key)
    changed, shown = page.evaluate("timed")
    page.wait_for_timeout(400)
    return changed, shown


def main(name: str = "multi-head-attention", knob: str = "y") -> None:
    """Prints the medians of both pages and their ratio, for new values and for seen ones."""
    with served() as address, bare() as floor, chromium() as browser:
        ours = opened(browser, f"{address}/{name}", ".drawing svg")
        least = opened(browser, floor, "[data-testid=stText]")
        for key, what in (("ArrowRight", "new"), ("ArrowLeft", "seen")):
            turns = [
                (press(least, key, "n", "[data-testid=stText]"), press(ours, key, knob, ".drawing"))
                for _ in range(ROUNDS)
            ]
            for i, end in enumerate(("changed", "shown")):
                one, other = (median(turn[page][i] for turn in turns) for page in (0, 1))
                print(f"{what}, {end}: {other:.0f} ms, bare {one:.0f} ms, {other / one:.1f} x")


if __name__ == "__main__":
    main(*sys.argv[1:])
