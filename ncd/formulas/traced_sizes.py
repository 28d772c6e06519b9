"""Whole numbers that remember how they follow from sizes, and polynomials of sizes.

Every number of a term that is built at traced sizes is a polynomial of these sizes, in which floors
of quotients and remainders are atoms. Wherever the code depends on the value of a number (it is
compared, counted with or converted to a plain number), the :class:`SizeTrace` records that fact.
The result holds for all sizes for which the recorded facts are the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeGuard

# --- Polynomials of sizes with whole coefficients, in a canonical form

Atom = str | tuple[Any, ...]  # a size's name, or ("//", numerator, denominator), or with "%"
Product = tuple[Atom, ...]
Polynomial = dict[Product, int]
Sum = tuple[tuple[Product, int], ...]  # each product with its coefficient, sorted


def normal_form(total: Mapping[Product, int]) -> Sum:
    """Returns the sorted terms of a sum, without those whose coefficient is 0.

    >>> normal_form({("k",): 2, (): 0, ("h", "k"): 1})
    ((('h', 'k'), 1), (('k',), 2))
    """
    return tuple(sorted(((product, n) for product, n in total.items() if n), key=repr))


def add(a: Mapping[Product, int], b: Mapping[Product, int]) -> Polynomial:
    """Returns the sum of two polynomials.

    >>> add({("h",): 1}, {("h",): 2, (): 5})
    {('h',): 3, (): 5}
    """
    total = dict(a)
    for product, n in b.items():
        total[product] = total.get(product, 0) + n
    return total


def multiply(a: Mapping[Product, int], b: Mapping[Product, int]) -> Polynomial:
    """Returns the product of two polynomials.

    >>> multiply({("k",): 1, (): 1}, {("h",): 2})
    {('h', 'k'): 2, ('h',): 2}
    """
    total: Polynomial = {}
    for one, n in a.items():
        for other, m in b.items():
            product = _product((*one, *other))
            total[product] = total.get(product, 0) + n * m
    return total


def divmod_by(a: Mapping[Product, int], b: Mapping[Product, int]) -> tuple[Polynomial, Polynomial]:
    """Returns the quotient and the remainder of ``a`` by ``b``, if ``b`` is one product.

    >>> divmod_by({("h", "k"): 4, ("k",): 3}, {("k",): 2})
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


# --- Traced sizes: whole numbers that record how they were computed from the sizes of a term

Fact = tuple[Sum, str, bool]
FIRST, LAST = 0xE000, 0xF8FE  # private letters of Unicode that stand for traced numbers in a text
FILL = "\uf8ff"


