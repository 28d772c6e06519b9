"""Expressions of one array in a normal form, so that spellings of one function are equal.

A form is a sum of products of bases with exponents: ``x / (1 + y)`` and ``x * (1 + y) ** -1`` are
the same form. Products are not multiplied out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Base = Any  # a name, such as "x"; a function of a form, such as ("exp", form); or a Form
Factors = frozenset[tuple[Base, float]]
Binding = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """A number, and products with their coefficients, which are added up."""

    number: float = 0.0
    terms: frozenset[tuple[Factors, float]] = field(default_factory=frozenset)

    @property
    def single(self) -> tuple[Factors, float] | None:
        """The only product of the form; None if it is a sum."""
        return next(iter(self.terms)) if len(self.terms) == 1 and not self.number else None

    def __add__(self, other: Form) -> Form:
        found = dict(self.terms)
        for factors, coefficient in other.terms:
            found[factors] = found.get(factors, 0.0) + coefficient
        kept = frozenset((key, value) for key, value in found.items() if value)
        return Form(self.number + other.number, kept)

    def __mul__(self, other: Form) -> Form:
        if not self.terms or not other.terms:
            scale, form = (self, other) if not self.terms else (other, self)
            return form.scaled(scale.number)
        (one, a), (two, b) = self.product(), other.product()
        found = dict(one)
        for base, exponent in two:
            found[base] = found.get(base, 0.0) + exponent
        left = frozenset((base, exponent) for base, exponent in found.items() if exponent)
        return Form(0.0, frozenset({(left, a * b)})) if left else Form(a * b)

    def scaled(self, factor: float) -> Form:
        """Returns the form times a number; a sum becomes one base."""
        if not factor or not self.terms:
            return Form(self.number * factor)
        factors, coefficient = self.product()
        if coefficient * factor == 1.0 and (base := _alone(factors)) is not None:
            return base
        return Form(0.0, frozenset({(factors, coefficient * factor)}))

    def product(self) -> tuple[Factors, float]:
        """Returns the form as one product, in which a sum is a base."""
        return self.single or (frozenset({(self, 1.0)}), 1.0)

    def __pow__(self, exponent: float) -> Form:
        if not self.terms:
            return Form(math.pow(self.number, exponent))  # raises ValueError for no real number
        factors, coefficient = self.product()
        whole = float(exponent).is_integer()
        if not whole and (coefficient != 1.0 or len(factors) > 1):
            factors, coefficient = frozenset({(self, 1.0)}), 1.0  # a root of a product is a base
        raised = frozenset((base, power * exponent) for base, power in factors)
        return Form(0.0, frozenset({(raised, coefficient**exponent)}))


def _alone(factors: Factors) -> Form | None:
    """Returns the only factor of a product, where that is a sum."""
    ((base, exponent),) = factors if len(factors) == 1 else ((None, 0.0),)
    return base if isinstance(base, Form) and exponent == 1.0 else None


def named(base: Base) -> Form:
    """Returns a form that is one base.

    >>> x = named("x")
    >>> x * x == x**2, x * Form(2.0) == x + x, (x + Form(1.0)) ** -1 == (Form(1.0) + x) ** -1
    (True, True, True)
    """
    return Form(0.0, frozenset({(frozenset({(base, 1.0)}), 1.0)}))


def matches(pattern: Form, form: Form, bound: Binding) -> Iterator[Binding]:
    """Yields how the names of a pattern can stand for parts of a form.

    ``eps`` stands for a number, ``w`` and ``b`` for any base that is a node of a graph.
    """
    now = _number(pattern.number, form.number, bound)
    if now is None:
        return
    own, terms = [*pattern.terms], [*form.terms]
    free = [each for each in own if each[0] == frozenset({("eps", 1.0)})]
    if free and len(terms) == len(own) - 1 and form.number > 0 and not pattern.number:
        own.remove(free[0])
        yield from _terms(own, terms, {**bound, "eps": form.number})
    elif pattern.number or not form.number:
        yield from _terms(own, terms, now)


def _number(one: float, two: float, bound: Binding) -> Binding | None:
    return bound if not one or math.isclose(one, two, rel_tol=1e-5) else None


def _terms(own: list[Any], terms: list[Any], bound: Binding) -> Iterator[Binding]:
    """Yields the ways to pair the products of two sums."""
    if len(own) != len(terms):
        return
    if not own:
        yield bound
        return
    factors, coefficient = own[0]
    for i, (others, found) in enumerate(terms):
        if math.isclose(coefficient, found, rel_tol=1e-5):
            for each in _factors([*factors], [*others], bound):
                yield from _terms(own[1:], [*terms[:i], *terms[i + 1 :]], each)


def _factors(own: list[Any], others: list[Any], bound: Binding) -> Iterator[Binding]:
    """Yields the ways to pair the factors of two products."""
    if len(own) != len(others):
        return
    if not own:
        yield bound
        return
    base, exponent = own[0]
    for i, (other, power) in enumerate(others):
        if exponent == power:
            for each in _bases(base, other, bound):
                yield from _factors(own[1:], [*others[:i], *others[i + 1 :]], each)


def _bases(base: Base, other: Base, bound: Binding) -> Iterator[Binding]:
    if isinstance(base, Form):
        if isinstance(other, Form):
            yield from matches(base, other, bound)
    elif isinstance(base, tuple):
        if isinstance(other, tuple) and base[0] == other[0]:
            yield from matches(base[1], other[1], bound)
    elif base in ("w", "b"):
        if not isinstance(other, str | tuple | Form) and bound.get(base, other) is other:
            yield {**bound, base: other}
    elif base == other:
        yield bound
