"""Ops: the generators of the language, and the sites at which they stand."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from ncd.axes import Array, Axis, Signature, Type
from ncd.binding import Binding, match, union
from ncd.errors import MismatchError, NCDError, ParseError, shown
from ncd.terms import Term, check_name

if TYPE_CHECKING:
    from torch import nn

    from ncd.ops.spec import Code, Glyph, Run


@dataclass(frozen=True)
class Site:
    """Where an op stands: its own axes with their sizes, and the whole arrays around them."""

    dom: Type
    cod: Type
    ins: Type
    outs: Type

    @property
    def axes(self) -> tuple[Axis, ...]:
        seen = {axis.name: axis for axis in (*self.ins.axes, *self.outs.axes)}
        return tuple(seen.values())

    def size(self, name: str) -> int:
        """How many positions the axis of this name has."""
        return next(axis.numel for axis in self.axes if axis.name == name)


class Op(Term):
    """A generator: a frozen dataclass that answers the same few questions in one place.

    ``role`` is its colour, ``label`` its name in words. A learned op also has a ``name`` (the
    attribute of the compiled module). Everything it answers is plain data, or a torch call.
    """

    role: ClassVar[str] = "neutral"
    form: ClassVar[str] = ""  # how it is written; m* is any number of axes, m+ one or more

    def __post_init__(self) -> None:
        parsers: dict[str, Any] = {"Signature": Signature, "Array": Array}
        for f in fields(self):  # type: ignore[arg-type]
            value, parser = getattr(self, f.name), parsers.get(str(f.type))
            if parser and not isinstance(value, parser | str):
                raise ParseError(
                    f"{shown(value)} is no {f.type}", where=type(self).__name__, cure='"y m"'
                )
            if parser and isinstance(value, str):
                object.__setattr__(self, f.name, parser.parse(value))
        self._check_form()
        check_name(getattr(self, "name", "layer"), type(self).__name__)

    def _check_form(self) -> None:
        if not self.form:
            return
        own = getattr(self, fields(self)[0].name)  # type: ignore[arg-type]
        sides = (Type((own,)),) if isinstance(own, Array) else (own.dom, own.cod)
        wanted = [[array.split() for array in s.split(",")] for s in self.form.split("->")]
        if [_fits(*side) for side in zip(sides, wanted, strict=True)] != [True] * len(sides):
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
        return Array()

    def origins(self, output: int) -> tuple[int, ...]:
        return (0,) if len(self.dom) == 1 else ()

    def lift(self, inputs: Type) -> Type:
        known: dict[Type, Type] = self.__dict__.setdefault("_lifted", {})
        if inputs not in known:  # every term around this one asks again
            known[inputs] = self.site(inputs).outs
        return known[inputs]

    def site(self, inputs: Type) -> Site:
        """The op on these arrays: matches its own axes, solves for new ones, keeps the others."""
        binding = Binding()
        try:
            rests = [match(p, a, binding) for p, a in zip(self.dom, inputs, strict=True)]
            for axis in (*self.signature.dom.axes, *self.signature.cod.axes):
                if axis.size is not None:
                    binding.meet(axis, axis)
            self.solve(binding)
            before = union(rest[0] for rest in rests)
            after = union(rest[1] for rest in rests)
            outs = Type(self._spread(before, array, after, binding) for array in self.signature.cod)
        except NCDError as error:
            where = f"{self.label} ({self.signature})"
            raise error.at(where=where, bound=[*inputs.axes, *binding.values()], op=self) from None
        return Site(
            dom=Type(map(binding.resolve, self.dom)),
            cod=Type(map(binding.resolve, self.signature.cod)),
            ins=Type(map(binding.resolve, inputs)),
            outs=outs,
        )

    def _spread(self, before: Array, array: Array, after: Array, binding: Binding) -> Array:
        out = Array((*before, *array, *after))
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
        """Checks the sizes bound so far, and binds the axes whose size follows from them."""

    def layer(self, site: Site) -> nn.Module | None:
        """The torch layer with this op's parameters, on the meta device, if it learns any."""
        return None

    def run(self, site: Site) -> Run:
        """A function from the layer (or None) and the input tensors to the output tensors."""
        raise NotImplementedError

    def glyph(self, site: Site) -> Glyph:
        """How it is drawn, as primitives on the wires of the site."""
        raise NotImplementedError

    def code(self, site: Site) -> Code:
        """Its lines of PyTorch."""
        raise NotImplementedError

    def flops(self, site: Site) -> int:
        """Floating-point operations of one forward pass, as torch's FlopCounterMode counts them."""
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


def _fits(arrays: Type, form: list[list[str]]) -> bool:
    """Whether there are as many arrays as in the form, with as many axes."""
    counts = [
        (len(words) - ("*" in words[0]), 99 if words[0][-1] in "*+" else len(words))
        for words in form
    ]
    return len(arrays) == len(counts) and all(
        least <= len(array) <= most for array, (least, most) in zip(arrays, counts, strict=True)
    )
