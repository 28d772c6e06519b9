"""The fences of a circuit, in the columns of its plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ncd.drawing.base.plan_types import Frame, Unit
from ncd.lang.circuits.circuit import Circuit, Fence, Loop, State
from ncd.lang.plain_text import plain_text


@dataclass
class Strip:
    """A part of a plan under construction: n steps between n + 1 states."""

    states: list[State]
    steps: list[list[Unit]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    fences: frozenset[str] | None = None  # the fences around it; None for a passing array
    length: int = 0  # its number of steps before columns were appended


def ids_of(state: State) -> frozenset[str]:
    """Returns the ids of the arrays of a state."""
    return frozenset([value.id for value in state])


class Fences:
    """The fences of one circuit, except loops, while its columns are counted."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        loops = {unit.id for unit in circuit.units if isinstance(unit, Loop)}
        self.fences = {f.id: f for f in circuit.own_fences if f.id not in loops}
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.inside: dict[str, dict[int, frozenset[str]]] = {id: {} for id in self.fences}
        self.states: list[int] = []  # the circuit's state at each column; -1 inside a loop
        self.bare: dict[int, list[str]] = {}  # the innermost empty blocks, by state
        self.closes: dict[int, list[str]] = {}
        empty = {id: fence for id, fence in self.fences.items() if fence.first == fence.last}
        outer = {fence.parent for fence in empty.values()}
        for id, fence in self.fences.items():
            if id in empty and id not in outer:
                self.bare.setdefault(fence.first, []).append(id)
            elif id not in empty:
                self.closes.setdefault(fence.last, []).append(id)

    def reached(self, s: int) -> int:
        """Starts a state, at which fences end; returns the columns for blocks around no step."""
        column = len(self.states)
        for id in self.closes.get(s, ()):
            self.last.setdefault(id, column)
        bare = self.bare.get(s, [])
        for n, id in enumerate(bare):
            self.first[id], self.last[id] = column + n, column + n + 1
            self.stretch(id, s)
        self.states += [s] * (len(bare) + 1)
        return len(bare)

    def stretch(self, inner: str, s: int) -> None:
        """Extends the fences around an empty block that begin or end with it over its column."""
        outer = self.fences.get(self.fences[inner].parent)
        while outer is not None:
            if outer.first == s:
                self.first.setdefault(outer.id, self.first[inner])
            if outer.last == s:
                self.last[outer.id] = self.last[inner]
            outer = self.fences.get(outer.parent)

    def crossed(self, s: int, parts: list[Strip]) -> None:
        """Records, for the columns of a step, the contents of each fence, and where fences end."""
        column = len(self.states) - 1
        for part in parts:
            around = self.holding(s, part) if part.fences is None else part.fences
            for id in around & self.inside.keys():
                if self.fences[id].last == s + 1:
                    end = column + max(part.length, 1)
                    self.last[id] = max(end, self.last.get(id, end))
                for n, state in enumerate(part.states[1:-1], start=1):
                    held = self.inside[id].get(column + n, frozenset())
                    self.inside[id][column + n] = held | ids_of(state)
        self.states += [-1] * (max([len(part.steps) for part in parts]) - 1 if parts else 0)

    def holding(self, s: int, part: Strip) -> frozenset[str]:
        """Returns the fences around an array that passes through a step of several columns."""
        if len(part.steps) < 2:
            return frozenset()
        ids = ids_of(part.states[0])
        return frozenset(
            id
            for id, fence in self.fences.items()
            if fence.first <= s < fence.last
            and ids <= ids_of(fence.states[s - fence.first])
            and ids <= ids_of(fence.states[s + 1 - fence.first])
        )

    def frames(self) -> Iterator[Frame]:
        begins: dict[int, int] = {}
        for column, s in enumerate(self.states):
            begins[s] = column  # the last column of a state wins
        for id, fence in self.fences.items():
            first = self.first.get(id, begins[fence.first])
            last = self.last[id]
            holds = tuple([self.held(fence, column) for column in range(first, last + 1)])
            title = fence.title.strip()
            words = plain_text(title) or f"{fence.role} part"
            yield Frame(id, title, fence.role, words, first, last, holds, fence.parent)

    def held(self, fence: Fence, column: int) -> frozenset[str]:
        s = self.states[column]
        if s < 0:
            return self.inside[fence.id].get(column, frozenset())
        return ids_of(fence.states[s - fence.first])
