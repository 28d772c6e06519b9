"""The softmax, which turns scores into weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.language.axes import Array
from ncd.language.broadcasting import IN_PLACE
from ncd.language.fields import AXIS, SCOPE, ArrayField, term_field
from ncd.language.op import (
    ArrayHandle,
    DeferredSummand,
    Glyph,
    Op,
    RunningStatistic,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.torch_code import Arg, TorchExpr, groups, method, rearrange
from ncd.ops.axis_places import single_mark_glyph


@dataclass(frozen=True, repr=False, eq=False)
class Softmax(Op):
    """Returns positive weights that sum to 1 along one axis; drawn as a triangle in its wire.

    Args:
        axis: The axis, such as ``"x"``; a spatial group is normalised as one.
        result: The name of the result in generated source.

    Raises:
        ParseError: For anything but one axis.

    Source: Notebook, figure 20; ``torch.softmax``.

    >>> str(Softmax("x").cod)
    'x'
    """

    axis: ArrayField = term_field(AXIS)
    result: str = term_field(SCOPE, "weights")
    role: ClassVar[str] = "softmax"
    broadcasting = IN_PLACE

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (array,), (own,) = site.inputs, site.own_inputs[0]
        whole = tuple(  # a spatial group is merged
            group
            for axis in array
            for group in ((axis.dims,) if axis.name == own.name else groups(Array((axis,))))
        )
        dim = whole.index(own.dims) - len(whole)
        weights = method(rearrange(Arg(0), groups(array), whole), "softmax", dim)
        return (rearrange(weights, whole, groups(array)),)

    def result_name(self, site: Site) -> str:
        return self.result

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "triangle", keep=self.axis.names)

    def latex(self, site: Site) -> str:
        x = self.axis[0].identifier
        return rf"z_{{{x}}} = e^{{a_{{{x}}}}} \Big/ \sum_{{{x}'}} e^{{a_{{{x}'}}}}"

    def description(self, site: Site) -> str:
        return f"softmax along {self.axis}: the weights sum to 1 over {self.axis}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        (weights,), (gradient,) = outs, grads
        rest = Array(axis for axis in weights.axes if axis.name not in self.axis.names)
        mean = steps.product((weights, gradient), rest)
        return (steps.map("$1 * ($2 - $3)", (weights, gradient, mean), weights.axes),)

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        if axis not in self.axis.names:
            return super().tiling_rule(site, axis)
        shrink = "exp(m_old - m)"  # what was added up so far, seen from the new maximum
        return TilingRule(
            statistics=(
                RunningStatistic("m", "max", "$1"),
                RunningStatistic("s", "sum", "exp($1 - m)", shrink),
            ),
            parts=(DeferredSummand("exp($1 - m)", "1 / s", shrink),),
        )

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x"), "x:4", "a.softmax(0)"),
            Sample(cls("x"), "x:2x3", "a.flatten().softmax(0).view(2, 3)"),
            Sample(cls("y", "share"), "y:3 m:2", "a.softmax(0)"),
        )
