"""What ``bench`` prints: measurements, each with what it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One measurement in seconds or in bytes, and what it is held against, if anything."""

    what: str
    value: float
    against: str = ""
    ratio: float | None = None
    unit: str = "s"

    @property
    def row(self) -> tuple[str, str, str, str]:
        """What the table says of it."""
        ratio = "" if self.ratio is None else f"{self.ratio:.3f} ×"
        return self.what, amount(self.value, self.unit), self.against, ratio


def amount(value: float, unit: str) -> str:
    """A measurement in words; one without a unit is a share.

    >>> amount(0.0125, "s"), amount(18364, "bytes"), amount(1.5e-7, "")
    ('12.500 ms', '18,364 bytes', '1.5e-07')
    """
    if unit == "s":
        return f"{1e3 * value:.3f} ms"
    return f"{value:,.0f} {unit}" if unit else f"{value:.1e}"


def against(what: str, times: Mapping[str, float], name: str, others: Iterable[str]) -> list[Line]:
    """One of several times, held against each of some others, or against nothing."""
    own = times[name]
    return [
        Line(f"{what}: {name}", own, f"{other} {amount(times[other], 's')}", own / times[other])
        for other in others
    ] or [Line(f"{what}: {name}", own)]
