"""The command ``check``: every catalogue entry, through every view, at every knob's ends.

At a setting that the guard refuses to run, it goes through the views that need no run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ncd.cli.term_checks import RUNNING, STATIC, Case
from ncd.lang.errors import LimitError
from ncd.models import Entry
from ncd.run import check as guard


def settings(entry: Entry) -> Iterator[dict[str, int]]:
    """Yields the defaults, each knob alone at its ends, all at their ends, and the presets."""
    default = entry.settings({})
    last = {knob.name: knob.nearest(knob.max) for knob in entry.knobs}
    every = [default]
    for knob in entry.knobs:
        every += [{**default, knob.name: end} for end in (knob.min, last[knob.name])]
    every += [{knob.name: knob.min for knob in entry.knobs}, last]
    every += [entry.settings(preset.knobs) for preset in entry.presets]
    fitting = (tuple(entry.within(knobs).items()) for knobs in every)
    yield from (dict(pairs) for pairs in dict.fromkeys(fitting))


@dataclass
class Report:
    """The result of a check: numbers of settings and views, refusals and failures."""

    entries: int = 0
    settings: int = 0
    views: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        return (
            f"{self.entries} entries, {self.settings} settings, {self.views} views: "
            f"{len(self.refused)} settings refused by the guard, {len(self.failures)} failures"
        )


def check(
    entries: Iterable[Entry],
    *,
    pinned: Mapping[str, int] | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Report:
    """Takes entries through every view; with ``pinned`` knobs, at that one setting only."""
    report = Report()
    work = [
        (entry, knobs)
        for entry in entries
        for knobs in ([entry.settings(pinned)] if pinned else settings(entry))
    ]
    report.entries = len({entry.name for entry, _ in work})
    for done, (entry, knobs) in enumerate(work):
        progress(done, len(work), entry.name)
        _one(entry, knobs, seed, device, report)
    progress(len(work), len(work), "")
    return report


def _one(entry: Entry, knobs: dict[str, int], seed: int, device: str, report: Report) -> None:
    report.settings += 1
    where = f"{entry.name} at {', '.join(f'{k} = {v}' for k, v in knobs.items())}"
    try:
        case = Case(entry.build(**knobs), seed, device, entry.look(knobs))
        refused = _refused(case)
    except Exception as error:
        report.failures.append(f"{where}: build: {_words(error)}")
        return
    if refused:
        report.refused.append(f"{where}: {refused}")
    views = STATIC if refused else (*STATIC, *RUNNING)
    for view in views:
        report.views += 1
        try:
            fault = view(case)
        except Exception as error:  # whatever it is, it is on the list, and the rest goes on
            fault = _words(error)
        if fault:
            report.failures.append(f"{where}: {view.__name__}: {fault}")


def _refused(case: Case) -> str:
    """Returns why the guard refuses to run a case; empty if it does not."""
    try:
        guard(case.circuit)
    except LimitError as error:
        return str(error)
    return ""


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")
