"""Collects garbage when nobody waits.

A full collection stops every visitor's run, so Streamlit's own, after each run, is off. What dies
young is collected by growth, which is quick; the rest at idle moments, or now and then if there are
none. What has outlived an idle moment is not walked again before the next one.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import time
from threading import Thread

PERIOD = 0.5  # seconds between two looks
YOUNG = 50_000  # new objects after which the young ones are collected: some milliseconds
SOME = 20_000  # new objects for which an idle moment is used
LONGEST = 60.0  # seconds after which a full collection waits for no idle moment
IDLE = 0.5  # seconds in which nothing is made
STILL = 50  # objects that the server itself makes meanwhile

M_ARENA_MAX = -8  # of malloc.h
LIBC = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


def start() -> None:
    """Takes garbage over from Python, for as long as the process lives."""
    if LIBC:
        LIBC.mallopt(M_ARENA_MAX, 2)  # else every thread's own heap keeps what it once needed
    gc.collect()
    gc.freeze()
    gc.disable()
    Thread(target=_sweep, name="sweep", daemon=True).start()


def _sweep() -> None:
    last, grown = time.monotonic(), 0  # when all was collected, and what has been made since
    while True:
        time.sleep(PERIOD)
        young = gc.get_count()[0]
        if grown + young > SOME and _idle():
            tidy()
            last, grown = time.monotonic(), 0
        elif young > YOUNG and time.monotonic() > last + LONGEST:
            gc.collect()
            last = time.monotonic()
        elif young > YOUNG:
            gc.collect(1)
            grown += young


def _idle() -> bool:
    """Whether nobody makes anything for a while."""
    before = gc.get_count()[0]
    time.sleep(IDLE)
    return abs(gc.get_count()[0] - before) < STILL


def tidy() -> None:
    """A collection of everything; what is free goes back to the machine."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if LIBC:
        LIBC.malloc_trim(0)
