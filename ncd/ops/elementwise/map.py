"""Elementwise formulas of any number of arrays, broadcast by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError, ParseError
from ncd.lang.formulas.formula import Apply, Formula, Name
from ncd.lang.formulas.short_formula import cut, lettered, short
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import (
    ARRAY,
    FORMULA,
    SIGNATURE,
    TEXT,
    ArrayField,
    FormulaField,
    SignatureField,
    spelled,
)
from ncd.lang.terms.op import Sample, Site
from ncd.lang.types.axes import Array, Axis
from ncd.ops.elementwise.formula_op import Mapped, check_operands
from ncd.ops.structure.axis_places import ports


@dataclass(frozen=True, repr=False, eq=False)
class Map(Mapped):
    """Computes a formula for every position, of any number of arrays, broadcast by name.

    In the formula ``$1`` and ``$2`` are the arrays, an axis of the result is the position along it
    (0, 1, …), ``n_x`` the size of x, and ``e``, ``pi`` and ``inf`` are constants unless an axis has
    that name. The grammar is in :mod:`ncd.lang.formulas.formula`. A result of whole numbers is
    rounded towards zero: ``Map("x -> x#2", "$1 > 0")``.

    Args:
        pattern: The axes of the arrays and of the result, such as ``"h y x, x -> h y x"``.
        function: The formula, such as ``"where($2 > 0, -inf, $1)"``.
        title: The name of its box and its result.
        reads: The axes outside the pattern whose size the formula uses, to give them a size.

    Raises:
        ParseError: For a formula that does not fit the arrays.
        UnknownNameError: For a name without a meaning.
        MismatchError: For a pattern that drops an axis.

    Source: Notebook, figure 12, for one array; ``torch.where`` and broadcasting for several.

    >>> str(Map("y m -> y m", "$1 + sin(y / 100)").cod), str(Map("-> y x#2", "x <= y").cod)
    ('y m', 'y x#2')
    """

    pattern: SignatureField = spelled(SIGNATURE)
    function: FormulaField = spelled(FORMULA)
    title: str = spelled(TEXT, "")
    reads: ArrayField = spelled(ARRAY, Array())
    role: ClassVar[str] = "neutral"

    def check_pattern(self) -> None:
        self._check_arrays()
        check_operands(self.function, self.dom)
        self._check_reads()

    @property
    def rule(self) -> Formula:
        return self.function

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
        """Sets the axes of which the formula only uses the size."""
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
        """Returns whether it is 1 where the second position is at most the first, as a mask."""
        names = tuple(Name(axis.identifier) for axis in self.pattern.cod[0])
        return self.function in (Apply(">=", names), Apply("<=", names[::-1]))

    def words(self, site: Site) -> str:
        arrays = f"of ({site.ins}) " if site.ins else ""
        return f"{lettered(self.function)}, for every number {arrays}to ({site.outs})"

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
