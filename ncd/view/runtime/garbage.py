"""Collects garbage when nobody waits.

A full collection stops every visitor's run, so Streamlit's own, after each run, is off. What dies
young is collected by Python as it grows, some milliseconds at a time; all of it once nobody has
made anything for a while, or now and then on a server that never rests. What has outlived a rest
is not walked again before the next one.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import time
from collections.abc import Iterator
from threading import Thread

import torch

YOUNG = 5_000, 5, 1_000_000  # new objects, and younger collections, before each generation's own
PERIOD = 0.5  # seconds between two looks
REST = 4  # looks without anything new after which it is a rest
STILL = 50  # objects that come and go even then
LONGEST = 600.0  # seconds after which a collection waits for no rest
# Seconds after which what is free goes back to the machine, rest or not: each run is a thread, and
# the C library gives many threads room of their own, and keeps all that is freed there.
OFTEN = 30.0
_glibc = ctypes.CDLL(None) if "glibc" in platform.libc_ver() else None


def start() -> None:
    """Takes garbage over from Python, for as long as the process lives."""
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
    """At every look, whether a rest has just come, the first since something was made."""
    before, still = gc.get_count(), REST
    while True:
        time.sleep(PERIOD)
        now = gc.get_count()
        same = now[1:] == before[1:] and abs(now[0] - before[0]) < STILL
        before, still = now, still + 1 if same else 0
        yield still == REST


def tidy() -> None:
    """A collection of everything; what is free goes back to the machine."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    give()


def give() -> None:
    """What is free goes back to the machine."""
    if _glibc:
        _glibc.malloc_trim(0)
