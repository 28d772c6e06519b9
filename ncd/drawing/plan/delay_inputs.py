"""Delays inputs: one that is not taken for long begins shortly before it is needed.

Otherwise it would run below everything before, as a decoder's memory below its self-attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ncd.drawing.base.plan_types import Frame, Plan

WAITS = 4  # steps that an input may pass before it is delayed


def late(plan: Plan) -> Plan:
    """Returns the plan with each input beginning where it is needed.

    >>> from ncd.drawing.plan.build_plan import plan
    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.terms import Id, Then
    >>> from ncd.ops import Add, Softmax
    >>> term = Id("a:2, a:2") >> Then(*[Softmax("a")] * 5) >> Add()
    >>> [len(state) for state in plan(elaborate(term)).states]
    [1, 1, 1, 1, 1, 2, 1]
    """
    starts = {v.id: _start(plan, v.id) for v in plan.states[0][1:]}
    starts = {id: s for id, s in starts.items() if s > WAITS}
    if not starts:
        return plan
    states = tuple(
        tuple(value for value in state if s >= starts.get(value.id, 0))
        for s, state in enumerate(plan.states)
    )
    steps = tuple(
        tuple(unit for unit in step if not (unit.passes and s < starts.get(unit.inputs[0].id, 0)))
        for s, step in enumerate(plan.steps)
    )
    frames = tuple(_without(frame, starts) for frame in plan.frames)
    return replace(plan, states=states, steps=steps, frames=frames)


def _start(plan: Plan, id: str) -> int:
    """Returns the state before the step that takes an input."""
    for s, takers in enumerate(plan.takers):
        if not takers[id].passes:
            return s
    return 0


def _without(frame: Frame, starts: Mapping[str, int]) -> Frame:
    holds = tuple(
        frozenset(id for id in ids if s >= starts.get(id, 0))
        for s, ids in enumerate(frame.holds, start=frame.first)
    )
    return replace(frame, holds=holds)
