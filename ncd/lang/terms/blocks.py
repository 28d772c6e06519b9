"""Blocks, which fence a part of a term, and equations, which hold terms beside each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.lang.errors import MismatchError, NCDError
from ncd.lang.once import once
from ncd.lang.roles import check_role
from ncd.lang.terms.chain_typing import Origins
from ncd.lang.terms.field_spelling import FLAG, SCOPE, STATED, TEXT, choice, read_fields, spelled
from ncd.lang.terms.field_values import TERM, TERMS
from ncd.lang.terms.terms import Id, Term, Then, check_some
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding


@dataclass(frozen=True, repr=False, eq=False)
class Block(Term):
    """A fence with a title and a colour by role; what it holds folds to a named box.

    With a ``name`` it is a submodule, ``self_attn`` in ``encoder.0.self_attn.Q``. ``type`` states
    what it takes and gives, and is checked. If ``local``, its names for axes are its own: they
    stand for the last axes of what it is given, by place, and the names outside do not matter.

    >>> Block(Id("a b"), "Part", type="a b -> a b").cod
    Type.parse('a b')

    Raises UnknownNameError for a role that is not one of ``ncd.lang.roles.ROLES``, and
    MismatchError if the type is another than the one stated.
    """

    body: Term = spelled(TERM)
    title: str = spelled(TEXT, "")
    role: str = spelled(TEXT, "neutral")
    name: str = spelled(SCOPE, "")
    type: Signature | None = spelled(STATED, None)
    local: bool = spelled(FLAG, False)

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.at(where="Block") from None
        check_role(self.role, self._where)
        self._measure()
        self.dom  # the type is checked once, here  # noqa: B018

    @property
    def _where(self) -> str:
        return f"Block {self.title!r}" if self.title else "Block"

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)

    @once
    def dom(self) -> Type:
        if self.type is None:
            return self.body.dom
        return check_stated(self.body, self.type, self._where)

    @property
    def origins(self) -> Origins:
        return self.body.origins

    def lift(self, inputs: Type) -> Type:
        return super().lift(inputs) if self.local else self.body.lift(inputs)

    def _lift(self, inputs: Type) -> Type:
        inner, names = self.inside(inputs)
        return self.outside(self.body.lift(inner), names)

    def inside(self, inputs: Type) -> tuple[Type, dict[str, Axis]]:
        """What the body sees of these arrays, if its names are its own; and what they stand for."""
        names: dict[str, Axis] = {}
        arrays = []
        for pattern, given in zip(self.dom, inputs, strict=True):
            n = len(given) - len(pattern)
            if n < 0:
                raise self._wrong(f"it takes ({pattern}), but the array is ({given})", inputs)
            for own, outer in zip(pattern, given[n:], strict=True):
                if names.setdefault(own.name, outer).name != outer.name:
                    other = names[own.name].name
                    fact = f"its axis {own.name} stands for {other} and for {outer.name}"
                    raise self._wrong(fact, inputs)
            mine = (replace(o, name=p.name) for p, o in zip(pattern, given[n:], strict=True))
            arrays.append(given.with_axes((*given[:n], *mine)))
        for array, pattern in zip(arrays, self.dom, strict=True):
            for axis in array[: len(array) - len(pattern)]:
                if axis.name in names:
                    raise self._wrong(f"axis {axis.name} stands inside and outside", inputs)
        return Type(arrays), names

    def outside(self, outputs: Type, names: dict[str, Axis]) -> Type:
        """The arrays that the body gives, by the names that they have around the block."""
        found = Type(
            array.with_axes(
                replace(axis, name=names[axis.name].name) if axis.name in names else axis
                for axis in array
            )
            for array in outputs
        )
        for array in found:
            if len(set(array.names)) < len(array):
                raise self._wrong(f"an axis would stand twice in ({array})", found)
        return found

    def _wrong(self, fact: str, arrays: Type) -> MismatchError:
        cure = "another name inside"
        return MismatchError(fact, where=self._where, bound=arrays.axes, cure=cure)


def check_stated(term: Term, stated: Signature, where: str) -> Type:
    """The arrays that a term takes by the type that is stated for it, with the sizes it knows.

    A term may be stated to work on more axes than it is written for. Raises MismatchError if it
    takes or gives other arrays than the type says.
    """
    binding = Binding()
    try:
        for axis in term.dom.axes:
            binding.meet(axis, axis)
    except NCDError as error:
        raise error.at(where=where, bound=term.dom.axes) from None
    dom = Type(map(binding.resolve, stated.dom))
    what, is_, says = "takes", term.dom, stated.dom
    if len(dom) == len(term.dom):
        try:
            gives = term.lift(dom)
        except NCDError:
            pass
        else:
            if [str(array) for array in gives] == [str(array) for array in stated.cod]:
                return dom
            what, is_, says = "gives", gives, stated.cod
    raise MismatchError(
        f"it {what} ({is_}), but its type says ({says})",
        where=where,
        bound=is_.axes,
        cure=f'type="{term.dom} -> {term.cod}", or other steps',
    )


@dataclass(frozen=True, repr=False, eq=False)
class Equation(Term):
    """Terms of one type that give the same; as a term it runs all sides on the same inputs.

    ``sign`` is ``=``, or ``≝`` for a definition. Layers of one name are one layer on all sides.
    :func:`ncd.prove` says how far the sides are apart. What it gives are the outputs of every
    side, one after the other.

    >>> str(Equation(Id("m"), Id("m")).cod)
    'm, m'

    Raises MismatchError if two sides are of different types.
    """

    sides: tuple[Term, ...] = spelled(TERMS)
    sign: str = spelled(choice("=", "≝"), "=")
    variadic: ClassVar[str] = "sides"

    def __init__(self, *sides: Term, sign: str = "=") -> None:
        check_some(sides, "Equation")
        object.__setattr__(self, "sides", tuple(sides))
        object.__setattr__(self, "sign", sign)
        read_fields(self)
        self._measure()
        first = sides[0]
        for side in sides[1:]:
            check_stated(side, Signature(first.dom, first.cod), "Equation")
        self.cod  # noqa: B018

    @property
    def children(self) -> tuple[Term, ...]:
        return self.sides

    @property
    def dom(self) -> Type:
        return self.sides[0].dom

    @property
    def origins(self) -> Origins:
        return tuple(sources for side in self.sides for sources in side.origins)

    def _lift(self, inputs: Type) -> Type:
        try:
            shared = Wire(Signature(self.dom, self.dom)).lift(inputs)  # what all sides take
        except NCDError as error:
            error.where = "Equation"
            raise
        return Type(array for side in self.sides for array in side.lift(shared))


def abreast(*maps: Term) -> Then:
    """Maps side by side on one array, each on axes of its own: figure 18's outer product of maps.

    >>> from ncd.ops import Linear
    >>> str(abreast(Linear("a -> c", "F"), Linear("b -> d", "G")).dom)
    'a b'

    Raises MismatchError if a map takes or gives several arrays, or two share an axis.
    """
    check_some(maps, "abreast")
    axes: list[Axis] = []
    for term in maps:
        if len(term.dom) != 1 or len(term.cod) != 1:
            raise MismatchError(
                f"a map takes ({term.dom}) and gives ({term.cod})",
                where="abreast",
                cure="maps of one array each",
            )
        shared = {axis.name for axis in axes} & set(term.dom[0].names)
        if shared:
            raise MismatchError(
                f"two maps take the axis {min(shared)}", where="abreast", cure="axes of their own"
            )
        axes += term.dom[0]
    return Then(Id(Type((Array(axes),))), *maps)
