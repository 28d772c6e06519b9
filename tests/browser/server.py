"""A server of one's own, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
PATIENCE = 90  # seconds until a server answers, on a busy machine
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def served(**environment: str) -> Iterator[str]:
    """The address of a fresh server, stopped in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ncd", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        address = f"http://127.0.0.1:{port}"
        _await(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with code {process.returncode}")
        try:
            with urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"no answer from {address} in {PATIENCE} seconds")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, or Playwright's own."""
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()
