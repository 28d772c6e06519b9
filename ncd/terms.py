"""Terms: a system written once. Ops (generators), and the structure that joins them.

``f >> g`` is "then", ``f @ g`` is "beside". A term's arrays form a stack, the first on top: each
step takes the arrays it wants from the top, and what it does not want passes on below. What a step
wants and the steps before do not produce is taken in from the left. So a skip array waits until the
step that takes it. An op is written on the axes that it is about; it is broadcast over every other
axis of its array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ncd.axes import Array, Axis, Marked, Signature, Type, sized
from ncd.binding import Binding, match
from ncd.errors import NCDError, ParseError, SizeError

if TYPE_CHECKING:
    pass


class Term:
    """What every term answers: its type, and its type on given arrays.

    ``dom`` and ``cod`` are the least general types that the term is written for; ``lift`` gives the
    codomain on arrays with more axes.
    """

    @property
    def dom(self) -> Type:
        raise NotImplementedError

    @cached_property
    def cod(self) -> Type:
        return self.lift(self.dom)

    def lift(self, inputs: Type) -> Type:
        """The arrays that come out when ``inputs`` go in; raises MismatchError."""
        raise NotImplementedError

    def origins(self, output: int) -> tuple[int, ...]:
        """The input arrays that have every axis over which an output array is broadcast.

        Empty where an axis could come from one or the other, as in an einsum.
        """
        raise NotImplementedError

    def __rshift__(self, other: Term) -> Then:
        if not isinstance(other, Term):
            return NotImplemented
        return Then(*_steps(self), *_steps(other))

    def __matmul__(self, other: Term) -> Beside:
        if not isinstance(other, Term):
            return NotImplemented
        return Beside(*_parts(self), *_parts(other))

    def __repr__(self) -> str:
        values = [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]
        defaults = [f.default for f in fields(self)]  # type: ignore[arg-type]
        while values and values[-1] == defaults[len(values) - 1]:
            values.pop()
        return f"{type(self).__name__}({', '.join(map(_literal, values))})"


@dataclass(frozen=True, repr=False)
class Id(Term):
    """Arrays that pass on unchanged.

    >>> str(Id("y m, x m").cod)
    'y m, x m'
    """

    type: Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", Type.parse(self.type))

    @property
    def dom(self) -> Type:
        return self.type

    def lift(self, inputs: Type) -> Type:
        binding = Binding()
        try:
            for pattern, given in zip(self.type, inputs, strict=True):
                match(pattern, given, binding)
        except NCDError as error:
            raise error.at(where=f"Id ({self.type})", bound=inputs.axes) from None
        arrays = zip(self.type, inputs, strict=True)
        return Type(_marked(binding.resolve(given), pattern, given) for pattern, given in arrays)

    def origins(self, output: int) -> tuple[int, ...]:
        return (output,)


@dataclass(frozen=True, repr=False)
class Then(Term):
    """Steps one after the other; ``f >> g`` makes one, and joins steps so that grouping is free."""

    steps: tuple[Term, ...]

    def __init__(self, *steps: Term) -> None:
        _check_some(steps, "Then")
        object.__setattr__(self, "steps", tuple(s for step in steps for s in _steps(step)))
        _ = self.cod  # types are checked once, here

    @cached_property
    def dom(self) -> Type:
        inputs: list[Array] = []
        while (wider := self._widened(inputs)) is not None:
            inputs = wider
        return Type(inputs)

    def _widened(self, inputs: list[Array]) -> list[Array] | None:
        """The inputs with what some step still misses, or None when every step has all it wants."""
        state = Type(inputs)
        origins: list[tuple[int, ...]] = [(i,) for i in range(len(inputs))]
        for step in self.steps:
            if len(step.dom) > len(state):
                return [*inputs, *step.dom[len(state) :]]
            for have, want, sources in zip(state, step.dom, origins, strict=False):
                wider = _widen(have, want)
                if wider and sources:
                    before, after = wider
                    return [
                        Array((*before, *old, *after)) if i in sources else old
                        for i, old in enumerate(inputs)
                    ]
            state, origins = self._advance(step, state, origins)
        return None

    @staticmethod
    def _advance(
        step: Term, state: Type, origins: list[tuple[int, ...]]
    ) -> tuple[Type, list[tuple[int, ...]]]:
        n = len(step.dom)
        out = step.lift(Type(state[:n]))
        carried = [
            tuple(dict.fromkeys(i for source in step.origins(o) for i in origins[source]))
            for o in range(len(out))
        ]
        return Type((*out, *state[n:])), [*carried, *origins[n:]]

    def lift(self, inputs: Type) -> Type:
        state = inputs
        for step in self.steps:
            n = len(step.dom)
            state = Type((*step.lift(Type(state[:n])), *state[n:]))
        return state

    def origins(self, output: int) -> tuple[int, ...]:
        state = self.dom
        origins: list[tuple[int, ...]] = [(i,) for i in range(len(state))]
        for step in self.steps:
            state, origins = self._advance(step, state, origins)
        return origins[output]

    def __repr__(self) -> str:
        steps = " >> ".join(map(repr, self.steps))
        return steps if len(self.steps) > 1 else f"Then({steps})"


@dataclass(frozen=True, repr=False)
class Beside(Term):
    """Parts one above the other, each on its own arrays; ``f @ g`` makes one."""

    parts: tuple[Term, ...]

    def __init__(self, *parts: Term) -> None:
        _check_some(parts, "Beside")
        object.__setattr__(self, "parts", tuple(p for part in parts for p in _parts(part)))
        _ = self.cod

    @cached_property
    def dom(self) -> Type:
        return Type(array for part in self.parts for array in part.dom)

    def split(self, inputs: tuple[Any, ...]) -> Iterator[tuple[Term, tuple[Any, ...]]]:
        """Each part with its share of the inputs."""
        start = 0
        for part in self.parts:
            end = start + len(part.dom)
            yield part, inputs[start:end]
            start = end

    def lift(self, inputs: Type) -> Type:
        return Type(array for part, own in self.split(inputs) for array in part.lift(Type(own)))

    def origins(self, output: int) -> tuple[int, ...]:
        start = 0
        for part in self.parts:
            if output < len(part.cod):
                return tuple(start + source for source in part.origins(output))
            start, output = start + len(part.dom), output - len(part.cod)
        raise IndexError(output)

    def __repr__(self) -> str:
        parts = " @ ".join(f"({p!r})" if isinstance(p, Then) else repr(p) for p in self.parts)
        return parts if len(self.parts) > 1 else f"Beside({parts})"


@dataclass(frozen=True, repr=False)
class Block(Term):
    """A fence with a title and a colour by role; what it holds folds to a named box."""

    body: Term
    title: str
    role: str = "neutral"

    @property
    def dom(self) -> Type:
        return self.body.dom

    def lift(self, inputs: Type) -> Type:
        return self.body.lift(inputs)

    def origins(self, output: int) -> tuple[int, ...]:
        return self.body.origins(output)


@dataclass(frozen=True, repr=False)
class Repeat(Term):
    """Bodies fed one into the next, each with its own weights; drawn once between brackets.

    The sizes of the bodies may differ from one to the next. ``name`` is the attribute under which
    the compiled module keeps them (an ``nn.ModuleList``).
    """

    bodies: tuple[Term, ...]
    name: str = "layers"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", tuple(self.bodies))
        check_name(self.name, "Repeat")
        if not self.bodies:
            raise SizeError("a repetition needs at least one body", cure="N = 1", nearest=1)
        _ = self.cod

    @cached_property
    def chain(self) -> Then:
        return Then(*self.bodies)

    @property
    def dom(self) -> Type:
        return self.chain.dom

    def lift(self, inputs: Type) -> Type:
        return self.chain.lift(inputs)

    def origins(self, output: int) -> tuple[int, ...]:
        return self.chain.origins(output)


class Axes:
    """Sizes for the names of a sketch: ``Axes(y=seq(20), m=128)(term)`` gives the typed term.

    >>> from ncd.axes import seq
    >>> str(Axes(y=seq(20), m=128)(Id("y m")).dom.spec)
    '~y:20 m:128'

    Raises SizeError for an axis without a size, or with one that cannot be; the error carries the
    sketch, so that it can still be drawn, and the op at which it failed.
    """

    def __init__(self, **sizes: int | Marked) -> None:
        self.sizes: Mapping[str, int | Marked] = sizes

    def __call__(self, sketch: Term) -> Term:
        from ncd.circuit import elaborate, require_sizes  # the circuit is built from terms

        try:
            term: Term = rewrite(sketch, lambda axis: sized(axis, self.sizes))
            require_sizes(elaborate(term), self.sizes)
        except NCDError as error:
            error.sketch = sketch
            raise
        return term


def _marked(array: Array, *own: Array) -> Array:
    """The array with the marks of its own axes, whatever those of the arrays beside it are."""
    marks = {axis.name for other in own for axis in other if axis.sequence}
    return Array(
        axis
        if axis.sequence == (axis.name in marks)
        else replace(axis, sequence=axis.name in marks)
        for axis in array
    )


def check_name(name: str, where: str) -> None:
    """Raises ParseError for a name that no attribute of a Python class can have."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        better = re.sub(r"\W", "_", str(name)) or "L"
        cure = better if better.isidentifier() and not iskeyword(better) else f"L_{better}"
        raise ParseError(f"{name!r} is no name for a layer", where=where, cure=cure)


