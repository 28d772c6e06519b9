"""The widget in a real notebook, of marimo."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import ROOT, free_port
from tests.support.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
VALUES = re.compile(r"Values of .+: y 5 x 7 h 6")
NOTEBOOK = """import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import ncd
    widget = mo.ui.anywidget(ncd.explore("multi-head-attention", y=5, x=7))
    widget
    return mo, widget


@app.cell
def _(mo, widget):
    mo.md(f"h is {widget.value['sizes']['h']}, selected {widget.value['selected']}")
    return


if __name__ == "__main__":
    app.run()
"""


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_sizes_values_and_selection_go_both_ways(page: Page, tmp_path: Path) -> None:
    notebook, port = tmp_path / "notebook.py", free_port()
    notebook.write_text(NOTEBOOK)
    command = ["marimo", "run", str(notebook), "--headless", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    with subprocess.Popen([sys.executable, "-m", *command], env=environment) as process:
        try:
            until(lambda: answers(port), 60)
            page.goto(f"http://127.0.0.1:{port}")
            expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
            expect(page.get_by_text("h is 4, selected")).to_be_visible()
            page.locator("input[type=number][name=h]").fill("6")
            expect(page.get_by_text("h is 6, selected")).to_be_visible()
            expect(page.locator("input[type=range][name=h]")).to_have_value("6")
            page.locator(".drawing [data-node=n5]").first.click()
            expect(page.get_by_text("h is 6, selected n5")).to_be_visible()
            expect(page.get_by_role("img", name=VALUES)).to_be_visible()
            page.locator(".drawing .wire[data-axis=h] text").first.hover()
            expect(page.locator(".drawing .wire.lit[data-axis=h]").first).to_be_visible()
        finally:
            process.terminate()
