"""A class that answers on phones: ``python -m tools.load.class_answers --phones 200``.

It starts a server, opens a question as a lecturer does, lets every phone load the page, answer,
look every few seconds, and change its mind once; meanwhile the lecturer looks each second. It
prints the median and the 95th percentile of an answer and of a look, failures, whether the sums are
right, and the processor time that the server used. ``--processes 2`` puts as many behind a proxy.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from ncd.app.host.class_endpoint import KEY_HEADER
from ncd.app.teach.class_tally import room_code
from tests.browser.server import Server, crowded, processes, started
from tools.load.crowd_load import percentile, seconds

KEY = "lecturer-of-the-load-test"
ROOM = f"/class.json?room={room_code(KEY)}"
VIEW = {"page": "multi-head-attention", "query": "ask=shape:v7"}
ANSWERS, LOOK = 4, 4.5  # the answers of the question; seconds between two looks of a phone
LATEST = 10.0  # seconds in which all phones have come


@dataclass
class Times:
    """Seconds that requests took, and how many failed."""

    pages: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


async def timed(client: httpx.AsyncClient, kept: list[float], times: Times, **asked: Any) -> Any:
    begun = time.monotonic()
    try:
        answer = await client.request(**asked)
    except httpx.HTTPError as error:
        times.failures[type(error).__name__] += 1
        return None
    kept.append(time.monotonic() - begun)
    if answer.status_code != 200:
        times.failures[str(answer.status_code)] += 1
    return answer


async def phone(n: int, client: httpx.AsyncClient, times: Times, end: float) -> int:
    """Answers as phone n until the end, and returns its last choice."""
    chance = random.Random(n)
    await asyncio.sleep(chance.uniform(0, LATEST))
    await timed(client, times.pages, times, method="GET", url=f"/class?room={room_code(KEY)}")
    choice = 0
    for _ in range(2):
        await timed(client, times.looks, times, method="GET", url=ROOM)
        await asyncio.sleep(chance.uniform(0.5, LOOK))
        choice = chance.randrange(ANSWERS)
        said = {"phone": f"phone-{n:016}", "answer": choice}
        await timed(client, times.answers, times, method="POST", url=ROOM, json=said)
    while time.monotonic() < end:
        await timed(client, times.looks, times, method="GET", url=ROOM)
        await asyncio.sleep(chance.uniform(0.7, 1.3) * LOOK)
    return choice


async def lecture(address: str, count: int, length: float) -> tuple[Times, bool]:
    """Returns the times of a class, and whether the sums at the end are those of the phones."""
    times, end = Times(), time.monotonic() + length
    limits = httpx.Limits(max_connections=count + 8)
    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
        head = {KEY_HEADER: KEY}
        (await client.put(ROOM, json=VIEW, headers=head)).raise_for_status()
        phones = [asyncio.create_task(phone(n, client, times, end)) for n in range(count)]
        while time.monotonic() < end:
            await timed(client, times.looks, times, method="GET", url=ROOM, headers=head)
            await asyncio.sleep(1)
        chosen = Counter(await asyncio.gather(*phones))
        sums = (await client.delete(ROOM, headers=head)).json()["counts"]
    return times, sums == [chosen[n] for n in range(ANSWERS)]


def report(name: str, values: list[float]) -> None:
    median, late = (1000 * percentile(values, share) for share in (0.5, 0.95))
    print(f"{name}: {len(values):,}, median {median:.1f} ms, 95 % within {late:.1f} ms")


def run(server: Server, own: list[int], count: int, length: float) -> None:
    before = sum(map(seconds, own))
    times, right = asyncio.run(lecture(server.address, count, length))
    used = sum(map(seconds, own)) - before
    for name, values in (
        ("pages", times.pages),
        ("answers", times.answers),
        ("looks", times.looks),
    ):
        report(name, values)
    print(f"failures: {dict(times.failures) or 'none'}; sums {'right' if right else 'WRONG'}")
    print(f"processor: {used:.2f} s in {length:.0f} s, {used / length:.1%} of a core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    if given.processes > 1:
        with crowded(given.processes) as server:
            run(server, [*processes(server)], given.phones, given.seconds)
    else:
        with started() as server:
            run(server, [server.pid], given.phones, given.seconds)


if __name__ == "__main__":
    main()
