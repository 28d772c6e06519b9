"""Runs torch for a visitor in a thread of the pool, until the visitor wants something else."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from ncd.app.runtime import streamlit_internals
from ncd.run import torch_pool

T = TypeVar("T")
EVERY = 0.1  # seconds between two checks whether the page still needs the result


def run_in_thread(make: Callable[[], T], *, long: bool = False) -> T:
    """Returns ``make()``, computed in a thread of the pool; its exceptions are raised here.

    The run of the page ends here if the visitor has requested another one. ``make`` is then skipped
    if it has not begun, and its result is ignored if it has.

    >>> run_in_thread(lambda: run_in_thread(lambda: 1 + 1, long=True))
    2
    """
    if torch_pool.inside():
        return make()
    check = streamlit_internals.superseded_check()
    if check is not None:
        check()
    made = torch_pool.submit(partial(copy_context().run, make), long=long)
    try:
        while check is not None and not wait((made,), EVERY).done:
            check()
        return made.result()
    finally:
        made.cancel()
