"""The parameters of a model that are free, and those that others have to divide."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import sympy
from sympy import divisors

from ncd.findings.finding import Finding
from ncd.findings.sizes.probe import Probe
from ncd.findings.sizes.size_symbols import Parameter, TracedSizes
from ncd.lang.plain_text import listed

MOST = 10  # parameters that are tried


class ParameterSizes:
    """Tries other values of the parameters of a source.

    Args:
        probe: The source.
        traced: A reading of it with symbols.
        bound: Parameters that are not free.
    """

    def __init__(
        self, probe: Probe, traced: TracedSizes, bound: Collection[sympy.Symbol] = ()
    ) -> None:
        self.probe, self.traced, self.bound = probe, traced, bound
        rows: dict[tuple[sympy.Symbol, ...], Parameter] = {}
        for one in traced.parameters:  # those that have to be equal count once
            if len(rows) < MOST:
                rows.setdefault(traced.tied(one.symbol), one)
        self.parameters = [*rows.values()]

    def findings(self) -> Iterator[Finding]:
        """Yields the laws, and then all parameters that are free."""
        free = []
        for one in self.parameters:
            if self._runs({one: one.place.value + 1}):
                sizes = (1, 2 * one.place.value, 8 * one.place.value)
                alone = one.symbol not in self.bound and self._works_alone(one)
                if alone and all(self._runs({one: n}) for n in sizes):
                    free.append(f"`{one.name}`")
            elif found := self._divisible(one):
                yield found
        if free:
            names = listed([*dict.fromkeys(free)])
            rule = "are free" if len(free) > 1 else "is free"
            yield Finding("size", 0, "", f"{names} {rule}.")

    def _runs(self, values: dict[Parameter, int]) -> bool | None:
        tied = {s: n for one, n in values.items() for s in self.traced.tied(one.symbol)}
        return self.probe.works(*self.traced.change(tied))

    def _works_alone(self, one: Parameter) -> bool:
        """Returns whether a parameter may change while those of other names are as they are."""
        others = {each.symbol for each in self.traced.parameters if each.name != one.name}
        tied = self.traced.tied(one.symbol)
        own = [symbol for symbol in tied if symbol not in others]
        size = one.place.value + 1
        return len(own) == len(tied) or bool(
            self.probe.works(*self.traced.change(dict.fromkeys(own, size)))
        )

    def _divisible(self, one: Parameter) -> Finding | None:
        """Returns the law that a parameter is divisible by something; None without proof."""
        now = one.place.value
        for step in divisors(now)[1:-1]:
            if self._runs({one: now + step}):
                break
        else:
            return None
        others = (1, step - 1, now + step + 1)
        if not self._runs({one: now + 2 * step}) or any(self._runs({one: n}) for n in others):
            return None
        by = next((other for other in self.parameters if self._divides(other, one, step)), None)
        words = f"`{by.name}` ({step})" if by else f"{step}"
        return Finding("size", one.place.line, "", f"`{one.name}` must be divisible by {words}.")

    def _divides(self, by: Parameter, one: Parameter, step: int) -> bool:
        """Returns whether a parameter is the step of another, and stays it when it changes."""
        now = one.place.value
        if by is one or by.place.value != step:
            return False
        for new in divisors(now)[-2:0:-1]:  # the larger ones rule more out
            if new != step and self._runs({by: new, one: now + new}):
                least = min(new, step)
                return self._runs({by: max(new, step), one: now + least}) is False
        return False
