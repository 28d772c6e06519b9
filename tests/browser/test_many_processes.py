"""Several processes behind one address: who is on a page keeps it when a process ends."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import PATIENCE, ROOT, Server, crowded, processes
from tests.browser.waits import quiet
from tests.support.polling import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc"),
]


@pytest.fixture
def crowd() -> Iterator[Server]:
    assert shutil.which("caddy"), "make test installs it"
    with crowded(2, NCD_DRAIN="600") as server:
        yield server


def status(address: str, path: str) -> int:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=20)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return 0


def await_both(crowd: Server, ended: int) -> None:
    """Waits until two processes answer, none of them the one that has ended."""

    def answer() -> bool:
        now = processes(crowd)
        well = [status(f"http://127.0.0.1:{port}", "/readyz") for port in now.values()]
        return ended not in now and well == [200, 200]

    until(answer, PATIENCE)


def holder(crowd: Server) -> tuple[int, str]:
    """The process that has the one visitor, and where it answers."""

    def found() -> tuple[int, str] | None:
        for pid, port in processes(crowd).items():
            metrics = f"http://127.0.0.1:{port}/metrics"
            with suppress(OSError, HTTPException), urlopen(metrics, timeout=20) as answer:
                if b"ncd_visitors 1.0" in answer.read():
                    return pid, f"http://127.0.0.1:{port}"
        return None

    holder = until(found, PATIENCE)
    assert holder
    return holder


def test_settings_outlive_every_process_and_all_end_together(page: Page, crowd: Server) -> None:
    address = f"{crowd.address}/multi-head-attention"
    page.goto(f"{address}?h=5")
    slider = page.get_by_role("slider", name="h").first
    expect(slider).to_have_value("5")
    quiet(page)
    slider.focus()
    pid, _ = holder(crowd)  # the page is only read so far
    os.kill(pid, signal.SIGKILL)
    expect(slider).to_be_disabled()
    page.keyboard.press("ArrowRight")
    page.locator("[data-test-connection-state=CONNECTED]").wait_for()
    page.keyboard.press("ArrowRight")  # the other process has still to make the page anew
    await_both(crowd, pid)
    expect(page).to_have_url(f"{address}?h=7")
    expect(slider).to_have_value("7")
    expect(slider).to_be_focused()
    pid, own = holder(crowd)
    os.kill(pid, signal.SIGTERM)
    until(lambda: status(own, "/readyz") != 200)
    assert (status(own, "/healthz"), status(own, "/readyz")) == (200, 503)
    slider.press("ArrowRight")  # it serves on
    expect(page).to_have_url(f"{address}?h=8")
    # Nobody new is sent to it from some time on.
    until(lambda: {status(crowd.address, "/readyz") for _ in range(9)} == {200})
    os.kill(pid, signal.SIGTERM)
    await_both(crowd, pid)
    expect(slider).to_have_value("8")
    slider.press("ArrowRight")
    expect(page).to_have_url(f"{address}?h=9")
    assert holder(crowd)[0] != pid
    size = page.locator('.chips button[data-axis="h"]')  # the new process answers moves as well
    size.hover()
    expect(page.locator(".words .hint")).to_contain_text("Drag it")
    size.press("ArrowRight")
    page.wait_for_function("Object.keys(document.ncdMoved ?? {}).includes('attention')")
    expect(page).to_have_url(f"{address}?h=10")
    assert status(crowd.address, "/metrics") == 404  # they are for inside
    inside = processes(crowd)
    assert {status(f"http://127.0.0.1:{port}", "/metrics") for port in inside.values()} == {200}
    os.kill(crowd.pid, signal.SIGTERM)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside), PATIENCE)


def test_a_port_that_is_taken_is_refused(address: str) -> None:
    port = str(urlsplit(address).port)
    command = [sys.executable, "-m", "ncd", "crowd", "--port", port]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (f"ncd: 127.0.0.1:{port}: Address already in use. Try another port.\n")
