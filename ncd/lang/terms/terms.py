"""Terms: a system written once. Ops (generators), and the structure that joins them.

``f >> g`` is "then", ``f @ g`` is "beside". A term's arrays form a stack, the first on top: each
step takes the arrays it wants from the top, and what it does not want passes on below. What a step
wants and the steps before do not produce is taken in from the left. So a skip array waits until the
step that takes it. An op is written on the axes that it is about; it is broadcast over every other
axis of its array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from ncd.lang.errors import LimitError, NCDError, ParseError
from ncd.lang.once import once
from ncd.lang.terms.chain_typing import Flow, Origins, chained
from ncd.lang.terms.field_spelling import (
    TYPE,
    Spelling,
    field_names,
    read_fields,
    spelled,
    spelling,
)
from ncd.lang.types.axes import Array, Type
from ncd.lang.types.pattern_binding import Binding, match

DEPTH = 200  # terms in terms; Python itself can walk about five times as many
COUNT = 50_000  # ops of one term
CACHED = {"_lifted", "_sites", "_circuit", "_hash"}  # a text's hash differs between processes
KEPT = 256  # types on which a term remembers what it gives


class Term:
    """What every term answers: its type, and its type on given arrays.

    ``dom`` and ``cod`` are the least general types that the term is written for; ``lift`` gives the
    codomain on arrays with more axes. ``origins`` names, for each output, the inputs that have
    every axis over which it is broadcast; none where an axis could come from one or the other, as
    in an einsum. ``depth`` and ``count`` say how large the term is.
    """

    variadic: ClassVar[str] = ""  # the field that is given as positional arguments
    depth: int = 1
    count: int = 0

    @property
    def dom(self) -> Type:
        raise NotImplementedError

    @once
    def cod(self) -> Type:
        return self.lift(self.dom)

    @property
    def origins(self) -> Origins:
        raise NotImplementedError

    def lift(self, inputs: Type) -> Type:
        """The arrays that come out when ``inputs`` go in; raises MismatchError."""
        known: dict[Type, Type] = self.__dict__.setdefault("_lifted", {})
        found = known.get(inputs)
        if found is None:  # every term around this one asks again
            found = self._lift(inputs)
            keep(known, inputs, found)
        return found

    def _lift(self, inputs: Type) -> Type:
        raise NotImplementedError

    @property
    def children(self) -> tuple[Term, ...]:
        """The terms that this one is made of."""
        return ()

    def _measure(self) -> None:
        """Counts what the term holds; raises LimitError for one that nothing could walk."""
        depth = 1 + max([part.depth for part in self.children], default=0)
        count = sum([part.count for part in self.children])
        _check_limits(depth, count)
        self.__dict__.update(depth=depth, count=count)

    def __rshift__(self, other: Term) -> Then:
        if not isinstance(other, Term):
            return NotImplemented
        return Then.joined(self, other)

    def __matmul__(self, other: Term) -> Beside:
        if not isinstance(other, Term):
            return NotImplemented
        return Beside(*_parts(self), *_parts(other))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        names = field_names(type(self))
        return hash(self) == hash(other) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    def __hash__(self) -> int:
        if "_hash" not in self.__dict__:
            values = tuple([getattr(self, name) for name in field_names(type(self))])
            self.__dict__["_hash"] = hash((type(self).__name__, values))
        known: int = self.__dict__["_hash"]
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in CACHED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        given = [f for f in fields(self) if f.name != self.variadic]  # type: ignore[arg-type]
        words = [repr(part) for part in getattr(self, self.variadic, ())]
        while given and getattr(self, given[-1].name) == given[-1].default:
            given.pop()
        for f in given:
            text = spelling(f).literal(getattr(self, f.name))
            words.append(f"{f.name}={text}" if self.variadic else text)
        return f"{type(self).__name__}({', '.join(words)})"


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Keeps what was found, among the last ones; an op that is used again and again forgets."""
    if len(known) >= KEPT:
        known.clear()
    known[key] = value


def _check_limits(depth: int, count: int) -> None:
    if depth > DEPTH:
        raise LimitError(f"the term is nested more than {DEPTH} deep", cure="a flatter term")
    if count > COUNT:
        raise LimitError(f"the term has more than {COUNT:,} ops", cure="fewer")


def _read_term(value: Any, name: str) -> Term:
    if not isinstance(value, Term):
        raise ParseError(f"{name} is no term", cure='a term such as Id("m")')
    return value


