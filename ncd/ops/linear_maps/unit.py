"""The unit (a cup), which creates two wires, and the inner product (a cap), which joins two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.lang.formulas.expr import Arg, Cast, Contract, Expr, Infix, Position
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import ARRAY, FLAG, ArrayField, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import on_own, over, own_ports


@dataclass(frozen=True, repr=False, eq=False)
class Unit(Op):
    """The identity matrix: 1 where both positions are equal, else 0; drawn as a cup.

    With an inner product it is a wire: ``Unit("a b") >> Einsum("a b, a -> b")`` is the identity.

    Args:
        axes: Two axes of one size, of which one may be left open, such as ``"a b"``.
        outer: Whether an array is multiplied with it, which adds these two axes to the array.

    Raises:
        MismatchError: For axes of different sizes.

    Source: Notebook, section 2.4 and figure 18.

    >>> Unit("a:3 b").cod
    Type.parse('a:3 b:3')
    >>> str(Unit("a:3 b", outer=True).lift(Type.parse("m")))
    'm a b'
    """

    axes: ArrayField = spelled(ARRAY)
    outer: bool = spelled(FLAG, False)
    role: ClassVar[str] = "einsum"
    form: ClassVar[str] = "a b"

    @property
    def signature(self) -> Signature:
        return Signature(Type((Array(),)) if self.outer else Type(), Type((self.axes,)))

    def solve(self, binding: Binding) -> None:
        _alike(self.axes, binding)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (out,) = site.cod
        one, two = (axis.dims for axis in out)
        same: list[Expr] = [
            Infix("==", Position(a, out.dims), Position(b, out.dims))
            for a, b in zip(one, two, strict=True)
        ]
        every = same[0]
        for more in same[1:]:  # a group has a position along each side
            every = Infix("&", every, more)
        unit = Cast(every, "real")
        if not self.outer:
            return (unit,)
        return (Contract((Arg(0), unit), (site.ins[0].dims, out.dims), site.outs[0].dims),)

    def out(self, site: Site) -> str:
        return "unit"

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "cup")

    def formula(self, site: Site) -> str:
        a, b = (axis.identifier for axis in self.axes)
        if self.outer:
            return rf"z_{{{a}{b}}} = a \,\delta_{{{a}{b}}}"
        return rf"z_{{{a}{b}}} = \delta_{{{a}{b}}}"

    def words(self, site: Site) -> str:
        a, b = self.axes.names
        return f"unit: {a} and {b} are one wire"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        return steps.call(Inner(site.cod[0]), grads[0]) if self.outer else ()

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a:3 b"), "", "torch.eye(3)"),
            Sample(cls("a b:2x2"), "", "torch.eye(4).view(2, 2, 2, 2)"),
            Sample(cls("a:3 b", outer=True), "()", "a * torch.eye(3)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Inner(Op):
    """The trace over two axes of one array, the mirror of :class:`Unit`; drawn as a cap.

    ``Unit("q r", outer=True) >> Inner("b q")`` is a wire from b to r.

    Args:
        axes: Two axes of one size, such as ``"k q"``.

    Raises:
        MismatchError: For axes of different sizes.

    Source: Notebook, figures 17 (``y k k x h -> y x h``) and 18.

    >>> str(Inner("k q").lift(Type.parse("y k:4 q:4 x")))
    'y x'
    """

    axes: ArrayField = spelled(ARRAY)
    role: ClassVar[str] = "einsum"
    form: ClassVar[str] = "a b"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((Array(),)))

    def solve(self, binding: Binding) -> None:
        _alike(self.axes, binding)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        ((one, two),) = site.dom
        same = dict(zip(two.dims, one.dims, strict=True))
        dims = tuple(same.get(dim, dim) for dim in site.ins[0].dims)
        return (Contract((Arg(0),), (dims,), site.outs[0].dims),)

    def glyph(self, site: Site) -> Glyph:
        one, two = own_ports(site.ins, site.dom)
        return replace(over(site), caps=((one, two),), arrows=not site.outs[0])

    def formula(self, site: Site) -> str:
        a, b = (axis.identifier for axis in self.axes)
        return rf"z = \sum_{{{a}}} a_{{{a}{b}}}, \quad {b} = {a}"

    def words(self, site: Site) -> str:
        a, b = self.axes.names
        return f"inner product of {a} and {b}: {site.ins} to {site.outs}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        return steps.call(Unit(site.dom[0], outer=True), grads[0])

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a b"), "a:3 b:3", "a.trace()"),
            Sample(cls("a b:2x2"), "a:2x2 b:2x2", "torch.einsum('abab->', a)"),
        )


def _alike(axes: Array, binding: Binding) -> None:
    """Binds both axes to one size, whichever is known."""
    one, two = axes.names
    for known, other in ((one, two), (two, one)):
        axis = binding.get(known)
        if axis is not None and axis.size is not None:
            binding.learn(other, axis.size)
