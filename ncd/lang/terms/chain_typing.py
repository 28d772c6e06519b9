"""Flow: how the type of a chain of steps follows from its steps, one after the other."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ncd.lang.errors import LimitError
from ncd.lang.types.axes import Array, Type

ANEW = 200_000  # axes of steps that are typed again, as later ones want more; about half a second

Origins = tuple[tuple[int, ...], ...]


class Typed(Protocol):
    """What a step answers; see :class:`ncd.lang.terms.terms.Term`."""

    @property
    def dom(self) -> Type: ...

    @property
    def origins(self) -> Origins: ...

    def lift(self, inputs: Type) -> Type: ...


class Flow(NamedTuple):
    """A chain of steps so far: what it takes, what it gives, and where that comes from."""

    dom: Type
    cod: Type
    origins: Origins

    def through(self, step: Typed) -> Flow | Type:
        """The flow with one step more; or, if the step misses axes, the wider inputs it needs."""
        dom, state, origins = self
        missing = len(step.dom) - len(state)
        if missing > 0:  # what the steps before do not give comes from further left
            left = step.dom[-missing:]
            origins += tuple([(len(dom) + i,) for i in range(missing)])
            dom, state = Type((*dom, *left)), Type((*state, *left))
        wider: dict[int, Array] = {}
        for have, want, sources in zip(state, step.dom, origins, strict=False):
            more = widened(have, want) if wider.keys().isdisjoint(sources) else None
            if more:
                wider |= {i: dom[i].with_axes((*more[0], *dom[i], *more[1])) for i in sources}
        if wider:
            return Type(wider.get(i, array) for i, array in enumerate(dom))
        n = len(step.dom)
        out = step.lift(Type(state[:n]))
        carried = tuple(
            [
                tuple(dict.fromkeys(i for source in sources for i in origins[source]))
                for sources in step.origins
            ]
        )
        return Flow(dom, Type((*out, *state[n:])), (*carried, *origins[n:]))


def chained(start: Flow, before: tuple[Typed, ...], steps: tuple[Typed, ...]) -> Flow:
    """The flow through ``steps``; ``before`` are the steps that ``start`` has been through."""
    done, flow, anew = list(before), start, 0
    waiting = list(reversed(steps))
    while waiting:
        after = flow.through(waiting[-1])
        if isinstance(after, Flow):
            flow = after
            done.append(waiting.pop())
        else:  # the inputs are wider than they seemed, so every step is typed again
            anew += len(done) * (len(flow.cod) + sum(map(len, flow.cod)))
            if anew > ANEW:
                raise LimitError(
                    "its steps want more axes again and again, so that typing them takes too long",
                    where="Then",
                    bound=after.axes,
                    cure="an Id of the whole type as the first step",
                )
            waiting += reversed(done)
            done, flow = [], Flow(after, after, tuple((i,) for i in range(len(after))))
    return flow


def widened(have: Array, want: Array) -> tuple[Array, Array] | None:
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
