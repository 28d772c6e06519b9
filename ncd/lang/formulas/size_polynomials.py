"""Sums of products of sizes: how a whole number follows from others, in one way of writing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Atom = str | tuple[Any, ...]  # a size's name, or ("//", numerator, denominator), or with "%"
Product = tuple[Atom, ...]
Counted = dict[Product, int]
Sum = tuple[tuple[Product, int], ...]  # each product with how often it stands, in order


def ordered(total: Mapping[Product, int]) -> Sum:
    """A sum as it is written, without what stands no times in it.

    >>> ordered({("k",): 2, (): 0, ("h", "k"): 1})
    ((('h', 'k'), 1), (('k',), 2))
    """
    return tuple(sorted(((product, n) for product, n in total.items() if n), key=repr))


def added(a: Mapping[Product, int], b: Mapping[Product, int]) -> Counted:
    """Both together.

    >>> added({("h",): 1}, {("h",): 2, (): 5})
    {('h',): 3, (): 5}
    """
    found = dict(a)
    for product, n in b.items():
        found[product] = found.get(product, 0) + n
    return found


def multiplied(a: Mapping[Product, int], b: Mapping[Product, int]) -> Counted:
    """Each product of the one with each of the other.

    >>> multiplied({("k",): 1, (): 1}, {("h",): 2})
    {('h', 'k'): 2, ('h',): 2}
    """
    found: Counted = {}
    for one, n in a.items():
        for other, m in b.items():
            both = _product((*one, *other))
            found[both] = found.get(both, 0) + n * m
    return found


def divided(a: Mapping[Product, int], b: Mapping[Product, int]) -> tuple[Counted, Counted]:
    """How often ``b``, if it is one product, goes into ``a``, and what is left of it.

    >>> divided({("h", "k"): 4, ("k",): 3}, {("k",): 2})
    ({('h',): 2}, {('k',): 3})
    """
    whole, rest = {}, dict(a)
    if len(b) == 1:
        (divisor, times), *_ = b.items()
        for product, n in a.items():
            if n % times == 0 and not Counter(divisor) - Counter(product):
                left = Counter(product) - Counter(divisor)
                whole[_product(left.elements())] = n // times
                del rest[product]
    return whole, rest


def _product(atoms: Iterable[Atom]) -> Product:
    return tuple(sorted(atoms, key=repr))
