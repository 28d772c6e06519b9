"""Processor time of a move on every page: ``python -m tools.load.move_cost [PAGE …]``.

One visitor after the other opens each page of the catalogue on one server, and moves a slider to a
random value so many times. With ``--drag 8`` a size of the diagram is dragged over so many values
instead, for which the browser asks one after the other, and the session is told the last: *mean*
and *median* are of one such value without the run at rest, *rest* is that run. The processor's
time, of all of the server's processes and threads, says what a move costs whatever else the machine
does. The table tells it for each page, beside what the diagram's message and the whole move took,
and how large the messages were.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator
from statistics import mean, median
from typing import NamedTuple

from ncd import catalogue
from tests.browser.server import Server, started
from tools.load.crowd_load import seconds
from tools.load.soak import family
from tools.load.visitors import Found, Visitor

REST = 2.5  # seconds after a page has opened, for what is done when nobody waits, as garbage is
IDLE = 20.0  # milliseconds of processor time in so long; the pool's first process takes seconds


class Cost(NamedTuple):
    """What the moves on one page took, in milliseconds, and what was sent, in kilobytes."""

    page: str
    processor: float
    median: float
    most: float
    diagram: float
    end: float
    sent: float
    rest: float = 0.0


def used(server: Server) -> float:
    """The processor time of a server and of all that it has begun, in milliseconds."""
    return 1e3 * sum(map(seconds, family(server.pid)))


async def rest(server: Server) -> None:
    """Waits until a server does nothing more for a page that has opened."""
    before = -IDLE
    while (now := used(server)) >= before + IDLE:
        before = now
        await asyncio.sleep(REST)


async def measured(server: Server, page: str, moves: int, every: float, drag: int) -> Cost:
    """Opens a page and moves its sliders, or drags the sizes of its diagram."""
    address = f"{server.address.replace('http', 'ws', 1)}/_stcore/stream"
    found = Found()
    visitor = Visitor(address, page, False, random.Random(page), found, drag=drag)
    costs, rests, before = list[float](), list[float](), 0
    async with visitor.connected() as socket:
        await visitor.run(socket, visitor.asking())
        await rest(server)
        before = visitor.received
        for _ in range(moves):
            start = used(server)
            if drag:
                name = await visitor.drag_size()
                await asyncio.sleep(every)
                costs.append((used(server) - start) / drag)
                start = used(server)
                await visitor.run(socket, visitor.rested(name))
                await asyncio.sleep(every)
                rests.append(used(server) - start)
            else:
                diagram, end = await visitor.run(socket, visitor.moved())
                found.diagram.append(diagram)
                found.end.append(end)
                await asyncio.sleep(every)
                costs.append(used(server) - start)
    sent = (visitor.received - before) / moves / 1e3
    times = median(found.diagram), median(found.end)
    return Cost(page, mean(costs), median(costs), max(costs), *times, sent, mean(rests or [0]))


def told(costs: list[Cost]) -> Iterator[str]:
    """Returns the lines of the table, the dearest page first."""
    names = "".join(f" {name:>6}" for name in ("mean", "median", "most"))
    yield f"{'page':32}{names} {'diagram':>8} {'end':>6} {'kB':>6} {'rest':>6}"
    for cost in sorted(costs, key=lambda cost: -cost.processor):
        yield (
            f"{cost.page:32} {cost.processor:6.1f} {cost.median:6.1f} {cost.most:6.1f} "
            f"{cost.diagram:8.0f} {cost.end:6.0f} {cost.sent:6.0f} {cost.rest:6.0f}"
        )


async def main(pages: list[str], moves: int, every: float, drag: int) -> None:
    """Measures pages, and prints the table."""
    costs = []
    with started(OMP_NUM_THREADS="1") as server:
        for page in pages:
            costs.append(await measured(server, page, moves, every, drag))
            print(*[*told(costs[-1:])][1:], flush=True)
    print(*told(costs), sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", default=list(catalogue))
    parser.add_argument("--moves", type=int, default=12)
    parser.add_argument("--every", type=float, default=0.3, help="seconds of rest after a move")
    parser.add_argument("--drag", type=int, default=0, help="values that a size is dragged over")
    options = parser.parse_args()
    asyncio.run(main(options.pages, options.moves, options.every, options.drag))
