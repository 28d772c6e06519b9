"""Polynomials of sizes with whole coefficients, in a canonical form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Atom = str | tuple[Any, ...]  # a size's name, or ("//", numerator, denominator), or with "%"
Product = tuple[Atom, ...]
Counted = dict[Product, int]
Sum = tuple[tuple[Product, int], ...]  # each product with its coefficient, sorted


def ordered(total: Mapping[Product, int]) -> Sum:
    """Returns the sorted terms of a sum, without those whose coefficient is 0.

    >>> ordered({("k",): 2, (): 0, ("h", "k"): 1})
    ((('h', 'k'), 1), (('k',), 2))
    """
    return tuple(sorted(((product, n) for product, n in total.items() if n), key=repr))


def added(a: Mapping[Product, int], b: Mapping[Product, int]) -> Counted:
    """Returns the sum of two polynomials.

    >>> added({("h",): 1}, {("h",): 2, (): 5})
    {('h',): 3, (): 5}
    """
    total = dict(a)
    for product, n in b.items():
        total[product] = total.get(product, 0) + n
    return total


def multiplied(a: Mapping[Product, int], b: Mapping[Product, int]) -> Counted:
    """Returns the product of two polynomials.

    >>> multiplied({("k",): 1, (): 1}, {("h",): 2})
    {('h', 'k'): 2, ('h',): 2}
    """
    total: Counted = {}
    for one, n in a.items():
        for other, m in b.items():
            product = _product((*one, *other))
            total[product] = total.get(product, 0) + n * m
    return total


def divided(a: Mapping[Product, int], b: Mapping[Product, int]) -> tuple[Counted, Counted]:
    """Returns the quotient and the remainder of ``a`` by ``b``, if ``b`` is one product.

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
