"""Health checks for proxies and hosts, and the balance of visitors between processes.

``/healthz`` returns 200 as long as the process responds. ``/readyz`` returns 200 once all pages are
prepared. After SIGTERM it returns 503 for ``NCD_DRAIN`` seconds, so that the proxy sends new
visitors to other processes; existing visitors are still served. Visitors who remain at the end
reconnect to another process, which restores their page from its link.

With several processes (``ncd/cli/crowd.py``), one that was lost may come back to few visitors while
another has too many. A signal tells both. The latter then returns 503 until the proxy has noticed
it, and disconnects its most recent visitors one by one.
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
RECONNECT_CODE = 1012  # the websocket close code "service restart", after which browsers reconnect
RECONNECT_REASON = "Another process has fewer visitors."
AWAY = -1  # stands for the number of visitors of a process that accepts none
LOOK = 3.0  # seconds after which the proxy may send visitors here again
MIN_FAILED_CHECKS = (
    3  # failed checks after which the proxy has noticed (health_fails in ncd/cli/Caddyfile)
)
SHARE = getattr(signal, "SIGUSR1", None)  # sent when a process that was lost is ready again
TOLERATED_SURPLUS = (
    10  # a surplus up to this number is tolerated, since reconnecting disturbs a visitor
)
DISCONNECTION_SECONDS = 0.05  # seconds between two disconnections
_leaving = _sharing = False
_failed_check_count = 0  # the number of failed checks since it returns 503
_open_sockets: dict[Send, None] = {}  # the open websockets, oldest first
_counts: MutableSequence[int] = [AWAY]  # the visitors of every process
_process_index = 0  # the index of this process


def register_process(counts: MutableSequence[int], own: int) -> None:
    """Registers this process: its number of visitors is stored at ``counts[own]``."""
    global _counts, _process_index
    _counts, _process_index = counts, own


def answer(path: str) -> Response:
    """Returns the answer to a health check; requests for any host name are accepted.

    >>> answer(WELL).status_code, answer(READY).status_code
    (200, 200)
    """
    global _failed_check_count
    if path == READY and (_leaving or _sharing):
        _failed_check_count += 1
        return PlainTextResponse("leaving" if _leaving else "sharing", 503)
    return PlainTextResponse("ok")


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """Runs with the server: the first SIGTERM starts the draining, a second one ends it."""
    loop, ends, wait = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM), drain_seconds()

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
    if SHARE is not None and len(_counts) > 1:
        tasks = set[asyncio.Task[None]]()  # else one may be collected before its end
        loop.add_signal_handler(SHARE, lambda: tasks.add(loop.create_task(shed_visitors(wait))))
    _count()
    yield


@contextmanager
def visitor(send: Send) -> Iterator[None]:
    """Counts a visitor while the websocket is open."""
    _open_sockets[send] = None
    _count()
    try:
        yield
    finally:
        _open_sockets.pop(send, None)
        _count()


def _count() -> None:
    _counts[_process_index] = AWAY if _leaving else len(_open_sockets)


def excess(counts: Sequence[int], own: int) -> int:
    """Returns how many visitors a process has above its share; 0 if too few to matter.

    >>> excess([200, 0], 0), excess([200, 0], 1), excess([200, -1], 0), excess([109, 91], 0)
    (100, 0, 0, 0)
    """
    here = [count for count in counts if count != AWAY]
    part = sum(here) // len(here) if here else 0
    more = counts[own] - part
    return more if more > max(TOLERATED_SURPLUS, part / 4) else 0


async def shed_visitors(wait: float) -> None:
    """Disconnects the surplus visitors once the proxy sends nobody here any more.

    ``wait`` is the longest time in seconds until the proxy notices.
    """
    global _sharing, _failed_check_count
    if _sharing or _leaving or not excess(_counts, _process_index):
        return
    _sharing, _failed_check_count = True, 0
    try:
        end = asyncio.get_running_loop().time() + wait
        while _failed_check_count < MIN_FAILED_CHECKS and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(DISCONNECTION_SECONDS)
        for send in [*_open_sockets][::-1][: excess(_counts, _process_index)]:
            with suppress(OSError, RuntimeError):  # the visitor has left in the meantime
                await send(
                    {"type": "websocket.close", "code": RECONNECT_CODE, "reason": RECONNECT_REASON}
                )
            await asyncio.sleep(DISCONNECTION_SECONDS)
        await asyncio.sleep(min(wait, LOOK))
    finally:
        _sharing = False


def drain_seconds() -> float:
    """Returns ``NCD_DRAIN``: the seconds between SIGTERM and the end; 0 if it is not valid.

    >>> drain_seconds()
    0.0
    """
    try:
        seconds = float(os.environ.get("NCD_DRAIN") or 0)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST else 0.0
