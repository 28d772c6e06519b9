"""Loops: bodies repeated with new weights, and a body that runs along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ncd.errors import MismatchError, NCDError, SizeError
from ncd.language.axes import Array, Axis, Type
from ncd.language.cached_property import lazy_property
from ncd.language.fields import (
    AXIS,
    FLAG,
    NAME,
    SCOPE,
    TERM,
    TERMS,
    ArrayField,
    integer,
    read_fields,
    term_field,
)
from ncd.language.patterns import Binding
from ncd.language.terms import BroadcastSources, Term, Then


@dataclass(frozen=True, repr=False, eq=False)
class Repeat(Term):
    """Bodies in sequence, each with weights of its own; drawn once between round brackets.

    The sizes of the bodies may differ, and a body may leave arrays on the stack for later ones or
    take arrays that earlier ones left.

    Args:
        bodies: The bodies, in the order in which they run.
        name: The attribute of the compiled module that holds them.
        shared: Whether all bodies have the same weights.
        memory: How many of the last inputs are passed to every body, such as the output of the
            encoder to the layers of a decoder.

    Raises:
        SizeError: For no body.
        MismatchError: For bodies whose types do not fit.

    Source: Notebook, figures 26 and 27: brackets with λ = 1 … N.

    >>> from ncd import Id
    >>> str(Repeat((Id("y m, x m") >> Id("y m, x m"),) * 2).cod)
    'y m, x m'
    """

    bodies: tuple[Term, ...] = term_field(TERMS)
    name: str = term_field(NAME, "layers")
    shared: bool = term_field(FLAG, False)
    memory: int = term_field(integer(0, 16), 0)

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.with_context(where="Repeat") from None
        if not self.bodies:
            raise SizeError("a repetition needs at least one body", cure="N = 1", nearest=1)
        self._check_memory()
        self._measure()
        self.body_chain  # noqa: B018

    def _check_memory(self) -> None:
        for body in self.bodies if self.memory else ():
            own = len(body.dom) - self.memory
            if len(body.cod) != own:
                raise MismatchError(
                    f"a body takes {own} arrays beside the memory, but gives {len(body.cod)}",
                    where="Repeat",
                    bound=body.dom.axes,
                    cure="a body that gives as many arrays as it takes beside the memory",
                )

    @property
    def children(self) -> tuple[Term, ...]:
        return self.bodies

    @lazy_property
    def body_chain(self) -> Then:
        """The bodies as steps that also give the memory to the next one."""
        return Then(*(_MemoryPassing(body, self.memory) for body in self.bodies))

    @property
    def dom(self) -> Type:
        return self.body_chain.dom

    @property
    def origins(self) -> BroadcastSources:
        return _without_places(self.body_chain.origins, self._memory_at)

    def _lift(self, inputs: Type) -> Type:
        return Type(_without_places(self.body_chain.infer_outputs(inputs), self._memory_at))

    @property
    def _memory_at(self) -> range:
        end = len(self.bodies[-1].cod)
        return range(end, end + self.memory)


@dataclass(frozen=True, repr=False, eq=False)
class _MemoryPassing(Term):
    """A body that also returns the memory it receives."""

    body: Term = term_field(TERM)
    memory: int = term_field(integer())

    @property
    def dom(self) -> Type:
        return self.body.dom

    @property
    def origins(self) -> BroadcastSources:
        n = len(self.dom)
        return (*self.body.origins, *((i,) for i in range(n - self.memory, n)))

    def _lift(self, inputs: Type) -> Type:
        return Type((*self.body.infer_outputs(inputs), *inputs[len(inputs) - self.memory :]))


def _without_places(values: tuple[Any, ...], places: range) -> tuple[Any, ...]:
    return tuple(value for i, value in enumerate(values) if i not in places)


@dataclass(frozen=True, repr=False, eq=False)
class Scan(Term):
    """A body that runs at every position of an axis, with states passed from each to the next.

    The body takes states, then inputs; it gives the new states, then outputs. The scan takes the
    first states and the inputs with the axis in front, and gives the last states and the outputs
    with the axis. The weights are the same at every position.

    Args:
        body: The term that runs at every position.
        axis: The axis, as text such as ``"t"``.
        name: The name of its submodule; empty for none.
        states: How many of the body's first inputs and outputs are states.

    Raises:
        MismatchError: For a body whose states do not fit, or that has the axis itself.

    Source: ``torch.nn.RNN`` and ``torch.nn.LSTM``, which are scans.

    >>> from ncd import Id
    >>> step = Id("n, n") >> Id("n, n")
    >>> Scan(step, "t").cod
    Type.parse('n, t n')
    """

    body: Term = term_field(TERM)
    axis: ArrayField = term_field(AXIS, "t")
    name: str = term_field(SCOPE, "")
    states: int = term_field(integer(0, 64), 1)

    def __post_init__(self) -> None:
        try:
            read_fields(self)
            self._check()
        except NCDError as error:
            raise error.with_context(where=f"Scan {self.axis}") from None
        self._measure()

    def _check(self) -> None:
        dom, cod, n = self.body.dom, self.body.cod, self.states
        if len(dom) <= n or len(cod) < n:
            raise MismatchError(
                f"its body takes ({dom}) and gives ({cod}), with {n} of them states",
                cure="a body (state, x) -> (state, y)",
            )
        if dom[:n] and [str(a) for a in dom[:n]] != [str(a) for a in cod[:n]]:
            raise MismatchError(
                f"its body takes the states ({Type(dom[:n])}), but gives ({Type(cod[:n])})",
                bound=dom.axes,
                cure="a body that gives its states as it takes them",
            )
        if any(self.axis[0].name in array.names for array in (*dom, *cod)):
            raise MismatchError(
                f"its body has the axis {self.axis[0].name} itself", cure="another name for one"
            )

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)

    def _with_axis(self, array: Array) -> Array:
        return array.with_axes((*self.axis, *array))

    @lazy_property
    def dom(self) -> Type:
        dom, n = self.body.dom, self.states
        return Type((*dom[:n], *map(self._with_axis, dom[n:])))

    @property
    def origins(self) -> BroadcastSources:
        return self.body.origins

    def body_inputs(self, inputs: Type) -> tuple[Type, int]:
        """Returns the inputs of the body at one position, and the place of the axis in them."""
        name, n = self.axis[0].name, self.states
        sequences = inputs[n:]
        for array in sequences:
            if name not in array.names:
                raise MismatchError(
                    f"it runs along {name}, but the array ({array}) has no such axis",
                    where=f"Scan {self.axis}",
                    bound=inputs.axes,
                    cure=f"an array such as ({self._with_axis(array)})",
                )
        place = sequences[0].names.index(name)
        bare = (a.with_axes(x for x in a if x.name != name) for a in sequences)
        return Type((*inputs[:n], *bare)), place

    def sized_axis(self, inputs: Type) -> Axis:
        """Returns the axis with the size that it has in the inputs."""
        binding = Binding()
        for array in inputs[self.states :]:
            binding.unify(self.axis[0], array[array.names.index(self.axis[0].name)])
        return binding[self.axis[0].name]

    def _lift(self, inputs: Type) -> Type:
        inner, place = self.body_inputs(inputs)
        out, axis, n = self.body.infer_outputs(inner), self.sized_axis(inputs), self.states
        if any(not _same_names(a, b) for a, b in zip(inner[:n], out[:n], strict=True)):
            raise MismatchError(
                f"the states come as ({Type(inner[:n])}) and leave as ({Type(out[:n])})",
                where=f"Scan {self.axis}",
                bound=inputs.axes,
                cure="first states with every axis of the inputs, a batch axis as well",
            )
        return Type((*out[:n], *(_insert_axis(array, place, axis) for array in out[n:])))


def _same_names(a: Array, b: Array) -> bool:
    return a.names == b.names


def _insert_axis(array: Array, place: int, axis: Axis) -> Array:
    return array.with_axes((*array[:place], axis, *array[place:]))
