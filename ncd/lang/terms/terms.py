"""Terms: ops joined by ``f >> g`` ("then") and ``f @ g`` ("beside").

The arrays of a term form a stack, the first on top. Each step takes its arrays from the top; the
others pass on below it, such as a skip connection that waits for its step. If the stack is too
short, the missing arrays become inputs of the whole term. An op is written on its own axes and is
broadcast over all other axes of its arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ncd.lang.errors import LimitError, NCDError, ParseError
from ncd.lang.once import once
from ncd.lang.terms.call_recording import called
from ncd.lang.terms.chain_typing import Flow, Origins, chained
from ncd.lang.terms.field_spelling import TYPE, TypeField, read_fields, spelled
from ncd.lang.terms.field_values import TERMS, FieldValue, kept
from ncd.lang.types.axes import Array, Type
from ncd.lang.types.pattern_binding import Binding, match

DEPTH = 200  # nested terms; Python itself can walk about five times as many
NODES = 50_000  # ops and structures of one term


class Term(FieldValue):
    """The base of all terms: immutable, hashable, equal by value, with a type.

    ``dom`` and ``cod`` are the types that the term is written for; :meth:`lift` gives the codomain
    on arrays with more axes. ``origins`` has, for each output, the indices of the inputs that have
    every axis that the output is broadcast over; none if that depends on the axis, as in an einsum.
    ``depth``, ``count`` and ``nodes``: how deep it is nested, and how many ops and terms it holds.

    Raises:
        MismatchError: Terms that are joined, but whose types do not fit.
        LimitError: A term that is nested too deep or has too many parts.

    Source: Notebook, section 2.3: diagrams are decomposed vertically and horizontally.

    >>> from ncd.ops import Linear
    >>> term = Linear("m -> k", "Q") @ Linear("m -> k", "K")
    >>> str(term.dom), str(term.cod), term.count
    ('m, m', 'k, k', 2)
    """

    depth, count, nodes = 1, 0, 1

    @property
    def dom(self) -> Type:
        """The arrays that it takes."""
        raise NotImplementedError

    @once
    def cod(self) -> Type:
        """The arrays that it gives."""
        return self.lift(self.dom)

    @property
    def origins(self) -> Origins:
        """For each output the indices of the inputs that have all axes it is broadcast over."""
        raise NotImplementedError

    def lift(self, inputs: Type) -> Type:
        """Returns the outputs on these inputs, which may have more axes; raises MismatchError."""
        return kept(self, "_lifted", inputs, self._lift)  # every term around this one asks again

    def _lift(self, inputs: Type) -> Type:
        raise NotImplementedError

    @property
    def children(self) -> tuple[Term, ...]:
        """The terms directly within this one."""
        return ()

    def _measure(self) -> None:
        """Sets ``depth``, ``count`` and ``nodes``; raises LimitError for one too large to walk."""
        depth = 1 + max([part.depth for part in self.children], default=0)
        count = sum([part.count for part in self.children])
        nodes = 1 + sum([part.nodes for part in self.children])
        if depth > DEPTH:
            raise LimitError(f"the term is nested more than {DEPTH} deep", cure="a flatter term")
        if nodes > NODES:
            raise LimitError(f"the term has more than {NODES:,} parts", cure="fewer")
        self.__dict__.update(depth=depth, count=count, nodes=nodes)

    def __call__(self, *arrays: Any) -> Any:
        """Returns its outputs on named arrays; only inside of :func:`ncd.define`."""
        return called(self, arrays)

    def __rshift__(self, other: Term) -> Then:
        if not isinstance(other, Term):
            return NotImplemented
        return Then.joined(self, other)

    def __matmul__(self, other: Term) -> Beside:
        if not isinstance(other, Term):
            return NotImplemented
        return Beside(*_parts(self), *_parts(other))


@dataclass(frozen=True, repr=False, eq=False)
class Id(Term):
    """The identity: arrays that pass on unchanged.

    Args:
        type: The arrays, as text such as ``"y m, x m"``.

    Raises:
        ParseError: For text that is no type.
        MismatchError: When it is put on arrays that lack its axes.

    Source: Notebook, section 2.3: wires without an operation.

    >>> str(Id("y m, x m").cod)
    'y m, x m'
    """

    type: TypeField = spelled(TYPE)

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
    """Steps one after the other, written ``f >> g``; ``>>`` is associative.

    Args:
        steps: The terms, in the order in which they run; nested steps are flattened.

    Raises:
        ParseError: For no step, or a step that is no term.
        MismatchError: For steps whose types do not fit.
        LimitError: For steps that take too long to type.

    Source: Notebook, section 2.3: horizontal composition.

    >>> from ncd.ops import Linear, Softmax
    >>> Linear("m -> k", "Q") >> Softmax("k")
    Linear('m -> k', 'Q') >> Softmax('k')
    """

    steps: tuple[Term, ...] = spelled(TERMS)
    variadic: ClassVar[str] = "steps"

    def __init__(self, *steps: Term) -> None:
        check_some(steps, "Then")
        self._set(tuple(s for step in steps for s in _steps(step)))
        self.flow  # types are checked once, here  # noqa: B018

    @staticmethod
    def joined(left: Term, right: Term) -> Then:
        """Returns ``left >> right``; only the steps of ``right`` are typed again."""
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
        """Its type and its origins."""
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
    """Parts one above the other, each on its own arrays, written ``f @ g``.

    Args:
        parts: The terms, from the top; nested parts are flattened.

    Raises:
        ParseError: For no part, or a part that is no term.

    Source: Notebook, section 2.3: vertical composition.

    >>> from ncd.ops import Softmax
    >>> str((Id("y m") @ Softmax("x")).dom)
    'y m, x'
    """

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
        origins: list[tuple[int, ...]] = []
        start = 0
        for part in self.parts:
            origins += [tuple([start + source for source in sources]) for sources in part.origins]
            start += len(part.dom)
        return tuple(origins)

    def split(self, inputs: tuple[Any, ...]) -> Iterator[tuple[Term, tuple[Any, ...]]]:
        """Yields each part with the inputs that it takes."""
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
    """Returns the array in which those axes are sequences that ``own`` marks so."""
    marks = {axis.name for other in own for axis in other if axis.sequence}
    return array.with_axes(
        axis
        if axis.sequence == (axis.name in marks)
        else replace(axis, sequence=axis.name in marks)
        for axis in array
    )


def check_some(terms: tuple[Term, ...], where: str) -> None:
    """Raises ParseError unless there is at least one term, and nothing else."""
    if not terms or not all(isinstance(term, Term) for term in terms):
        raise ParseError("it takes one term or more", where=where, cure=f'{where}(Id("m"))')


def _steps(term: Term) -> tuple[Term, ...]:
    return term.steps if isinstance(term, Then) else (term,)


def _parts(term: Term) -> tuple[Term, ...]:
    return term.parts if isinstance(term, Beside) else (term,)
