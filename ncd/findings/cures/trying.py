"""Tries edits by reading the edited source again, and keeps those that work."""

from __future__ import annotations

import time
from math import inf

from ncd.findings.cures.attempts import candidates, read_again, works
from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.chain import chain, rank
from ncd.findings.failures.failure import Failure
from ncd.findings.finding import Cure, edited
from ncd.findings.reading.source_trace import Trace

MOST = 3  # cures of a failure
TRIES = 45  # readings for them
SINGLE = ("axes", "shape")  # searches of which one cure is shown
CHEAP = 1.5  # a cure that is likely what was meant, so that none of several edits is looked for
PATIENCE = 15  # readings behind such a cure that bring no other one
MORE = 3.5  # dearer than the best cure, and not tried any more


def cures(failure: Failure, plain: Trace, deadline: float) -> tuple[Cure, ...]:
    """Returns at most three cures of a failure, each of which was read, the likeliest first.

    Args:
        failure: The failure, of a reading with symbols if there is one.
        plain: The reading with plain numbers.
        deadline: When it stops trying, in seconds of computing.
    """
    trace = failure.trace
    tried: dict[str, Trace] = {}
    good: list[tuple[Candidate, Cure]] = []
    failed: list[tuple[Candidate, Trace]] = []
    last = 0  # readings up to the last cure
    for candidate in candidates(failure):
        if len(tried) >= TRIES or time.process_time() > deadline:
            break
        if good and candidate.cost > good[0][0].cost + MORE:
            break
        if _has_cheap(good) and len(tried) >= last + PATIENCE:
            break
        text = edited(trace.text, candidate.edits)
        if text in tried:
            continue
        again = tried[text] = read_again(text, trace, deadline)
        if works(again, trace, candidate.edits):
            good.append((candidate, _cure(candidate, text, again)))
            last = len(tried)
            if (len({c.kind for c, _ in good}) > 1 and len(good) >= MOST) or len(good) > MOST:
                break
        else:
            failed.append((candidate, again))
    if not _has_cheap(good):
        best = min((rank(one) for one, _ in good), default=inf)
        found = chain(failure, plain, failed, deadline, best)
        if found is not None:
            good.append((found[0], _cure(*found)))
    return _chosen(failure, good)


def _has_cheap(good: list[tuple[Candidate, Cure]]) -> bool:
    """Returns whether one of the cures is likely what was meant."""
    return any(one.changes == "model" and one.cost <= CHEAP for one, _ in good)


def _chosen(failure: Failure, good: list[tuple[Candidate, Cure]]) -> tuple[Cure, ...]:
    """Returns the best of the cures; several of one search only where no other has any."""
    batch = failure.trace.inputs[0].shape[0] if _has_batch(failure) else None
    first = None if batch is None else failure.value(failure.trace.table.expr(batch))

    def order(pair: tuple[Candidate, Cure]) -> float:
        candidate, cure = pair
        moved = candidate.kind == "axes" and first is not None and cure.shapes
        lost = moved and cure.shapes[0][:1] != (first,)
        return rank(candidate) + 1.5 * bool(lost)

    ranked = sorted(good, key=order)
    moved = bool(ranked) and ranked[0][0].kind == "axes"
    counts: dict[object, int] = {}
    found: list[Cure] = []
    for candidate, cure in ranked:
        place = (candidate.kind, candidate.edits[0].line, candidate.edits[0].start)
        key = candidate.kind if candidate.kind in SINGLE else place
        counts[key] = counts.get(key, 0) + 1
        lucky = moved and candidate.changes == "input" and candidate.kind == "number"
        more = any({*one.edits} <= {*cure.edits} for one in found)  # with edits that nothing needs
        if counts[key] <= (1 if key in SINGLE else 2) and not lucky and not more:
            found.append(cure)
    return tuple(found[:MOST])


def _has_batch(failure: Failure) -> bool:
    inputs = failure.trace.inputs
    return bool(inputs) and inputs[0].dim() > 0


def _cure(candidate: Candidate, text: str, trace: Trace) -> Cure:
    return Cure(candidate.edits, text, candidate.changes, trace.shape_of(trace.result))
