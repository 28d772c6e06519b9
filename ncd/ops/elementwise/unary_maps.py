"""Elementwise functions, scaling and the causal mask, which have formulas of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from ncd.lang.errors import ParseError, shown, unknown
from ncd.lang.formulas.formula import FUNCTIONS, Apply, Formula, Name, Number, Operand
from ncd.lang.formulas.formula import parse as parse_formula
from ncd.lang.formulas.traced_sizes import traced
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import ARRAY, AXIS, TEXT, ArrayField, spelled
from ncd.lang.terms.op import Sample, Site
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array, Signature
from ncd.ops.elementwise.formula_op import Mapped, Meaning
from ncd.ops.elementwise.traced_values import now
from ncd.ops.structure.axis_places import on_own, over, ports

SCALAR = Signature.parse("() -> ()")
_POWER = re.compile(r"-?\d(/[1-9])?")
_number = lru_cache(maxsize=256)(Fraction)
LETTERS = {"gelu": "G", "relu": "R", "sigmoid": "σ", "tanh": "T"}  # as in the figures


@dataclass(frozen=True, repr=False, eq=False)
class Elementwise(Mapped):
    """Applies a function of one number to every number of an array; drawn as ➤R➤.

    Args:
        function: Its name, such as ``"relu"`` or ``"gelu"``.

    Raises:
        UnknownNameError: For a name that is no function of one number.

    Source: Notebook, figure 12.

    >>> from ncd.lang.types.axes import Type
    >>> str(Elementwise("relu").lift(Type.parse("y m")))
    'y m'
    """

    function: str = spelled(TEXT)
    role: ClassVar[str] = "activate"
    signature: ClassVar[Signature] = SCALAR

    def check_pattern(self) -> None:
        known = [name for name, count in FUNCTIONS.items() if count == 1]
        if self.function not in known:
            raise unknown("elementwise function", self.function, known, where="Elementwise")

    @property
    def rule(self) -> Formula:
        return Apply(self.function, (Operand(1),))

    @property
    def label(self) -> str:
        return f"Elementwise {self.function}"

    def glyph(self, site: Site) -> Glyph:
        every = tuple(port for port, _, _ in ports(site.ins))
        letter = LETTERS.get(self.function, self.function)
        return over(site, Mark("elementwise", letter, ins=every, outs=every))

    def words(self, site: Site) -> str:
        return f"{self.function} on every number of ({site.ins[0]})"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        functions = {"gelu": "F.gelu(a)", "abs": "a.abs()", "sin": "a.sin()", "relu": "F.relu(a)"}
        return tuple(Sample(cls(name), "m:5", text) for name, text in functions.items())


@lru_cache(maxsize=256)
def _scaled(axis: str, power: str) -> Formula:
    """Returns the formula of the operand times a power of the size of an axis."""
    size, by = Name(f"n_{axis}"), _number(power)
    factor: Formula = size
    if abs(by) == Fraction(1, 2):
        factor = Apply("sqrt", (size,))
    elif abs(by) != 1:
        factor = Apply("**", (size, parse_formula(str(abs(by)))))
    return Apply("*" if by > 0 else "/", (Operand(1), factor))


@dataclass(frozen=True, repr=False, eq=False)
class Scale(Mapped):
    """Multiplies by a power of the size of an axis; drawn as ∗ k^(-1/2) on an arrow.

    Args:
        axis: The axis, which the array need not have, such as ``"k"``.
        power: The power, a whole number or a fraction of one digit each.

    Raises:
        ParseError: For another power.

    Source: Notebook, figures 20 and 21.

    >>> Scale("k:16", "-1/2").factor
    0.25
    """

    axis: ArrayField = spelled(AXIS)
    power: str = spelled(TEXT, "-1/2")
    role: ClassVar[str] = "scale"
    signature: ClassVar[Signature] = SCALAR

    def check_pattern(self) -> None:
        if not _POWER.fullmatch(self.power):
            raise ParseError(
                f"{shown(self.power)} is no power", where="Scale", cure='"-1/2", or "2"'
            )

    @property
    def rule(self) -> Formula:
        return _scaled(self.axis[0].name, self.power)

    def _meaning(self, name: str) -> Meaning:
        return Meaning("size", self.axis[0].name)

    @property
    def reads(self) -> Array:
        return self.axis

    @property
    def factor(self) -> float:
        """The number that it multiplies by."""
        return float(self.axis[0].numel ** float(_number(self.power)))

    def glyph(self, site: Site) -> Glyph:
        ins = tuple(port for port, _, _ in ports(site.ins))
        return over(site, Mark("arrow", f"*{self.axis[0].name}^{{{self.power}}}", ins=ins))

    def formula(self, site: Site) -> str:
        return rf"z = a \cdot {self.axis[0].identifier}^{{{self.power}}}"

    def words(self, site: Site) -> str:
        words = f"scale by {self.axis} to the power {self.power}"
        (axis,) = site.reads
        return words if axis.size is None else f"{words}, {self._factor_text(axis.numel)}"

    def _factor_text(self, size: Any) -> str:
        power = float(_number(self.power))
        text = f"{now(size) ** power:.4g}"
        return str(size.said(f"^{power}", text)) if traced(size) else text

    def streamed(self, site: Site, axis: str) -> Streamed:
        return Streamed(linear=(0,))

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("k:16"), "m:5", "a / 4"),
            Sample(cls("k:3", "2"), "m:5", "a * 9"),
            Sample(cls("k:3", "-2/3"), "m:5", "a * 3 ** (-2 / 3)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class CausalMask(Mapped):
    """Sets the scores of later positions to −∞, so that query y only sees keys x ≤ y.

    Args:
        axes: The axes of queries and keys, such as ``"y x"``.

    Raises:
        ParseError: For anything but two axes.
        SizeError: For a spatial axis, which has no single position.

    Source: Unit-testing notebook, "Make a masked attention"; ``is_causal`` of
    ``torch.nn.functional.scaled_dot_product_attention``.

    >>> from ncd.lang.types.axes import Type
    >>> str(CausalMask("y x").lift(Type.parse("y h x")))
    'y h x'
    """

    axes: ArrayField = spelled(ARRAY)
    role: ClassVar[str] = "mask"
    form: ClassVar[str] = "y x"

    @property
    def rule(self) -> Formula:
        y, x = (Name(axis.name) for axis in self.axes)
        minus = Apply("-", (Number("1e999"),))  # infinite, even if an axis is called "inf"
        return Apply("where", (Apply(">", (x, y)), minus, Operand(1)))

    def _meaning(self, name: str) -> Meaning:
        return Meaning("position", name)

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "mask", keep=self.axes.names)

    def formula(self, site: Site) -> str:
        y, x = (axis.identifier for axis in self.axes)
        return rf"z_{{{y}{x}}} = a_{{{y}{x}}} \text{{ if }} {x} \le {y}, \text{{ else }} -\infty"

    def words(self, site: Site) -> str:
        y, x = self.axes.names
        return f"causal mask: position {y} sees only {x} up to itself"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        mask = "torch.ones(3, 4, dtype=torch.bool).triu(1)"
        return (Sample(cls("y x"), "y:3 x:4", f"a.masked_fill({mask}, -math.inf)"),)
