"""Learned arrays without an input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Expr, Weight
from ncd.lang.formulas.formula import parse
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import ARRAY, INITIAL, NAME, ArrayField, InitialField, spelled
from ncd.lang.terms.op import Initial, Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops.linear_maps.weight_init import check_initial
from ncd.ops.structure.axis_places import own_ports

LONG = 8  # letters of a name that is drawn as the mark
SMALL = parse("0.02 * normal")  # GPT-2, "Language Models are Unsupervised …", section 2.3


@dataclass(frozen=True, repr=False, eq=False)
class Param(Op):
    """A learned array, such as a table of embeddings; it has no input.

    A weight that is used twice is ``Param(…) >> Copy(…)``.

    Args:
        array: Its axes, such as ``"v m"``.
        name: The name of the parameter.
        init: The initial value, a formula of its axes; normal with a deviation of 0.02 by default.

    Raises:
        MismatchError: For an array of whole numbers, which cannot be learned.
        ParseError: For an initial value with other axes.

    Source: ``torch.nn.Parameter``; Radford et al. 2019, section 2.3, for the initial value.

    >>> Param("v:50 m:8", "wte").cod.spec
    'v:50 m:8'
    """

    array: ArrayField = spelled(ARRAY)
    name: str = spelled(NAME, "weight")
    init: InitialField = spelled(INITIAL, None)
    role: ClassVar[str] = "linear"
    weighted: ClassVar[bool] = True

    def check_pattern(self) -> None:
        if self.array.below:
            raise MismatchError(
                f"the array ({self.array}) holds {self.array.kind}, which cannot be learned",
                where=self.label,
                cure=f'Param("{Array(self.array)}", "{self.name}")',
            )
        check_initial(self.init, self.array, self.label)

    @property
    def signature(self) -> Signature:
        return Signature(Type(), Type((self.array,)))

    def streamed(self, site: Site, axis: str) -> Streamed:
        """Returns a tile for every tile: it only lies in memory."""
        return Streamed()

    def initial(self, site: Site) -> Mapping[str, Initial]:
        return {self.name: Initial(site.cod[0], SMALL if self.init is None else self.init)}

    def torch(self, site: Site) -> tuple[Expr, ...]:
        return (Weight(),)

    def out(self, site: Site) -> str:
        return self.name

    def glyph(self, site: Site) -> Glyph:
        outs = own_ports(site.outs, site.cod)
        text, note = (self.name, "") if len(self.name) <= LONG else ("W", self.name)
        return Glyph(marks=(Mark("array", text, outs=outs, note=note),))

    def formula(self, site: Site) -> str:
        return rf"z = \mathrm{{{self.name}}}".replace("_", r"\_")

    def words(self, site: Site) -> str:
        return f"learned array {self.name} of axes ({site.cod})"

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        return (steps.param("", kept=site.cod[0]),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("v:3 m:4", "wte"), "", "w[0]"),
            Sample(cls("m:4", "gain", "1 + m / n_m"), "", "w[0]"),
            Sample(cls("()", "one", "1"), "", "w[0]"),
        )
