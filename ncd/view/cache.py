"""What was computed once for a term, kept for everyone in this process.

Terms are looked up by their exact ``repr``. ``st.cache_data`` hashes a dataclass by its fields and
not by its type, so that a relu could get the drawing of a softmax on the same axis; and what is
kept here (tensors mostly) has to be bounded by its bytes, not by its number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from threading import Lock
from typing import Any, TypeVar

import torch

from ncd.run import CircuitModule, Trace
from ncd.terms import Term

T = TypeVar("T")
LIMIT = 500_000_000
SMALL = 1_000


class Cache:
    """Values by key, the least recently used dropped when all of them weigh more than ``limit``.

    >>> cache = Cache(limit=10_000)
    >>> cache.get(("a",), lambda: "x" * 6_000)[:1], cache.get(("b",), lambda: "y" * 6_000)[:1]
    ('x', 'y')
    >>> [key for (key,) in cache.kept()]
    ['b']
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.weight = limit, 0
        self._kept: OrderedDict[tuple[Hashable, ...], tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """The value kept for the key, or made now. What ``make`` raises is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        self._keep(key, value, weigh(value))
        return value

    def kept(self) -> list[tuple[Hashable, ...]]:
        """The keys, the one used last at the end."""
        with self._lock:
            return list(self._kept)

    def _keep(self, key: tuple[Hashable, ...], value: object, weight: int) -> None:
        if weight > self.limit:
            return
        with self._lock:
            old = self._kept.pop(key, (None, 0))
            self._kept[key] = (value, weight)
            self.weight += weight - old[1]
            while self.weight > self.limit:
                _, (_, gone) = self._kept.popitem(last=False)
                self.weight -= gone


def weigh(value: object) -> int:
    """About how many bytes a value holds."""
    if isinstance(value, str | bytes):
        return len(value) + SMALL
    if isinstance(value, torch.Tensor):
        return value.nbytes + SMALL
    if isinstance(value, Trace):
        return weigh(value.values)
    if isinstance(value, CircuitModule):
        return weigh(value.state_dict())
    if isinstance(value, Mapping):
        return sum(map(weigh, value.values())) + SMALL
    if isinstance(value, tuple | list):
        return sum(map(weigh, value)) + SMALL
    return SMALL


SHELF = Cache()


def remember(what: str, term: Term, *rest: Hashable, make: Callable[[], T]) -> T:
    """``make()``, kept under what it is, the exact term, and whatever else it depends on."""
    return SHELF.get((what, repr(term), *rest), make)
