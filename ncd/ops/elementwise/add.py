"""The sum of two arrays of one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Arg, Expr, Infix
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.chain_typing import Origins
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Signature


@dataclass(frozen=True, repr=False, eq=False)
class Add(Op):
    """Adds two arrays of the same axes, at the end of a residual connection; drawn as a +.

    Raises:
        MismatchError: For arrays whose axes differ.

    Source: Notebook, figure 26: copies that meet again at dots under a +.

    >>> from ncd.lang.types.axes import Type
    >>> str(Add().lift(Type.parse("b:2 n:3, b:2 n:3")))
    'b n'
    """

    role: ClassVar[str] = "residual"
    signature: ClassVar[Signature] = Signature.parse("(), () -> ()")

    def admit(self, site: Site) -> None:
        one, other = site.ins
        if one.names != other.names:
            raise MismatchError(
                f"the arrays ({one}) and ({other}) differ",
                cure="two arrays that share these axes in this order",
            )

    @property
    def origins(self) -> Origins:
        return ((0, 1),)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        return (Infix("+", Arg(0), Arg(1)),)

    def glyph(self, site: Site) -> Glyph:
        n = len(site.outs[0])
        wires = tuple(range(n))
        return Glyph(
            through=tuple((i, i) for i in wires),
            joins=tuple((n + i, i) for i in wires),
            marks=(Mark("plus", "+", ins=wires[:1], outs=wires[:1]),),
        )

    def formula(self, site: Site) -> str:
        return "z = a + b"

    def words(self, site: Site) -> str:
        return f"sum of two arrays ({site.outs[0]})"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        return (grads[0], grads[0])

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (Sample(cls(), "m:5, m:5", "a + b"), Sample(cls(), "x:2x3, x:2x3", "a + b"))
