"""Ops that only move arrays: copy, swap, and giving an array its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.axes import Array, Signature, Type
from ncd.binding import Binding
from ncd.errors import NCDError
from ncd.op import Op, Site, match
from ncd.ops.places import ports
from ncd.ops.spec import Code, Glyph, Mark, Run


@dataclass(frozen=True, repr=False)
class Copy(Op):
    """Uses an array twice (notation, "copy": dots on the wires, each splits in two).

    >>> str(Copy("x m").cod)
    'x m, x m'
    """

    array: Array
    role: ClassVar[str] = "copy"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.array,)), Type((self.array, self.array)))

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        return replace(site, outs=Type((*site.ins, *site.ins)))  # the axes stay where they are

    def run(self, site: Site) -> Run:
        return lambda layer, xs: (xs[0], xs[0])

    def glyph(self, site: Site) -> Glyph:
        n = len(site.ins[0])
        return Glyph(
            through=tuple((i, i) for i in range(n)), splits=tuple((i, n + i) for i in range(n))
        )

    def code(self, site: Site) -> Code:
        return Code()

    def formula(self, site: Site) -> str:
        return r"x \mapsto (x, x)"

    def words(self, site: Site) -> str:
        return f"copy of ({site.ins[0]})"


@dataclass(frozen=True, repr=False)
class Swap(Op):
    """Exchanges two arrays; their wires cross.

    >>> str((Swap("a", "b")).cod)
    'b, a'
    """

    first: Array
    second: Array

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.first, self.second)), Type((self.second, self.first)))

    def lift(self, inputs: Type) -> Type:
        return self.site(inputs).outs

    def site(self, inputs: Type) -> Site:
        binding = Binding()
        try:
            for pattern, array in zip(self.dom, inputs, strict=True):
                match(pattern, array, binding)
        except NCDError as error:
            where = f"{self.label} ({self.signature})"
            raise error.at(where=where, bound=inputs.axes, op=self) from None
        ins, own = Type(map(binding.resolve, inputs)), Type(map(binding.resolve, self.dom))
        return Site(own, Type((own[1], own[0])), ins, Type((ins[1], ins[0])))

    def origins(self, output: int) -> tuple[int, ...]:
        return (1 - output,)

    def run(self, site: Site) -> Run:
        return lambda layer, xs: (xs[1], xs[0])

    def glyph(self, site: Site) -> Glyph:
        n, m = len(site.ins[0]), len(site.ins[1])
        return Glyph(
            through=(
                *((i, m + i) for i in range(n)),
                *((n + j, j) for j in range(m)),
            )
        )

    def code(self, site: Site) -> Code:
        return Code()

    def formula(self, site: Site) -> str:
        return r"(x, y) \mapsto (y, x)"

    def words(self, site: Site) -> str:
        return f"swap of ({site.ins[0]}) and ({site.ins[1]})"


@dataclass(frozen=True, repr=False)
class Named(Op):
    """Writes an array's name at its left, as Q, K and V in figure 20; changes nothing.

    >>> str(Named("y k", "Q").cod)
    'y k'
    """

    array: Array
    text: str

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.array,)), Type((self.array,)))

    @property
    def label(self) -> str:
        return f"Named {self.text}"

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        return replace(site, outs=site.ins)  # the axes stay where they are

    def run(self, site: Site) -> Run:
        return lambda layer, xs: xs

    def glyph(self, site: Site) -> Glyph:
        wires = tuple(port for port, _, _ in ports(site.ins))
        return Glyph(
            through=tuple((p, p) for p in wires),
            marks=(Mark("name", self.text, ins=wires, outs=wires),),
        )

    def code(self, site: Site) -> Code:
        return Code(out=self.text.lower())

    def formula(self, site: Site) -> str:
        return self.text

    def words(self, site: Site) -> str:
        return f"array {self.text} of axes ({site.ins[0]})"
