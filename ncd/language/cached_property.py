"""Values that are computed once: properties, and the hashes of cache keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):
    """A property that is computed once, as :func:`functools.cached_property` since Python 3.12.

    In Python 3.11 that one holds a lock which all objects of a class share, so that threads wait
    for one another. Here two threads that read one property at once may both compute it.

    >>> class Square:
    ...     side = 3
    ...     @lazy_property
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, square.__dict__
    (9, {'area': 9})
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, of: None, kind: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, of: object, kind: type) -> T: ...

    def __get__(self, of: object | None, kind: type) -> lazy_property[T] | T:
        if of is None:
            return self
        value = of.__dict__[self.name] = self.compute(of)
        return value


class HashedKey:
    """A cache key whose hash is computed once, for keys that are large.

    >>> HashedKey("a", (1, 2)) == HashedKey("a", (1, 2)), HashedKey("a") == HashedKey("b")
    (True, False)
    """

    __slots__ = ("hash", "parts")

    def __init__(self, *parts: Hashable) -> None:
        self.parts, self.hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedKey) and self.parts == other.parts
