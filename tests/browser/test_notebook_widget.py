"""The widget in real notebooks: of marimo, of JupyterLab, and converted to a page by nbconvert."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import ROOT, free_port
from tests.support.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
VALUES = re.compile(r"Values of .+: y 5 x 7 h 6")
MARIMO = """import marimo

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
WIDGET = 'import ncd\nwidget = ncd.explore("multi-head-attention", y=5, x=7)\nwidget'
TOLD = "f\"h is {widget.sizes['h']}, selected {widget.selected}\""
PAGE = 'import ncd\nterm = ncd.catalogue["lora"].build()\nncd.html(term)'


def notebook(path: Path, *cells: str) -> Path:
    """Writes a Jupyter notebook with these cells of code."""
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    found = {
        "cells": [{**code, "id": f"cell-{i}", "source": cell} for i, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(found))
    return path


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables of a program that keeps its files in a folder."""
    own = {"JUPYTER_CONFIG_DIR": f"{folder}", "JUPYTER_RUNTIME_DIR": f"{folder}"}
    own |= {"IPYTHONDIR": f"{folder}", "MARIMO_SKIP_UPDATE_CHECK": "1"}
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        **own,
    }


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(folder: Path, port: int, command: Sequence[str]) -> Iterator[str]:
    """Runs the server of a notebook; gives its address."""
    with subprocess.Popen(
        [sys.executable, "-m", *command], env=environment(folder), cwd=folder
    ) as process:
        try:
            until(lambda: answers(port), 60)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_sizes_values_and_selection_go_both_ways(page: Page, tmp_path: Path) -> None:
    file, port = tmp_path / "notebook.py", free_port()
    file.write_text(MARIMO)
    command = ("marimo", "run", str(file), "--headless", "--port", str(port))
    with running(tmp_path, port, command) as address:
        page.goto(address)
        expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("h is 4, selected")).to_be_visible()
        page.locator("input[type=text][name=h]").fill("6")
        expect(page.get_by_text("h is 6, selected")).to_be_visible()
        expect(page.locator("input[type=range][name=h]")).to_have_value("6")
        page.locator(".drawing [data-node=n5]").first.click()
        expect(page.get_by_text("h is 6, selected n5")).to_be_visible()
        expect(page.get_by_role("img", name=VALUES)).to_be_visible()
        page.locator(".drawing .wire[data-axis=h] text").first.hover()
        expect(page.locator(".drawing .wire.lit[data-axis=h]").first).to_be_visible()


def test_jupyterlab_shows_the_widget_and_its_cells_read_it(page: Page, tmp_path: Path) -> None:
    port = free_port()
    notebook(tmp_path / "notebook.ipynb", WIDGET, TOLD)
    own = ("--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0")
    more = ("--IdentityProvider.token=", "--LabApp.news_url=", f"--notebook-dir={tmp_path}")
    command = ("jupyterlab", *own, *more)
    with running(tmp_path, port, command) as address:
        page.goto(f"{address}/lab/tree/notebook.ipynb")
        # A cell that is run before the kernel has started is dropped without a word.
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=60_000)
        page.locator(".jp-CodeCell .cm-content").first.click()
        for _ in range(2):  # each cell, and on to the next
            page.keyboard.press("Shift+Enter")
        expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("'h is 4, selected '")).to_be_visible()
        page.locator("input[type=text][name=h]").fill("6")
        expect(page.locator("input[type=range][name=h]")).to_have_value("6")
        page.locator(".drawing [data-node=n5]").first.click()
        expect(page.get_by_role("img", name=VALUES)).to_be_visible()
        page.locator(".jp-CodeCell", has_text="selected").locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("'h is 6, selected n5'")).to_be_visible()


def test_nbconvert_keeps_the_live_page_and_the_words_of_a_picture(
    page: Page, tmp_path: Path
) -> None:
    file = notebook(tmp_path / "notebook.ipynb", PAGE, "ncd.draw(term)")
    command = ("nbconvert", "--to", "html", "--execute", str(file))
    subprocess.run([sys.executable, "-m", *command], env=environment(tmp_path), check=True)
    page.goto((tmp_path / "notebook.html").as_uri())
    picture = page.locator("img[alt^='Pretrained and Low Rank.']")
    expect(picture).to_have_attribute("alt", re.compile("learned linear map A"))
    live = page.frame_locator("iframe")
    expect(live.get_by_role("button", name="r 2")).to_be_visible()
    live.get_by_label("r", exact=True).first.fill("8")
    expect(live.get_by_role("button", name="r 8")).to_be_visible()
