"""A catalogue entry: a system's name, its knobs, and the function from knobs to its term."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ncd.errors import SizeError, UnknownNameError, shown
from ncd.terms import Term


@dataclass(frozen=True)
class Knob:
    """One thing to turn: a whole number from ``min`` to ``max``, or a switch (0 or 1, ``switch``).

    ``reason`` says why the bounds are what they are.
    """

    name: str
    min: int
    max: int
    default: int
    step: int = 1
    help: str = ""
    reason: str = ""
    switch: bool = False

    def check(self, value: Any) -> int:
        """The value as a whole number within the bounds; raises SizeError with the nearest."""
        if isinstance(value, bool) and self.switch:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise SizeError(
                f"{self.name} is {shown(value)}, but it is a whole number",
                cure=f"{self.name} = {self.default}",
                axis=self.name,
                nearest=self.default,
            )
        nearest = self.nearest(value)
        if nearest != value:
            steps = f" in steps of {self.step}" if self.step > 1 else ""
            raise SizeError(
                f"{self.name} is {shown(value)}, but it goes from {self.min} to {self.max}{steps}",
                cure=f"{self.name} = {nearest}",
                axis=self.name,
                nearest=nearest,
            )
        return value

    def nearest(self, value: int) -> int:
        """The value of this knob that is closest."""
        steps = round((min(max(value, self.min), self.max) - self.min) / self.step)
        return min(self.min + steps * self.step, self.max - (self.max - self.min) % self.step)


@dataclass(frozen=True)
class Entry:
    """A system of the catalogue.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> entry.title, [knob.name for knob in entry.knobs][:2]
    ('Multi-head attention', ['h', 'k'])
    """

    name: str
    title: str
    source: str
    knobs: tuple[Knob, ...]
    system: Callable[..., Term]

    def build(self, **knobs: int) -> Term:
        """The term at these knobs, the others at their defaults.

        Raises UnknownNameError for a knob that the system lacks, and SizeError for a value that is
        out of bounds or that the system cannot have.
        """
        return self.system(**self.settings(knobs))

    def settings(self, knobs: Mapping[str, Any]) -> dict[str, int]:
        """All knobs with their values, checked."""
        known = {knob.name: knob for knob in self.knobs}
        for name in knobs:
            if name not in known:
                raise unknown("knob", name, known, where=self.name)
        return {
            name: knob.check(knobs[name]) if name in knobs else knob.default
            for name, knob in known.items()
        }


class Catalogue(Mapping[str, Entry]):
    """Entries by name, in the order in which they are shown.

    >>> import ncd
    >>> "multi-head-attention" in ncd.catalogue
    True

    Raises UnknownNameError for a name that it lacks.
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> Entry:
        try:
            return self._entries[name]
        except KeyError:
            raise unknown("system", name, self._entries) from None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def unknown(what: str, name: str, known: Mapping[str, object], where: str = "") -> UnknownNameError:
    """The error for a name that is in no catalogue, with the one that was meant."""
    close = get_close_matches(str(name), known, n=1)
    cure = close[0] if close else f"one of {', '.join(known)}"
    return UnknownNameError(f"there is no {what} {shown(name)}", cure=cure, where=where)
