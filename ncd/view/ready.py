"""Whether a process is well, and whether visitors should be sent to it: for proxies and hosts.

``/healthz`` answers as long as the process does. ``/readyz`` answers once every page has been made
ready, until the process is told to end (SIGTERM): then it says 503 for ``NCD_DRAIN`` seconds, in
which it serves as before, while whoever sends visitors learns to send them elsewhere. Those who
are still there then come to another process, which finds their page in its link.

Of several processes (``NCD_PROCESSES``) one that comes back has no visitors, and the others have
too many. They are told (SIGUSR1), say 503 as long, and then let their share go in the same way.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

from starlette.responses import PlainTextResponse, Response
from starlette.types import Send

WELL, READY = "/healthz", "/readyz"
PATHS = (WELL, READY)
LONGEST = 3600.0  # seconds
AGAIN = 1012  # of a websocket that is closed: the service starts anew, so come again
_leaving = _sharing = False
_here: set[Send] = set()  # the websockets that are open


def answer(path: str) -> Response:
    """What a host is told; it may ask under any name.

    >>> answer(WELL).status_code, answer(READY).status_code
    (200, 200)
    """
    if path == READY and (_leaving or _sharing):
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
        loop.call_soon_threadsafe(loop.call_later, wait, end, number)

    def end(number: int) -> None:
        if callable(ends):
            ends(number, None)

    if wait:
        signal.signal(signal.SIGTERM, told)
    if others := processes() - 1:
        loop.add_signal_handler(signal.SIGUSR1, lambda: loop.create_task(share(wait, others)))
    yield


@contextmanager
def visitor(send: Send) -> Iterator[None]:
    """While a websocket is open."""
    _here.add(send)
    try:
        yield
    finally:
        _here.discard(send)


async def share(wait: float, others: int) -> None:
    """Lets one in ``1 + others`` of those who are here go, once nobody is sent here again."""
    global _sharing
    if _sharing or _leaving:
        return
    _sharing = True
    try:
        await asyncio.sleep(wait)
        for send in [*_here][:: 1 + others]:
            await send({"type": "websocket.close", "code": AGAIN, "reason": "There is more room."})
        await asyncio.sleep(wait)
    finally:
        _sharing = False


def processes() -> int:
    """How many processes share the visitors.

    >>> processes()
    1
    """
    said = os.environ.get("NCD_PROCESSES", "")
    return max(1, int(said)) if said.isdecimal() and len(said) < 5 else 1


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
