"""Blocks with title and role, and equations between terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.errors import MismatchError, NCDError, unknown_name_error
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.cached_property import lazy_property
from ncd.language.fields import (
    FLAG,
    OPTIONAL_SIGNATURE,
    SCOPE,
    TERM,
    TERMS,
    TEXT,
    StatedField,
    choice,
    read_fields,
    term_field,
)
from ncd.language.patterns import Binding
from ncd.language.terms import BroadcastSources, Id, Term, Then, check_some
from ncd.language.wire import Wire

# --- Roles of the parts of a system; a role has the same colour in every view

ROLES = (
    "activate",
    "concat",
    "convolution",
    "copy",
    "data",
    "diagonal",
    "einsum",
    "folded",
    "index",
    "linear",
    "mask",
    "model",
    "module",
    "neutral",
    "note",
    "operation",
    "repeat",
    "reshape",
    "residual",
    "scale",
    "shortcut",
    "softmax",
    "transpose",
    "weighted",
    "window",
)


def check_role(role: str, where: str) -> None:
    """Raises UnknownNameError, with the nearest name, for a role that is not in ``ROLES``."""
    if role not in ROLES:
        raise unknown_name_error("role", role, ROLES, where)


# --- Blocks, which fence a part of a term, and equations between terms


@dataclass(frozen=True, repr=False, eq=False)
class Block(Term):
    """A fenced part of a term, with a title and a colour; it collapses to a named box.

    Args:
        body: The part.
        title: The title of the fence.
        role: The role that chooses its colour, one of ``ncd.language.blocks.ROLES``.
        name: The name of its submodule, such as ``self_attn`` in ``encoder.0.self_attn.Q``; empty
            for none.
        type: The type that it must have, such as ``"a b -> a b"``.
        local: Whether its names for axes are its own: they stand for the last axes of its inputs,
            by position, whatever those are called outside.

    Raises:
        UnknownNameError: For a role that does not exist.
        MismatchError: If it has another type than the one stated.

    Source: Notebook, figures 20 and 26: fenced regions, each a module of its own.

    >>> Block(Id("a b"), "Part", type="a b -> a b").cod
    Type.parse('a b')
    """

    body: Term = term_field(TERM)
    title: str = term_field(TEXT, "")
    role: str = term_field(TEXT, "neutral")
    name: str = term_field(SCOPE, "")
    type: StatedField = term_field(OPTIONAL_SIGNATURE, None)
    local: bool = term_field(FLAG, False)

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.with_context(where="Block") from None
        check_role(self.role, self._error_place)
        self._measure()
        self.dom  # the type is checked once, here  # noqa: B018

    @property
    def _error_place(self) -> str:
        return f"Block {self.title!r}" if self.title else "Block"

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)

    @lazy_property
    def dom(self) -> Type:
        if self.type is None:
            return self.body.dom
        return check_stated(self.body, self.type, self._error_place)

    @property
    def origins(self) -> BroadcastSources:
        return self.body.origins

    def infer_outputs(self, inputs: Type) -> Type:
        return super().infer_outputs(inputs) if self.local else self.body.infer_outputs(inputs)

    def _lift(self, inputs: Type) -> Type:
        inner, names = self.to_local(inputs)
        return self.to_outer(self.body.infer_outputs(inner), names)

    def to_local(self, inputs: Type) -> tuple[Type, dict[str, Axis]]:
        """Returns the inputs with the names of the body, and the outer axis of each name.

        Raises MismatchError for a name that would stand for two axes.
        """
        names: dict[str, Axis] = {}
        arrays = []
        for pattern, given in zip(self.dom, inputs, strict=True):
            n = len(given) - len(pattern)
            if n < 0:
                raise self._mismatch_error(
                    f"it takes ({pattern}), but the array is ({given})", inputs
                )
            for own, outer in zip(pattern, given[n:], strict=True):
                if names.setdefault(own.name, outer).name != outer.name:
                    other = names[own.name].name
                    fact = f"its axis {own.name} stands for {other} and for {outer.name}"
                    raise self._mismatch_error(fact, inputs)
            mine = (replace(o, name=p.name) for p, o in zip(pattern, given[n:], strict=True))
            arrays.append(given.with_axes((*given[:n], *mine)))
        for array, pattern in zip(arrays, self.dom, strict=True):
            for axis in array[: len(array) - len(pattern)]:
                if axis.name in names:
                    raise self._mismatch_error(
                        f"axis {axis.name} stands inside and outside", inputs
                    )
        return Type(arrays), names

    def to_outer(self, outputs: Type, names: dict[str, Axis]) -> Type:
        """Returns the outputs of the body with the names that are used around the block."""
        arrays = Type(
            array.with_axes(
                replace(axis, name=names[axis.name].name) if axis.name in names else axis
                for axis in array
            )
            for array in outputs
        )
        for array in arrays:
            if len(set(array.names)) < len(array):
                raise self._mismatch_error(f"an axis would stand twice in ({array})", arrays)
        return arrays

    def _mismatch_error(self, fact: str, arrays: Type) -> MismatchError:
        cure = "another name inside"
        return MismatchError(fact, where=self._error_place, bound=arrays.axes, cure=cure)


def check_stated(term: Term, stated: Signature, where: str) -> Type:
    """Returns the inputs of the stated type, with the sizes that the term knows.

    The type may have more axes than the term is written for. Raises MismatchError if the term
    takes or gives other arrays.
    """
    binding = Binding()
    try:
        for axis in term.dom.axes:
            binding.unify(axis, axis)
    except NCDError as error:
        raise error.with_context(where=where, bound=term.dom.axes) from None
    dom = Type(map(binding.with_known_sizes, stated.dom))
    what, is_, says = "takes", term.dom, stated.dom
    if len(dom) == len(term.dom):
        try:
            gives = term.infer_outputs(dom)
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
    """Terms that are claimed to be equal, which run on the same inputs.

    Its outputs are those of every side, in order. Layers of one name are one layer on all sides.
    :func:`ncd.prove` measures how far the sides differ.

    Args:
        sides: The terms, of one type.
        sign: ``=``, or ``≝`` for a definition.

    Raises:
        MismatchError: If two sides have different types.

    Source: Notebook, figures 9 to 11 and 18.

    >>> str(Equation(Id("m"), Id("m")).cod)
    'm, m'
    """

    sides: tuple[Term, ...] = term_field(TERMS)
    sign: str = term_field(choice("=", "≝"), "=")
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
    def origins(self) -> BroadcastSources:
        return tuple(sources for side in self.sides for sources in side.origins)

    def _lift(self, inputs: Type) -> Type:
        try:
            shared = Wire(Signature(self.dom, self.dom)).infer_outputs(
                inputs
            )  # the inputs of all sides
        except NCDError as error:
            error.where = "Equation"
            raise
        return Type(array for side in self.sides for array in side.infer_outputs(shared))


def abreast(*maps: Term) -> Then:
    """Returns the outer product of maps: all on one array, each on axes of its own.

    Args:
        maps: Terms from one array to one array.

    Raises:
        MismatchError: If a map takes or gives several arrays, or two share an axis.

    Source: Notebook, figure 18.

    >>> from ncd.ops import Linear
    >>> str(abreast(Linear("a -> c", "F"), Linear("b -> d", "G")).dom)
    'a b'
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
