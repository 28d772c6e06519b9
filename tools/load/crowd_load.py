"""Many visitors at once, each moving a slider now and then: ``python -m tools.load.crowd_load``.

It starts a server, speaks Streamlit's own protocol over websockets, and prints every twenty seconds
how long a move took (to the diagram's message, and to the end of the run), how much of the server's
time it used, and how much memory the server holds. With ``--at https://circuits.example.org`` the
visitors come to a server that runs already. ``--whole`` asks for whole runs, not fragments.
``--processes 2`` puts as many behind a proxy, and ``--kill 150`` ends one of them after so many
seconds: its visitors come again with their link, as a browser does, and say what was lost.
``--drag 8`` drags a size of the diagram over so many values instead, each of which is a move; then
*rest* is the run at the end. ``--training 20`` lets so many others train a system each, and wait
for it on its page.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

from tests.browser.server import Server, crowded, processes, started
from tools.load.visitors import Found, Trainee, Visitor

REPORT = 20  # seconds between two lines
TRAINED = "image-recogniser"  # the page of those who train


def seconds(process: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(process: int) -> float:
    """The memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values is.

    >>> percentile([3, 1, 2], 0.5)
    2
    """
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def told(found: Found, used: float, held: float) -> str:
    """One line of the report; ``held`` is 0 where the server is not on this machine."""
    times = (percentile(x, p) for x in (found.diagram, found.end) for p in (0.5, 0.95))
    half, most, last, latest = times
    moves = len(found.end)
    rest = f"rest p95 {percentile(found.rest, 0.95):4.0f} ms  " if found.rest else ""
    cost = f"{1e3 * used / max(moves, 1):4.0f} ms of processor each  {held:5.0f} MB  "
    return (
        f"{moves:5} moves  diagram p50 {half:4.0f} p95 {most:4.0f} ms  "
        f"end p50 {last:4.0f} p95 {latest:4.0f} ms  {rest}"
        f"{cost if held else ''}"
        f"{len(found.failed)} failed {' '.join(found.failed[:1])}"
        + (f" {len(found.back)} back in {max(found.back):.1f} s at most" if found.back else "")
    )


class Meter:
    """The processor time and the memory of the processes that serve, whichever they are by now."""

    def __init__(self, server: Server) -> None:
        self.server, self.known = server, dict.fromkeys(self.now(server), 0.0)
        self.used()

    @staticmethod
    def now(server: Server) -> list[int]:
        return (list(processes(server)) or [server.pid]) if server.pid else []

    def used(self) -> float:
        """Seconds since this was asked last."""
        before, self.known = self.known, {pid: seconds(pid) for pid in self.now(self.server)}
        return sum(own - before.get(pid, 0.0) for pid, own in self.known.items())

    def held(self) -> float:
        """Megabytes."""
        return sum(map(megabytes, self.now(self.server)))


async def crowd(server: Server, options: argparse.Namespace) -> None:
    """Lets the visitors come, and reports on them; the last line is of all but the first minute."""
    address = f"{server.address.replace('http', 'ws', 1)}/_stcore/stream"
    began, every = time.monotonic(), options.every
    found, settled = Found(), Found()
    visitors = [
        Visitor(
            address, options.page, options.whole, random.Random(i), found, drag=options.drag
        ).visit(i * every / options.visitors, every, began + options.seconds)
        for i in range(options.visitors)
    ]
    beside = Found()  # who trains has no part in the times
    trainees = [
        Trainee(address, TRAINED, True, random.Random(i), beside, seed=i + 1).visit(
            every + i * every / options.training, every, began + options.seconds
        )
        for i in range(options.training)
    ]
    everyone = asyncio.gather(*visitors, *trainees)
    meter, settled_used = Meter(server), 0.0
    if options.kill:
        asyncio.get_running_loop().call_later(options.kill, kill, server)
    while not everyone.done():
        await asyncio.wait([everyone], timeout=options.report)
        used, passed = meter.used(), time.monotonic() - began
        print(f"{passed:4.0f} s {told(found, used, meter.held())}", flush=True)
        if passed > 60 + options.report / 2:
            settled.diagram += found.diagram
            settled.end += found.end
            settled.rest += found.rest
            settled_used += used
        found.failed += beside.failed
        beside.failed.clear()
        settled.failed += found.failed
        settled.back += found.back
        for values in (found.diagram, found.end, found.rest, found.failed, found.back):
            values.clear()
    print(f"settled {told(settled, settled_used, meter.held())}")


def kill(server: Server) -> None:
    """Ends one of the processes at once."""
    first, *_ = processes(server)
    print(f"Process {first} is killed.", flush=True)
    os.kill(first, SIGKILL)


@contextmanager
def serving(count: int, address: str | None) -> Iterator[Server]:
    """One process, or several behind a proxy, or what is at an address already."""
    if address:
        yield Server(address.rstrip("/"), 0)
        return
    with crowded(count, NCD_LOG="off") if count > 1 else started(NCD_LOG="off") as server:
        yield server


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="?", default="multi-head-attention")
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--every", type=float, default=5, help="seconds between two moves of one")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--report", type=float, default=REPORT, help="seconds between two lines")
    parser.add_argument("--drag", type=int, default=0, help="values that a size is dragged over")
    parser.add_argument("--whole", action="store_true", help="ask for whole runs of the page")
    parser.add_argument("--processes", type=int, default=1, help="behind a proxy, if several")
    parser.add_argument("--training", type=int, default=0, help="others who train meanwhile")
    parser.add_argument("--kill", type=float, help="end one of them after so many seconds")
    parser.add_argument("--at", metavar="ADDRESS", help="a server that runs already")
    options = parser.parse_args()
    if options.at and (options.kill or options.processes > 1):
        parser.error("--kill and --processes are for a server that is started here")
    with serving(options.processes, options.at) as server:
        asyncio.run(crowd(server, options))


if __name__ == "__main__":
    main()