def _read_terms(value: Any, name: str) -> tuple[Term, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParseError(f"{name} is no list of terms", cure='terms such as (Id("m"),)')
    return tuple(_read_term(item, name) for item in value)


TERM = Spelling("a term", _read_term)
TERMS = Spelling("a list of terms", _read_terms)


@dataclass(frozen=True, repr=False, eq=False)
class Id(Term):
    """Arrays that pass on unchanged.

    >>> str(Id("y m, x m").cod)
    'y m, x m'
    """

    type: Type = spelled(TYPE)

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def dom(self) -> Type:
        return self.type

    @property
    def origins(self) -> Origins:
        return tuple((i,) for i in range(len(self.type)))

    def _lift(self, inputs: Type) -> Type:
        binding = Binding()
        try:
            for pattern, given in zip(self.type, inputs, strict=True):
                match(pattern, given, binding, any_kind=True)
        except NCDError as error:
            raise error.at(where=f"Id ({self.type})", bound=inputs.axes) from None
        arrays = zip(self.type, inputs, strict=True)
        return Type(
            _marked(binding.own(pattern, given), pattern, given) for pattern, given in arrays
        )


@dataclass(frozen=True, repr=False, eq=False)
class Then(Term):
    """Steps one after the other; ``f >> g`` makes one, and joins steps so that grouping is free."""

    steps: tuple[Term, ...] = spelled(TERMS)
    variadic: ClassVar[str] = "steps"

    def __init__(self, *steps: Term) -> None:
        check_some(steps, "Then")
        self._set(tuple(s for step in steps for s in _steps(step)))
        self.flow  # types are checked once, here  # noqa: B018

    @staticmethod
    def joined(left: Term, right: Term) -> Then:
        """``left >> right``; only the steps of ``right`` are typed anew."""
        term = Then.__new__(Then)
        before, more = _steps(left), _steps(right)
        term._set((*before, *more))
        start = left.flow if isinstance(left, Then) else Flow(left.dom, left.cod, left.origins)
        term.__dict__["flow"] = chained(start, before, more)
        return term

    def _set(self, steps: tuple[Term, ...]) -> None:
        object.__setattr__(self, "steps", steps)
        self._measure()

    @property
    def children(self) -> tuple[Term, ...]:
        return self.steps

    @once
    def flow(self) -> Flow:
        """Its type, and where each output comes from."""
        return chained(Flow(Type(), Type(), ()), (), self.steps)

    @property
    def dom(self) -> Type:
        return self.flow.dom

    @property
    def cod(self) -> Type:
        return self.flow.cod

    @property
    def origins(self) -> Origins:
        return self.flow.origins

    def _lift(self, inputs: Type) -> Type:
        state = inputs
        for step in self.steps:
            n = len(step.dom)
            state = Type((*step.lift(Type(state[:n])), *state[n:]))
        return state

    def __repr__(self) -> str:
        steps = " >> ".join(map(repr, self.steps))
        return steps if len(self.steps) > 1 else f"Then({steps})"


@dataclass(frozen=True, repr=False, eq=False)
class Beside(Term):
    """Parts one above the other, each on its own arrays; ``f @ g`` makes one."""

    parts: tuple[Term, ...] = spelled(TERMS)
    variadic: ClassVar[str] = "parts"

    def __init__(self, *parts: Term) -> None:
        check_some(parts, "Beside")
        object.__setattr__(self, "parts", tuple(p for part in parts for p in _parts(part)))
        self._measure()

    @property
    def children(self) -> tuple[Term, ...]:
        return self.parts

    @once
    def dom(self) -> Type:
        return Type(array for part in self.parts for array in part.dom)

    @once
    def origins(self) -> Origins:
        found: list[tuple[int, ...]] = []
        start = 0
        for part in self.parts:
            found += [tuple([start + source for source in sources]) for sources in part.origins]
            start += len(part.dom)
        return tuple(found)

    def split(self, inputs: tuple[Any, ...]) -> Iterator[tuple[Term, tuple[Any, ...]]]:
        """Each part with its share of the inputs."""
        start = 0
        for part in self.parts:
            end = start + len(part.dom)
            yield part, inputs[start:end]
            start = end

    def _lift(self, inputs: Type) -> Type:
        return Type(array for part, own in self.split(inputs) for array in part.lift(Type(own)))

    def __repr__(self) -> str:
        parts = " @ ".join(f"({p!r})" if isinstance(p, Then) else repr(p) for p in self.parts)
        return parts if len(self.parts) > 1 else f"Beside({parts})"


def _marked(array: Array, *own: Array) -> Array:
    """The array with the marks of its own axes, whatever those of the arrays beside it are."""
    marks = {axis.name for other in own for axis in other if axis.sequence}
    return array.with_axes(
        axis
        if axis.sequence == (axis.name in marks)
        else replace(axis, sequence=axis.name in marks)
        for axis in array
    )


def check_some(terms: tuple[Term, ...], where: str) -> None:
    if not terms or not all(isinstance(term, Term) for term in terms):
        raise ParseError("it takes one term or more", where=where, cure=f'{where}(Id("m"))')


def _steps(term: Term) -> tuple[Term, ...]:
    return term.steps if isinstance(term, Then) else (term,)


def _parts(term: Term) -> tuple[Term, ...]:
    return term.parts if isinstance(term, Beside) else (term,)
