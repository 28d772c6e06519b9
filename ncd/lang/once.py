"""Once: what is worked out a single time: a property, and the hash of a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """A property that is worked out once, as :func:`functools.cached_property` since Python 3.12.

    Before, that holds a lock which all objects of a class share, so that whoever asks one of them
    waits for whoever has asked another. Two threads that ask for the same may both work it out.

    >>> class Square:
    ...     side = 3
    ...     @once
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, square.__dict__
    (9, {'area': 9})
    """

    def __init__(self, work: Callable[[Any], T]) -> None:
        self.work, self.name, self.__doc__ = work, work.__name__, work.__doc__

    @overload
    def __get__(self, of: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, of: object, kind: type) -> T: ...

    def __get__(self, of: object | None, kind: type) -> once[T] | T:
        if of is None:
            return self
        found = of.__dict__[self.name] = self.work(of)
        return found


class Key:
    """What something large is kept by; it is hashed once, however often it is looked up.

    >>> Key("a", (1, 2)) == Key("a", (1, 2)), Key("a") == Key("b")
    (True, False)
    """

    __slots__ = ("hash", "parts")

    def __init__(self, *parts: Hashable) -> None:
        self.parts, self.hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.parts == other.parts