class SizeTrace:
    """The record of one run with traced sizes.

    ``holds`` are the facts that the run depended on: a sum is or is not less than 0, at most 0, or
    0. ``written`` are the numbers that were written in a text, with their formats.

    >>> trace = SizeTrace()
    >>> h, k = trace.size("h", 4), trace.size("k", 16)
    >>> text = f"{(h + 1) * k:,}"
    >>> [(number.value, how) for number, how in trace.written]
    [(80, ',')]
    >>> h < 5, [(sign, true) for _, sign, true in trace.holds]
    (True, [('<', True)])
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.holds: dict[Fact, None] = {}
        self.written: dict[tuple[SymbolicInt, str], str] = {}
        self.differences: dict[Any, Any] = {}  # by the two numbers, which are often compared
        self.silent = False
        self.exact = False  # whether a conversion to a real number is a fact as well

    def size(self, name: str, value: int) -> Any:
        """Returns a traced number for the size of this name, which has this value now."""
        self.sizes[name] = value
        return SymbolicInt(self, (((name,), 1),), value)

    def number(self, total: Mapping[Product, int]) -> Any:
        """Returns the number of a polynomial; a plain int if it depends on no size."""
        terms = normal_form(total)
        plain = all(not product for product, _ in terms)
        return (
            self.current_value(terms)
            if plain
            else SymbolicInt(self, terms, self.current_value(terms))
        )

    def current_value(self, total: Sum) -> int:
        """Returns the value of a sum at the current sizes."""
        return sum(n * math.prod(map(self._atom, product)) for product, n in total)

    @property
    def symbolic_sizes(self) -> dict[str, Any]:
        """The traced sizes by their names."""
        return {
            name: SymbolicInt(self, (((name,), 1),), value) for name, value in self.sizes.items()
        }

    def read(self, total: Sum) -> Iterator[str]:
        """Yields the names of the sizes in a sum, each as often as it occurs."""
        for atom in (atom for product, _ in total for atom in product):
            if isinstance(atom, str):
                yield atom
            else:
                yield from (name for part in atom[1:] for name in self.read(part))

    def _atom(self, atom: Atom) -> int:
        if isinstance(atom, str):
            return self.sizes[atom]
        sign, a, b = atom
        return (
            self.current_value(a) // self.current_value(b)
            if sign == "//"
            else self.current_value(a) % self.current_value(b)
        )

    def fact(self, total: Sum, sign: str, true: bool) -> bool:
        """Records that the run depended on a fact; returns whether it is true."""
        if not self.silent:
            self.holds[total, sign, true] = None
        return true

    @contextmanager
    def without_facts(self) -> Iterator[None]:
        """Records no facts inside the ``with`` block."""
        self.silent, before = True, self.silent
        try:
            yield
        finally:
            self.silent = before

    def placeholder_text(self, number: SymbolicInt, how: str, length: int) -> str:
        """Returns the letters that stand for a number in a text, as many as its text now has."""
        key = number, how
        if key not in self.written:
            if FIRST + len(self.written) > LAST:
                raise OverflowError("more numbers than there are letters for")
            self.written[key] = chr(FIRST + len(self.written))
        return self.written[key] + FILL * (length - 1)


class SymbolicInt:
    """A whole number computed from sizes; it passes for an int.

    Code that needs a real int calls ``__index__``, which the trace records.
    """

    __slots__ = ("_hash", "total", "trace", "value")

    def __init__(self, trace: SizeTrace, total: Sum, value: int) -> None:
        self.trace, self.total, self.value = trace, total, value
        self._hash = hash((id(trace), total))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def _combine(self, other: Any, join: Callable[[SymbolicInt, Any], Any]) -> Any:
        return join(self, other) if isinstance(other, int) else NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a.trace.number(add(_total(a), _total(b))))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + other * -1 if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a.trace.number(multiply(_total(a), _total(b))))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: _part("//", a, b))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: _part("//", b, a))

    def __mod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: _part("%", a, b))

    def __rmod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: _part("%", b, a))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return float(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / float(self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is not int or other < 0:
            return int(self) ** other
        found: Any = 1
        for _ in range(other):
            found = self * found
        return found

    def __rpow__(self, other: Any) -> Any:
        return other ** int(self)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", lambda d: d < 0)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", lambda d: d <= 0)

    def __gt__(self, other: Any) -> Any:
        return _opposite(self.__le__(other))

    def __ge__(self, other: Any) -> Any:
        return _opposite(self.__lt__(other))

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "=", lambda d: d == 0)

    def __ne__(self, other: object) -> Any:
        return _opposite(self.__eq__(other))

    def _compare(self, other: Any, sign: str, test: Callable[[int], bool]) -> Any:
        if isinstance(other, float):
            return self._compare_real(other, sign, test)
        if not isinstance(other, int):
            return NotImplemented
        key = self.total, other.total if is_symbolic(other) else int(other)
        difference = self.trace.differences.get(key)
        if difference is None:
            difference = self.trace.differences[key] = self - other
        if type(difference) is not SymbolicInt:
            return test(difference)
        return self.trace.fact(difference.total, sign, test(difference.value))

    def _compare_real(self, other: float, sign: str, test: Callable[[int], bool]) -> bool:
        """Compares with a real number by way of the whole number next to it."""
        if math.isinf(other):
            return sign != "=" and other > 0
        if sign == "=" and not other.is_integer():
            return False
        whole = math.ceil(other) if sign == "<" else math.floor(other)
        return bool(self._compare(whole, sign, test))

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        self.trace.fact((self - self.value).total, "=", True)
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        if self.trace.exact:
            self.trace.fact((self - self.value).total, "=", True)
        return float(self.value)  # real numbers are not traced

    @property
    def numerator(self) -> Any:
        return self

    @property
    def denominator(self) -> int:
        return 1

    def __format__(self, spec: str) -> str:
        if spec not in ("", ","):
            return format(int(self), spec)
        return self.placeholder(spec, format(self.value, spec))

    def __str__(self) -> str:
        return self.__format__("")

    __repr__ = __str__

    def placeholder(self, how: str, now: str) -> str:
        """Returns the letters that stand for it in a text where its format gives ``now``."""
        return self.trace.placeholder_text(self, how, len(now))


def is_symbolic(number: object) -> TypeGuard[SymbolicInt]:
    """Returns whether a number is traced."""
    return type(number) is SymbolicInt


def _opposite(answer: Any) -> Any:
    return answer if answer is NotImplemented else not answer


def _total(number: Any) -> Mapping[Product, int]:
    return dict(number.total) if type(number) is SymbolicInt else {(): int(number)}


def _part(what: str, a: Any, b: Any) -> Any:
    """Returns the floor of a quotient, or a remainder; what divides exactly is simplified."""
    if b == 0:
        raise ZeroDivisionError("division by zero")
    trace: SizeTrace = (a if type(a) is SymbolicInt else b).trace
    whole, rest = divmod_by(_total(a), _total(b))
    quotient, left = trace.number(whole), trace.number(rest)
    if type(left) is not SymbolicInt and type(b) is not SymbolicInt:
        return quotient + left // b if what == "//" else left % b
    if not rest:
        return quotient if what == "//" else 0
    part = trace.number({((what, normal_form(rest), normal_form(_total(b))),): 1})
    return quotient + part if what == "//" else part
