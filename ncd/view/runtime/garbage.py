"""Garbage collection while the server is idle.

A full collection stops every visitor's run, so the one that Streamlit makes after each run is off.
Python still collects young objects, for some milliseconds at a time. A full collection runs when
the process has been idle for two seconds, or every ten minutes on a busy server. Objects that
survive it are frozen: Python does not visit them again before the next full one.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import time
from collections.abc import Iterator
from threading import Thread

import torch

YOUNG = 5_000, 5, 1_000_000  # the thresholds of the three generations; the third is never reached
PERIOD = 0.5  # seconds between two checks
REST = 4  # checks without new objects after which the process counts as idle
STILL = 50  # objects that an idle process makes between two checks
LONGEST = 600.0  # seconds after which a full collection runs even if the process is busy
# Seconds after which free memory is returned even if the process is busy: each run is a thread, and
# the C library keeps the memory that a thread has freed.
OFTEN = 30.0
_glibc = ctypes.CDLL(None) if "glibc" in platform.libc_ver() else None


def start() -> None:
    """Replaces Python's automatic full collections for the rest of the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*YOUNG)
    Thread(target=_sweep, name="sweep", daemon=True).start()


def _sweep() -> None:
    last = given = time.monotonic()
    for rests in resting():
        now = time.monotonic()
        if rests:
            tidy()
            last = given = now
        elif now > last + LONGEST:
            gc.collect()
            last = now
        elif now > given + OFTEN:
            give()
            given = now


def resting() -> Iterator[bool]:
    """Yields, every half second, whether the process has just become idle."""
    before, still = gc.get_count(), REST
    while True:
        time.sleep(PERIOD)
        now = gc.get_count()
        same = now[1:] == before[1:] and abs(now[0] - before[0]) < STILL
        before, still = now, still + 1 if same else 0
        yield still == REST


def tidy() -> None:
    """Collects all garbage, and returns free memory to the system."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    give()


def give() -> None:
    """Returns free memory to the system."""
    if _glibc:
        _glibc.malloc_trim(0)
