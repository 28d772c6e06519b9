"""Sums and products of all numbers up to each place of an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.formulas.expr import Arg, Expr, call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import AXIS, choice, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import check_plain, on_own

_TORCH = {"sum": "torch.cumsum", "product": "torch.cumprod"}
_SIGNS = {"sum": r"\sum", "product": r"\prod"}
_BOXES = {"sum": "Σ ≤", "product": "Π ≤"}


@dataclass(frozen=True, repr=False, eq=False)
class Cumulative(Op):
    """Returns the sum, or the product, of all numbers up to each place of an axis.

    Args:
        axis: The axis, such as ``"x"``.
        how: ``"sum"`` or ``"product"``.

    Raises:
        ParseError: For anything but one axis, or for another word.
        SizeError: For a spatial axis, which has no single order.

    Source: ``torch.cumsum`` and ``torch.cumprod``.

    >>> from ncd.lang.types.axes import Type
    >>> str(Cumulative("x").lift(Type.parse("b x")))
    'b x'
    """

    axis: Array = spelled(AXIS)
    how: str = spelled(choice(*_TORCH), "sum")
    role: ClassVar[str] = "einsum"
    in_place: ClassVar[bool] = True
    backward: ClassVar[Mapping[str, str]] = {
        "Cumprod": "Each number is a factor of all products behind it: the sum over them of "
        "G · z / a.",
    }

    @property
    def label(self) -> str:
        return f"Cumulative {self.how}"

    def check(self, binding: Binding) -> None:
        check_plain(binding[self.axis[0].name], "has no single order")

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (dim,) = site.ins[0].position(self.axis[0].name)
        return (call(_TORCH[self.how], Arg(0), dim=dim),)

    def out(self, site: Site) -> str:
        return "sums" if self.how == "sum" else "products"

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "box", _BOXES[self.how])

    def formula(self, site: Site) -> str:
        x = self.axis[0].identifier
        return rf"z_{{{x}}} = {_SIGNS[self.how]}_{{{x}' \le {x}}} a_{{{x}'}}"

    def words(self, site: Site) -> str:
        return f"{self.how} of all numbers up to each place of {self.axis}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        """Sums from each place on: the sum of all, without the sum up to the place before."""
        (x,), (out,), (gradient,) = ins, outs, grads
        product, array = self.how == "product", x.axes
        if product:
            gradient = steps.map("$1 * $2", (gradient, out), array)
        (before,) = steps.call(Cumulative(Array(site.dom[0])), gradient)
        rest = Array(axis for axis in array if axis.name not in self.axis.names)
        whole = steps.product((gradient,), rest)
        formula = "($1 - $2 + $3) / $4" if product else "$1 - $2 + $3"
        return (steps.map(formula, (whole, before, gradient, x), array),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x"), "x:5", "a.cumsum(0)"),
            Sample(cls("y", "sum"), "y:3 m:2", "a.cumsum(0)"),
            Sample(cls("x", "product"), "y:2 x:4", "a.cumprod(1)"),
        )
