"""Reductions along some axes of an array."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Arg, Expr, call
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import SIGNATURE, SignatureField, choice, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.along_axis.cumulative import product_before
from ncd.ops.structure.axis_places import over, ports
from ncd.ops.structure.reshape import Group, Split

_TORCH = {
    **{"max": "torch.amax", "mean": "torch.mean", "min": "torch.amin", "sum": "torch.sum"},
    "product": "torch.prod",
}
_WORDS = {"max": "Max", "mean": "𝔼", "min": "Min", "product": "Π", "sum": "Σ"}
_SIGNS = {"max": r"\max", "min": r"\min", "product": r"\prod", "sum": r"\sum"}


@dataclass(frozen=True, repr=False, eq=False)
class Reduce(Op):
    """Reduces the axes that are not on the right to their maximum, minimum, mean, product or sum.

    If several numbers are the maximum, they share the gradient equally.

    Args:
        pattern: The axes and those that stay, such as ``"x c -> c"``.
        how: ``"max"``, ``"mean"``, ``"min"``, ``"product"`` or ``"sum"``.

    Raises:
        MismatchError: For a pattern that reduces nothing, or changes the order of axes.

    Source: Notebook, figure 26 (the mean, 𝔼) and figure 27 (Max).

    >>> str(Reduce("x ->", "mean").lift(Type.parse("y x h"))), str(Reduce("y x -> y", "max").cod)
    ('y h', 'y')
    """

    pattern: SignatureField = spelled(SIGNATURE)
    how: str = spelled(choice(*_TORCH), "sum")
    role: ClassVar[str] = "einsum"
    form: ClassVar[str] = "x+ -> y*"

    def check_pattern(self) -> None:
        before, after = self.dom[0], self.signature.cod[0]
        names = [name for name in before.names if name in after.names]
        if before.below is not None or after.below is not None:
            raise MismatchError(
                "it is of whole numbers, but only real ones are reduced",
                cure=f'Map("{before} -> {Array(before)}", "$1") before it',
            )
        if tuple(names) != after.names or len(after) == len(before):
            kept = " ".join(names if len(names) < len(before) else names[1:])
            raise MismatchError(
                f"the right side is not some of the axes ({before}), in their order",
                cure=f'"{before} -> {kept}"'.replace('> "', '>"'),
            )

    @property
    def label(self) -> str:
        return f"Reduce {self.how}"

    @property
    def reduced(self) -> tuple[str, ...]:
        """The axes that are reduced."""
        kept = self.signature.cod[0].names
        return tuple(name for name in self.dom[0].names if name not in kept)

    def _spread(self, inputs: Type, rests: list[tuple[Array, Array]], binding: Binding) -> Type:
        super()._spread(inputs, rests, binding)
        left = inputs[0].with_axes(axis for axis in inputs[0] if axis.name not in self.reduced)
        return Type((binding.resolve(left),))  # the axes stay in their order

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (array,) = site.ins
        dims = tuple(dim for name in self.reduced for dim in array.position(name))
        if self.how == "product":  # torch multiplies along one dimension at a time
            found: Expr = Arg(0)
            for dim in sorted(dims):  # they are counted from the end
                found = call("torch.prod", found, dim=dim)
            return (found,)
        one = dims[0] if len(dims) == 1 else dims
        return (call(_TORCH[self.how], Arg(0), dim=one),)

    def out(self, site: Site) -> str:
        return "total" if self.how == "sum" else self.how

    def glyph(self, site: Site) -> Glyph:
        ends = [
            Mark("word", _WORDS[self.how], ins=(port,))
            for port, _, name in ports(site.ins)
            if name in self.reduced
        ]
        return over(site, *ends, keep=self.signature.cod[0].names)

    def formula(self, site: Site) -> str:
        axes = {axis.name: axis.identifier for axis in self.dom[0]}
        index = ",".join(axes[name] for name in self.reduced)
        if self.how == "mean":
            sizes = r"\,".join(f"n_{{{axes[name]}}}" for name in self.reduced)
            return rf"z = \frac{{1}}{{{sizes}}} \sum_{{{index}}} a_{{{index}}}"
        return rf"z = {_SIGNS[self.how]}_{{{index}}} a_{{{index}}}"

    def words(self, site: Site) -> str:
        return f"{self.how} along {' and '.join(self.reduced)}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        (array,), (x,), (out,), (gradient,) = site.ins, ins, outs, grads
        count = prod(site.size(name) for name in self.reduced)
        if self.how in ("sum", "mean"):
            formula = "$1" if self.how == "sum" else f"$1 / {count}"
            return (steps.map(formula, (gradient,), array),)
        if self.how == "product":
            return (self._of_product(steps, x, gradient),)
        found = steps.map("$1 == $2", (x, out), array)
        shared = steps.map("$1 / $2", (gradient, steps.product((found,), out.axes)), out.axes)
        return (steps.map("$1 * $2", (found, shared), array),)

    def _of_product(self, steps: StepWriter, x: Slot, gradient: Slot) -> Slot:
        """Multiplies by the product of all other numbers: those before and those behind."""
        array, rest = x.axes, gradient.axes
        inner = Array(axis for axis in array if axis.name in self.reduced)
        (flat,) = inner if len(inner) == 1 and not inner[0].spatial else (_flat(inner, array),)
        merged = Type((inner,)), Type((Array((flat,)),))
        if flat not in inner:
            x = steps.product((x,), Array((*rest, *inner)))
            (x,) = steps.call(Group(Signature(*merged)), x)
        before = product_before(steps, x, flat)
        behind = product_before(steps, steps.reversed(x, flat), flat)
        others = (before, steps.reversed(behind, flat), gradient)
        made = steps.map("$1 * $2 * $3", others, x.axes)
        if flat not in inner:
            (made,) = steps.call(Split(Signature(*reversed(merged))), made)
        return steps.product((made,), array)

    def streamed(self, site: Site, axis: str) -> Streamed:
        if axis not in self.reduced:
            return Streamed(linear=(0,) if self.how in ("mean", "sum") else ())
        if self.how in ("mean", "sum"):
            return Streamed("sum", self.how == "mean", linear=(0,))
        return Streamed("max" if self.how == "max" else "min" if self.how == "min" else "product")

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x ->", "max"), "x:5", "a.max()"),
            Sample(cls("x ->"), "x:2x3", "a.sum()"),
            Sample(cls("x c -> c", "mean"), "x:4 c:3", "a.mean(0)"),
            Sample(cls("x c y ->", "min"), "x:2 c:3 y:2", "a.min()"),
            Sample(cls("x c y -> x y"), "x:2 c:3 y:2", "a.sum(1)"),
            Sample(cls("x y ->", "product"), "x:2x3 y:2", "a.prod()"),
            Sample(cls("x c y -> x y", "product"), "x:2 c:3 y:2", "a.prod(1)"),
        )


def _flat(inner: Array, array: Array) -> Axis:
    """Returns an axis for all numbers of some axes, with a name that the array has not."""
    name = "flat"
    while name in array.names:
        name += "_"
    return Axis(name, inner.numel)
