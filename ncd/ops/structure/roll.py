"""Cyclic shifts along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.formulas.expr import Arg, Expr, call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import AXIS, ArrayField, spelled, whole
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.ops.structure.axis_places import on_own

FARTHEST = 10**6


@dataclass(frozen=True, repr=False, eq=False)
class Roll(Op):
    """Shifts the numbers along an axis; those beyond its end come in again at its beginning.

    A spatial group is shifted along each of its dimensions. Swin shifts its windows so.

    Args:
        axis: The axis, such as ``"x"``.
        shift: By how many places; below 0 towards the beginning.

    Raises:
        ParseError: For anything but one axis.
        SizeError: For a shift that is no whole number.

    Source: ``torch.roll``; Liu et al. 2021, "Swin Transformer", section 3.2.

    >>> from ncd.lang.types.axes import Type
    >>> str(Roll("x", -2).lift(Type.parse("b x c")))
    'b x c'
    """

    axis: ArrayField = spelled(AXIS)
    shift: int = spelled(whole(-FARTHEST, FARTHEST), 1)
    role: ClassVar[str] = "index"
    in_place: ClassVar[bool] = True
    any_kind: ClassVar[bool] = True
    backward: ClassVar[Mapping[str, str]] = {"Roll": "The same shift the other way, of G."}

    def torch(self, site: Site) -> tuple[Expr, ...]:
        dims = site.ins[0].position(self.axis[0].name)
        if len(dims) == 1:
            return (call("torch.roll", Arg(0), shifts=self.shift, dims=dims[0]),)
        return (call("torch.roll", Arg(0), shifts=(self.shift,) * len(dims), dims=dims),)

    def out(self, site: Site) -> str:
        return "rolled"

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "box", f"Roll ${self.shift}$")

    def formula(self, site: Site) -> str:
        x = self.axis[0].identifier
        step = f"- {self.shift}" if self.shift >= 0 else f"+ {-self.shift}"
        return rf"z_{{{x}}} = a_{{({x} {step}) \bmod n_{{{x}}}}}"

    def words(self, site: Site) -> str:
        way = "on" if self.shift >= 0 else "back"
        places = "place" if abs(self.shift) == 1 else "places"
        return f"shifts {self.axis} {way} by {abs(self.shift)} {places}, and round its end"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        return steps.call(Roll(site.dom[0], -self.shift), grads[0])

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x", 2), "x:5", "a.roll(2, 0)"),
            Sample(cls("x", -1), "x:2x3", "a.roll((-1, -1), (0, 1))"),
            Sample(cls("x", -7), "y:2 x:3", "a.roll(-7, 1)"),
            Sample(cls("y"), "y:4 m:3#v:5", "a.roll(1, 0)"),
        )
