"""Many visitors at once, each moving a slider now and then: ``python -m tests.load``.

It starts a server, speaks Streamlit's own protocol over websockets, and prints every twenty seconds
how long a move took (to the diagram's message, and to the end of the run), how much of the server's
time it used, and how much memory the server holds. ``--whole`` asks for whole runs, not fragments.
``--processes 2`` puts as many behind a proxy, and ``--kill 150`` ends one of them after so many
seconds: its visitors come again with their link, as a browser does, and say what was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from urllib.parse import urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider

from tests.browser.server import Server, crowded, processes, started

PATIENCE = 60  # seconds for one run
REPORT = 20  # seconds between two lines
AGAIN = 1.0  # seconds until a browser looks for a server that it has lost
PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
REACH = 60  # steps of a slider, from its least value, among which a move chooses


@dataclass
class Found:
    """What all visitors have seen since the last line: milliseconds of moves, and failures."""

    diagram: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    back: list[float] = field(default_factory=list)  # seconds until the page was there again


@dataclass
class Visitor:
    """One session: a page, the sliders on it by their names, and the values that it has set."""

    address: str
    page: str
    whole: bool
    random: random.Random
    found: Found
    sliders: dict[str, tuple[Slider, str]] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    left: float = 0.0  # when its server was lost

    async def visit(self, start: float, every: float, end: float) -> None:
        """Opens the page after ``start`` seconds, and moves a slider until the time is ``end``."""
        await asyncio.sleep(start)
        while time.monotonic() < end:
            try:
                await self.stay(every, end)
            except (OSError, websockets.WebSocketException):  # its server has gone
                self.left = self.left or time.monotonic()
                await asyncio.sleep(AGAIN)
            except Exception as error:  # whatever it is, it is a visitor that was not served
                self.found.failed.append(repr(error))
                return

    async def stay(self, every: float, end: float) -> None:
        """Moves a slider now and then, on one connection."""
        async with websockets.connect(
            self.address, subprotocols=[websockets.Subprotocol("streamlit")], max_size=None
        ) as socket:
            self.sliders = {}
            await self.run(socket, self.asking())
            self.check()
            while time.monotonic() < end:
                await asyncio.sleep(every * self.random.uniform(0.5, 1.5))
                diagram, last = await self.run(socket, self.moved())
                self.found.diagram.append(diagram)
                self.found.end.append(last)

    def check(self) -> None:
        """Whether the page has the values that were set; one that has not is a failure."""
        shown = {name: held(slider) for name, (slider, _) in self.sliders.items()}
        if not self.values.items() <= shown.items():
            raise RuntimeError(f"{self.values} became {shown}")
        if self.left:
            self.found.back.append(time.monotonic() - self.left)
            self.left = 0.0

    async def run(self, socket: websockets.ClientConnection, asked: BackMsg) -> tuple[float, float]:
        """Asks for a run; milliseconds until the diagram's message and until the last one."""
        start, diagram = time.perf_counter(), 0.0
        await socket.send(asked.SerializeToString())
        while True:
            raw = await asyncio.wait_for(socket.recv(), PATIENCE)
            assert isinstance(raw, bytes)
            message = ForwardMsg.FromString(raw)
            passed = (time.perf_counter() - start) * 1e3
            if message.WhichOneof("type") == "delta":
                self.read(message)
            if not diagram and b"<svg" in raw:
                diagram = passed
            if message.WhichOneof("type") == "script_finished":
                return diagram, passed

    def read(self, message: ForwardMsg) -> None:
        """Keeps a slider; what went wrong on the page is a failure."""
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(element.exception.message)
        if kind == "slider":
            name = element.slider.label.partition(" ")[0].translate(PLAIN)
            self.sliders[name] = (element.slider, message.delta.fragment_id)

    def asking(self) -> BackMsg:
        """A run with every slider at its value; the first of a connection has them in its link."""
        asked = BackMsg()
        asked.rerun_script.page_name = self.page
        asked.rerun_script.query_string = urlencode({n: int(x) for n, x in self.values.items()})
        for name, (slider, _) in self.sliders.items():
            widget = asked.rerun_script.widget_states.widgets.add()
            widget.id = slider.id
            widget.double_array_value.data.append(self.values.get(name, held(slider)))
        return asked

    def moved(self) -> BackMsg:
        """A run with one slider at another value."""
        name, (slider, fragment) = self.random.choice(list(self.sliders.items()))
        steps = min(REACH, int((slider.max - slider.min) / slider.step))
        self.values[name] = slider.min + slider.step * self.random.randint(0, steps)
        asked = self.asking()
        if not self.whole:
            asked.rerun_script.fragment_id = fragment
        return asked


def held(slider: Slider) -> float:
    """The value at which a slider is shown."""
    return float((slider.value if slider.set_value else slider.default)[0])


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
    """One line of the report."""
    times = (percentile(x, p) for x in (found.diagram, found.end) for p in (0.5, 0.95))
    half, most, last, latest = times
    moves = len(found.end)
    return (
        f"{moves:5} moves  diagram p50 {half:4.0f} p95 {most:4.0f} ms  "
        f"end p50 {last:4.0f} p95 {latest:4.0f} ms  "
        f"{1e3 * used / max(moves, 1):4.0f} ms of processor each  {held:5.0f} MB  "
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
        return list(processes(server)) or [server.pid]

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
        Visitor(address, options.page, options.whole, random.Random(i), found).visit(
            i * every / options.visitors, every, began + options.seconds
        )
        for i in range(options.visitors)
    ]
    everyone = asyncio.gather(*visitors)
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
            settled_used += used
        settled.failed += found.failed
        settled.back += found.back
        for values in (found.diagram, found.end, found.failed, found.back):
            values.clear()
    print(f"settled {told(settled, settled_used, meter.held())}")


def kill(server: Server) -> None:
    """Ends one of the processes at once."""
    first, *_ = processes(server)
    print(f"Process {first} is killed.", flush=True)
    os.kill(first, SIGKILL)


@contextmanager
def serving(count: int) -> Iterator[Server]:
    """One process, or several behind a proxy."""
    with crowded(count) if count > 1 else started() as server:
        yield server


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="?", default="multi-head-attention")
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--every", type=float, default=5, help="seconds between two moves of one")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--report", type=float, default=REPORT, help="seconds between two lines")
    parser.add_argument("--whole", action="store_true", help="ask for whole runs of the page")
    parser.add_argument("--processes", type=int, default=1, help="behind a proxy, if several")
    parser.add_argument("--kill", type=float, help="end one of them after so many seconds")
    options = parser.parse_args()
    with serving(options.processes) as server:
        asyncio.run(crowd(server, options))


if __name__ == "__main__":
    main()
