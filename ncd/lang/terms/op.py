"""Ops: the generators of the language, and the sites at which they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ncd.lang.errors import MismatchError, NCDError, ParseError
from ncd.lang.formulas.expr import Call, Expr
from ncd.lang.formulas.formula import Formula
from ncd.lang.glyph import Glyph
from ncd.lang.once import once
from ncd.lang.terms.chain_typing import Origins
from ncd.lang.terms.field_spelling import field_names, read_fields
from ncd.lang.terms.terms import Term, keep
from ncd.lang.types.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding, match, union


@dataclass(frozen=True)
class Site:
    """Where an op stands: its own axes with their sizes, and the whole arrays around them.

    ``dom`` and ``cod`` are the op's own arrays, ``ins`` and ``outs`` those with every axis over
    which it is broadcast; ``reads`` are the axes that it only knows the size of.
    """

    dom: Type
    cod: Type
    ins: Type
    outs: Type
    reads: Array = NO_AXES

    @once
    def axes(self) -> tuple[Axis, ...]:
        """Every axis of the arrays, each name once."""
        return tuple({axis.name: axis for axis in (*self.ins.axes, *self.outs.axes)}.values())

    @once
    def every(self) -> Mapping[str, Axis]:
        """Every axis that it knows of, by name; those that it only reads as well."""
        return {axis.name: axis for axis in (*self.axes, *self.reads)}

    def size(self, name: str) -> int:
        """How many positions the axis of this name has."""
        return self.every[name].numel

    @property
    def rest(self) -> Array:
        """The axes of the first array that it is broadcast over."""
        return Array(axis for axis in self.ins[0] if axis.name not in self.dom[0].names)


@dataclass(frozen=True)
class Initial:
    """How a parameter (or a buffer, if not ``learned``) begins.

    ``array`` names the axes of its numbers, in the order in which they lie in memory; ``formula``
    gives each of them, from its position along these axes (``n_x`` is the size of x), from
    ``normal`` (standard normal) and ``uniform`` (from -1 to 1), drawn from the seed.
    """

    array: Array
    formula: Formula
    learned: bool = True


@dataclass(frozen=True)
class Sample:
    """An op on arrays of its own axes, and what plain torch says it gives, for the tests.

    ``torch`` is an expression of ``torch``, ``F``, ``math``, the inputs ``a``, ``b``, ``c``, … and
    the parameters ``w[0]``, ``w[1]``, …, in order; several outputs are a tuple. ``alone`` is for an
    op that looks along the axes that it is broadcast over: it is not tried with more.
    """

    op: Op
    dom: str
    torch: str
    alone: bool = False


class Op(Term):
    """A generator: a frozen dataclass that answers the same few questions in one place.

    ``role`` is its colour, ``label`` its name in words. A learned op also has a ``name`` (the
    attribute of the compiled module). Everything it answers is plain data.
    """

    role: ClassVar[str] = "neutral"
    form: ClassVar[str] = ""  # how its first field is written; m* is any number of axes, m+ some
    any_kind: ClassVar[bool] = False  # whether it takes whole numbers where it does not say so
    apart: ClassVar[bool] = False  # whether it is broadcast over each array's axes by themselves
    in_place: ClassVar[bool] = False  # whether what it gives has the axes it took, in their order
    count = 1

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.at(where=type(self).__name__) from None
        self._check_form()

    def _check_form(self) -> None:
        if not self.form:
            return
        own = getattr(self, field_names(type(self))[0])
        sides = (Type((own,)),) if isinstance(own, Array) else (own.dom, own.cod)
        if not all(_fits(*side) for side in zip(sides, _form(self.form), strict=True)):
            form = self.form.replace("*", "").replace("+", "")
            kind = type(self).__name__
            cure = f'something like {kind}("{form}")'
            raise ParseError(f'"{own}" is not of the form "{form}"', where=kind, cure=cure)

    @property
    def signature(self) -> Signature:
        """What it takes and gives, on its own axes."""
        raise NotImplementedError

    @property
    def dom(self) -> Type:
        return self.signature.dom

    @property
    def label(self) -> str:
        name = getattr(self, "name", "")
        return f"{type(self).__name__} {name}" if name else type(self).__name__

    @property
    def reads(self) -> Array:
        """Axes whose size it needs, though they need not be wires of its own."""
        return NO_AXES

    @property
    def origins(self) -> Origins:
        own = ((0,) if len(self.dom) == 1 else (),)
        return own * len(self.signature.cod)

    def lift(self, inputs: Type) -> Type:
        return self.site(inputs).outs

    def site(self, inputs: Type) -> Site:
        """The op on these arrays: matches its own axes, solves for new ones, keeps the others."""
        known: dict[Type, Site] = self.__dict__.setdefault("_sites", {})
        found = known.get(inputs)  # a size or a kind that differs is another type
        if found is None:
            found = self._site(inputs)
            keep(known, inputs, found)
        return found

    def _site(self, inputs: Type) -> Site:
        binding, signature = Binding(), self.signature
        try:
            rests = [
                match(own, array, binding, any_kind=self.any_kind)
                for own, array in zip(signature.dom, inputs, strict=True)
            ]
            for array in inputs:
                self._meet_bound(array, binding)
            for axis in (*signature.dom.axes, *signature.cod.axes, *self.reads):
                binding.meet(axis, axis)
            self.solve(binding)
            self.check(binding)
            outs = self._spread(inputs, rests, binding)
        except NCDError as error:
            where = f"{self.label} ({signature})"
            bound = [*inputs.axes, *binding.values()]
            raise error.at(where=where, bound=bound, op=self) from None
        site = Site(
            dom=Type(map(binding.resolve, signature.dom)),
            cod=Type(map(binding.resolve, signature.cod)),
            ins=Type(map(binding.resolve, inputs)),
            outs=outs,
            reads=binding.resolve(self.reads),
        )
        self.admit(site)
        return site

    @staticmethod
    def _meet_bound(array: Array, binding: Binding) -> None:
        """The name that bounds whole numbers has one size, as a bound and as an axis."""
        bound = array.below
        if bound is not None:
            for axis in (bound, *(axis for axis in array if axis.name == bound.name)):
                binding.meet(bound, axis)

    def _spread(self, inputs: Type, rests: list[tuple[Array, Array]], binding: Binding) -> Type:
        """The arrays that come out, with every axis over which the op is broadcast."""
        own = {name for array in self.signature.dom for name in array.names}
        for (before, after), array, pattern in zip(rests, inputs, self.signature.dom, strict=True):
            stray = [name for name in (*before.names, *after.names) if name in own]
            if stray:
                raise MismatchError(
                    f"the array ({array}) has axis {stray[0]}, but the pattern takes ({pattern}) "
                    f"there and names {stray[0]} elsewhere",
                    cure=f"{stray[0]} in the pattern of this array too, or another name for it",
                )
        if self.in_place:
            return Type(map(binding.resolve, inputs))
        if len(rests) == 1 and not self.signature.dom[0]:  # what it makes of a number stands last
            rests = [(inputs[0], NO_AXES)]
        first = union(rest[0] for rest in rests)
        last = union(
            after if own else _apart(after, first)
            for (_, after), own in zip(rests, self.signature.dom, strict=True)
        )
        return Type(
            self._whole(first, array, last, binding, inputs) for array in self.signature.cod
        )

    def _whole(
        self, before: Array, array: Array, after: Array, binding: Binding, inputs: Type
    ) -> Array:
        below = array.below
        if below is None and self.any_kind and len(inputs) >= 1:
            below = next((given.below for given in inputs if given.below), None)
        out = Array((*before, *array, *after), below)
        doubled = [name for name in array.names if name in (*before.names, *after.names)]
        if doubled:
            raise MismatchError(
                f"axis {doubled[0]} would appear twice in the result ({out})",
                cure=f"another name for the new axis {doubled[0]}",
            )
        astray = [name for name in before.names if name in after.names]
        if astray:
            raise MismatchError(
                f"axis {astray[0]} stands before ({array}) in one array and after it in another",
                cure=f"an Einsum before it, to put {astray[0]} in one place",
            )
        return binding.resolve(out)

    # What an op answers -------------------------------------------------------------------------

    def solve(self, binding: Binding) -> None:
        """Binds the axes whose size follows from the ones bound so far, in whichever direction.

        It is asked again when more is known. Raises SizeError for sizes that do not fit.
        """

    def check(self, binding: Binding) -> None:
        """Raises NCDError for axes that it cannot work on, such as a group of the wrong size."""

    def admit(self, site: Site) -> None:
        """Raises NCDError for arrays that it cannot work on, whatever its own axes are."""

    def layer(self, site: Site) -> Call | None:
        """The torch layer with this op's parameters, as the call that makes it, if it has one."""
        return None

    def initial(self, site: Site) -> Mapping[str, Initial]:
        """How its parameters and buffers begin, by name.

        An op that learns without a layer has one parameter, named by the op itself.
        """
        return {}

    def torch(self, site: Site) -> tuple[Expr, ...] | Expr:
        """An expression for each output, or one that gives all of them as a tuple."""
        raise NotImplementedError

    def out(self, site: Site) -> str:
        """What a person would call the variable that holds the result; empty if nothing special."""
        return ""

    def glyph(self, site: Site) -> Glyph:
        """How it is drawn, as marks on the wires of the site."""
        raise NotImplementedError

    def flops(self, site: Site) -> int:
        """Floating-point operations of one forward pass: a multiply-add is two.

        As torch's FlopCounterMode counts them wherever no size is 1.
        """
        return 0

    def formula(self, site: Site) -> str:
        """What it computes, in LaTeX."""
        raise NotImplementedError

    def words(self, site: Site) -> str:
        """What it does, in words that read well aloud."""
        return self.label

    def expansion(self, site: Site) -> Term | None:
        """The op spelled out in simpler ops, where that shows how it works."""
        return None

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        """The op at work, for the tests: every view of every op is tried on these."""
        raise NotImplementedError


def _apart(array: Array, others: Array) -> Array:
    """The axes of an array without axes of its own that do not stand before those of another."""
    union((others, array))  # one size for one name
    return Array(axis for axis in array if axis.name not in others.names)


_Counts = tuple[tuple[int, int], ...]  # the least and the most axes of each array


@lru_cache
def _form(text: str) -> tuple[_Counts, ...]:
    """How many axes each array has, on each side of a form."""
    sides = [[array.split() for array in side.split(",")] for side in text.split("->")]
    return tuple(
        tuple((len(w) - ("*" in w[0]), 99 if w[0][-1] in "*+" else len(w)) for w in side)
        for side in sides
    )


def _fits(arrays: Type, counts: _Counts) -> bool:
    """Whether there are as many arrays as in the form, with as many axes."""
    return len(arrays) == len(counts) and all(
        least <= len(a) <= most for a, (least, most) in zip(arrays, counts, strict=True)
    )
