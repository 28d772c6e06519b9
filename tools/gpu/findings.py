"""What a section measured: rows of a table, in JSON, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.bench.measurements import Line

MOST, LARGEST = 30, 8  # rows of a table; how many are shown where there are more
HEAD = ("measured", "value", "against", "ratio", "verdict")


@dataclass(frozen=True)
class Finding:
    """One measurement, what is wrong with it, if anything, and further numbers for the JSON."""

    line: Line
    fault: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """Returns it as JSON, flat."""
        return {**asdict(self.line), "fault": self.fault, **self.more}

    @staticmethod
    def read(data: Mapping[str, Any]) -> Finding:
        """Returns the finding that JSON holds.

        >>> found = Finding(Line("sum", 1e-6, unit=""), more={"n": 2})
        >>> Finding.read(found.data) == found
        True
        """
        names = ("what", "value", "against", "ratio", "unit")
        more = {name: x for name, x in data.items() if name not in (*names, "fault")}
        return Finding(Line(**{name: data[name] for name in names}), data["fault"], more)


@dataclass(frozen=True)
class Report:
    """The findings of a section, its seconds, and why it ended early, if it did."""

    section: str
    title: str
    seconds: float
    findings: Sequence[Finding]
    failure: str = ""

    @property
    def faults(self) -> int:
        """The number of faults, one for a section that ended early."""
        return sum(bool(found.fault) for found in self.findings) + bool(self.failure)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of its table: all, or of many those that are wrong and the largest others."""
        found, more = list(self.findings), ""
        if len(found) > MOST:
            largest = sorted(found, key=lambda one: (not one.fault, -one.line.value))
            most = max(LARGEST, sum(bool(one.fault) for one in found))
            found, more = largest[:most], f"and {len(found) - most} smaller ones"
        rows = [(*one.line.row, one.fault or "ok") for one in found]
        return [*rows, (more, "", "", "", "ok")] if more else rows

    @property
    def data(self) -> dict[str, Any]:
        """Returns it as JSON."""
        return {
            "section": self.section,
            "title": self.title,
            "seconds": round(self.seconds, 3),
            "failure": self.failure,
            "findings": [found.data for found in self.findings],
        }


def markdown(reports: Iterable[Report]) -> str:
    """Returns tables in Markdown, with a heading for each section.

    >>> line = Line("sum | all", 0.5, "by hand", 2.0)
    >>> print(markdown([Report("a", "A section", 1.25, [Finding(line)])]))
    ## A section (1.2 s)
    <BLANKLINE>
    | measured | value | against | ratio | verdict |
    | --- | --- | --- | --- | --- |
    | sum \\| all | 500.000 ms | by hand | 2.000 × | ok |
    """
    parts = []
    for report in reports:
        lines = [f"## {report.title} ({report.seconds:.1f} s)", ""]
        if report.failure:
            lines += [f"Ended early: {report.failure}", ""]
        if report.rows:
            rows = [HEAD, ("---",) * len(HEAD), *report.rows]
            lines += [_row(row) for row in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
