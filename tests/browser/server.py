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
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

from ncd.crowd import CADDY

ROOT = Path(__file__).parents[2]
CHILDREN = "/proc/{0}/task/{0}/children"
LISTENS = "0A"  # the state of a socket, as /proc/net/tcp has it
PATIENCE = 180  # seconds until a server answers, on a busy machine
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Server(NamedTuple):
    """Where a server answers, and its process."""

    address: str
    pid: int


@contextmanager
def started(plain: bool = False, **environment: str) -> Iterator[Server]:
    """A fresh server, stopped in the end; ``plain`` is Streamlit's own command."""
    port = free_port()
    ours = ["ncd", "serve", "--port", str(port)]
    theirs = ["streamlit", "run", "app.py", "--server.port", str(port)]
    command = [sys.executable, "-m", *(theirs if plain else ours)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        yield Server(awaited(port, process), process.pid)
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def crowded(count: int, **environment: str) -> Iterator[Server]:
    """Several processes behind a proxy, stopped in the end."""
    port = free_port()
    command = [sys.executable, "-m", "ncd", "crowd", "--port", str(port), "--processes", str(count)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        yield Server(awaited(port, process), process.pid)
    finally:
        process.terminate()
        process.wait(30)


def processes(crowd: Server) -> dict[int, int]:
    """Those of the app behind a proxy: their ids, and the ports at which they answer."""
    children = Path(CHILDREN.format(crowd.pid)).read_text().split()
    names = {int(pid): Path(f"/proc/{pid}/comm").read_text().strip() for pid in children}
    asked = {pid: listening(pid) for pid, name in names.items() if name != CADDY}
    return {pid: port for pid, port in asked.items() if port}


def listening(process: int) -> int:
    """The port at which a process listens, 0 for none."""
    held = [os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir()]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *rest = line.split()
        if state == LISTENS and f"socket:[{rest[5]}]" in held:
            return int(local.partition(":")[2], 16)
    return 0


@contextmanager
def served(plain: bool = False, **environment: str) -> Iterator[str]:
    """The address of a fresh server, stopped in the end."""
    with started(plain, **environment) as server:
        yield server.address


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def awaited(port: int, process: subprocess.Popen[bytes]) -> str:
    """The address of a server on this machine, once it answers."""
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with code {process.returncode}")
        try:
            with urlopen(f"{address}/_stcore/health", timeout=5):
                return address
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
