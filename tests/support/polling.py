"""Waiting until something is so; the only place in the tests that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 20.0  # seconds, as long as Playwright's ``expect`` waits
LOOK = 0.05  # seconds from one look to the next


def until(condition: Callable[[], T], patience: float = PATIENCE) -> T:
    """Returns what ``condition`` gives as soon as that is true; looks again and again.

    Raises:
        TimeoutError: it has not become true within ``patience`` seconds.

    >>> left = [3, 2, 1]
    >>> until(lambda: left.pop() == 2)
    True
    """
    end = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"it is not so after {patience:g} seconds")
        time.sleep(LOOK)
    return found


def to_pass(check: Callable[[], object]) -> None:
    """Looks again until what ``check`` asserts is so: ``toPass``, which Python's Playwright lacks.

    >>> found = []
    >>> def check() -> None:
    ...     found.append("looked")
    ...     assert len(found) == 2
    >>> to_pass(check)
    """
    refused = AssertionError()

    def passes() -> bool:
        nonlocal refused
        try:
            check()
        except AssertionError as error:
            refused = error
            return False
        return True

    try:
        until(passes)
    except TimeoutError:
        raise refused from None
