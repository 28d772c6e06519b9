"""What ``bench`` prints: measurements, each with what it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One measurement, and what it is held against, if anything."""

    what: str
    seconds: float
    against: str = ""
    ratio: float | None = None


def against(what: str, times: Mapping[str, float], name: str, others: Iterable[str]) -> list[Line]:
    """One of several measurements, held against each of some others."""
    own = times[name]
    return [
        Line(f"{what}: {name}", own, f"{other} {times[other] * 1e3:.3f} ms", own / times[other])
        for other in others
    ]
