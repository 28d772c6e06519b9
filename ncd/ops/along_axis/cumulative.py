"""Sums and products of all numbers up to each place of an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.formulas.expr import Arg, Expr, call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import AXIS, choice, spelled
from ncd.lang.terms.op import Op, Sample, Site
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

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x"), "x:5", "a.cumsum(0)"),
            Sample(cls("y", "sum"), "y:3 m:2", "a.cumsum(0)"),
            Sample(cls("x", "product"), "y:2 x:4", "a.cumprod(1)"),
        )
