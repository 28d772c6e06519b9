"""Data that panels send to their components: at once, or collected to answer a move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Parts = dict[str, Mapping[str, Any]]  # the data of components by their keys
_ANSWER: ContextVar[Parts | None] = ContextVar("parts of a move", default=None)


def send(
    component: Callable[..., Any],
    key: str,
    data: Mapping[str, Any],
    **callbacks: Callable[[], None],
) -> None:
    """Shows data in a component; where parts are collected, it is kept instead."""
    collected = _ANSWER.get()
    if collected is not None:
        collected[key] = data
    else:
        component(key=key, data={**data, "part": key}, **callbacks)


def is_collecting() -> bool:
    """Returns whether parts are collected, so that no widget can be shown."""
    return _ANSWER.get() is not None


@contextmanager
def collected_parts() -> Iterator[Parts]:
    """Collects what the enclosed code sends, by the keys of the components.

    >>> with collected_parts() as parts:
    ...     send(print, "shapes", {"html": "<table>"})
    >>> parts
    {'shapes': {'html': '<table>'}}
    """
    parts: Parts = {}
    token = _ANSWER.set(parts)
    try:
        yield parts
    finally:
        _ANSWER.reset(token)
