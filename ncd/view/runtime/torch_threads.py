"""A pool of long-lived threads in which torch runs.

Every run of a page is a new thread, and the first parallel operation in a new thread makes torch
start a team of threads for it: 0.3 ms of work then takes 100 ms on a busy machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import local
from typing import TypeVar

import torch

from ncd.view.runtime import streamlit_internals

T = TypeVar("T")
EVERY = 0.1  # seconds between two checks whether the page still needs the result
HALF = max(1, (os.cpu_count() or 2) // 2)
_here = local()


def _begin() -> None:
    _here.inside = True
    torch.set_num_threads(HALF)  # leaves cores for the messages to the browsers


def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="torch", initializer=_begin)


# Few long runs at a time, as each may fill the memory; short ones never wait for a long one.
_short, _long = _pool(max(8, 2 * HALF)), _pool(HALF)


def run(make: Callable[[], T], *, long: bool = False) -> T:
    """Returns ``make()``, computed in a thread of the pool; its exceptions are raised here.

    The run of the page ends here if the visitor has requested another one. ``make`` is then skipped
    if it has not begun, and its result is ignored if it has.

    >>> run(lambda: run(lambda: 1 + 1, long=True))
    2
    """
    if getattr(_here, "inside", False):
        return make()
    check = streamlit_internals.stop_check()
    if check is not None:
        check()
    made = (_long if long else _short).submit(make)
    try:
        while check is not None and not wait((made,), EVERY).done:
            check()
        return made.result()
    finally:
        made.cancel()
