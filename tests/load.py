"""Many visitors at once, each moving a slider now and then: ``python -m tests.load``.

It starts a server, speaks Streamlit's own protocol over websockets, and prints every twenty seconds
how long a move took (to the diagram's message, and to the end of the run), how much of the server's
time it used, and how much memory the server holds. ``--whole`` asks for whole runs, not fragments.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider

from tests.browser.server import Server, started

PATIENCE = 60  # seconds for one run
REPORT = 20  # seconds between two lines
REACH = 60  # steps of a slider, from its least value, among which a move chooses


@dataclass
class Found:
    """What all visitors have seen since the last line: milliseconds of moves, and failures."""

    diagram: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@dataclass
class Visitor:
    """One session: a page, the sliders on it, and the values that it has set."""

    address: str
    page: str
    whole: bool
    random: random.Random
    found: Found
    sliders: dict[str, tuple[Slider, str]] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)

    async def visit(self, start: float, every: float, end: float) -> None:
        """Opens the page after ``start`` seconds, and moves a slider until the time is ``end``."""
        await asyncio.sleep(start)
        try:
            async with websockets.connect(
                self.address, subprotocols=[websockets.Subprotocol("streamlit")], max_size=None
            ) as socket:
                await self.run(socket, self.asking())
                while time.monotonic() < end:
                    await asyncio.sleep(every * self.random.uniform(0.5, 1.5))
                    diagram, last = await self.run(socket, self.moved())
                    self.found.diagram.append(diagram)
                    self.found.end.append(last)
        except Exception as error:  # whatever it is, it is a visitor that was not served
            self.found.failed.append(repr(error))

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
            self.sliders[element.slider.id] = (element.slider, message.delta.fragment_id)

    def asking(self) -> BackMsg:
        """A run with every slider at its value."""
        asked = BackMsg()
        asked.rerun_script.page_name = self.page
        for id, (slider, _) in self.sliders.items():
            widget = asked.rerun_script.widget_states.widgets.add()
            widget.id = id
            widget.double_array_value.data.append(self.values.get(id, slider.default[0]))
        return asked

    def moved(self) -> BackMsg:
        """A run with one slider at another value."""
        slider, fragment = self.random.choice(list(self.sliders.values()))
        steps = min(REACH, int((slider.max - slider.min) / slider.step))
        self.values[slider.id] = slider.min + slider.step * self.random.randint(0, steps)
        asked = self.asking()
        if not self.whole:
            asked.rerun_script.fragment_id = fragment
        return asked


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
    )


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
    settled_used = 0.0
    while not everyone.done():
        used = seconds(server.pid)
        await asyncio.wait([everyone], timeout=REPORT)
        used, passed = seconds(server.pid) - used, time.monotonic() - began
        print(f"{passed:4.0f} s {told(found, used, megabytes(server.pid))}", flush=True)
        if passed > 60 + REPORT / 2:
            settled.diagram += found.diagram
            settled.end += found.end
            settled_used += used
        settled.failed += found.failed
        for values in (found.diagram, found.end, found.failed):
            values.clear()
    print(f"settled {told(settled, settled_used, megabytes(server.pid))}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="?", default="multi-head-attention")
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--every", type=float, default=5, help="seconds between two moves of one")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--whole", action="store_true", help="ask for whole runs of the page")
    options = parser.parse_args()
    with started() as server:
        asyncio.run(crowd(server, options))


if __name__ == "__main__":
    main()
