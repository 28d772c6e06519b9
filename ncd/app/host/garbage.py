"""Garbage collection while the server is idle.

A full collection stops every visitor's run, so the one that Streamlit makes after each run is off.
Python still collects young objects, for some milliseconds at a time. When the process has been idle
for two seconds, all objects since the last collection are visited, and once a minute all objects;
a busy server does so every ten minutes. Objects that survive are frozen: Python does not visit them
again before a full collection, which takes some tenths of a second.
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
WHOLE = 60.0  # seconds between full collections of a server that is idle now and then
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
    Thread(target=_collect_when_idle, name="sweep", daemon=True).start()


def _collect_when_idle() -> None:
    whole = last = given = time.monotonic()
    for rests in resting():
        now = time.monotonic()
        if rests:
            every = now > whole + WHOLE
            collect_garbage(every)
            last = given = now
            whole = now if every else whole
        elif now > last + LONGEST:
            gc.collect()
            last = now
        elif now > given + OFTEN:
            return_free_memory()
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


def collect_garbage(every: bool = True) -> None:
    """Collects the garbage, also of objects that were frozen if ``every``; returns free memory."""
    if every:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return_free_memory()


def return_free_memory() -> None:
    """Returns free memory to the system."""
    if _glibc:
        _glibc.malloc_trim(0)
