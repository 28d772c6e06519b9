"""Collects garbage while nobody waits.

A full collection stops every run, so Streamlit's own, after each run, is off in its settings. Young
objects are collected by Python as they come, for some milliseconds at a time; everything is
collected once nothing has been made for a while, or after ten minutes on a server that never rests.
XX
"""

from __future__ import annotations

import ctypes
import gc
import platform
import time
from collections.abc import Iterator
from threading import Thread

import torch

from ncd.run.base.collect import collect_and_freeze

YOUNG = 5_000, 5, 1_000_000  # thresholds of Python's three generations
PERIOD = 0.5  # seconds between two looks
REST = 4  # looks without new objects that make a rest
STILL = 50  # objects that come and go even at rest
LONGEST = 600.0  # seconds after which a collection does not wait for a rest
# Seconds between two times that free memory is returned to the machine. Each run is a thread, and
# the C library keeps what was freed in each thread's own arena.
OFTEN = 30.0
_glibc = ctypes.CDLL(None) if "glibc" in platform.libc_ver() else None


def start() -> None:
    """Takes garbage collection over from Python, as long as the process lives."""
    collect_and_freeze()
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
            return_memory()
            given = now


def resting() -> Iterator[bool]:
    """Yields at every look whether a rest has just begun."""
    before, still = gc.get_count(), REST
    while True:
        time.sleep(PERIOD)
        now = gc.get_count()
        same = now[1:] == before[1:] and abs(now[0] - before[0]) < STILL
        before, still = now, still + 1 if same else 0
        yield still == REST


def tidy() -> None:
    """Collects everything, and returns free memory to the machine."""
    collect_and_freeze()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return_memory()


def return_memory() -> None:
    """Returns memory that is free to the machine."""
    if _glibc:
        _glibc.malloc_trim(0)
