"""Functions of one number, applied to each: scale, and the activations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from ncd.axes import Array, Axis, Signature
from ncd.binding import Binding
from ncd.errors import ParseError, UnknownNameError, shown
from ncd.op import Op, Site
from ncd.ops.places import over, ports
from ncd.ops.spec import FUNCTIONAL, Code, Glyph, Mark, Run

POWER = re.compile(r"-?\d(/[1-9])?")
SCALAR = Signature.parse("() -> ()")


@dataclass(frozen=True, repr=False)
class Scale(Op):
    """Multiplies by a power of an axis' size, such as k^(-1/2) (∗ k^(-1/2) on an arrow).

    Notebook, figures 20 and 21.

    >>> Scale("k:16", "-1/2").factor
    0.25

    Raises ParseError for a power that is no small whole number or fraction, such as 2 or -1/2.
    """

    axis: Array
    power: str = "-1/2"
    role: ClassVar[str] = "scale"
    form: ClassVar[str] = "k"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.power, str) or not POWER.fullmatch(self.power):
            raise ParseError(
                f"{shown(self.power)} is no power", where="Scale", cure='"-1/2", or "2"'
            )

    @property
    def signature(self) -> Signature:
        return SCALAR

    @property
    def reads(self) -> Array:
        return self.axis

    @property
    def _axis(self) -> Axis:
        return self.axis[0]

    @property
    def factor(self) -> float:
        return float(self._axis.numel ** float(Fraction(self.power)))

    def run(self, site: Site) -> Run:
        factor = self.factor
        return lambda layer, xs: (xs[0] * factor,)

    def glyph(self, site: Site) -> Glyph:
        ins = tuple(port for port, _, _ in ports(site.ins))
        return over(site, Mark("arrow", f"*{self._axis.name}^{{{self.power}}}", ins=ins))

    def code(self, site: Site) -> Code:
        size, power = f"self.{self._axis.identifier}", Fraction(self.power)
        if abs(power) == Fraction(1, 2):
            sign = "*" if power > 0 else "/"
            return Code(f"{{0}} {sign} math.sqrt({size})", imports=("import math",))
        if power.denominator == 1:
            return Code(f"{{0}} * {size}**{power}")
        return Code(f"{{0}} * {size} ** ({power.numerator} / {power.denominator})")

    def formula(self, site: Site) -> str:
        return rf"z = a \cdot {self._axis.identifier}^{{{self.power}}}"

    def words(self, site: Site) -> str:
        return f"scale by {self._axis.name} to the power {self.power}, {self.factor:.4g}"


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], str, str, str]] = {
    # name: how it runs, its source, its letter in the diagram, its formula
    "relu": (F.relu, "F.relu({0})", "R", r"z = \max(a, 0)"),
    "gelu": (F.gelu, "F.gelu({0})", "G", r"z = a\,\Phi(a)"),
    "sigmoid": (lambda x: x.sigmoid(), "{0}.sigmoid()", "σ", r"z = 1 / (1 + e^{-a})"),
    "tanh": (lambda x: x.tanh(), "{0}.tanh()", "T", r"z = \tanh a"),
}


@dataclass(frozen=True, repr=False)
class Elementwise(Op):
    """A function of one number on every number of an array (➤R➤). Notebook, figure 12.

    >>> str(Elementwise("relu").lift(Elementwise("relu").dom))
    '()'

    Raises UnknownNameError for a function that is not in ``FUNCTIONS``.
    """

    function: str
    role: ClassVar[str] = "activate"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function not in FUNCTIONS:
            raise UnknownNameError(
                f"there is no elementwise function {shown(self.function)}",
                cure=" or ".join(FUNCTIONS),
            )

    @property
    def signature(self) -> Signature:
        return SCALAR

    @property
    def label(self) -> str:
        return f"Elementwise {self.function}"

    def solve(self, binding: Binding) -> None:
        return None

    def run(self, site: Site) -> Run:
        function = FUNCTIONS[self.function][0]
        return lambda layer, xs: (function(xs[0]),)

    def glyph(self, site: Site) -> Glyph:
        ins = tuple(port for port, _, _ in ports(site.ins))
        return over(site, Mark("elementwise", FUNCTIONS[self.function][2], ins=ins, outs=ins))

    def code(self, site: Site) -> Code:
        source = FUNCTIONS[self.function][1]
        return Code(source, imports=(FUNCTIONAL,) if source.startswith("F.") else ())

    def formula(self, site: Site) -> str:
        return FUNCTIONS[self.function][3]

    def words(self, site: Site) -> str:
        return f"{self.function} on every number of ({site.ins[0]})"
