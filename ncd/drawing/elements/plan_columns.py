"""Plans: a circuit as alternating states (arrays) and steps (units), without coordinates.

In systems with spatial axes arrays are drawn from the last axis up, as in the published figures:
height × width on top, then channels, then the batch, whatever the order in torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from ncd.circuit.circuit import Boundary, Cell, Circuit, Value
from ncd.language.cached_property import lazy_property
from ncd.language.op import Glyph, Ports

Port = tuple[str, int]  # an array's id, and the number of the axis in it
Rows = dict[Port, float]  # the y of every wire of a state
SCALAR = -1  # the place of an array without axes, which has no wire


def ports(value: Value, upward: bool) -> tuple[Port, ...]:
    """Returns the wires of an array from top to bottom."""
    return _ports(value.id, len(value.array), upward)


@lru_cache(maxsize=1 << 14)
def _ports(id: str, count: int, upward: bool) -> tuple[Port, ...]:
    """Returns the ports for an id; cached, as every state and step asks for them."""
    order = range(count)
    return tuple([(id, i) for i in (reversed(order) if upward else order)])


def ports_or_scalar(value: Value, upward: bool) -> tuple[Port, ...]:
    """Returns the wires of an array, or the place of an array without axes."""
    return ports(value, upward) or ((value.id, SCALAR),)


def _starts(state: Boundary) -> Iterator[int]:
    """Yields the index of each array's first port."""
    return accumulate((len(value.array) for value in state), initial=0)


@dataclass(eq=False)
class PlanItem:
    """An element of a step: a cell, an array that passes through, or one that a loop joins.

    ``node`` is the id of the cell or loop; empty for an array that passes through. ``ins`` and
    ``outs`` are the wires at its ports. ``in_places`` and ``out_places`` also contain arrays
    without axes, from top to bottom.
    """

    inputs: Boundary
    outputs: Boundary
    glyph: Glyph
    upward: bool
    cell: Cell | None = None
    node: str = ""

    def __post_init__(self) -> None:
        self.ins, self.in_places = self._wires(self.inputs)
        same = self.outputs is self.inputs
        self.outs, self.out_places = (
            (self.ins, self.in_places) if same else self._wires(self.outputs)
        )

    def _wires(self, state: Boundary) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        wires = tuple([port for v in state for port in ports(v, False)])
        return wires, tuple([port for v in state for port in ports_or_scalar(v, self.upward)])

    @property
    def passes(self) -> bool:
        """Whether it is an array that passes through unchanged."""
        return not self.node

    @lazy_property
    def arrays(self) -> tuple[tuple[Ports, ...], tuple[Ports, ...]]:
        """The port indexes of each input array and of each output array, from top to bottom."""
        taken, given = (
            tuple(
                [
                    tuple([start + i for _, i in ports(value, self.upward)])
                    for value, start in zip(state, _starts(state), strict=False)
                    if value.array
                ]
            )
            for state in (self.inputs, self.outputs)
        )
        return taken, given

    @lazy_property
    def continued_inputs(self) -> Mapping[int, int]:
        """The input port that each output wire continues."""
        return {o: i for i, o in self.glyph.through}


@dataclass(frozen=True)
class PlanFence:
    """A fence or the brackets of a loop, over the states from ``first_column`` to ``last_column``.

    ``holds`` are the arrays inside it in each state, ``ends`` the counts written at the brackets'
    foot and head. ``goes_on`` says whether it began in an earlier row and ends in a later one.
    """

    id: str
    title: str
    role: str
    words: str
    first_column: int
    last_column: int
    holds: tuple[frozenset[str], ...]
    parent: str = ""
    ends: tuple[str, str] | None = None
    goes_on: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Plan:
    """States, and between each two of them units from top to bottom."""

    circuit: Circuit
    states: tuple[Boundary, ...]
    steps: tuple[tuple[PlanItem, ...], ...]
    fences: tuple[PlanFence, ...]
    upward: bool

    @lazy_property
    def _wires_by_array(self) -> dict[str, tuple[Port, ...]]:
        return {v.id: ports(v, self.upward) for state in self.states for v in state}

    def array_wires(self, value: Value) -> tuple[Port, ...]:
        """Returns the wires of an array from top to bottom."""
        return self._wires_by_array[value.id]

    def is_panel(self, fence: PlanFence) -> bool:
        """Returns whether a fence is the outermost fence and holds every array."""
        if fence.parent or fence.ends or len(fence.holds) < len(self.states):
            return False
        alike = zip(self.states, fence.holds, strict=True)
        return all(value.id in ids for state, ids in alike for value in state)

    def places(self, value: Value) -> tuple[Port, ...]:
        """Returns the wires of an array, or the place of an array without axes."""
        return self._wires_by_array[value.id] or ((value.id, SCALAR),)

    @lazy_property
    def consumers(self) -> tuple[Mapping[str, PlanItem], ...]:
        """For each step, the unit that takes each array of the state before it."""
        return tuple({v.id: unit for unit in step for v in unit.inputs} for step in self.steps)

    @lazy_property
    def producers(self) -> tuple[Mapping[str, PlanItem], ...]:
        """For each step, the unit that makes each array of the state after it."""
        return tuple({v.id: unit for unit in step for v in unit.outputs} for step in self.steps)

    @lazy_property
    def enclosing_fences(self) -> tuple[Mapping[str, tuple[PlanFence, ...]], ...]:
        """For each state, the fences around each array, the outermost first."""
        found: list[dict[str, tuple[PlanFence, ...]]] = [{} for _ in self.states]
        for fence in self.fences:
            for n, ids in enumerate(fence.holds):
                here = found[fence.first_column + n]
                for id in ids:
                    here[id] = (*here.get(id, ()), fence)
        return tuple(found)

    @lazy_property
    def opening(self) -> Mapping[str, int]:
        """For each fence, how many borders open at its first state, from this one inwards."""
        return self._depths("first_column")

    @lazy_property
    def closing(self) -> Mapping[str, int]:
        """For each fence, how many borders close at its last state, from this one inwards."""
        return self._depths("last_column")

    @lazy_property
    def borders(self) -> list[tuple[int, int]]:
        """For each state, the most nested borders that close and that open there."""
        found = [(0, 0) for _ in self.states]
        for fence in self.fences:
            closing, opening = found[fence.last_column]
            found[fence.last_column] = max(closing, self.closing[fence.id]), opening
            closing, opening = found[fence.first_column]
            found[fence.first_column] = closing, max(opening, self.opening[fence.id])
        return found

    def _depths(self, side: str) -> Mapping[str, int]:
        by_id = {fence.id: fence for fence in self.fences}
        found: dict[str, int] = {}
        inner: dict[str, int] = {}
        for fence in reversed(self.fences):  # the inner ones first
            found[fence.id] = 1 + (fence.ends is not None) + inner.get(fence.id, 0)
            outer = by_id.get(fence.parent)
            if outer is not None and getattr(outer, side) == getattr(fence, side):
                inner[outer.id] = max(inner.get(outer.id, 0), found[fence.id])
        return found
