"""A pool of long-lived threads in which torch runs.

A server's requests are threads of their own, and the first parallel operation in a new thread makes
torch start a team of threads for it: 0.3 ms of work then takes 100 ms on a busy machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import local
from typing import TypeVar

import torch

T = TypeVar("T")
HALF = max(1, (os.cpu_count() or 2) // 2)
_thread_state = local()


def _begin() -> None:
    _thread_state.inside = True
    torch.set_num_threads(HALF)  # leaves cores for the messages to the browsers


def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="torch", initializer=_begin)


# Few long runs at a time, as each may fill the memory; short ones never wait for a long one.
_short, _long = _pool(max(8, 2 * HALF)), _pool(HALF)


def is_pool_thread() -> bool:
    """Returns whether this is a thread of the pool."""
    return getattr(_thread_state, "inside", False)


def submit(make: Callable[[], T], *, long: bool = False) -> Future[T]:
    """Returns the future of ``make()``, which runs in a thread of the pool.

    >>> submit(lambda: 1 + 1).result()
    2
    """
    return (_long if long else _short).submit(make)
