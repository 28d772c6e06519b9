"""A cache of everything computed for a term, shared by all visitors of this process.

It is bounded by bytes, not by entries, as it holds tensors. ``st.cache_data`` would not do: it
hashes a term by its fields and not by its type, so a relu could get the drawing of a softmax on
the same axis.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import torch
from cachetools import Cache, LRUCache

from ncd.circuit.circuit import Circuit
from ncd.language.terms import Term
from ncd.run.module import CircuitModule, Trace

T = TypeVar("T")
LIMIT = 300_000_000
SMALL, LEAF, TERM = 1_000, 100, 50_000  # estimated bytes of an entry, of a value in it, of a term
# Runs count a megabyte extra, so that at most a few hundred small ones are cached.
RUN = 1_000_000


def size_of(value: object) -> int:
    """Returns the approximate size of a cached value in bytes."""
    return SMALL + _object_bytes(value)


def _object_bytes(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value) + LEAF
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.nbytes + LEAF
    if isinstance(value, Trace):
        return _object_bytes(value.values) + RUN
    if isinstance(value, CircuitModule):
        return _object_bytes(value.state_dict()) + RUN
    if isinstance(value, Term | Circuit):
        return TERM
    if isinstance(value, Mapping):
        return sum(map(_object_bytes, value.values())) + LEAF
    if isinstance(value, tuple | list):
        return sum(map(_object_bytes, value)) + LEAF
    if is_dataclass(value):
        return sum(_object_bytes(getattr(value, own.name)) for own in fields(value)) + LEAF
    return LEAF


CACHE: Cache[tuple[Hashable, ...], Any] = LRUCache(LIMIT, getsizeof=size_of)
_LOCK = Lock()


def get_or_make(shelf: Cache[Any, Any], key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
    """Returns the cached value for a key, or computes and stores it; errors are not cached.

    >>> shelf = LRUCache(10_000, getsizeof=size_of)
    >>> [get_or_make(shelf, (key,), lambda: "x" * 6_000)[:1] for key in "ab"]
    ['x', 'x']
    >>> list(shelf)
    [('b',)]
    """
    with _LOCK:
        if key in shelf:
            value: T = shelf[key]
            return value
    value = make()  # without the lock, so that others can read the cache
    with _LOCK, suppress(ValueError):  # the value may exceed the limit
        shelf[key] = value
    return value


def peek(what: str, term: Term, *rest: Hashable) -> Any:
    """Returns the cached value, or None."""
    with _LOCK:
        return CACHE.get((what, term, *rest))


def cached_value(what: str, term: Term, *rest: Hashable, make: Callable[[], T]) -> T:
    """Returns ``make()``, cached under a name, the term and further keys."""
    return get_or_make(CACHE, (what, term, *rest), make)
