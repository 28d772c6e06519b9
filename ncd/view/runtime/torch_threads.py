"""Threads that stay, for torch to run in.

Every run of a page is a thread of its own, and the first parallel operation in a new thread makes
torch start a team of threads for it: 0.3 ms of work then takes 100 ms on a busy machine.
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
EVERY = 0.1  # seconds between looks whether a page still wants what it waits for
HALF = max(1, (os.cpu_count() or 2) // 2)
_here = local()


def _begin() -> None:
    _here.inside = True
    torch.set_num_threads(HALF)  # the browser's messages need a core as well


def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="torch", initializer=_begin)


# Long runs wait for each other, as each may fill the memory; short ones never wait for a long one.
_short, _long = _pool(max(8, 2 * HALF)), _pool(HALF)


def run(make: Callable[[], T], *, long: bool = False) -> T:
    """``make()``, in one of the threads that stay; what it raises is raised here.

    A run of a page ends here if the visitor has asked for another; what has not begun then never
    does, and nobody takes what is still going on.

    >>> run(lambda: run(lambda: 1 + 1, long=True))
    2
    """
    if getattr(_here, "inside", False):
        return make()
    check = streamlit_internals.stop_check()
    made = (_long if long else _short).submit(make)
    try:
        while check is not None and not wait((made,), EVERY).done:
            check()
        return made.result()
    finally:
        made.cancel()
