"""Visitors who click at random on everything: ``python -m tools.load.soak --visitors 3``.

Each is a browser window of its own, which goes from page to page, moves knobs, opens panels, points
at wires and cells, types what fits and what does not, goes back, reloads, and takes files. Every
minute tells what was done, how much memory the server and its processes hold, and, at its first
appearance, each thing that went wrong: an exception on the page or in the server, an error in the
console, a request that failed, a run that does not end. The last line counts them all; the exit
code is 1 if there is any. ``--seed`` chooses what is clicked, ``--address`` a server that runs.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from playwright.async_api import async_playwright

from tests.browser.server import CHILDREN, QUIET, ROOT, awaited, browser_path, free_port
from tools.load.crowd_load import megabytes
from tools.load.random_clicks import PAGES, Visitor
from tools.load.session_faults import Found

MINUTE = 60.0
RAISED = re.compile(r"^Traceback .*?^\S[^\n]*$", re.MULTILINE | re.DOTALL)


class Served(NamedTuple):
    """A server: where it answers, its process, and what it says; the last two only of our own."""

    address: str
    pid: int = 0
    log: Path | None = None


@contextmanager
def server(address: str) -> Iterator[Served]:
    """The server at this address, or a fresh one, whose log is kept and which is stopped."""
    if address:
        yield Served(address.rstrip("/"))
        return
    port, folder = free_port(), Path(tempfile.mkdtemp(prefix="soak-"))
    command = [sys.executable, "-m", "ncd", "serve", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stderr=log)
        try:
            yield Served(awaited(port, process), process.pid, folder / "log")
        except RuntimeError:  # it has not started
            print((folder / "log").read_text())
            raise
        finally:
            process.terminate()
            process.wait(60)


def family(process: int) -> list[int]:
    """A process and all that it has begun."""
    found = [process]
    for own in found:
        with open(CHILDREN.format(own)) as children:
            found += map(int, children.read().split())
    return found


def held(process: int) -> str:
    """The memory of a server and of the processes it has begun, in words."""
    if not process or not Path("/proc/self").exists():
        return "unseen"
    others = [megabytes(own) for own in family(process)[1:]]
    return f"{megabytes(process):.0f} MB, and {sum(others):.0f} MB in {len(others)} others"


def raised(log: Path, read: int, found: Found) -> int:
    """Looks through what the server has said from ``read`` on; says how far it has read."""
    text = log.read_text(errors="replace")
    for own in RAISED.findall(text[read:]):
        found.fault("server", own, f"in {log}")
    return max(read, text.rfind("\n") + 1)


async def soak(served: Served, options: argparse.Namespace) -> Found:
    """Lets the visitors in, and tells of them each minute."""
    found, read, began = Found(), 0, time.monotonic()
    end = began + options.minutes * MINUTE
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=list(QUIET))
        visitors = [
            Visitor(i, served.address, tuple(options.pages), Random(f"{options.seed} {i}"), found)
            for i in range(options.visitors)
        ]
        everyone = asyncio.gather(*(own.visit(browser, end, options.things) for own in visitors))
        while not everyone.done():
            await asyncio.wait([everyone], timeout=MINUTE)
            if served.log:
                read = raised(served.log, read, found)
            print(line(found, time.monotonic() - began, held(served.pid)), flush=True)
        await everyone
        await browser.close()
    return found


def line(found: Found, seconds: float, memory: str) -> str:
    """What there is to tell after a minute.

    >>> line(Found(), 60, "700 MB")
    ' 1.0 min     0 things done  0 faults  700 MB'
    """
    done, faults = found.done.total(), found.faults.total()
    return f"{seconds / MINUTE:4.1f} min {done:5} things done  {faults} faults  {memory}"


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--address", default="", help="of a server that runs; else a fresh one")
    parser.add_argument("--visitors", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--things", type=int, default=10**9, help="that each does at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pages", nargs="+", default=PAGES, help="names; all by default")
    options = parser.parse_args()
    with server(options.address) as served:
        found = asyncio.run(soak(served, options))
    found.miss()
    print(*found.table(), sep="\n")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
