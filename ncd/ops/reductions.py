"""Along an axis: sums, means and extremes; the largest numbers; sums and products so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from ncd.errors import MismatchError, SizeError
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type, unused_name
from ncd.language.broadcasting import IN_PLACE
from ncd.language.fields import AXIS, SIGNATURE, ArrayField, SignatureField, choice, term_field
from ncd.language.loops import Scan
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    Mark,
    Op,
    Reach,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.patterns import Binding
from ncd.language.terms import Then
from ncd.language.torch_code import Arg, Size, TorchExpr, call
from ncd.language.wire import Wire
from ncd.ops.axis_places import broadcast_glyph, check_not_spatial, ports, single_mark_glyph
from ncd.ops.elementwise import Map
from ncd.ops.pad_roll import Roll
from ncd.ops.reshape import Group, Split

# --- Sums and products of all numbers up to each place of an axis

_CUMULATIVE_FUNCTIONS = {"sum": "torch.cumsum", "product": "torch.cumprod"}
_CUMULATIVE_SIGNS = {"sum": r"\sum", "product": r"\prod"}
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

    >>> from ncd import Type
    >>> str(Cumulative("x").infer_outputs(Type.parse("b x")))
    'b x'
    """

    axis: ArrayField = term_field(AXIS)
    how: str = term_field(choice(*_CUMULATIVE_FUNCTIONS), "sum")
    role: ClassVar[str] = "einsum"
    broadcasting = IN_PLACE
    torch_backward_rules: ClassVar[Mapping[str, str]] = {
        "Cumprod": "Each number is a factor of all products behind it: the sum over them of "
        "G · z / a.",
    }

    @property
    def display_name(self) -> str:
        return f"Cumulative {self.how}"

    def check_axes(self, binding: Binding) -> None:
        check_not_spatial(binding[self.axis[0].name], "has no single order")

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (dim,) = site.inputs[0].position(self.axis[0].name)
        return (call(_CUMULATIVE_FUNCTIONS[self.how], Arg(0), dim=dim),)

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        if axis != self.axis[0].name:
            return super().reach(site, axis, source, target)
        return Reach(axis, -math.inf, 0, is_carried=True)

    def result_name(self, site: Site) -> str:
        return "sums" if self.how == "sum" else "products"

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "box", _BOXES[self.how])

    def latex(self, site: Site) -> str:
        x = self.axis[0].identifier
        return rf"z_{{{x}}} = {_CUMULATIVE_SIGNS[self.how]}_{{{x}' \le {x}}} a_{{{x}'}}"

    def description(self, site: Site) -> str:
        return f"{self.how} of all numbers up to each place of {self.axis}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        """Sums from each place on: the sum of all, without the sum up to the place before."""
        (x,), (gradient,), axis = ins, grads, site.own_inputs[0][0]
        array, rest = x.axes, _without_axis(x.axes, axis)
        if self.how == "product":
            before = product_before(steps, x, axis)
            after = _summed_behind(steps, gradient, x, axis)
            return (steps.map("$1 * $2", (before, after), array),)
        (before,) = steps.call(Cumulative(Array((axis,))), gradient)
        whole = steps.product((gradient,), rest)
        return (steps.map("$1 - $2 + $3", (whole, before, gradient), array),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x"), "x:5", "a.cumsum(0)"),
            Sample(cls("y", "sum"), "y:3 m:2", "a.cumsum(0)"),
            Sample(cls("x", "product"), "y:2 x:4", "a.cumprod(1)"),
        )


def product_before(steps: TermBuilder, x: ArrayHandle, axis: Axis) -> ArrayHandle:
    """Adds the product of all numbers before each place of an axis, without the one there.

    No number is divided by, so that its gradients hold where one is 0.
    """
    (rolled,) = steps.call(Roll(Array((axis,))), x)
    others = steps.map(f"where({axis.identifier} == 0, 1, $1)", (rolled,), x.axes)
    return steps.call(Cumulative(Array((axis,)), "product"), others)[0]


def _summed_behind(
    steps: TermBuilder, gradient: ArrayHandle, x: ArrayHandle, axis: Axis
) -> ArrayHandle:
    """Adds at each place the sum of G from there on, each times the numbers in between.

    Runs backwards: s = G + c, where c = x s of the place behind.
    """
    add, multiply = (Map(", ->", formula) for formula in ("$1 + $2", "$1 * $2"))
    twice = Wire(Signature(Type((NO_AXES,) * 2), Type((NO_AXES,) * 3)), "1 2 1")
    scan = Scan(Then(add, twice, multiply), Array((axis,)))
    start = steps.map("0", (), _without_axis(x.axes, axis))
    _, sums = steps.call(scan, start, *(steps.reverse(slot, axis) for slot in (gradient, x)))
    return steps.reverse(sums, axis)


def _without_axis(array: Array, axis: Axis) -> Array:
    return Array(other for other in array if other.name != axis.name)


# --- The largest numbers along an axis, and their positions


@dataclass(frozen=True, repr=False, eq=False)
class Top(Op):
    """Returns the k largest numbers along an axis, in order, and their positions (two arrays).

    The positions are whole numbers below the size of the axis, for
    :class:`~ncd.ops.indexing.Index`. A mixture of experts selects its experts so.

    Args:
        pattern: The axis and the new one, such as ``"e -> k:2"``.

    Raises:
        SizeError: If the new axis is longer than the old one.

    Source: ``torch.topk``; Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2.1.

    >>> str(Top("e:8 -> k:2").infer_outputs(Top("e:8 -> k:2").dom))
    'k, k#e'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    role: ClassVar[str] = "index"
    pattern_form: ClassVar[str] = "e -> k"

    @property
    def signature(self) -> Signature:
        (old,), (new,) = self.pattern.dom, self.pattern.cod
        return Signature(Type((Array(old),)), Type((Array(new), Array(new, old[0]))))

    def check_pattern(self) -> None:
        """Permits the whole numbers that it gives."""

    def check_axes(self, binding: Binding) -> None:
        old, new = (binding[t[0][0].name] for t in (self.pattern.dom, self.pattern.cod))
        for axis in (old, new):
            check_not_spatial(axis, "has no single order")
        if old.size is not None and new.size is not None and new.numel > old.numel:
            raise SizeError(
                f"axis {new.name} has size {new.numel}, but there are only {old.numel} along "
                f"{old.name}",
                cure=f"{new.name} = {old.numel}",
                axis=new.name,
                nearest=old.numel,
            )

    def torch_code(self, site: Site) -> TorchExpr:
        (dim,) = site.inputs[0].position(self.dom[0][0].name)
        return call("torch.topk", Arg(0), Size(tuple(site.own_outputs[0])), dim=dim)

    def result_name(self, site: Site) -> str:
        return "top"

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "box", f"Top ${self.pattern.cod[0][0].name}$")

    def latex(self, site: Site) -> str:
        e, k = self.dom[0][0].identifier, self.signature.cod[0][0].identifier
        return rf"z_{{{k}}}, i_{{{k}}} = \operatorname{{top}}_{{{e}}} a_{{{e}}}"

    def description(self, site: Site) -> str:
        new = site.own_outputs[0][0]
        return f"the {new.size_text} largest along {self.dom[0]}, and their places"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return (steps.scatter_add(outs[1], grads[0], site.inputs[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("e -> k:2"), "e:5", "tuple(a.topk(2))"),
            Sample(cls("e -> k:3"), "e:3", "tuple(a.sort(descending=True))"),
        )


# --- Reductions along some axes of an array

_REDUCTION_FUNCTIONS = {
    **{"max": "torch.amax", "mean": "torch.mean", "min": "torch.amin", "sum": "torch.sum"},
    "product": "torch.prod",
}
_WORDS = {"max": "Max", "mean": "𝔼", "min": "Min", "product": "Π", "sum": "Σ"}
_REDUCTION_SIGNS = {"max": r"\max", "min": r"\min", "product": r"\prod", "sum": r"\sum"}


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

    >>> str(Reduce("x ->", "mean").infer_outputs(Type.parse("y x h")))
    'y h'
    >>> str(Reduce("y x -> y", "max").cod)
    'y'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    how: str = term_field(choice(*_REDUCTION_FUNCTIONS), "sum")
    role: ClassVar[str] = "einsum"
    pattern_form: ClassVar[str] = "x+ -> y*"
    broadcasting = IN_PLACE

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
    def display_name(self) -> str:
        return f"Reduce {self.how}"

    @property
    def reduced_axes(self) -> tuple[str, ...]:
        """The axes that are reduced."""
        kept = self.signature.cod[0].names
        return tuple(name for name in self.dom[0].names if name not in kept)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (array,) = site.inputs
        dims = tuple(dim for name in self.reduced_axes for dim in array.position(name))
        if self.how == "product":  # torch multiplies along one dimension at a time
            found: TorchExpr = Arg(0)
            for dim in sorted(dims):  # they are counted from the end
                found = call("torch.prod", found, dim=dim)
            return (found,)
        one = dims[0] if len(dims) == 1 else dims
        return (call(_REDUCTION_FUNCTIONS[self.how], Arg(0), dim=one),)

    def result_name(self, site: Site) -> str:
        return "total" if self.how == "sum" else self.how

    def glyph(self, site: Site) -> Glyph:
        ends = [
            Mark("word", _WORDS[self.how], ins=(port,))
            for port, _, name in ports(site.inputs)
            if name in self.reduced_axes
        ]
        return broadcast_glyph(site, *ends, keep=self.signature.cod[0].names)

    def latex(self, site: Site) -> str:
        axes = {axis.name: axis.identifier for axis in self.dom[0]}
        index = ",".join(axes[name] for name in self.reduced_axes)
        if self.how == "mean":
            sizes = r"\,".join(f"n_{{{axes[name]}}}" for name in self.reduced_axes)
            return rf"z = \frac{{1}}{{{sizes}}} \sum_{{{index}}} a_{{{index}}}"
        return rf"z = {_REDUCTION_SIGNS[self.how]}_{{{index}}} a_{{{index}}}"

    def description(self, site: Site) -> str:
        return f"{self.how} along {' and '.join(self.reduced_axes)}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        (array,), (x,), (out,), (gradient,) = site.inputs, ins, outs, grads
        count = prod(site.size(name) for name in self.reduced_axes)
        if self.how in ("sum", "mean"):
            formula = "$1" if self.how == "sum" else f"$1 / {count}"
            return (steps.map(formula, (gradient,), array),)
        if self.how == "product":
            return (self._of_product(steps, x, gradient),)
        found = steps.map("$1 == $2", (x, out), array)
        shared = steps.map("$1 / $2", (gradient, steps.product((found,), out.axes)), out.axes)
        return (steps.map("$1 * $2", (found, shared), array),)

    def _of_product(self, steps: TermBuilder, x: ArrayHandle, gradient: ArrayHandle) -> ArrayHandle:
        """Multiplies by the product of all other numbers: those before and those behind."""
        array, rest = x.axes, gradient.axes
        inner = Array(axis for axis in array if axis.name in self.reduced_axes)
        (flat,) = (
            inner
            if len(inner) == 1 and not inner[0].spatial
            else (Axis(unused_name("flat", array.names), inner.numel),)
        )
        merged = Type((inner,)), Type((Array((flat,)),))
        if flat not in inner:
            x = steps.product((x,), Array((*rest, *inner)))
            (x,) = steps.call(Group(Signature(*merged)), x)
        before = product_before(steps, x, flat)
        behind = product_before(steps, steps.reverse(x, flat), flat)
        others = (before, steps.reverse(behind, flat), gradient)
        made = steps.map("$1 * $2 * $3", others, x.axes)
        if flat not in inner:
            (made,) = steps.call(Split(Signature(*reversed(merged))), made)
        return steps.product((made,), array)

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        if axis not in self.reduced_axes:
            return TilingRule(linear=(0,) if self.how in ("mean", "sum") else ())
        if self.how in ("mean", "sum"):
            return TilingRule("sum", self.how == "mean", linear=(0,))
        return TilingRule("max" if self.how == "max" else "min" if self.how == "min" else "product")

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x ->", "max"), "x:5", "a.max()"),
            Sample(cls("x ->"), "x:2x3", "a.sum()"),
            Sample(cls("x c -> c", "mean"), "x:4 c:3", "a.mean(0)"),
            Sample(cls("x c y ->", "min"), "x:2 c:3 y:2", "a.min()"),
            Sample(cls("x c y -> x y"), "x:2 c:3 y:2", "a.sum(1)"),
            Sample(cls("x y ->", "product"), "x:2x3 y:2", "a.prod()"),
            Sample(cls("x c y -> x y", "product"), "x:2 c:3 y:2", "a.prod(1)"),
        )
