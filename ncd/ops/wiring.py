"""Ops that only pass arrays on: copies, swaps, and names of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.language.axes import Signature, Type
from ncd.language.cached_property import lazy_property
from ncd.language.fields import ARRAY, TEXT, ArrayField, term_field
from ncd.language.op import Glyph, Mark, Sample, Site
from ncd.language.wire import Wiring


@dataclass(frozen=True, repr=False, eq=False)
class Copy(Wiring):
    """Copies an array; drawn as a dot on each wire, where it splits in two.

    Args:
        array: Its axes, such as ``"x m"``.

    Raises:
        ParseError: For text that is no array.

    Source: Notebook, figure 21.

    >>> str(Copy("x m").cod)
    'x m, x m'
    """

    array: ArrayField = term_field(ARRAY)
    sources: ClassVar[tuple[int, ...]] = (0, 0)

    @lazy_property
    def signature(self) -> Signature:
        return Signature(Type((self.array,)), Type((self.array, self.array)))

    def latex(self, site: Site) -> str:
        return r"x \mapsto (x, x)"

    def description(self, site: Site) -> str:
        return f"copy of ({site.inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (Sample(cls("y m"), "y:2 m:3", "(a, a)"), Sample(cls("()"), "()", "(a, a)"))


@dataclass(frozen=True, repr=False, eq=False)
class Swap(Wiring):
    """Exchanges two arrays; their wires cross.

    Args:
        first: The axes of the upper array.
        second: The axes of the lower array.

    Raises:
        ParseError: For text that is no array.

    Source: Notebook, section 2.4: a transpose crosses wires.

    >>> str((Swap("a", "b")).cod)
    'b, a'
    """

    first: ArrayField = term_field(ARRAY)
    second: ArrayField = term_field(ARRAY)
    role: ClassVar[str] = "neutral"
    sources: ClassVar[tuple[int, ...]] = (1, 0)

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.first, self.second)), Type((self.second, self.first)))

    def latex(self, site: Site) -> str:
        return r"(x, y) \mapsto (y, x)"

    def description(self, site: Site) -> str:
        return f"swap of ({site.inputs[0]}) and ({site.inputs[1]})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a", "c"), "a:2, c:3", "(b, a)"),
            Sample(cls("m", "m"), "m:2, m:2", "(b, a)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Named(Wiring):
    """Names an array in the diagram, as Q, K and V in figure 20; it changes nothing.

    Args:
        array: Its axes, such as ``"y k"``.
        text: The name, in the mathematics of labels.

    Raises:
        ParseError: For text that is no array, or a name that cannot be printed.

    Source: Notebook, figure 20.

    >>> str(Named("y k", "Q").cod)
    'y k'
    """

    array: ArrayField = term_field(ARRAY)
    text: str = term_field(TEXT)
    role: ClassVar[str] = "neutral"
    sources: ClassVar[tuple[int, ...]] = (0,)

    @property
    def display_name(self) -> str:
        return f"Named {self.text}"

    def result_name(self, site: Site) -> str:
        return self.text.lower() if self.text.isidentifier() else ""

    def glyph(self, site: Site) -> Glyph:
        wires = tuple(range(len(site.inputs[0])))
        return Glyph(
            through=tuple((p, p) for p in wires),
            marks=(Mark("name", self.text, ins=wires, outs=wires),),
        )

    def latex(self, site: Site) -> str:
        return self.text

    def description(self, site: Site) -> str:
        return f"array {self.text} of axes ({site.inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (Sample(cls("y k", "Q"), "y:2 k:3", "a"),)
