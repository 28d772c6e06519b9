"""Learned arrays without input, and the initial values of all weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.errors import MismatchError, ParseError
from ncd.formulas.formula import (
    CONSTANTS,
    RANDOM,
    Application,
    Formula,
    Name,
    Number,
    Operand,
    leaves,
    parse,
)
from ncd.language.axes import Array, Axis, Signature, Size, Type
from ncd.language.fields import ARRAY, INITIAL, NAME, ArrayField, InitialField, term_field
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    InitialValue,
    Mark,
    Op,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.torch_code import TorchExpr, Weight
from ncd.ops.axis_places import axis_ports

# --- Initial values of weights, which are those of torch by default


def uniform_init(fan_in: int) -> Formula:
    """Returns the formula of torch's layers: uniform from -1/√n to 1/√n for n inputs.

    >>> str(uniform_init(16))
    'uniform / sqrt(16)'
    """
    return Application("/", (Name("uniform"), Application("sqrt", (Number(str(fan_in)),))))


def constant_init(array: Array, value: int, *, learned: bool = True) -> InitialValue:
    """Returns an initial value with the same number everywhere."""
    return InitialValue(array, Number(str(value)), learned)


def distinct_axes(array: Array, taken: tuple[str, ...]) -> Array:
    """Returns the axes with ``_in`` added to names that are taken, so that all names differ."""
    axes: list[Axis] = []
    for axis in array:
        name = axis.name
        while name in taken or name in (other.name for other in axes):
            name += "_in"
        axes.append(axis if name == axis.name else replace(axis, name=name, label=""))
    return Array(axes)


def unused_axis(taken: tuple[str, ...], name: str, size: Size) -> Array:
    """Returns an array of one axis with a name that is not taken."""
    return distinct_axes(Array((Axis(name, size),)), taken)


def check_initial(formula: Formula | None, array: Array, where: str) -> None:
    """Raises ParseError for a formula with other axes than those of the weight."""
    names = Counter(axis.identifier for axis in array)
    known = {*names, *(f"n_{name}" for name in names), *CONSTANTS, *RANDOM}
    words = ", ".join((*names, *RANDOM))
    for leaf in leaves(formula) if formula is not None else ():
        if isinstance(leaf, Operand) or (isinstance(leaf, Name) and leaf.text not in known):
            raise ParseError(
                f"the initial value {formula} speaks of {leaf}", where=where, cure=f"one of {words}"
            )
        if isinstance(leaf, Name) and names[leaf.text] > 1:
            raise ParseError(
                f"the initial value {formula} speaks of {leaf}, and two axes are called so",
                where=where,
                cure="another name for one of them",
            )


# --- Learned arrays without an input

MAX_MARK_LETTERS = 8  # letters of a name that is drawn as the mark
DEFAULT_INITIAL_VALUE = parse(
    "0.02 * normal"
)  # GPT-2, "Language Models are Unsupervised …", section 2.3


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

    array: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "weight")
    init: InitialField = term_field(INITIAL, None)
    role: ClassVar[str] = "linear"
    tiles_weight: ClassVar[bool] = True

    def check_pattern(self) -> None:
        if self.array.below:
            raise MismatchError(
                f"the array ({self.array}) holds {self.array.kind}, which cannot be learned",
                where=self.display_name,
                cure=f'Param("{Array(self.array)}", "{self.name}")',
            )
        check_initial(self.init, self.array, self.display_name)

    @property
    def signature(self) -> Signature:
        return Signature(Type(), Type((self.array,)))

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        """Returns a tile for every tile: it only lies in memory."""
        return TilingRule()

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        return {
            self.name: InitialValue(
                site.own_outputs[0], DEFAULT_INITIAL_VALUE if self.init is None else self.init
            )
        }

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (Weight(),)

    def result_name(self, site: Site) -> str:
        return self.name

    def glyph(self, site: Site) -> Glyph:
        outs = axis_ports(site.outputs, site.own_outputs)
        text, note = (self.name, "") if len(self.name) <= MAX_MARK_LETTERS else ("W", self.name)
        return Glyph(marks=(Mark("array", text, outs=outs, note=note),))

    def latex(self, site: Site) -> str:
        return rf"z = \mathrm{{{self.name}}}".replace("_", r"\_")

    def description(self, site: Site) -> str:
        return f"learned array {self.name} of axes ({site.own_outputs})"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        return (steps.param("", kept=site.own_outputs[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("v:3 m:4", "wte"), "", "w[0]"),
            Sample(cls("m:4", "gain", "1 + m / n_m"), "", "w[0]"),
            Sample(cls("()", "one", "1"), "", "w[0]"),
        )
