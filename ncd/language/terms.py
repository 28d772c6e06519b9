"""Terms: "then" and "beside", the typing of a chain step by step, terms with changed axes.

The arrays of a term form a stack, the first on top. Each step takes its arrays from the top; the
others pass on below it, such as a skip connection that waits for its step. If the stack is too
short, the missing arrays become inputs of the whole term. An op is written on its own axes and is
broadcast over all other axes of its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from operator import is_
from typing import Any, ClassVar, NamedTuple, Protocol

from ncd.errors import LimitError, MismatchError, NCDError, ParseError
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.cached_property import lazy_property
from ncd.language.fields import (
    TERM,
    TERMS,
    TYPE,
    StructuralBase,
    TypeField,
    field_names,
    read_fields,
    remember_result,
    spelling,
    term_field,
)
from ncd.language.patterns import Binding, match_or_raise

# --- The call of a term on named arrays, which a definition records

Call = Callable[[Any, tuple[Any, ...]], Any]
CALLS: ContextVar[Call | None] = ContextVar("CALLS", default=None)


def record_call(term: Any, arrays: tuple[Any, ...]) -> Any:
    """Records a call of a term in the current definition, and returns its outputs.

    Raises MismatchError outside of a definition.
    """
    call = CALLS.get()
    if call is None:
        fact = "a term is called on named arrays, inside of ncd.define"
        raise MismatchError(fact, where=type(term).__name__, cure="ncd.compile(term)(x)")
    return call(term, arrays)


# --- The type of a chain of steps, computed step by step

MAX_RETYPED_AXES = (
    200_000  # axes of steps that are typed again because later steps need more; about 0.5 s
)

BroadcastSources = tuple[tuple[int, ...], ...]


class ChainStep(Protocol):
    """A step as its chain sees it; see :class:`ncd.language.terms.Term`."""

    @property
    def dom(self) -> Type: ...

    @property
    def origins(self) -> BroadcastSources: ...

    def infer_outputs(self, inputs: Type) -> Type: ...


class ChainType(NamedTuple):
    """The type of a chain of steps so far: inputs, outputs, and the origins of the outputs."""

    dom: Type
    cod: Type
    origins: BroadcastSources

    def extended_by(self, step: ChainStep) -> ChainType | Type:
        """Returns the flow with one step more, or the wider inputs if the step needs more axes."""
        dom, state, origins = self
        missing = len(step.dom) - len(state)
        if missing > 0:  # the other arrays become inputs of the chain
            left = step.dom[-missing:]
            origins += tuple([(len(dom) + i,) for i in range(missing)])
            dom, state = Type((*dom, *left)), Type((*state, *left))
        wider: dict[int, Array] = {}
        for array, pattern, sources in zip(state, step.dom, origins, strict=False):
            lacks = missing_axes(array, pattern) if wider.keys().isdisjoint(sources) else None
            if lacks:
                wider |= {i: dom[i].with_axes((*lacks[0], *dom[i], *lacks[1])) for i in sources}
        if wider:
            return Type(wider.get(i, array) for i, array in enumerate(dom))
        n = len(step.dom)
        try:
            out = step.infer_outputs(Type(state[:n]))
        except MismatchError as error:
            raise self._with_cure(step, error) from None
        through = [
            tuple(dict.fromkeys(i for source in sources for i in origins[source]))
            for sources in step.origins
        ]
        return ChainType(dom, Type((*out, *state[n:])), (*through, *origins[n:]))

    def _with_cure(self, step: ChainStep, error: MismatchError) -> MismatchError:
        """Returns the error of a step; it says how an axis that no array has comes in front."""
        pairs = zip(self.cod, step.dom, self.origins, strict=False)
        for array, pattern, sources in pairs:
            own = bool(array and pattern) and {*array.names}.isdisjoint(pattern.names)
            if own and sources and pattern.names[0] in error.cure:
                first = self.dom[sources[0]]
                if error.cure.startswith("an array") and first.names not in ((), array.names):
                    wide = " ".join(dict.fromkeys((*pattern.names, *first.names)))
                    error.cure += f', or Id("{wide}") >> before the first step'
                break
        return error


def type_chain(
    start: ChainType, before: tuple[ChainStep, ...], steps: tuple[ChainStep, ...]
) -> ChainType:
    """Returns the flow through ``steps`` from ``start``, which has gone through ``before``."""
    done, flow, retyped = list(before), start, 0
    waiting = list(reversed(steps))
    while waiting:
        after = flow.extended_by(waiting[-1])
        if isinstance(after, ChainType):
            flow = after
            done.append(waiting.pop())
        else:  # the inputs must be wider, so every step is typed again
            retyped += len(done) * (len(flow.cod) + sum(map(len, flow.cod)))
            if retyped > MAX_RETYPED_AXES:
                raise LimitError(
                    "its steps want more axes again and again, so that typing them takes too long",
                    where="Then",
                    bound=after.axes,
                    cure="an Id of the whole type as the first step",
                )
            waiting += reversed(done)
            done, flow = [], ChainType(after, after, tuple((i,) for i in range(len(after))))
    return flow


def missing_axes(array: Array, pattern: Array) -> tuple[Array, Array] | None:
    """Returns the axes of ``pattern`` that must be added before and after those of ``array``.

    Returns None if none is missing, and if adding them does not help: axes are missing in the
    middle, or the array has others in their place. None too if the two have no axis in common: a
    letter that is mistaken, as in ``Linear("m -> k") >> Softmax("n")``, would be an axis in front,
    and the term wrong without an error. The error then says which ``Id`` puts it there.
    """
    common = [axis.name for axis in pattern if axis.name in array.names]
    if len(common) == len(pattern):
        return None
    if not common:
        return None if array else (Array(pattern), Array())
    first, last = pattern.names.index(common[0]), pattern.names.index(common[-1])
    before, after = pattern[:first], pattern[last + 1 :]
    others_before = array.names.index(common[0]) > 0
    others_after = array.names.index(common[-1]) < len(array) - 1
    inside = last - first + 1 > len(common)
    if inside or (before and others_before) or (after and others_after):
        return None
    return Array(before), Array(after)


# --- Terms: ops joined by ``f >> g`` ("then") and ``f @ g`` ("beside")

DEPTH = 200  # nested terms; Python itself can walk about five times as many
NODES = 50_000  # ops and structures of one term


class Term(StructuralBase):
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

    @lazy_property
    def cod(self) -> Type:
        """The arrays that it gives."""
        return self.infer_outputs(self.dom)

    @property
    def origins(self) -> BroadcastSources:
        """For each output the indices of the inputs that have all axes it is broadcast over."""
        raise NotImplementedError

    def infer_outputs(self, inputs: Type) -> Type:
        """Returns the outputs on these inputs, which may have more axes; raises MismatchError."""
        return remember_result(
            self, "_lifted", inputs, self._lift
        )  # every term around this one asks again

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
        return record_call(self, arrays)

    def __rshift__(self, other: Term) -> Then:
        if not isinstance(other, Term):
            return NotImplemented
        return Then.append(self, other)

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

    type: TypeField = term_field(TYPE)

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def dom(self) -> Type:
        return self.type

    @property
    def origins(self) -> BroadcastSources:
        return tuple((i,) for i in range(len(self.type)))

    def _lift(self, inputs: Type) -> Type:
        binding = Binding()
        try:
            for pattern, given in zip(self.type, inputs, strict=True):
                match_or_raise(pattern, given, binding, any_kind=True)
        except NCDError as error:
            raise error.with_context(where=f"Id ({self.type})", bound=inputs.axes) from None
        arrays = zip(self.type, inputs, strict=True)
        return Type(
            _with_sequence_marks(binding.resolve_pattern_axes(pattern, given), pattern, given)
            for pattern, given in arrays
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

    steps: tuple[Term, ...] = term_field(TERMS)
    variadic: ClassVar[str] = "steps"

    def __init__(self, *steps: Term) -> None:
        check_some(steps, "Then")
        self._set(tuple(s for step in steps for s in _steps(step)))
        self.flow  # types are checked once, here  # noqa: B018

    @staticmethod
    def append(left: Term, right: Term) -> Then:
        """Returns ``left >> right``; only the steps of ``right`` are typed again."""
        term = Then.__new__(Then)
        before, more = _steps(left), _steps(right)
        term._set((*before, *more))
        start = left.flow if isinstance(left, Then) else ChainType(left.dom, left.cod, left.origins)
        term.__dict__["flow"] = type_chain(start, before, more)
        return term

    def _set(self, steps: tuple[Term, ...]) -> None:
        object.__setattr__(self, "steps", steps)
        self._measure()

    @property
    def children(self) -> tuple[Term, ...]:
        return self.steps

    @lazy_property
    def flow(self) -> ChainType:
        """Its type and its origins."""
        return type_chain(ChainType(Type(), Type(), ()), (), self.steps)

    @property
    def dom(self) -> Type:
        return self.flow.dom

    @property
    def cod(self) -> Type:
        return self.flow.cod

    @property
    def origins(self) -> BroadcastSources:
        return self.flow.origins

    def _lift(self, inputs: Type) -> Type:
        state = inputs
        for step in self.steps:
            n = len(step.dom)
            state = Type((*step.infer_outputs(Type(state[:n])), *state[n:]))
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

    parts: tuple[Term, ...] = term_field(TERMS)
    variadic: ClassVar[str] = "parts"

    def __init__(self, *parts: Term) -> None:
        check_some(parts, "Beside")
        object.__setattr__(self, "parts", tuple(p for part in parts for p in _parts(part)))
        self._measure()

    @property
    def children(self) -> tuple[Term, ...]:
        return self.parts

    @lazy_property
    def dom(self) -> Type:
        return Type(array for part in self.parts for array in part.dom)

    @lazy_property
    def origins(self) -> BroadcastSources:
        origins: list[tuple[int, ...]] = []
        start = 0
        for part in self.parts:
            origins += [tuple([start + source for source in sources]) for sources in part.origins]
            start += len(part.dom)
        return tuple(origins)

    def inputs_by_part(self, inputs: tuple[Any, ...]) -> Iterator[tuple[Term, tuple[Any, ...]]]:
        """Yields each part with the inputs that it takes."""
        start = 0
        for part in self.parts:
            end = start + len(part.dom)
            yield part, inputs[start:end]
            start = end

    def _lift(self, inputs: Type) -> Type:
        return Type(
            array
            for part, own in self.inputs_by_part(inputs)
            for array in part.infer_outputs(Type(own))
        )

    def __repr__(self) -> str:
        parts = " @ ".join(f"({p!r})" if isinstance(p, Then) else repr(p) for p in self.parts)
        return parts if len(self.parts) > 1 else f"Beside({parts})"


def _with_sequence_marks(array: Array, *own: Array) -> Array:
    """Returns the array in which those axes are sequences that ``own`` marks so.

    >>> _with_sequence_marks(Array.parse("~y m:3 k"), Array.parse("y ~m:3"), Array.parse("k")).spec
    'y ~m:3 k'
    """
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


# --- Terms rebuilt with changed axes or fields


def rewrite_axes(value: Any, change: Callable[[Axis], Axis]) -> Any:
    """Returns a term, type or array in which every axis is changed."""
    if isinstance(value, Axis):
        return change(value)
    if isinstance(value, Array):
        return Array(map(change, value), value.below and change(value.below))
    if isinstance(value, Signature):
        return Signature(rewrite_axes(value.dom, change), rewrite_axes(value.cod, change))
    if isinstance(value, Type):
        return Type(rewrite_axes(item, change) for item in value)
    if isinstance(value, tuple):
        return tuple(rewrite_axes(item, change) for item in value)
    if isinstance(value, Term):
        return map_fields(value, lambda part: rewrite_axes(part, change))
    return value


def replace_axis(value: Any, name: str, axes: tuple[Axis, ...] = ()) -> Any:
    """Returns a term, type or array with other axes in place of one, or none.

    Raises MismatchError for an axis that bounds whole numbers.

    >>> from ncd import Id
    >>> replace_axis(Id("b y m, m"), "b")
    Id('y m, m')
    """
    if isinstance(value, Term):
        return map_fields(value, lambda part: replace_axis(part, name, axes))
    if isinstance(value, Array):
        if value.below is not None and value.below.name == name:
            raise MismatchError(f"{name} bounds whole numbers", cure="another axis")
        found = (part for axis in value for part in (axes if axis.name == name else (axis,)))
        return value.with_axes(found) if name in value.names else value
    if isinstance(value, Signature):
        return Signature(*(replace_axis(side, name, axes) for side in (value.dom, value.cod)))
    if isinstance(value, Type):
        return Type(replace_axis(array, name, axes) for array in value)
    if isinstance(value, tuple) and value and isinstance(value[0], Term):
        return tuple(replace_axis(item, name, axes) for item in value)
    return value


def axes_in(term: Term) -> list[Axis]:
    """Returns every axis that the fields of a term name, as often as they do.

    >>> from ncd import Id
    >>> [axis.spec for axis in axes_in(Id("y:2 m, m"))]
    ['y:2', 'm', 'm']
    """
    found: list[Axis] = []

    def note(axis: Axis) -> Axis:
        found.append(axis)
        return axis

    rewrite_axes(term, note)
    return found


def map_fields(term: Term, change: Callable[[Any], Any]) -> Any:
    """Returns the term with every field changed; the term itself if all stay the same."""
    return replace_fields(
        term, {name: change(getattr(term, name)) for name in field_names(type(term))}
    )


def replace_fields(term: Term, new: dict[str, Any]) -> Any:
    """Returns the term with these fields; the term itself if they are its own."""
    if all(_is_identical(value, getattr(term, name)) for name, value in new.items()):
        return term
    given = new.get(term.variadic, ())
    return type(term)(*given, **{name: new[name] for name in new if name != term.variadic})


def _is_identical(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return isinstance(a, tuple) and len(a) == len(b) and all(map(is_, a, b))


# --- The arguments of a term as text


def arguments(
    term: Term, one: Callable[[Term], str], several: Callable[[tuple[Term, ...]], str]
) -> Iterator[str]:
    """Yields the arguments of a term as text, without those at their defaults at the end.

    Args:
        term: The term.
        one: Writes a term within it.
        several: Writes a tuple of terms within it.
    """
    own = [f for f in fields(term) if f.name != term.variadic]  # type: ignore[arg-type]
    yield from map(one, getattr(term, term.variadic, ()))
    while own and getattr(term, own[-1].name) == own[-1].default:
        own.pop()
    for field in own:
        value, by = getattr(term, field.name), spelling(field)
        name = f"{field.name}=" if term.variadic else ""
        if by is TERM:
            yield name + one(value)
        elif by is TERMS:
            yield name + several(value)
        else:
            yield name + by.literal(value)
