"""Amounts of numbers as formulas in the sizes of axes and of their tiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

Kind = Literal["size", "tile", "tiles"]  # of an axis: its size, a tile of it, how many tiles


class Factor(NamedTuple):
    """A factor of an amount."""

    kind: Kind
    axis: str

    def text(self) -> str:
        if self.kind == "size":
            return self.axis
        tile = f"g_{self.axis}"
        return tile if self.kind == "tile" else f"⌈{self.axis}/{tile}⌉"

    def latex(self) -> str:
        r"""Returns it in LaTeX: what follows "_" in a name is its index.

        >>> Factor("size", "x_2").latex(), Factor("tiles", "y/s").latex()
        ('x_{2}', '\\lceil (y/s) / g_{y/s} \\rceil')
        """
        letter, _, index = self.axis.partition("_")
        name = f"{letter}_{{{index}}}" if index else letter
        tile, size = f"g_{{{name}}}", f"({name})" if "/" in name else name
        if self.kind == "size":
            return size
        return tile if self.kind == "tile" else rf"\lceil {size} / {tile} \rceil"


@dataclass(frozen=True)
class Amount:
    """A sum of products, each with a number in front and the width of its numbers in bits.

    >>> size = Factor("size", "k"), Factor("tile", "y")
    >>> amount = Amount.of([(2, size, 32), (1, size, 32)])
    >>> str(amount), amount.numbers({"k": 4}, {"y": 3}), amount.bytes({"k": 4}, {"y": 3})
    ('3·k·g_y', 36, 144)
    """

    terms: tuple[tuple[int, tuple[Factor, ...], int], ...]

    @staticmethod
    def of(terms: Iterable[tuple[int, tuple[Factor, ...], int]]) -> Amount:
        """Returns the sum, with equal products joined."""
        found: dict[tuple[tuple[Factor, ...], int], int] = {}
        for count, factors, bits in terms:
            key = tuple(sorted(factors, key=lambda f: (f.kind == "tiles", f.axis))), bits
            found[key] = found.get(key, 0) + count
        return Amount(tuple((count, *key) for key, count in found.items()))

    def __str__(self) -> str:
        return " + ".join(_product(count, [f.text() for f in fs], "·") for count, fs in self._said)

    def latex(self) -> str:
        """Returns it in LaTeX, in numbers and not in bytes."""
        every = (_product(count, [f.latex() for f in fs], r"\,") for count, fs in self._said)
        return " + ".join(every)

    @property
    def _said(self) -> list[tuple[int, tuple[Factor, ...]]]:
        """The products without their widths."""
        found: dict[tuple[Factor, ...], int] = {}
        for count, factors, _ in self.terms:
            found[factors] = found.get(factors, 0) + count
        return [(count, factors) for factors, count in found.items()]

    def numbers(self, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
        """Returns how many numbers it is."""
        return sum(count * _value(factors, sizes, tiles) for count, factors, _ in self.terms)

    def bytes(self, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
        """Returns how many bytes it is; a product is rounded up to whole ones."""
        return sum(
            -(-count * _value(factors, sizes, tiles) * bits // 8)
            for count, factors, bits in self.terms
        )


def _product(count: int, factors: list[str], sign: str) -> str:
    return sign.join([*([str(count)] if count != 1 or not factors else []), *factors])


def _value(factors: tuple[Factor, ...], sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
    return prod(
        tiles[axis]
        if kind == "tile"
        else sizes[axis]
        if kind == "size"
        else -(-sizes[axis] // tiles[axis])
        for kind, axis in factors
    )
