"""Maps: an elementwise formula of any number of arrays, broadcast by name; scale and mask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from ncd.lang.errors import MismatchError, NCDError, ParseError, UnknownNameError, shown
from ncd.lang.formulas.formula import FUNCTIONS, Apply, Formula, Name, Number, Operand
from ncd.lang.formulas.formula import parse as parse_formula
from ncd.lang.formulas.short_formula import cut, short
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import ARRAY, AXIS, FORMULA, SIGNATURE, TEXT, spelled
from ncd.lang.terms.op import Sample, Site
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.ops.elementwise.formula_op import Mapped, Meaning, check_operands
from ncd.ops.structure.axis_places import over, own_ports, ports

SCALAR = Signature.parse("() -> ()")
_POWER = re.compile(r"-?\d(/[1-9])?")
_number = lru_cache(maxsize=256)(Fraction)


@dataclass(frozen=True, repr=False, eq=False)
class Map(Mapped):
    """An elementwise formula of any number of arrays, also of none, broadcast by name.

    ``Map("h y x, x -> h y x", "where($2 > 0, -inf, $1)")``: ``$1`` and ``$2`` are the arrays, an
    axis of the result is the position along it (0, 1, …), ``n_x`` the size of x, also of an axis
    that no array has. ``e``, ``pi`` and ``inf`` are constants, unless an axis is called so. The
    grammar is that of :mod:`ncd.lang.formulas.formula`. An axis of the result that the formula does
    not depend on is filled with equal numbers. The result is rounded towards zero where it is of
    whole numbers: ``Map("x -> x#2", "$1 > 0")``. ``title`` is what its box and its result are
    called.

    >>> str(Map("y m -> y m", "$1 + sin(y / 100)").cod), str(Map("-> y x#2", "x <= y").cod)
    ('y m', 'y x#2')

    Raises ParseError for a formula that does not fit the arrays, and UnknownNameError for a name
    that means nothing.
    """

    pattern: Signature = spelled(SIGNATURE)
    function: Formula = spelled(FORMULA)
    title: str = spelled(TEXT, "")
    reads: Array = spelled(ARRAY, Array())
    role: ClassVar[str] = "neutral"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            self._check_arrays()
            check_operands(self.function, self.dom)
            self._check_reads()
        except NCDError as error:
            raise error.at(where=f"{self.label} ({self.pattern})") from None

    @property
    def rule(self) -> Formula:
        return self.function

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def label(self) -> str:
        return f"Map {self.title}" if self.title else "Map"

    def _check_arrays(self) -> None:
        if len(self.pattern.cod) != 1:
            raise MismatchError("a map gives one array", cure="a Map for each of them")
        kept = self.pattern.cod[0].names
        lost = [n for array in self.dom for n in array.names if n not in kept]
        if lost:
            raise MismatchError(
                f"axis {lost[0]} stands on the left but not on the right",
                cure=f"Reduce or Einsum, to sum over {lost[0]}",
            )

    def _check_reads(self) -> None:
        """Keeps the axes that the formula only reads the size of."""
        own = {axis.name for axis in self._known}
        wanted = [m.axis for m in self.meanings.values() if m.what == "size" and m.axis not in own]
        idle = [name for name in self.reads.names if name not in wanted]
        if idle:
            raise ParseError(
                f"it says that it reads the size of {idle[0]}, but it need not",
                cure=f"n_{Axis(idle[0]).identifier} in the formula",
            )
        given = {axis.name: axis for axis in self.reads}
        reads = Array(given.get(name, Axis(name)) for name in dict.fromkeys(wanted))
        object.__setattr__(self, "reads", reads)

    def out(self, site: Site) -> str:
        name = re.sub(r"\W+", "_", self.title).strip("_").lower()
        return name if name.isidentifier() else ""

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (tuple(port for port, _, _ in ports(t)) for t in (site.ins, site.outs))
        if not ins and self._causal:
            return Glyph(marks=(Mark("mask", outs=outs),))
        return Glyph(marks=(Mark("box", cut(self.title) or short(self.function), ins, outs),))

    @property
    def _causal(self) -> bool:
        """Whether it is 1 where the second of two axes has come no further than the first."""
        names = tuple(Name(axis.identifier) for axis in self.pattern.cod[0])
        return self.function in (Apply(">=", names), Apply("<=", names[::-1]))

    def words(self, site: Site) -> str:
        arrays = f"of ({site.ins}) " if site.ins else ""
        return f"{self.function}, for every number {arrays}to ({site.outs})"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(
                cls("h y x, x -> h y x", "where($2 > 0, -inf, $1)"),
                "h:2 y:3 x:4, x:4",
                "a.masked_fill(b > 0, -math.inf)",
            ),
            Sample(cls("-> y:3 x:4", "x <= y", "mask"), "", "torch.ones(3, 4).tril()"),
            Sample(cls("-> y:2 x:3", "0.1 * n_y", "tenth"), "", "torch.full((2, 3), 0.1 * 2)"),
            Sample(cls("m -> m", "$1 / n_k ** 0.5", "", "k:4"), "m:3", "a / 2"),
            Sample(cls("y#v -> y", "($1 - 1) / 2"), "y:3#v:5", "(a - 1) / 2"),
            Sample(cls("-> y:4#v:9", "2 * y"), "", "2 * torch.arange(4)"),
            Sample(cls("x -> x#2", "$1 > 0"), "x:5", "(a > 0).long()"),
            Sample(cls("x -> y:3 x", "$1"), "x:2", "a.expand(3, 2)"),
            Sample(cls("x y, y -> y x", "max($1, 0) * $2"), "x:2 y:3, y:3", "(a.relu() * b).T"),
            Sample(
                cls("y -> y z:2x2", "silu($1)"), "y:3", "F.silu(a)[:, None, None].expand(3, 2, 2)"
            ),
        )


LETTERS = {"gelu": "G", "relu": "R", "sigmoid": "σ", "tanh": "T"}  # those of the figures


@dataclass(frozen=True, repr=False, eq=False)
class Elementwise(Mapped):
    """A function of one number on every number of an array (➤R➤). Notebook, figure 12.

    >>> str(Elementwise("relu").lift(Type.parse("y m")))
    'y m'

    Raises UnknownNameError for a name that is no function of one number.
    """

    function: str = spelled(TEXT)
    role: ClassVar[str] = "activate"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [name for name, count in FUNCTIONS.items() if count == 1]
        if self.function not in known:
            close = get_close_matches(self.function, known, n=1)
            raise UnknownNameError(
                f"there is no elementwise function {shown(self.function)}",
                cure=close[0] if close else f"one of {', '.join(known)}",
                where="Elementwise",
            )

    @property
    def rule(self) -> Formula:
        return Apply(self.function, (Operand(1),))

    @property
    def signature(self) -> Signature:
        return SCALAR

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
    """The operand times a power of the size of an axis."""
    size, by = Name(f"n_{axis}"), _number(power)
    factor: Formula = size
    if abs(by) == Fraction(1, 2):
        factor = Apply("sqrt", (size,))
    elif abs(by) != 1:
        factor = Apply("**", (size, parse_formula(str(abs(by)))))
    return Apply("*" if by > 0 else "/", (Operand(1), factor))


@dataclass(frozen=True, repr=False, eq=False)
class Scale(Mapped):
    """Multiplies by a power of an axis' size, such as k^(-1/2) (∗ k^(-1/2) on an arrow).

    Notebook, figures 20 and 21.

    >>> Scale("k:16", "-1/2").factor
    0.25

    Raises ParseError for a power that is no small whole number or fraction, such as 2 or -1/2.
    """

    axis: Array = spelled(AXIS)
    power: str = spelled(TEXT, "-1/2")
    role: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        super().__post_init__()
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
    def signature(self) -> Signature:
        return SCALAR

    @property
    def reads(self) -> Array:
        return self.axis

    @property
    def factor(self) -> float:
        return float(self.axis[0].numel ** float(_number(self.power)))

    def glyph(self, site: Site) -> Glyph:
        ins = tuple(port for port, _, _ in ports(site.ins))
        return over(site, Mark("arrow", f"*{self.axis[0].name}^{{{self.power}}}", ins=ins))

    def formula(self, site: Site) -> str:
        return rf"z = a \cdot {self.axis[0].identifier}^{{{self.power}}}"

    def words(self, site: Site) -> str:
        words = f"scale by {self.axis} to the power {self.power}"
        axis = site.every[self.axis[0].name]
        if axis.size is None:
            return words
        return f"{words}, {float(axis.numel ** float(_number(self.power))):.4g}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("k:16"), "m:5", "a / 4"),
            Sample(cls("k:3", "2"), "m:5", "a * 9"),
            Sample(cls("k:3", "-2/3"), "m:5", "a * 3 ** (-2 / 3)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class CausalMask(Mapped):
    """Sets to −∞ every score of a position that comes later than the one that asks.

    ``CausalMask("y x")``: query y sees keys x ≤ y, as ``is_causal`` of torch's
    ``scaled_dot_product_attention``. Unit-testing notebook, "Make a masked attention".

    >>> str(CausalMask("y x").lift(Type.parse("y h x")))
    'y h x'
    """

    axes: Array = spelled(ARRAY)
    role: ClassVar[str] = "mask"
    form: ClassVar[str] = "y x"

    @property
    def rule(self) -> Formula:
        y, x = (Name(axis.name) for axis in self.axes)
        minus = Apply("-", (Number("1e999"),))  # infinite, whatever the axes are called
        return Apply("where", (Apply(">", (x, y)), minus, Operand(1)))

    def _meaning(self, name: str) -> Meaning:
        return Meaning("position", name)

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((self.axes,)))

    def glyph(self, site: Site) -> Glyph:
        ins, outs = own_ports(site.ins, site.dom), own_ports(site.outs, site.cod)
        return over(site, Mark("mask", ins=ins, outs=outs), keep=self.axes.names)

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
