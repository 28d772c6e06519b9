"""Einsum: inner and outer products, transposition, diagonalisation, all in one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

from einops import einsum

from ncd.axes import Array, Signature, Type
from ncd.binding import union
from ncd.errors import MismatchError
from ncd.op import Op, Site
from ncd.ops.places import ports, text
from ncd.ops.spec import EINSUM, Code, Glyph, Mark, Run
from ncd.terms import Term


@dataclass(frozen=True, repr=False)
class Einsum(Op):
    """A product of arrays, summed over the axes that the right side leaves out.

    An axis that the right side keeps and several arrays have is diagonalised. Notebook, figure 17.
    A matrix product's ``role`` in the figures is lilac, a transposition's is green.

    >>> str(Einsum("y k h, x k h -> y x h").cod)
    'y x h'

    Raises MismatchError for an axis on the right that is not on the left.
    """

    pattern: Signature
    out: str = "x"
    role: ClassVar[str] = "einsum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.signature.cod) != 1:
            raise MismatchError(
                "an einsum gives one array",
                where=f"Einsum ({self.pattern})",
                cure=f'"{self.pattern.dom} -> {self.pattern.cod[0]}"',
            )
        known = {axis.name for axis in self.dom.axes}
        for axis in self.signature.cod.axes:
            if axis.name not in known:
                raise MismatchError(
                    f"axis {axis.name} stands on the right but not on the left",
                    where=f"Einsum ({self.pattern})",
                    cure=f"a pattern whose right side has only {', '.join(sorted(known))}",
                )

    @property
    def signature(self) -> Signature:
        return self.pattern

    def contracted(self, site: Site) -> tuple[str, ...]:
        """The axes that are summed over."""
        kept = site.outs[0].names
        return tuple(dict.fromkeys(a.name for a in site.ins.axes if a.name not in kept))

    def _text(self, site: Site) -> str:
        ins = ", ".join(f"... {text(array)}".strip() for array in site.ins)
        return f"{ins} -> ... {text(site.outs[0])}".strip()

    def run(self, site: Site) -> Run:
        pattern = self._text(site)
        return lambda layer, xs: (einsum(*xs, pattern),)  # type: ignore[call-overload]

    def glyph(self, site: Site) -> Glyph:
        ins = ports(site.ins)
        outs = {name: port for port, _, name in ports(site.outs)}
        through, joins, caps, alone = [], [], [], []
        for name in dict.fromkeys(name for _, _, name in ins):
            found = [port for port, _, other in ins if other == name]
            if name in outs:  # the lowest occurrence goes on, the others bend onto it
                through.append((found[-1], outs[name]))
                joins += [(port, outs[name]) for port in found[:-1]]
            elif len(found) == 1:
                alone.append(found[0])
            else:
                caps += list(pairwise(found))
        marks = tuple(Mark("plus", "Σ", ins=(port,)) for port in alone)
        return Glyph(tuple(through), tuple(joins), (), tuple(caps), marks)

    def code(self, site: Site) -> Code:
        values = ", ".join(f"{{{i}}}" for i in range(len(site.ins)))
        return Code(f'einsum({values}, "{self._text(site)}")', out=self.out, imports=(EINSUM,))

    def flops(self, site: Site) -> int:
        if len(site.ins) == 1:
            return 0
        if len(site.ins) == 2:
            return _pair_flops(site.ins[0], site.ins[1], site.outs[0])
        left, count = site.ins[0], 0
        for i, right in enumerate(site.ins[1:], start=1):  # torch goes from left to right
            later = {n for array in (*site.ins[i + 1 :], site.outs[0]) for n in array.names}
            both = dict.fromkeys((*left, *right))
            kept = Array(axis for axis in both if axis.name in later)
            count += _pair_flops(left, right, kept)
            left = kept
        return count

    def formula(self, site: Site) -> str:
        def index(array: Array) -> str:
            return r"\,".join(a.identifier.replace("_", "") for a in array) or r"\,"

        letters = "abcdefg"
        factors = r"\,".join(f"{letters[i]}_{{{index(a)}}}" for i, a in enumerate(site.ins))
        summed = r"\,".join(self.contracted(site))
        sign = rf"\sum_{{{summed}}} " if summed else ""
        return rf"z_{{{index(site.outs[0])}}} = {sign}{factors}"

    def words(self, site: Site) -> str:
        summed = " and ".join(self.contracted(site))
        kind = f"einsum, contracts {summed}" if summed else "einsum"
        return f"{kind}: {site.ins} to {site.outs}"

    def expansion(self, site: Site) -> Term | None:
        """A product and then a sum: every pair of numbers that meet, and their sum (figure 17)."""
        summed = self.contracted(site)
        if len(site.ins) < 2 or not summed:
            return None
        whole = union(site.ins)
        product = Type((Array((*site.outs[0], *(a for a in whole if a.name in summed))),))
        return Einsum(Signature(site.ins, product)) >> Einsum(Signature(product, site.outs))

    @property
    def label(self) -> str:
        return f"Einsum {self.out}" if self.out != "x" else "Einsum"


def _pair_flops(left: Array, right: Array, out: Array) -> int:
    """Twice the multiply-adds of a batched matrix product; torch makes a plain product of the rest.

    An axis of size 1 is not summed over but squeezed, and a product that sums over nothing runs
    elementwise, which torch's counter does not count.
    """
    summed = [a for a in left if a.name in right.names and a.name not in out.names and a.numel > 1]
    alone = {
        a.name
        for a, other in ((a, o) for xs, o in ((left, right), (right, left)) for a in xs)
        if a.name not in other.names and a.name not in out.names
    }  # summed within one array before the product
    if not summed:
        return 0
    sizes = {a.name: a.numel for a in (*left, *right) if a.name not in alone}
    return 2 * prod(sizes.values())
