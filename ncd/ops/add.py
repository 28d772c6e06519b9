"""Joining two arrays of one shape: addition, and concatenation along an axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from ncd.axes import Signature, Type
from ncd.binding import Binding
from ncd.errors import MismatchError
from ncd.op import Op, Site
from ncd.ops.places import ports
from ncd.ops.spec import Code, Glyph, Mark, Run


def _same(op: Op, inputs: Type, left: object, right: object) -> None:
    if left != right:
        raise MismatchError(
            f"the arrays ({inputs[0]}) and ({inputs[1]}) differ",
            where=f"{op.label} ({op.signature})",
            bound=inputs.axes,
            cure="two arrays that share these axes in this order",
        ).at(op=op)


@dataclass(frozen=True, repr=False)
class Add(Op):
    """The sum of two arrays of one shape, as where a residual connection ends.

    Notebook, figure 26: copies that meet again at dots under a +.

    >>> str(Add().lift(Type.parse("b:2 n:3, b:2 n:3")))
    'b n'
    """

    role: ClassVar[str] = "residual"

    @property
    def signature(self) -> Signature:
        return Signature.parse("(), () -> ()")

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        if Type(inputs) != self.dom:
            names = [array.names for array in inputs]
            _same(self, inputs, names[0], names[1])
        return site

    def origins(self, output: int) -> tuple[int, ...]:
        return (0, 1)

    def run(self, site: Site) -> Run:
        return lambda layer, xs: (xs[0] + xs[1],)

    def glyph(self, site: Site) -> Glyph:
        n = len(site.outs[0])
        wires = tuple(range(n))
        return Glyph(
            through=tuple((i, i) for i in wires),
            joins=tuple((n + i, i) for i in wires),
            marks=(Mark("plus", "+", ins=wires[:1], outs=wires[:1]),),
        )

    def code(self, site: Site) -> Code:
        return Code("{0} + {1}")

    def formula(self, site: Site) -> str:
        return "z = a + b"

    def words(self, site: Site) -> str:
        return f"sum of two arrays ({site.outs[0]})"


@dataclass(frozen=True, repr=False)
class Concat(Op):
    """One array after the other along an axis (``torch.cat``). Notebook, figure 27.

    ``Concat("c, d -> e")`` gives e the size of c and d together; every other axis must agree.

    >>> str(Concat("c, c -> 2c").lift(Type.parse("c:3 x:4x4, c:3 x:4x4")).axes[0].spec)
    '2c:6'
    """

    pattern: Signature
    role: ClassVar[str] = "concat"
    form: ClassVar[str] = "c, d -> e"

    @property
    def signature(self) -> Signature:
        return self.pattern

    def solve(self, binding: Binding) -> None:
        one, two = (array[0].name for array in self.dom)
        new = self.signature.cod[0][0]
        if binding[one].size is None or binding[two].size is None:
            return
        size = binding[one].numel + binding[two].numel
        binding.meet(new, replace(new, size=size))

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        names = [
            tuple("" if name in own.names else name for name in array.names)
            for array, own in zip(inputs, self.dom, strict=True)
        ]
        _same(self, inputs, names[0], names[1])
        return site

    def origins(self, output: int) -> tuple[int, ...]:
        return (0, 1)

    def run(self, site: Site) -> Run:
        dim = site.ins[0].dims(site.dom[0][0].name)[0]
        return lambda layer, xs: (torch.cat(xs, dim),)

    def glyph(self, site: Site) -> Glyph:
        own = {array[0].name for array in site.dom}
        ins, outs = ports(site.ins), ports(site.outs)
        targets = {name: port for port, _, name in outs}
        new = targets[site.cod[0][0].name]
        through = tuple((p, targets[n]) for p, k, n in ins if k == 0 and n not in own)
        joins = tuple((p, targets[n]) for p, k, n in ins if k == 1 and n not in own)
        bar = Mark("bar", ins=tuple(p for p, _, n in ins if n in own), outs=(new,))
        return Glyph(through, joins, marks=(bar,))

    def code(self, site: Site) -> Code:
        dim = site.ins[0].dims(site.dom[0][0].name)[0]
        return Code(f"torch.cat(({{0}}, {{1}}), dim={dim})")

    def formula(self, site: Site) -> str:
        return r"z = [a ; b]"

    def words(self, site: Site) -> str:
        one, two = (array[0].name for array in site.dom)
        return f"concatenation of {one} and {two} to {site.cod[0][0].name}"