def rewrite(value: Any, change: Callable[[Axis], Axis]) -> Any:
    """A term, type or array with every axis changed; the one walk over a whole term."""
    if isinstance(value, Axis):
        return change(value)
    if isinstance(value, Array | Type):
        return type(value)(rewrite(item, change) for item in value)
    if isinstance(value, tuple):
        return tuple(rewrite(item, change) for item in value)
    if isinstance(value, Signature):
        return Signature(rewrite(value.dom, change), rewrite(value.cod, change))
    if isinstance(value, Then | Beside):
        inner = value.steps if isinstance(value, Then) else value.parts
        return type(value)(*rewrite(inner, change))
    if isinstance(value, Term):
        return type(value)(*(rewrite(getattr(value, f.name), change) for f in fields(value)))  # type: ignore[arg-type]
    return value


def _widen(have: Array, want: Array) -> tuple[Array, Array] | None:
    """The axes that ``have`` lacks, before and after, to contain ``want``; None if it lacks none.

    Also None where that cannot be mended: axes are missing in the middle, or ``have`` has others in
    their place, and then the types do not meet.
    """
    common = [axis.name for axis in want if axis.name in have.names]
    if len(common) == len(want):
        return None
    if not common:
        return None if have else (Array(want), Array())
    first, last = want.names.index(common[0]), want.names.index(common[-1])
    before, after = want[:first], want[last + 1 :]
    others_before = have.names.index(common[0]) > 0
    others_after = have.names.index(common[-1]) < len(have) - 1
    inside = last - first + 1 > len(common)
    if inside or (before and others_before) or (after and others_after):
        return None
    return Array(before), Array(after)


def _check_some(terms: tuple[Term, ...], where: str) -> None:
    if not terms or not all(isinstance(term, Term) for term in terms):
        raise ParseError("it takes one term or more", where=where, cure=f'{where}(Id("m"))')


def _steps(term: Term) -> tuple[Term, ...]:
    return term.steps if isinstance(term, Then) else (term,)


def _parts(term: Term) -> tuple[Term, ...]:
    return term.parts if isinstance(term, Beside) else (term,)


def _literal(value: object) -> str:
    return repr(value.spec) if isinstance(value, Signature | Type | Array) else repr(value)
