"""Garbage collection of a whole process."""

from __future__ import annotations

import gc


def collect_and_freeze() -> None:
    """Collects all garbage; later collections do not walk what is left.

    Before a process forks, this keeps the memory shared: the first collection in a forked process
    would otherwise write to all of it, and so copy it.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
