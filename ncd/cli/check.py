"""The command ``check``: systems at every knob's ends and samples of ops, through every view.

At a setting that the guard refuses to run, a system goes through the views that need no run. In a
checkout, the tests of systems and ops that are named run as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ncd.cli import project_tests
from ncd.cli.stored_checks import STORED
from ncd.cli.term_checks import RUNNING, SAMPLED, STATIC, Case, View
from ncd.lang.errors import LimitError
from ncd.lang.terms.op import Op, Sample
from ncd.lang.terms.terms import Id, Then
from ncd.lang.types.axes import Type
from ncd.models import Entry
from ncd.run import check as guard

Bar = Callable[[int, int, str], None]


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
    """The result of a check: numbers of what was checked, refusals and failures."""

    systems: int = 0
    ops: int = 0
    settings: int = 0
    views: int = 0
    tests: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        return (
            f"{self.systems} systems, {self.ops} ops, {self.settings} settings, {self.views} "
            f"views, {self.tests} tests: {len(self.refused)} settings refused by the guard, "
            f"{len(self.failures)} failures"
        )


class Item(NamedTuple):
    """One term to check: its name, its place in a message, the case, and its views."""

    name: str
    where: str
    make: Callable[[], Case]
    static: Sequence[View]
    running: Sequence[View] = ()


def check(
    entries: Sequence[Entry] = (),
    ops: Sequence[type[Op]] = (),
    *,
    pinned: Mapping[str, int] | None = None,
    fast: bool = False,
    tested: bool = False,
    seed: int = 0,
    device: str = "cpu",
    progress: Bar = lambda done, total, what: None,
) -> Report:
    """Takes systems and ops through every view.

    Args:
        entries: The systems.
        ops: The ops, each at its samples.
        pinned: The knobs of the only setting that is checked, if it is given.
        fast: Whether each system is checked at its defaults only.
        tested: Whether the tests of these systems and ops run too, in a checkout.
        seed: The seed of weights and inputs.
        device: The device of the runs.
        progress: Called with the number of checked terms, that of all, and a name.
    """
    report = Report(systems=len(entries), ops=len(ops))
    work = [item for op in ops for item in _samples(op, seed, device)]
    for entry in entries:
        every = [entry.settings(pinned)] if pinned else settings(entry)
        work += _settings(entry, [entry.settings({})] if fast else every, seed, device)
    for done, item in enumerate(work):
        progress(done, len(work), item.name)
        _check(item, report)
    progress(len(work), len(work), "")
    if tested:
        names = (*(entry.name for entry in entries), *(op.__name__ for op in ops))
        report.tests, failed = project_tests.run(names, progress)
        report.failures += failed
    return report


def _settings(
    entry: Entry, every: Iterable[dict[str, int]], seed: int, device: str
) -> Iterator[Item]:
    def make(knobs: dict[str, int]) -> Case:
        return Case(entry.build(**knobs), seed, device, entry.look(knobs), entry)

    for knobs in every:
        where = f"{entry.name} at {', '.join(f'{k} = {v}' for k, v in knobs.items())}"
        stored = STORED if knobs == entry.settings({}) else ()
        yield Item(entry.name, where, partial(make, knobs), (*STATIC, *stored), RUNNING)


def _samples(op: type[Op], seed: int, device: str) -> Iterator[Item]:
    def make(sample: Sample) -> Case:
        return Case(Then(Id(Type.parse(sample.dom)), sample.op), seed, device)

    for sample in op.samples():
        where, views = f"{sample.op!r} on ({sample.dom})", (*STATIC, *SAMPLED)
        yield Item(op.__name__, where, partial(make, sample), views)


def _check(item: Item, report: Report) -> None:
    report.settings += 1
    try:
        case = item.make()
        refused = _refused(case)
    except Exception as error:
        report.failures.append(f"{item.where}: build: {_words(error)}")
        return
    if refused:
        report.refused.append(f"{item.where}: {refused}")
    for view in item.static if refused else (*item.static, *item.running):
        report.views += 1
        try:
            fault = view(case)
        except Exception as error:  # is reported, and the other checks still run
            fault = _words(error)
        if fault:
            report.failures.append(f"{item.where}: {view.__name__}: {fault}")


def _refused(case: Case) -> str:
    """Returns the guard's reason not to run a case; empty if it may run."""
    try:
        guard(case.circuit)
    except LimitError as error:
        return str(error)
    return ""


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")
