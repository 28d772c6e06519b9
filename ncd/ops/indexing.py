"""Numbers taken from places of an array, and sums into places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, ClassVar
from unicodedata import normalize

from ncd.errors import MismatchError, NCDError, ParseError, SizeError, short_repr
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.broadcasting import IN_PLACE, LEADING, BroadcastRule
from ncd.language.fields import SIGNATURE, FieldFormat, SignatureField, read_fields, term_field
from ncd.language.op import ArrayHandle, Glyph, Mark, Op, Reach, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.torch_code import (
    Align,
    Arg,
    Filled,
    Infix,
    Lookup,
    Scattered,
    Select,
    TorchExpr,
    reorder_axes,
)
from ncd.ops.axis_places import axis_ports, broadcast_glyph, check_not_spatial, ports
from ncd.words import list_words

# --- Indexing: numbers of an array by their positions

Places = tuple[tuple[str, int], ...]  # names of axes with a position
_INDEX_PARAMETERS = ("at", "pattern", "self")  # the parameters of Index


def _read_places(value: Any, name: str) -> Places:
    try:
        pairs = dict(value).items()
    except (TypeError, ValueError):
        fact = f"{name} is {short_repr(value)}, but it names places"
        raise ParseError(fact, cure='at={"y": 2}') from None
    for axis, place in pairs:
        if isinstance(place, bool) or not isinstance(place, int) or not isinstance(axis, str):
            raise ParseError(
                f"the place of {axis} is {short_repr(place)}, but it is a whole number",
                cure=f"{axis}=2",
            )
    return tuple(pairs)


PLACES = FieldFormat("places by axis", _read_places, dict, lambda value: repr(dict(value)))


@dataclass(frozen=True, repr=False, eq=False, init=False)
class Index(Op):
    """Selects numbers of an array by position; a fixed position is drawn as a blue pentagon.

    ``Index("y#v, v m -> y m")`` is a lookup: the first array holds positions along v of the second,
    such as token ids in a table of embeddings. Axes that both have are matched:
    ``Index("y#v, y v -> y")`` picks one number of each row. ``Index("y m", y=2)`` selects one
    position and drops the axis.

    Args:
        pattern: The positions, the table and the result; with fixed positions the array.
        at: Fixed positions by axis, for names that are not Python identifiers: ``{"x/s": 2}``.
        places: Fixed positions by axis, from the front (0, 1, …) or from the end (-1, …).

    Raises:
        SizeError: For a position outside of the axis.
        MismatchError: For a pattern that is no lookup.
        ParseError: For a position that is no whole number.

    Source: Notebook, figures 8 to 12; ``torch.nn.functional.embedding``.

    >>> str(Index("y#v, v m -> y m").cod), str(Index("y m", y=2).cod)
    ('y m', 'm')
    """

    pattern: SignatureField = term_field(SIGNATURE)
    at: Places = term_field(PLACES, ())
    role: ClassVar[str] = "index"

    def __init__(
        self,
        pattern: Signature | str,
        at: Mapping[str, int] | Places = (),
        **places: int,
    ) -> None:
        try:
            every = {**dict(_read_places(at, "at")), **places}
            if every and isinstance(pattern, str) and "->" not in pattern:
                array = Array.parse(pattern)
                pattern = Signature(Type((array,)), Type((_without_axes(array, every),)))
            object.__setattr__(self, "pattern", pattern)
            object.__setattr__(self, "at", tuple(every.items()))
            read_fields(self)
        except NCDError as error:
            raise error.with_context(where="Index") from None
        try:
            self._check_places() if self.at else self._check_lookup()
        except NCDError as error:
            raise error.with_context(where=f"Index ({self.pattern})") from None

    def __repr__(self) -> str:
        if not self.at:
            return f"Index({self.pattern.spec!r})"
        (array,), names = self.dom, dict(self.at)
        derived = Signature(Type((array,)), Type((_without_axes(array, names),)))
        text = repr(array.spec if derived.spec == self.pattern.spec else self.pattern.spec)
        plain = all(map(_is_keyword_argument, names))
        words = ", ".join(f"{n}={place}" for n, place in self.at) if plain else repr(names)
        return f"Index({text}, {words})"

    def _check_places(self) -> None:
        names = dict(self.at)
        if len(self.dom) != 1 or len(self.pattern.cod) != 1:
            raise MismatchError("places are of one array", cure='Index("y m", y=2)')
        (array,) = self.dom
        strange = [name for name in names if name not in array.names]
        if strange:
            raise MismatchError(
                f"the array ({array}) has no axis {strange[0]}", cure=f"one of ({Array(array)})"
            )
        left = tuple(name for name in array.names if name not in names)
        if self.pattern.cod[0].names != left or _bounding_axis_name(
            self.pattern.cod[0]
        ) != _bounding_axis_name(array):
            words = " ".join(left) or "()"
            raise MismatchError(
                f"the right side is not what is left of ({array})", cure=f'"{array} -> {words}"'
            )

    def _check_lookup(self) -> None:
        if len(self.dom) != 2 or len(self.pattern.cod) != 1:
            raise MismatchError(
                "a lookup takes places and a table and gives one array",
                cure='"y#v, v m -> y m", or a place such as Index("y m", y=2)',
            )
        (places, table), (out,) = self.dom, self.pattern.cod
        along = _bounding_axis_name(places)
        if along not in table.names:
            fact = (
                f"the places are below {along}, which is no axis of the table ({table})"
                if along
                else f"({places}) holds real numbers, which are no places"
            )
            raise MismatchError(fact, cure='the bound of the places in it: "y#v, v m -> y m"')
        own = [name for name in table.names if name != along]
        wanted = list(dict.fromkeys((*places.names, *own)))
        if sorted(out.names) != sorted(wanted) or _bounding_axis_name(out) != _bounding_axis_name(
            table
        ):
            right = Array(map(Axis, wanted), table.below)
            raise MismatchError(
                f"it gives ({right}), but the pattern says ({out})",
                cure=f'"{self.dom} -> {right}"',
            )

    @property
    def broadcasting(self) -> BroadcastRule:
        return IN_PLACE if self.at else LEADING

    def check_axes(self, binding: Binding) -> None:
        names = dict(self.at) if self.at else {_bounding_axis_name(self.dom[0]): 0}
        for name, place in names.items():
            axis = binding[name]
            check_not_spatial(axis, "has no single position")
            if axis.size is not None and not -axis.numel <= place < axis.numel:
                raise SizeError(
                    f"axis {name} has size {axis.numel}, so there is no place {place}",
                    cure=f"{name}={axis.numel - 1}",
                    axis=name,
                )

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        if not self.at:
            return (self._lookup(site),)
        (array,), places = site.inputs, dict(self.at)
        expr: TorchExpr = Arg(0)
        for name in array.names:  # from the front, since positions are counted from the end
            if name in places:
                (dim,) = array.position(name)
                expr = Select(expr, dim, places[name])
        return (expr,)

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        """Returns that a lookup may take any place of the axis that is looked up in."""
        looked_up = dict(self.at) or {_bounding_axis_name(self.dom[0]): 0}
        if axis in looked_up and (self.at or source == 1):
            return Reach("", -math.inf, math.inf)
        return Reach(axis)

    def _lookup(self, site: Site) -> TorchExpr:
        (places, table), (out,) = site.inputs, site.outputs
        along = [axis for axis in table if axis.name == _bounding_axis_name(self.dom[0])]
        shared = [a for a in table if a.name in places.names and a not in along]
        names = {axis.name for axis in shared}
        own = [axis for axis in places if axis.name not in names]
        rest = [axis for axis in table if axis not in along and axis.name not in names]
        first = reorder_axes(Arg(0), places, Array((*shared, *own)))
        second = reorder_axes(Arg(1), table, Array((*shared, *along, *rest)))
        found = Lookup(first, second, len(Array(own).dims), len(Array(rest).dims))
        return reorder_axes(found, Array((*shared, *own, *rest)), out)

    def glyph(self, site: Site) -> Glyph:
        if self.at:
            names = dict(self.at)
            ends = [
                Mark("pentagon", str(names[name]), ins=(port,))
                for port, _, name in ports(site.inputs)
                if name in names
            ]
            return broadcast_glyph(site, *ends, keep=self.pattern.cod[0].names)
        return self._looked_up(site)

    def _looked_up(self, site: Site) -> Glyph:
        """Returns the glyph of a lookup: its axis ends in an index, others run on or meet."""
        along, outs = (
            _bounding_axis_name(self.dom[0]),
            {name: port for port, _, name in ports(site.outputs)},
        )
        first = [port for port, k, _ in ports(site.inputs) if k == 0]
        last = {name: port for port, _, name in ports(site.inputs)}
        end = last.pop(along)
        index = Mark("lookup", f"i_{{{along}}}", ins=(end,), attached_ports=tuple(first))
        return Glyph(
            through=tuple((port, outs[name]) for name, port in last.items()),
            joins=tuple(
                (p, outs[n]) for p, _, n in ports(site.inputs) if p != end and p != last[n]
            ),
            marks=(index,),
        )

    def latex(self, site: Site) -> str:
        if self.at:
            taken = ", ".join(f"{Axis(n).identifier} = {p}" for n, p in self.at)
            return f"z = a_{{{taken}}}"
        places, table = self.dom
        along, at = _bounding_axis_name(places), r"\,".join(axis.identifier for axis in places)
        index = [rf"a_{{{at}}}" if a.name == along else a.identifier for a in table]
        out = r"\,".join(axis.identifier for axis in self.pattern.cod[0])
        return rf"z_{{{out}}} = b_{{{','.join(index)}}}"

    def description(self, site: Site) -> str:
        if self.at:
            return "takes " + list_words(f"place {place} along {name}" for name, place in self.at)
        indices, table = site.inputs
        return f"looks up along {_bounding_axis_name(self.dom[0])}: ({indices}) in ({table})"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        if not self.at:
            return (None, steps.scatter_add(ins[0], grads[0], ins[1].axes))
        (array,) = site.inputs
        found = [f"{Axis(name).identifier} == {at % site.size(name)}" for name, at in self.at]
        return (steps.map(f"where({' and '.join(found)}, $1, 0)", grads, array),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("y#v, v m -> y m"), "y:3#v:5, v:5 m:2", "b[a]"),
            Sample(cls("y z#v, m v -> z m y"), "y:3 z:2#v:5, m:4 v:5", "b.T[a].permute(1, 2, 0)"),
            Sample(cls("y#v, y v -> y"), "y:3#v:5, y:3 v:5", "b.gather(1, a[:, None])[:, 0]"),
            Sample(cls("#v, v x -> x"), "#v:5, v:5 x:2x3", "b[a]"),
            Sample(cls("y#v, v#w -> y#w"), "y:3#v:5, v:5#w:4", "b[a]"),
            Sample(
                cls("y k#x, y x m -> y k m"),
                "y:2 k:3#x:5, y:2 x:5 m:4",
                "torch.stack([row[places] for row, places in zip(b, a)])",
            ),
            Sample(cls("y m", y=2), "y:3 m:4", "a[2]"),
            Sample(cls("y m h", y=-1, h=0), "y:3 m:4 h:2", "a[-1, :, 0]"),
        )


def _bounding_axis_name(array: Array) -> str:
    """Returns the name of the axis that bounds whole numbers; empty for real ones."""
    return array.below.name if array.below is not None else ""


def _is_keyword_argument(name: str) -> bool:
    """Returns whether Python passes on a name before ``=`` as it is written; ``ℓ`` comes as l."""
    same = normalize("NFKC", name) == name
    return same and name.isidentifier() and not iskeyword(name) and name not in _INDEX_PARAMETERS


def _without_axes(array: Array, names: Mapping[str, int]) -> Array:
    """Returns the array without these axes."""
    return array.with_axes(axis for axis in array if axis.name not in names)


# --- Sums of numbers into the places of an array


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

    pattern: SignatureField = term_field(SIGNATURE)
    role: ClassVar[str] = "index"
    torch_backward_rules: ClassVar[Mapping[str, str]] = {"ScatterAdd": "G at each number's place."}

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

    def check_axes(self, binding: Binding) -> None:
        below = self.dom[0].below
        assert below is not None
        check_not_spatial(binding[below.name], "has no single position")

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (places, values), (out,) = site.inputs, site.outputs
        (along,) = (axis for axis in out if axis.name == self._scatter_axis)
        shared = [axis for axis in out if axis.name in places.names and axis is not along]
        names = {axis.name for axis in shared}
        own = [axis for axis in places if axis.name not in names]
        rest = [axis for axis in out if axis is not along and axis.name not in names]
        first = reorder_axes(Arg(0), places, Array((*shared, *own)))
        second = _spread(values, Array((*shared, *own, *rest)))
        counts = len(Array(own).dims), len(Array(rest).dims)
        found = Scattered(first, second, *counts, along.numel)
        return (reorder_axes(found, Array((*shared, along, *rest)), out),)

    @property
    def _scatter_axis(self) -> str:
        below = self.dom[0].below
        return below.name if below else ""

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (
            axis_ports(site.inputs, site.inputs),
            axis_ports(site.outputs, site.outputs),
        )
        return Glyph(
            marks=(Mark("box", f"scatter ${Axis(self._scatter_axis).identifier}$", ins, outs),)
        )

    def latex(self, site: Site) -> str:
        out = r"\,".join(
            "a" if axis.name == self._scatter_axis else axis.identifier
            for axis in self.pattern.cod[0]
        )
        inner = r"\,".join(axis.identifier for axis in self.dom[1])
        return rf"z_{{{out}}} \mathrel{{+}}= b_{{{inner}}}"

    def description(self, site: Site) -> str:
        return (
            f"adds ({site.inputs[1]}) into the places ({site.inputs[0]}) along {self._scatter_axis}"
        )

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        names = dict.fromkeys((*site.own_inputs[0].names, *site.own_outputs[0].names))
        out = Array(
            a for a in site.own_inputs[1] if a.name in names and a.name != self._scatter_axis
        )
        (places, _), (table,) = site.own_inputs, site.own_outputs
        lookup = Index(Signature(Type((places, table)), Type((out,))))
        return (None, *steps.call(lookup, ins[0], grads[0]))

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
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


def _spread(values: Array, whole: Array) -> TorchExpr:
    """Returns the numbers with every axis, also those that only the places have."""
    inner = Array(axis for axis in whole if axis.name in values.names)
    moved = reorder_axes(Arg(1), values, inner)
    if len(inner) == len(whole):
        return moved
    return Infix("+", Align(moved, inner.dims, whole.dims), Filled(whole.dims))
