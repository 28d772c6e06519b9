"""Tries edits by reading the edited source again, and keeps those that work."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ncd.findings.cures.argument_edits import argument_edits, switch_edits
from ncd.findings.cures.axis_edits import axis_edits, call_edits
from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.layer_edits import mode_edits, padding_edits, shortcut_edits
from ncd.findings.cures.number_edits import number_edits
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.finding import Cure, Edit, edited
from ncd.findings.reading.source_trace import Trace

MOST = 3  # cures of a failure
TRIES = 45  # readings for them
SECONDS = 5.0  # of one reading
MORE = 3.5  # dearer than the best cure, and not tried any more
FIRST = 4  # edits that are gone on with, as another number has to change as well
COMBINED = ("number", "argument")


def cures(failure: Failure, deadline: float) -> tuple[Cure, ...]:
    """Returns at most three cures of a failure, each of which was read, the likeliest first.

    Args:
        failure: The failure, of a reading with symbols if there is one.
        deadline: When it stops trying, in seconds of computing.
    """
    trace = failure.trace
    tried: dict[str, Trace] = {}
    good: list[tuple[Candidate, Cure]] = []
    near: list[Candidate] = []
    for candidate in _candidates(failure):
        text = edited(trace.text, candidate.edits)
        if text in tried or len(tried) >= TRIES or time.process_time() > deadline:
            continue
        if good and candidate.cost > good[0][0].cost + MORE:
            break
        again = tried[text] = _again(text, trace, deadline)
        if works(again, candidate.edits):
            good.append((candidate, _cure(candidate, text, again)))
            if (len({c.kind for c, _ in good}) > 1 and len(good) >= MOST) or len(good) > MOST:
                break
        elif candidate.kind in COMBINED and _further(trace, again):
            near.append(candidate)
    if all(candidate.changes == "meaning" for candidate, _ in good):
        good += list(_second(failure, near, deadline))
    return _chosen(failure, good)


def _chosen(failure: Failure, good: list[tuple[Candidate, Cure]]) -> tuple[Cure, ...]:
    """Returns the best of the cures; several of one search only where no other has any."""
    batch = failure.trace.inputs[0].shape[0] if _has_batch(failure) else None
    first = None if batch is None else failure.value(failure.trace.table.expr(batch))

    def order(pair: tuple[Candidate, Cure]) -> float:
        candidate, cure = pair
        moved = candidate.kind == "axes" and first is not None and cure.shapes
        lost = moved and cure.shapes[0][:1] != (first,)
        return candidate.cost + 1.5 * bool(lost) + 10 * (candidate.changes == "meaning")

    ranked = sorted(good, key=order)
    moved = bool(ranked) and ranked[0][0].kind == "axes"
    counts: dict[object, int] = {}
    found = []
    for candidate, cure in ranked:
        axes = candidate.kind == "axes"
        key = (
            "axes" if axes else (candidate.kind, candidate.edits[0].line, candidate.edits[0].start)
        )
        counts[key] = counts.get(key, 0) + 1
        lucky = moved and candidate.changes == "input" and candidate.kind == "number"
        if counts[key] <= (1 if axes else 2) and not lucky:
            found.append(cure)
    return tuple(found[:MOST])


def _has_batch(failure: Failure) -> bool:
    inputs = failure.trace.inputs
    return bool(inputs) and inputs[0].dim() > 0


def _candidates(failure: Failure) -> list[Candidate]:
    """Returns all edits that a search finds, the likeliest first."""
    every: list[Candidate] = []
    for search in (
        *(argument_edits, switch_edits, axis_edits, call_edits),
        *(shortcut_edits, padding_edits, mode_edits, number_edits),
    ):
        every += search(failure)
    return sorted(every, key=lambda one: one.cost)


def _again(text: str, trace: Trace, deadline: float, symbolic: bool = False) -> Trace:
    end = min(deadline, time.process_time() + SECONDS)
    return Trace(text, symbolic, end, trace.shapes or trace.assumed).read()


def works(trace: Trace, edits: tuple[Edit, ...] = ()) -> bool:
    """Returns whether a source was read to its end without a failure, its edits included."""
    if trace.error is not None or trace.refusal is not None or trace.unsure:
        return False
    return not {edit.line for edit in edits} & set(trace.left_out)


def _further(before: Trace, after: Trace) -> bool:
    """Returns whether a reading got further than the one before, or stops in another way."""
    if after.refusal is not None or after.unsure:
        return False
    return after.message != before.message


def _cure(candidate: Candidate, text: str, trace: Trace) -> Cure:
    return Cure(candidate.edits, text, candidate.changes, trace.shape_of(trace.result))


def _second(
    failure: Failure, near: list[Candidate], deadline: float
) -> Iterator[tuple[Candidate, Cure]]:
    """Yields cures of two numbers, of which the second is found after the first has changed."""
    for candidate in near[:FIRST]:
        if time.process_time() > deadline:
            return
        text = edited(failure.trace.text, candidate.edits)
        trace = _again(text, failure.trace, deadline, symbolic=True)
        next_failure = failure_of(trace)
        if next_failure is None:
            continue
        numbers = [one for one in _candidates(next_failure) if one.kind in COMBINED]
        for more in numbers[:12]:
            both = _both(candidate, more)
            if both is None or time.process_time() > deadline:
                continue
            new = edited(failure.trace.text, both.edits)
            again = _again(new, failure.trace, deadline)
            if works(again, both.edits):
                yield both, _cure(both, new, again)
                break


def _both(first: Candidate, second: Candidate) -> Candidate | None:
    """Returns two changes as one of the text before; None where their lines are the same."""
    lines = {edit.line for edit in first.edits}
    if any(edit.line in lines for edit in second.edits):
        shifted = _shifted(first, second)
        if shifted is None:
            return None
        second = shifted
    changes = second.changes if first.changes == "model" else first.changes
    return Candidate((*first.edits, *second.edits), first.cost + second.cost, first.kind, changes)


def _shifted(first: Candidate, second: Candidate) -> Candidate | None:
    """Returns the second change with its places in the text before the first one."""
    moved = []
    for edit in second.edits:
        start, end = edit.start, edit.end
        for old in sorted(first.edits):
            if old.line != edit.line:
                continue
            grown = len(old.new) - (old.end - old.start)
            if start >= old.start + len(old.new):
                start, end = start - grown, end - grown
            elif end > old.start:
                return None
        moved.append(Edit(edit.line, start, end, edit.new))
    return Candidate(tuple(moved), second.cost, second.kind, second.changes)
