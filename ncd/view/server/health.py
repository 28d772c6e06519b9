"""Whether a process is well, and whether visitors should be sent to it: for proxies and hosts.

``/healthz`` answers as long as the process does. ``/readyz`` answers once every page has been made
ready, until the process is told to end (SIGTERM): then it says 503 for ``NCD_DRAIN`` seconds, in
which it serves as before, while whoever sends visitors learns to send them elsewhere. Those who
are still there then come to another process, which finds their page in its link.

Of a crowd of processes (``ncd/cli/crowd.py``) one that comes back may have few visitors, and
another far too many. That one says 503 too, until the proxy has heard it, and then lets those go
who came last, one after the other.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator, Iterator, MutableSequence, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType

from starlette.responses import PlainTextResponse, Response
from starlette.types import Send

WELL, READY = "/healthz", "/readyz"
PATHS = (WELL, READY)
LONGEST = 3600.0  # seconds
AGAIN = 1012  # of a websocket that is closed: the service starts anew, so come again
MORE = "There is more room elsewhere."
AWAY = -1  # how many visitors a process has that is not ready for any
LOOK = 3.0  # seconds between two looks at how many the others have
FEW = 10  # a process with so many more than its part keeps them, since to move costs a visitor
APART = 0.05  # seconds between two visitors who go
_leaving = _sharing = _heard = False
_here: dict[Send, None] = {}  # the websockets that are open, in the order in which they came
_counts: MutableSequence[int] = [AWAY]  # the visitors of every process
_own = 0  # which of them this one is


def join(counts: MutableSequence[int], own: int) -> None:
    """Makes this process the one at ``own`` among those whose visitors are counted there."""
    global _counts, _own
    _counts, _own = counts, own


def answer(path: str) -> Response:
    """What a host is told; it may ask under any name.

    >>> answer(WELL).status_code, answer(READY).status_code
    (200, 200)
    """
    global _heard
    if path == READY and (_leaving or _sharing):
        _heard = True
        return PlainTextResponse("leaving" if _leaving else "sharing", 503)
    return PlainTextResponse("ok")


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """While the server runs: a first SIGTERM begins the leaving, a second ends it."""
    loop, ends, wait = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM), drain()

    def told(number: int, frame: FrameType | None) -> None:
        global _leaving
        if _leaving:
            end(number)
        _leaving = True
        _count()
        loop.call_soon_threadsafe(loop.call_later, wait, end, number)

    def end(number: int) -> None:
        if callable(ends):
            ends(number, None)

    if wait:
        signal.signal(signal.SIGTERM, told)
    _count()
    balancing = loop.create_task(balance(wait))
    yield
    balancing.cancel()


@contextmanager
def visitor(send: Send) -> Iterator[None]:
    """While a websocket is open."""
    _here[send] = None
    _count()
    try:
        yield
    finally:
        _here.pop(send, None)
        _count()


def _count() -> None:
    _counts[_own] = AWAY if _leaving else len(_here)


async def balance(wait: float) -> None:
    """Lets visitors go when there are far too many; ``wait`` is until nobody else comes.

    Only what is so at two looks: visitors of a process that was lost come back in between.
    """
    before = 0
    while len(_counts) > 1:
        await asyncio.sleep(LOOK)
        now = 0 if _leaving else excess(_counts, _own)
        if before and now:
            await share(wait)
        before = now


def excess(counts: Sequence[int], own: int) -> int:
    """How many more than its part a process has, if that is worth a move.

    >>> excess([200, 0], 0), excess([200, 0], 1), excess([200, -1], 0), excess([109, 91], 0)
    (100, 0, 0, 0)
    """
    here = [count for count in counts if count != AWAY]
    part = sum(here) // len(here) if here else 0
    more = counts[own] - part
    return more if more > max(FEW, part / 4) else 0


async def share(wait: float) -> None:
    """Lets those who are too many go, once nobody is sent here again."""
    global _sharing, _heard
    _sharing, _heard = True, False
    try:
        end = asyncio.get_running_loop().time() + wait
        while not _heard and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(APART)
        for send in [*_here][::-1][: excess(_counts, _own)]:
            with suppress(OSError, RuntimeError):  # who has gone meanwhile
                await send({"type": "websocket.close", "code": AGAIN, "reason": MORE})
            await asyncio.sleep(APART)
        await asyncio.sleep(min(wait, LOOK))
    finally:
        _sharing = False


def drain() -> float:
    """The seconds between being told to end and ending; 0 for what is no number of seconds.

    >>> drain()
    0.0
    """
    try:
        seconds = float(os.environ.get("NCD_DRAIN") or 0)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST else 0.0
