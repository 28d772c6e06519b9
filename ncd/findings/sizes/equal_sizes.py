"""Numbers of a source that are equal, and must be: two of its parameters, or one and a literal."""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import divisors

from ncd.findings.finding import Cure, Edit, Finding
from ncd.findings.sizes.name_swaps import name_swaps, stored_names, swap_cure
from ncd.findings.sizes.probe import Probe
from ncd.findings.sizes.size_symbols import Parameter, TracedSizes

MOST = 8  # parameters that are tried


class EqualSizes:
    """Tries whether equal parameters of a source may differ.

    Args:
        probe: The source.
        traced: A reading of it with symbols.
    """

    def __init__(self, probe: Probe, traced: TracedSizes) -> None:
        self.probe, self.traced = probe, traced
        self.names = {one.symbol: one.name for one in traced.parameters}
        self.tree = traced.trace.tree
        self.bound: set[sympy.Symbol] = set()  # those about which something was found

    def findings(self) -> Iterator[Finding]:
        """Yields a finding for each parameter that works only while it equals another number."""
        done = self.bound
        yield from self._squares()
        for one in self.traced.parameters[:MOST]:
            if one.symbol in done or self.traced.is_input(one.symbol):
                continue
            other, value = self._partner(one)
            if other is not None:
                done |= {one.symbol, other}
                yield self._finding(one, other, value)

    def _partner(self, one: Parameter) -> tuple[sympy.Symbol | None, int]:
        """Returns the number that has to change with a parameter, and a value of both."""
        tied, now = self.traced.tied(one.symbol), one.place.value
        own = [s for s in tied if self.names.get(s) == one.name]
        inputs = [s for s in tied if self.traced.is_input(s)]
        others = [s for s in tied if s not in (*own, *inputs)]
        others.sort(key=lambda s: (s not in self.names, self.traced.table.places[s]))
        tries = (now + 1, 2 * now)
        value = next((n for n in tries if others and self._runs(tied, n)), 0)
        if not value or self._differs(own, inputs, tries):
            return None, 0
        for other in others:
            if self._runs((*own, other), value) or self._runs((*own, other, *inputs), value):
                divides = self._differs([other], inputs, tries)
                return (None, 0) if divides else (other, value)
        return None, 0

    def _differs(
        self, some: list[sympy.Symbol], inputs: list[sympy.Symbol], values: tuple[int, ...]
    ) -> bool:
        """Returns whether numbers may have one of some values while all others are as they are."""
        return any(self._runs(s, n) for s in (some, [*some, *inputs]) for n in values)

    def _runs(
        self, symbols: tuple[sympy.Symbol, ...] | list[sympy.Symbol], value: int
    ) -> bool | None:
        return self.probe.works(*self.traced.change(dict.fromkeys(symbols, value)))

    def _finding(self, one: Parameter, other: sympy.Symbol, value: int) -> Finding:
        place, name = self.traced.table.places[other], self.names.get(other)
        own = [s for s in self.traced.tied(one.symbol) if self.names.get(s) == one.name]
        failure = self.probe.outcome(*self.traced.change(dict.fromkeys(own, value)))
        now, line = one.place.value, failure.line or one.place.line
        if name is None:
            says = f"Works only while `{one.name}` is {now}, as line {place.line} has that number."
            return Finding("size", place.line, "", says, self._named(one, other, value))
        cures = self._swapped(one, name, other, value)
        both = f"(both are {now})"
        luck = f"Works only while `{one.name}` = `{name}` {both}."
        says = luck if cures else f"`{one.name}` must equal `{name}` {both}."
        return Finding(
            "size", cures[0].edits[0].line if cures else line, failure.layer, says, cures
        )

    def _swapped(
        self, one: Parameter, name: str, other: sympy.Symbol, value: int
    ) -> tuple[Cure, ...]:
        """Returns the cure that puts one of two names in the place of the other."""
        tied = self.traced.tied(one.symbol)
        inputs = [s for s in tied if self.traced.is_input(s)]
        own = [s for s in tied if self.names.get(s) == one.name]
        for some in (own, [other], [*own, *inputs], [other, *inputs]):
            broken = self.traced.change(dict.fromkeys(some, value))
            failure = self.probe.outcome(*broken)
            edits = name_swaps(self.probe.text, self.tree, failure, (one.name, name))
            if failure.works is False and (cures := swap_cure(self.probe, edits, broken)):
                return cures
        return ()

    def _named(self, one: Parameter, other: sympy.Symbol, value: int) -> tuple[Cure, ...]:
        """Returns the cure that writes a parameter's name where its value stands."""
        place = self.traced.table.places[other]
        edit = Edit(place.line, place.start, place.end, one.name)
        tied = self.traced.tied(one.symbol)
        inputs = [s for s in tied if self.traced.is_input(s)]
        own = [s for s in tied if self.names.get(s) == one.name]
        for some in (own, [*own, *inputs]):
            if cures := swap_cure(
                self.probe, [edit], self.traced.change(dict.fromkeys(some, value))
            ):
                return cures
        return ()

    def _squares(self) -> Iterator[Finding]:
        """Yields a finding for each parameter that has to be the square of another, by luck."""
        every = self.traced.parameters[:MOST]
        for square, one in ((a, b) for a in every for b in every):
            root = one.place.value
            if square.place.value != root**2:
                continue
            if not (new := next((n for n in divisors(root**2)[-2:0:-1] if n != root), 0)):
                continue
            both = {**self._all(square, new**2), **self._all(one, new)}
            broken = self.traced.change(self._all(one, new))
            failure = self.probe.outcome(*broken)
            if failure.works is not False or not self.probe.works(*self.traced.change(both)):
                continue
            names = [one.name, *stored_names(self.tree)]
            edits = name_swaps(self.probe.text, self.tree, failure, names)
            if cures := swap_cure(self.probe, edits, broken):
                self.bound |= {square.symbol, one.symbol}
                says = f"Works only while `{square.name}` = `{one.name}` · `{one.name}`."
                yield Finding("size", cures[0].edits[0].line, failure.layer, says, cures)

    def _all(self, one: Parameter, value: int) -> dict[sympy.Symbol, int]:
        return dict.fromkeys(self.traced.tied(one.symbol), value)
