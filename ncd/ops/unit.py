"""The unit: two wires that come out of nothing and are one (a cup). Notebook, inner products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.axes import Array, Signature, Type
from ncd.lang.binding import Binding
from ncd.lang.expr import Cast, Expr, Infix, Position
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.op import Op, Sample, Site
from ncd.lang.spelling import ARRAY, spelled


@dataclass(frozen=True, repr=False, eq=False)
class Unit(Op):
    """The identity as an array: 1 where both positions are the same, else 0 (a cup).

    Both axes are of one size, whichever is known. With an inner product it is a wire:
    ``Unit("a b") >> Einsum("a b, a -> b")`` gives what it takes.

    >>> Unit("a:3 b").cod
    Type.parse('a:3 b:3')
    """

    axes: Array = spelled(ARRAY)
    role: ClassVar[str] = "einsum"
    form: ClassVar[str] = "a b"

    @property
    def signature(self) -> Signature:
        return Signature(Type(), Type((self.axes,)))

    def solve(self, binding: Binding) -> None:
        one, two = self.axes.names
        for known, other in ((one, two), (two, one)):
            axis = binding.get(known)
            if axis is not None and axis.size is not None:
                binding.learn(other, axis.size)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (out,) = site.outs
        one, two = (axis.dims for axis in out)
        same: list[Expr] = [
            Infix("==", Position(a, out.dims), Position(b, out.dims))
            for a, b in zip(one, two, strict=True)
        ]
        every = same[0]
        for more in same[1:]:  # a group has a position along each of its sides
            every = Infix("&", every, more)
        return (Cast(every, "real"),)

    def out(self, site: Site) -> str:
        return "unit"

    def glyph(self, site: Site) -> Glyph:
        return Glyph(marks=(Mark("cup", outs=(0, 1)),))

    def formula(self, site: Site) -> str:
        a, b = (axis.identifier for axis in self.axes)
        return rf"z_{{{a}{b}}} = \delta_{{{a}{b}}}"

    def words(self, site: Site) -> str:
        a, b = self.axes.names
        return f"unit: {a} and {b} are one wire"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a:3 b"), "", "torch.eye(3)"),
            Sample(cls("a b:2x2"), "", "torch.eye(4).view(2, 2, 2, 2)"),
        )
