"""Replaces a part of a circuit by one unit, and removes the columns that become empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop, State
from ncd.lang.once import once

Unit = Cell | Loop


@dataclass(frozen=True)
class Part:
    """A part of a circuit between two states; ``states`` are its arrays, from state ``first`` on.

    The arrays are adjacent in each state. ``fence`` is the innermost fence around the part.
    """

    first: int
    states: tuple[State, ...]
    fence: str = ""

    @property
    def last(self) -> int:
        return self.first + len(self.states) - 1

    def holds(self, s: int, unit: Unit) -> bool:
        """Returns whether a unit of step s takes or makes arrays of the part."""
        if not self.first <= s < self.last:
            return False
        before, after = (self.ids(n) for n in (s, s + 1))
        return any(v.id in before for v in unit.inputs) or any(v.id in after for v in unit.outputs)

    def ids(self, s: int) -> set[str]:
        return self._ids[s - self.first]

    @once
    def _ids(self) -> list[set[str]]:
        return [{value.id for value in state} for state in self.states]


def gathered(circuit: Circuit, parts: Sequence[tuple[Part, Unit]]) -> Circuit:
    """Returns the circuit with one unit in place of each part; the parts share no arrays.

    A unit is placed where its part began; its outputs wait until where the part ended.
    """
    steps = [[*step] for step in circuit.steps]
    states, fences = [*circuit.states], [*circuit.own_fences]
    for part, unit in parts:
        at = next((s for s in range(part.first, part.last) if steps[s]), part.first)
        for s in range(part.first, part.last):
            steps[s] = [other for other in steps[s] if not part.holds(s, other)]
        steps[at].append(unit)
        for s in range(part.first + 1, part.last + 1):
            states[s] = _replaced(part, s, states[s])
        inside = {unit.id, *_inside(fences, part)}
        fences = [_around(part, fence) for fence in fences if fence.id not in inside]
    return closed_up(circuit, states, steps, fences)


def _around(part: Part, fence: Fence) -> Fence:
    """Returns a fence with the part's outputs in place of its arrays."""
    if fence.last <= part.first or part.last < fence.first:
        return fence
    states = enumerate(fence.states, fence.first)
    return replace(fence, states=tuple([_replaced(part, s, state) for s, state in states]))


def _inside(fences: Sequence[Fence], part: Part) -> set[str]:
    """Returns the ids of the fences inside the part."""
    found: set[str] = set()
    for fence in fences:  # the outer before the inner
        if fence.parent in found:
            found.add(fence.id)
        if fence.parent != part.fence or not part.first <= fence.first <= fence.last <= part.last:
            continue
        states = enumerate(fence.states, fence.first)
        if all({v.id for v in state} <= part.ids(s) for s, state in states):
            found.add(fence.id)
    return found


def _replaced(part: Part, s: int, state: State) -> State:
    """Returns a state with the part's outputs in place of its arrays."""
    if not part.first < s <= part.last:
        return state
    own = part.ids(s)
    at = next((n for n, value in enumerate(state) if value.id in own), None)
    if at is None or not own <= {value.id for value in state}:
        return state
    return (*state[:at], *part.states[-1], *state[at + len(own) :])


def closed_up(
    circuit: Circuit,
    states: Sequence[State],
    steps: Sequence[Sequence[Unit]],
    fences: Sequence[Fence],
) -> Circuit:
    """Returns the circuit without empty steps."""
    keep = [s for s, step in enumerate(steps) if step]
    new = [0]
    for step in steps:
        new.append(new[-1] + bool(step))
    kept = [states[s] for s in keep] + [states[-1]]
    moved = []
    for fence in fences:
        at = {new[s]: state for s, state in enumerate(fence.states, fence.first)}
        moved.append(replace(fence, first=new[fence.first], states=tuple(at.values())))
    return replace(
        circuit,
        states=tuple(kept),
        steps=tuple(tuple(steps[s]) for s in keep),
        own_fences=tuple(moved),
    )
