"""The sizes that work, found by trying: their step, the least, and the largest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isqrt

from sympy import primefactors

Works = Callable[[int], bool | None]

FAR = (2, 8, 64)  # times the present size, that are tried
STEPS = (2, 3, 4, 8, 16, 32, 64)  # that a size may have to be one more or less of
LONGEST_STEP = 64
HINTS = 8  # numbers of a text that are tried as sizes for which it may fail


@dataclass(frozen=True)
class Range:
    """The sizes from ``low`` to ``high`` in steps of ``step``; no ``high`` was found if it is 0.

    ``square`` is whether only squares of whole numbers work, and ``one`` whether a size that must
    be another may be 1 as well, which torch broadcasts.
    """

    low: int
    step: int = 1
    high: int = 0
    square: bool = False
    one: bool = False

    @property
    def is_free(self) -> bool:
        """Whether any size works."""
        return self.low == self.step == 1 and not self.high and not self.square

    @property
    def is_fixed(self) -> bool:
        """Whether only one size works."""
        return self.low == self.high


def working_range(works: Works, now: int, hints: Iterable[int] = ()) -> Range | None:
    """Returns the sizes that work, of which ``now`` is one; None where they follow no rule.

    Args:
        works: Whether a size works; None where that is not known.
        now: A size that works.
        hints: Numbers that may be a step or a largest size.

    >>> working_range(lambda n: n % 16 == 0, 224)
    Range(low=16, step=16, high=0, square=False, one=False)
    >>> found = working_range(lambda n: 32 <= n < 36, 32)
    >>> found.low, found.high, working_range(lambda n: n == 3, 3).is_fixed
    (32, 35, True)
    """
    near = [works(now + 1), works(now - 1) if now > 2 else False]
    if None in near:
        return None
    hints, root = sorted({n for n in hints if n > 1}), isqrt(now)
    squares = not any(near) and root * root == now
    if squares and works((root + 1) ** 2) and works((root + 2) ** 2):  # no step leads to both
        return Range(1 if works(1) else now, square=True)
    if step := 1 if any(near) else _step(works, now, hints):
        return _along(works, now, step, hints)
    return Range(now, high=now, one=now > 1 and bool(works(1)))


def _step(works: Works, now: int, hints: list[int]) -> int:
    """Returns the least step to a larger or smaller size that works; 0 if there is none."""
    tries = dict.fromkeys([now, *STEPS, *(n for n in hints if n <= LONGEST_STEP)])
    found = next((d for d in tries if works(now + d) or (d < now - 1 and works(now - d))), 0)
    if not found:
        return 0
    for prime in primefactors(found):
        while found % prime == 0 and found > prime and _either(works, now, found // prime):
            found //= prime
    return found


def _either(works: Works, now: int, step: int) -> bool:
    return bool(works(now + step) or (step < now - 1 and works(now - step)))


def _along(works: Works, now: int, step: int, hints: list[int]) -> Range | None:
    """Returns the sizes in steps from the present one; None if one between them fails."""

    def at(place: int) -> bool | None:  # a size of 1 may work as it is broadcast, and 2 not
        size = first + step * place
        return works(size) and (size > 1 or now == 1 or step > 1 or works(2))

    first = now % step or step
    place = (now - first) // step
    low = _edge(at, place, 0)
    high = _highest(at, place, [-(-(n - first) // step) for n in hints])
    if high is None or (high and low == high and step > 1) or (low and at(low - 1) is not False):
        return None
    if step > 1 and works(first + step * low + 1):  # such as the divisors of a number
        return None
    within = [(low + place) // 2, (place + (high or place)) // 2]
    others = [place - 1, place + 1, *(k for n in hints[:HINTS] for k in _places(n, first, step))]
    within += [k for k in others if low <= k <= (high or k)]
    beyond = [k for k in (low - 2, high + 2 if high else -1) if k >= 0]
    if not all(map(at, within)) or any(map(at, beyond)):  # a hole
        return None
    return Range(first + step * low, step, first + step * high if high else 0)


def _places(size: int, first: int, step: int) -> range:
    """Returns the place of a size in steps from the first one; none if it lies between two.

    >>> [*_places(9, 1, 4)], [*_places(8, 1, 4)]
    ([2], [])
    """
    place, rest = divmod(size - first, step)
    return range(place, place if rest or place < 0 else place + 1)


def _edge(at: Works, good: int, bad: int) -> int:
    """Returns the last place that works on the way from one that does to an end."""
    if good == bad or at(bad):
        return bad
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if at(middle) else (good, middle)
    return good


def _highest(at: Works, place: int, hints: list[int]) -> int | None:
    """Returns the largest place that works, 0 if there seems to be none, None if it is unknown."""
    far = [(place + 1) * times for times in FAR]
    far += [n + over for n in hints for over in (0, 1) if place < n <= far[-1]]
    tries = sorted({place + 1, *far})
    failing = next((n for n in tries if at(n) is False), 0)
    if not failing:
        return 0 if at(far[0]) else None
    good = max((n for n in tries if n < failing and at(n)), default=place)
    best = _edge(at, good, failing)
    return best if at(best + 1) is False else None
