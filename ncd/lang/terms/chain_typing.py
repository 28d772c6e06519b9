"""The type of a chain of steps, computed step by step."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ncd.lang.errors import LimitError, MismatchError
from ncd.lang.types.axes import Array, Type

RETYPED = 200_000  # axes of steps that are typed again because later steps need more; about 0.5 s

Origins = tuple[tuple[int, ...], ...]


class Typed(Protocol):
    """A step as its chain sees it; see :class:`ncd.lang.terms.terms.Term`."""

    @property
    def dom(self) -> Type: ...

    @property
    def origins(self) -> Origins: ...

    def lift(self, inputs: Type) -> Type: ...


class Flow(NamedTuple):
    """The type of a chain of steps so far: inputs, outputs, and the origins of the outputs."""

    dom: Type
    cod: Type
    origins: Origins

    def through(self, step: Typed) -> Flow | Type:
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
            out = step.lift(Type(state[:n]))
        except MismatchError as error:
            raise self._with_cure(step, error) from None
        through = [
            tuple(dict.fromkeys(i for source in sources for i in origins[source]))
            for sources in step.origins
        ]
        return Flow(dom, Type((*out, *state[n:])), (*through, *origins[n:]))

    def _with_cure(self, step: Typed, error: MismatchError) -> MismatchError:
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


def chained(start: Flow, before: tuple[Typed, ...], steps: tuple[Typed, ...]) -> Flow:
    """Returns the flow through ``steps`` from ``start``, which has gone through ``before``."""
    done, flow, retyped = list(before), start, 0
    waiting = list(reversed(steps))
    while waiting:
        after = flow.through(waiting[-1])
        if isinstance(after, Flow):
            flow = after
            done.append(waiting.pop())
        else:  # the inputs must be wider, so every step is typed again
            retyped += len(done) * (len(flow.cod) + sum(map(len, flow.cod)))
            if retyped > RETYPED:
                raise LimitError(
                    "its steps want more axes again and again, so that typing them takes too long",
                    where="Then",
                    bound=after.axes,
                    cure="an Id of the whole type as the first step",
                )
            waiting += reversed(done)
            done, flow = [], Flow(after, after, tuple((i,) for i in range(len(after))))
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
