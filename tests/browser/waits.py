"""Waiting for what Playwright's ``expect`` has no words for, such as where two things stand."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

PATIENCE = 20.0  # seconds, as long as ``expect`` waits
LOOK = 0.1  # seconds from one look to the next


def to_pass(check: Callable[[], object]) -> None:
    """Looks again until what ``check`` asserts is so: ``toPass``, which Python's Playwright lacks.

    >>> found = []
    >>> def check() -> None:
    ...     found.append("looked")
    ...     assert len(found) == 2
    >>> to_pass(check)
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(AssertionError):
            check()
            return
        time.sleep(LOOK)
    check()
