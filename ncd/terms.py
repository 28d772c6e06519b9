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
from typing import TYPE_CHECKING, Any, ClassVar

from ncd.axes import Array, Axis, Binding, Marked, Signature, Type, sized, take, union
from ncd.errors import MismatchError, NCDError, ParseError, SizeError, shown

if TYPE_CHECKING:
    from torch import nn

    from ncd.ops.spec import Code, Glyph, Run


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

        None where an axis could come from one or the other, as in an einsum.
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
        object.__setattr__(self, "steps", steps)
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
        return " >> ".join(map(repr, self.steps))


@dataclass(frozen=True, repr=False)
class Beside(Term):
    """Parts one above the other, each on its own arrays; ``f @ g`` makes one."""

    parts: tuple[Term, ...]

    def __init__(self, *parts: Term) -> None:
        _check_some(parts, "Beside")
        object.__setattr__(self, "parts", parts)
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
        return " @ ".join(f"({p!r})" if isinstance(p, Then) else repr(p) for p in self.parts)


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
        doubled = [a.name for a in array if a.name in (*before.names, *after.names)]
        if doubled:
            raise MismatchError(
                f"axis {doubled[0]} would appear twice in the result ({out})",
                cure=f"another name for the new axis {doubled[0]}",
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


def match(pattern: Array, given: Array, binding: Binding) -> tuple[Array, Array]:
    """The axes left over before and after ``pattern`` in ``given``; raises MismatchError."""
    found = take(pattern, given, binding)
    if found is None:
        missing = [axis.name for axis in pattern if axis.name not in given.names]
        fact = f"it takes ({pattern}), but the array that meets it is ({given})"
        if missing:
            cure = f"an array that has {' and '.join(missing)}, such as ({pattern})"
        else:
            cure = f'Einsum("{given} -> {pattern}") before it, to put the axes in this order'
        raise MismatchError(fact, cure=cure)
    return found


def _fits(arrays: Type, form: list[list[str]]) -> bool:
    """Whether there are as many arrays as in the form, with as many axes."""
    counts = [
        (len(words) - ("*" in words[0]), 99 if words[0][-1] in "*+" else len(words))
        for words in form
    ]
    return len(arrays) == len(counts) and all(
        least <= len(array) <= most for array, (least, most) in zip(arrays, counts, strict=True)
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
