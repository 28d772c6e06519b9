"""Sums and products of all numbers up to each place of an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.formulas.expr import Arg, Expr, call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import AXIS, ArrayField, choice, spelled
from ncd.lang.terms.loops import Scan
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.terms.terms import Then
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.elementwise.map import Map
from ncd.ops.structure.axis_places import check_plain, on_own
from ncd.ops.structure.roll import Roll

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

    axis: ArrayField = spelled(AXIS)
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
        (x,), (gradient,), axis = ins, grads, site.dom[0][0]
        array, rest = x.axes, _without(x.axes, axis)
        if self.how == "product":
            before = product_before(steps, x, axis)
            after = _summed_behind(steps, gradient, x, axis)
            return (steps.map("$1 * $2", (before, after), array),)
        (before,) = steps.call(Cumulative(Array((axis,))), gradient)
        whole = steps.product((gradient,), rest)
        return (steps.map("$1 - $2 + $3", (whole, before, gradient), array),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x"), "x:5", "a.cumsum(0)"),
            Sample(cls("y", "sum"), "y:3 m:2", "a.cumsum(0)"),
            Sample(cls("x", "product"), "y:2 x:4", "a.cumprod(1)"),
        )


def product_before(steps: StepWriter, x: Slot, axis: Axis) -> Slot:
    """Adds the product of all numbers before each place of an axis, without the one there.

    No number is divided by, so that its gradients hold where one is 0.
    """
    (rolled,) = steps.call(Roll(Array((axis,))), x)
    others = steps.map(f"where({axis.identifier} == 0, 1, $1)", (rolled,), x.axes)
    return steps.call(Cumulative(Array((axis,)), "product"), others)[0]


def _summed_behind(steps: StepWriter, gradient: Slot, x: Slot, axis: Axis) -> Slot:
    """Adds at each place the sum of G from there on, each times the numbers in between.

    Runs backwards: s = G + c, where c = x s of the place behind.
    """
    add, multiply = (Map(", ->", formula) for formula in ("$1 + $2", "$1 * $2"))
    twice = Wire(Signature(Type((NO_AXES,) * 2), Type((NO_AXES,) * 3)), "1 2 1")
    scan = Scan(Then(add, twice, multiply), Array((axis,)))
    start = steps.map("0", (), _without(x.axes, axis))
    _, sums = steps.call(scan, start, *(steps.reversed(slot, axis) for slot in (gradient, x)))
    return steps.reversed(sums, axis)


def _without(array: Array, axis: Axis) -> Array:
    return Array(other for other in array if other.name != axis.name)
