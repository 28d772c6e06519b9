"""What settings change of a server: how much may run, its Graphviz, and who may frame a diagram.

One server has all of these settings, as a server takes long to start.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.page.test_visit import ATTENTION, visit
from tests.browser.server import served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
School = Callable[[str], FrameLocator]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Another site: its address, and the folder of its files."""
    folder = tmp_path_factory.mktemp("school")
    server = ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}", folder
    server.shutdown()


@pytest.fixture(scope="module")
def special(site: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that runs little, has a broken Graphviz, and that the other site may frame."""
    dot = tmp_path_factory.mktemp("broken") / "dot"
    dot.write_text("#!/bin/sh\nexit 0\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    path = f"{dot.parent}{os.pathsep}{os.environ['PATH']}"
    with served(NCD_FRAMES=site[0], NCD_MAX_FLOPS="1e6", PATH=path) as address:
        yield address


@pytest.fixture
def school(page: Page, site: tuple[str, Path]) -> School:
    """Opens a page of the other site with this body, and returns its frame."""

    def opened(body: str) -> FrameLocator:
        name = f"{len(list(site[1].iterdir()))}.html"  # the browser keeps what it has read
        (site[1] / name).write_text(f"<!doctype html><body>{body}")
        page.goto(f"{site[0]}/{name}")
        return page.frame_locator("iframe")

    return opened


def test_the_first_visitor_by_a_deep_link_is_told_what_fits(page: Page, special: str) -> None:
    missing: list[str] = []
    page.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
    visit(page, special, f"{ATTENTION}?h=6")
    expect(page.locator(".chip[data-axis=h]")).to_have_text("h 6")
    expect(page.get_by_text("Page not found")).to_have_count(0)
    assert not missing
    expect(page.get_by_text("NCD_MAX_FLOPS")).to_be_visible()
    expect(page.locator(".op.marked")).to_have_count(0)  # its sizes fit, it is only too large
    page.locator(".st-key-refusal button").first.click()
    expect(page.get_by_text("NCD_MAX_FLOPS")).to_have_count(0)


def test_without_graphviz_the_browser_lays_the_graph_out(page: Page, special: str) -> None:
    visit(page, special, "/scaled-dot-product-attention?panel=Autograd")
    expect(page.get_by_text("Graphviz on this server is broken")).to_be_visible()
    expect(page.locator(".stGraphVizChart svg .node").first).to_be_visible()
    expect(page.get_by_text("length of the gradient")).to_be_visible()


# --- a diagram in a page of another site ---------------------------------------------------------


def test_a_frame_is_refused_by_default(page: Page, address: str, school: School) -> None:
    refused = "chrome-error://chromewebdata/"
    with page.expect_event("framenavigated", lambda frame: frame.url == refused):
        school(f'<iframe src="{address}/embed/lora"></iframe>')


def test_a_frame_that_is_allowed_is_live(page: Page, special: str, school: School) -> None:
    frame = school(f'<iframe width=900 height=500 src="{special}/embed/lora?t=3"></iframe>')
    expect(frame.locator(".drawing svg")).to_be_visible()
    field = frame.locator("input[type=text][name=t]")
    expect(field).to_have_value("3")
    with page.expect_response(lambda r: "/_ncd/lora" in r.url and "t=5" in r.url) as asked:
        field.fill("5")
    assert asked.value.status == 200
    expect(frame.locator("input[type=range][name=t]")).to_have_value("5")
    link = frame.get_by_role("link", name="LoRA")
    expect(link).to_have_attribute("href", re.compile(rf"{special}/lora\?.*\bt=5\b"))


def test_the_component_shows_and_follows_its_attributes(
    page: Page, special: str, school: School
) -> None:
    script = f'<script src="{special}/ncd-diagram.js"></script>'
    frame = school(f'{script}<ncd-diagram system="lora" t="3" dark="1"></ncd-diagram>')
    expect(frame.locator("input[type=text][name=t]")).to_have_value("3")
    page.wait_for_function(  # as high as what it shows
        "parseInt(document.querySelector('ncd-diagram').frame.style.height) > 100"
    )
    page.evaluate("document.querySelector('ncd-diagram').setAttribute('t', 6)")
    expect(frame.locator("input[type=text][name=t]")).to_have_value("6")


def test_the_code_for_another_page_is_copied(page: Page, special: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{special}/lora?t=3")
    page.get_by_role("button", name="Copy embed code").click()
    expect(page.get_by_text("Code copied")).to_be_visible()
    code = page.evaluate("navigator.clipboard.readText()")
    assert code.startswith(f'<iframe src="{special}/embed/lora?t=3"')
