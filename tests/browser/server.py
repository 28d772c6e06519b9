"""A server of one's own, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_SH, LOCK_UN, flock
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from ncd.cli.crowd import CADDY
from tests.support.polling import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
CHILDREN = "/proc/{0}/task/{0}/children"
LISTENS = "0A"  # the state of a socket, as /proc/net/tcp has it
PATIENCE = 180  # seconds until a server answers, on a busy machine
FAREWELL = 60  # seconds until it has ended
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
        process.wait(FAREWELL)


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
        process.wait(FAREWELL)


def processes(crowd: Server) -> dict[int, int]:
    """Those of the app behind a proxy: their ids, and the ports at which they answer."""
    children = Path(CHILDREN.format(crowd.pid)).read_text().split()
    asked = {int(pid): listening(int(pid)) for pid in children if called(int(pid)) != CADDY}
    return {pid: port for pid, port in asked.items() if port}


def called(process: int) -> str:
    """The name of a process, none once it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def listening(process: int) -> int:
    """The port at which a process listens, 0 for none, as of one that has ended."""
    held = set()
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                held.add(os.readlink(file))
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


@contextmanager
def shared(folder: Path) -> Iterator[str]:
    """The address of one server for all workers of a test run, whose folder it is.

    The first worker to come starts it, and stops it once all others have left. Each holds a lock
    on the file with the address while it uses the server, and one on ``door`` while it comes.
    """
    with (folder / "door").open("w") as door, (folder / "server").open("a+") as file:
        flock(door, LOCK_EX)
        flock(file, LOCK_SH)
        file.seek(0)
        if address := file.read():
            flock(door, LOCK_UN)
            yield address
            return
        with served() as address:
            file.write(address)
            file.flush()
            flock(door, LOCK_UN)
            yield address
            flock(file, LOCK_EX)  # when all others have left
            file.truncate(0)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def awaited(port: int, process: subprocess.Popen[bytes], page: str = "_stcore/health") -> str:
    """The address of a server on this machine, once it answers to a page."""
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with code {process.returncode}")
        with suppress(URLError, OSError), urlopen(f"{address}/{page}", timeout=5):
            return True
        return False

    until(answers, PATIENCE)
    return address


def browser_path() -> str | None:
    """Returns where the machine has a Chromium; without one Playwright takes its own.

    The headless shell draws no window, which saves a third of the work of opening a page.
    """
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts a browser, stopped in the end."""
    from playwright.sync_api import sync_playwright  # visitors of a server need no browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(QUIET))
        yield browser
        browser.close()
