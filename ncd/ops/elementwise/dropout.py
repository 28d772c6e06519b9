"""Dropout, which sets random numbers to 0 in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Arg, Call, Const, Expr, Layer
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import NAME, PROBABILITY, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Signature
from ncd.ops.structure.axis_places import over, ports


@dataclass(frozen=True, repr=False, eq=False)
class Dropout(Op):
    """Sets each number to 0 with probability p in training, and divides the others by 1 - p.

    The choice follows from the seed of the module. In evaluation nothing changes.

    Args:
        p: The probability, from 0 to less than 1.
        name: The name of the layer.

    Raises:
        ParseError: For another probability.

    Source: Srivastava et al. 2014, "Dropout"; ``torch.nn.Dropout``.

    >>> from ncd.lang.types.axes import Type
    >>> str(Dropout(0.1).lift(Type.parse("y m")))
    'y m'
    """

    p: float = spelled(PROBABILITY, 0.1)
    name: str = spelled(NAME, "dropout")
    role: ClassVar[str] = "activate"
    signature: ClassVar[Signature] = Signature.parse("() -> ()")

    def layer(self, site: Site) -> Call:
        return Call("nn.Dropout", (Const(self.p),))

    def torch(self, site: Site) -> tuple[Expr, ...]:
        return (Layer((Arg(0),)),)

    def glyph(self, site: Site) -> Glyph:
        every = tuple(port for port, _, _ in ports(site.ins))
        return over(site, Mark("elementwise", "D", ins=every, outs=every))

    def formula(self, site: Site) -> str:
        return rf"z = \frac{{b\,a}}{{1 - {self.p:g}}}, \quad P(b = 0) = {self.p:g}"

    def words(self, site: Site) -> str:
        return f"dropout: each number left out with probability {self.p:g}, in training only"

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        if self.p:
            raise MismatchError(
                f"{self.label} draws at random in training, so its gradient is no fixed term",
                cure="p = 0, as in evaluation",
            )
        return tuple(ins)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (Sample(cls(0.0), "m:5", "a"), Sample(cls(0.0, "drop"), "y:2 m:3", "a"))
