"""Sums of numbers into the places of an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Align, Arg, Expr, Filled, Infix, Scattered, reordered
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import SIGNATURE, SignatureField, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import check_plain, own_ports
from ncd.ops.structure.index import Index


@dataclass(frozen=True, repr=False, eq=False)
class Scatter(Op):
    """Adds numbers into the places of an array that is 0 elsewhere: the adjoint of ``Index``.

    ``Scatter("y#v, y m -> v m")`` adds row y of the second array to row v of the result, where v is
    the first array's number at y. Axes that all three have are matched.

    Args:
        pattern: The places, the numbers and the result, which has the axis of the places.

    Raises:
        MismatchError: For a pattern that does not say where every number goes.

    Source: ``torch.Tensor.scatter_add``; the gradient of ``torch.nn.Embedding``.

    >>> str(Scatter("y#v:5, y m -> v:5 m").cod)
    'v m'
    """

    pattern: SignatureField = spelled(SIGNATURE)
    role: ClassVar[str] = "index"
    backward: ClassVar[Mapping[str, str]] = {"ScatterAdd": "G at each number's place."}

    def check_pattern(self) -> None:
        if len(self.dom) != 2 or len(self.pattern.cod) != 1 or self.dom[0].below is None:
            raise MismatchError(
                "it takes places and numbers, and gives one array", cure='"y#v, y m -> v m"'
            )
        (places, values), (out,) = self.dom, self.pattern.cod
        along = places.below.name if places.below else ""
        rest = [name for name in out.names if name not in (along, *places.names)]
        if along not in out.names or {*values.names} != {*places.names, *rest}:
            right = [name for name in values.names if name not in places.names]
            raise MismatchError(
                f"the numbers ({values}) have no place each in ({out})",
                cure=f'"{self.dom} -> {Array(map(Axis, (along, *right)))}"',
            )

    def check(self, binding: Binding) -> None:
        below = self.dom[0].below
        assert below is not None
        check_plain(binding[below.name], "has no single position")

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (places, values), (out,) = site.ins, site.outs
        (along,) = (axis for axis in out if axis.name == self._along)
        shared = [axis for axis in out if axis.name in places.names and axis is not along]
        names = {axis.name for axis in shared}
        own = [axis for axis in places if axis.name not in names]
        rest = [axis for axis in out if axis is not along and axis.name not in names]
        first = reordered(Arg(0), places, Array((*shared, *own)))
        second = _spread(values, Array((*shared, *own, *rest)))
        counts = len(Array(own).dims), len(Array(rest).dims)
        found = Scattered(first, second, *counts, along.numel)
        return (reordered(found, Array((*shared, along, *rest)), out),)

    @property
    def _along(self) -> str:
        below = self.dom[0].below
        return below.name if below else ""

    def glyph(self, site: Site) -> Glyph:
        ins, outs = own_ports(site.ins, site.ins), own_ports(site.outs, site.outs)
        return Glyph(marks=(Mark("box", f"scatter ${Axis(self._along).identifier}$", ins, outs),))

    def formula(self, site: Site) -> str:
        out = r"\,".join(
            "a" if axis.name == self._along else axis.identifier for axis in self.pattern.cod[0]
        )
        inner = r"\,".join(axis.identifier for axis in self.dom[1])
        return rf"z_{{{out}}} \mathrel{{+}}= b_{{{inner}}}"

    def words(self, site: Site) -> str:
        return f"adds ({site.ins[1]}) into the places ({site.ins[0]}) along {self._along}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        names = dict.fromkeys((*site.dom[0].names, *site.cod[0].names))
        out = Array(a for a in site.dom[1] if a.name in names and a.name != self._along)
        (places, _), (table,) = site.dom, site.cod
        lookup = Index(Signature(Type((places, table)), Type((out,))))
        return (None, *steps.call(lookup, ins[0], grads[0]))

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(
                cls("y#v, y m -> v m"), "y:3#v:5, y:3 m:2", "torch.zeros(5, 2).index_add(0, a, b)"
            ),
            Sample(cls("y#v, y -> v"), "y:4#v:2, y:4", "torch.zeros(2).index_add(0, a, b)"),
            Sample(
                cls("b y#v, b m y -> b m v"),
                "b:2 y:3#v:4, b:2 m:2 y:3",
                "torch.zeros(2, 2, 4).scatter_add(2, a[:, None].expand(2, 2, 3), b)",
            ),
        )


def _spread(values: Array, whole: Array) -> Expr:
    """Returns the numbers with every axis, also those that only the places have."""
    inner = Array(axis for axis in whole if axis.name in values.names)
    moved = reordered(Arg(1), values, inner)
    if len(inner) == len(whole):
        return moved
    return Infix("+", Align(moved, inner.dims, whole.dims), Filled(whole.dims))
