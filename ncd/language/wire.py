"""Wires: arrays that are copied, dropped and reordered by a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.errors import MismatchError, NCDError, ParseError, short_repr
from ncd.language.axes import Array, Signature, Type
from ncd.language.broadcasting import BroadcastRule, PerInput
from ncd.language.cached_property import lazy_property
from ncd.language.fields import LONG_TEXT, SIGNATURE, SignatureField, term_field
from ncd.language.op import ArrayHandle, Glyph, Op, Sample, Site, Slots, TermBuilder, TilingRule
from ncd.language.patterns import Binding, match_or_raise
from ncd.language.torch_code import Arg, TorchExpr


class Wiring(Op):
    """The base of ops that only pass arrays on, perhaps several times or in another order."""

    role: ClassVar[str] = "copy"

    @property
    def sources(self) -> tuple[int, ...]:
        """For each output the index of the input that it is."""
        raise NotImplementedError

    @property
    def broadcasting(self) -> BroadcastRule:
        return PerInput(order=self.sources)

    def _site(self, inputs: Type) -> Site:
        binding = Binding()
        try:
            for pattern, array in zip(self.dom, inputs, strict=True):
                match_or_raise(pattern, array, binding, any_kind=True)
        except NCDError as error:
            where = f"{self.display_name} ({self.signature})"
            raise error.with_context(where=where, bound=inputs.axes, op=self) from None
        ins = Type(map(binding.resolve_pattern_axes, self.dom, inputs))
        own = Type(map(binding.with_known_sizes, self.dom))
        outs, cod = (Type(arrays[i] for i in self.sources) for arrays in (ins, own))
        return Site(own, cod, ins, outs)

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        """Returns a tile for every tile: arrays only pass."""
        return TilingRule(linear=tuple(range(len(site.inputs))))

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return tuple(Arg(i) for i in self.sources)

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        return tuple(ins[i] for i in self.sources)

    def glyph(self, site: Site) -> Glyph:
        starts = [0]
        for array in site.inputs:
            starts.append(starts[-1] + len(array))
        through: list[tuple[int, int]] = []
        splits: list[tuple[int, int]] = []
        seen: set[int] = set()
        port = 0
        for source in self.sources:
            pairs = [(starts[source] + i, port + i) for i in range(len(site.inputs[source]))]
            (splits if source in seen else through).extend(pairs)
            seen.add(source)
            port += len(site.inputs[source])
        return Glyph(through=tuple(through), splits=tuple(splits))

    def latex(self, site: Site) -> str:
        letters = "abcdefgh"
        names = [letters[i % 8] for i in range(len(site.inputs))]
        return rf"({', '.join(names)}) \mapsto ({', '.join(names[i] for i in self.sources)})"

    def description(self, site: Site) -> str:
        return f"wires ({site.inputs}) on as ({site.outputs})"


@dataclass(frozen=True, repr=False, eq=False)
class Wire(Wiring):
    """Copies, drops and reorders arrays: ``Wire("q, z -> q, z, z, q")``.

    Args:
        pattern: Its inputs and outputs; each output has the axes of an input. If several inputs
            have these axes, outputs take them in turn, and ``$2`` on the right is the second of
            all inputs. Nothing on the right drops all arrays.
        places: The number of the input that each output is, from 1; by default it follows from the
            axes.

    Raises:
        MismatchError: For an output that is not among the inputs.
        ParseError: For places that are no numbers of inputs.

    Source: Notebook, section 2.3, for any number of arrays; einops' patterns.

    >>> str(Wire("y m, x m -> y m, x m, x m, y m").cod)
    'y m, x m, x m, y m'
    >>> Wire("m, m, k -> $3, $2")
    Wire('m, m, k -> k, m', '3 2')
    """

    pattern: SignatureField = term_field(SIGNATURE)
    places: str = term_field(LONG_TEXT, "")

    def __post_init__(self) -> None:
        if isinstance(self.pattern, str):
            self._read(*self.pattern.partition("->"))
        super().__post_init__()
        if self.places and self.sources == self._in_turn():
            object.__setattr__(self, "places", "")
        self.sources  # noqa: B018

    def _read(self, left: str, arrow: str, right: str) -> None:
        """Replaces ``$2`` on the right by the array that it stands for."""
        if not arrow:
            return
        arrays = Type.parse(left)
        words = [word.strip() for word in right.split(",")] if right.strip() else []
        pattern = Signature(arrays, Type(_word_array(word, arrays) for word in words))
        object.__setattr__(self, "pattern", pattern)
        if any("$" in word for word in words):
            own = Wire(pattern).sources
            every = zip(words, own, strict=True)
            places = (w.strip("$ ") if "$" in w else str(place + 1) for w, place in every)
            object.__setattr__(self, "places", " ".join(places))

    @lazy_property
    def sources(self) -> tuple[int, ...]:
        return self._sources_by_number() if self.places else self._in_turn()

    def _sources_by_number(self) -> tuple[int, ...]:
        """Returns the inputs by their numbers."""
        words, (dom, cod) = self.places.split(), (self.signature.dom, self.signature.cod)
        order = tuple(_place(word, dom) for word in words)
        if [str(dom[i]) for i in order] != [str(array) for array in cod]:
            raise MismatchError(
                f"the places {self.places} are of ({Type(dom[i] for i in order)}), not of ({cod})",
                where=f"Wire ({self.signature})",
                cure="the number of an input with these axes, from 1",
            )
        return order

    def _in_turn(self) -> tuple[int, ...]:
        places: dict[str, list[int]] = {}  # inputs by their axes and kind of number
        for i, array in enumerate(self.signature.dom):
            places.setdefault(str(array), []).append(i)
        order: list[int] = []
        for array in self.signature.cod:
            same = places.get(str(array))
            if not same:
                raise MismatchError(
                    f"({array}) stands on the right but not on the left",
                    where=f"{type(self).__name__} ({self.signature})",
                    cure=f"one of {', '.join(f'({a})' for a in self.signature.dom)}",
                )
            order.append(same[0])
            places[str(array)] = [*same[1:], same[0]]
        return tuple(order)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("q, z -> q, z, z, q"), "q:2, z:3", "(a, b, b, a)"),
            Sample(cls("y m, x -> x"), "y:2 m:3, x:4", "b"),
            Sample(cls("m, m -> m, m, m"), "m:2, m:2", "(a, b, a)"),
            Sample(cls("m, m, k -> $3, $2"), "m:2, m:2, k:3", "(c, b)"),
        )


def _place(word: str, arrays: Type) -> int:
    """Returns the index of the array of a number from 1; raises ParseError."""
    if not word.isdecimal() or not 1 <= int(word[:9]) <= len(arrays):
        fact = f"{short_repr(word)} is no number of an input, of which there are {len(arrays)}"
        raise ParseError(fact, where="Wire", cure="$1")
    return int(word) - 1


def _word_array(word: str, arrays: Type) -> Array:
    """Returns the array of a word on the right: its axes, or ``$2``."""
    return arrays[_place(word[1:], arrays)] if word.startswith("$") else Array.parse(word)
