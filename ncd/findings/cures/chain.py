"""Cures of several edits, each of which is found after the one before brought the reading on."""

from __future__ import annotations

import time
from itertools import islice
from math import inf

from ncd.findings.cures.attempts import candidates, read_again, works
from ncd.findings.cures.candidate import Candidate
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.finding import Edit, edited
from ncd.findings.reading.source_trace import Trace

FIRST = 4  # edits with which a chain begins
NEXT = 10  # edits that are tried behind one
LONGEST = 5  # edits of a chain
ONCE = ("axes", "view")  # edits after which the same call may not fail again
DEAREST = {"model": 4.0, "input": 5.0, "meaning": 0.0}  # cost; dearer is hardly what was meant
TRIES = 40  # readings behind one edit
ALONE = ("layer", "mode", "written")  # edits that add lines, hide the failure, or are guesses

Cured = tuple[Candidate, str, Trace]


def chain(
    failure: Failure,
    before: Trace,
    failed: list[tuple[Candidate, Trace]],
    deadline: float,
    below: float = inf,
) -> Cured | None:
    """Returns a cure of several edits, with the edited text and its reading; None if none is found.

    Args:
        failure: The first failure.
        before: The reading of the text with plain numbers.
        failed: The single edits that did not cure it, with their readings.
        deadline: When it stops trying, in seconds of computing.
        below: The rank of the best single edit; a chain that does not come before it is not tried.
    """
    search = _Search(failure.trace, deadline, below)
    begun = [(one, trace) for one, trace in failed if search.goes_on(one, before, trace)]
    for candidate, trace in sorted(begun, key=lambda pair: _order(before, *pair))[:FIRST]:
        search.most = len(search.tried) + TRIES
        if (cured := search.behind(candidate, trace, LONGEST - 1)) is not None:
            return cured
    return None


def _order(before: Trace, candidate: Candidate, after: Trace) -> tuple[bool, float]:
    """Returns an order: edits that brought the reading to another place come first."""
    return _place(after) == _place(before), candidate.cost


def _place(trace: Trace) -> tuple[int, str, str]:
    """Returns where a reading stopped: the line, the layer and the function."""
    failure = failure_of(trace)
    if failure is None:
        return 0, "", ""
    name = failure.call.name if failure.call is not None else ""
    return getattr(failure.node, "lineno", 0), failure.path, name


class _Search:
    """The search for chains: what was tried, and until when it goes on."""

    def __init__(self, trace: Trace, deadline: float, below: float) -> None:
        self.trace, self.deadline, self.below = trace, deadline, below
        self.tried: set[str] = set()
        self.most = TRIES

    def goes_on(self, candidate: Candidate, before: Trace, after: Trace) -> bool:
        """Returns whether the reading got farther than before, or as far and stops otherwise."""
        if after.refusal is not None or after.unsure or candidate.kind in ALONE:
            return False
        if rank(candidate) >= self.below:
            return False
        if len(after.recorder.calls) < len(before.recorder.calls):
            return False
        if _place(after) != _place(before):
            return True
        return candidate.kind not in ONCE and after.message != before.message

    def behind(self, candidate: Candidate, trace: Trace, left: int) -> Cured | None:
        """Returns the first cure that begins with some edits; None if none is found."""
        failure = failure_of(trace)
        if failure is None or left == 0:
            return None
        for symbolic in (False, True):
            steps: list[tuple[Candidate, Trace]] = []
            if symbolic:
                text = edited(self.trace.text, candidate.edits)
                failure = failure_of(read_again(text, self.trace, self.deadline, True)) or failure
            for more in islice(candidates(failure), NEXT):
                both = self.joined(candidate, more)
                text = "" if both is None else edited(self.trace.text, both.edits)
                if both is None or text in self.tried or self.ended:
                    continue
                self.tried.add(text)
                after = read_again(text, self.trace, self.deadline)
                if works(after, self.trace, both.edits):
                    return both, text, after
                if self.goes_on(both, trace, after):
                    steps.append((both, after))
            for both, after in sorted(steps, key=lambda pair: _order(trace, *pair))[:2]:
                if (cured := self.behind(both, after, left - 1)) is not None:
                    return cured
        return None

    def joined(self, first: Candidate, more: Candidate) -> Candidate | None:
        """Returns two changes as one; None if they are hardly what was meant."""
        if more.kind in ALONE or (first.kind == "number" and more.kind in ("axes", "shape")):
            return None
        both = joined(first, more)
        dear = both is None or both.cost > DEAREST[both.changes] or rank(both) >= self.below
        return None if dear else both

    @property
    def ended(self) -> bool:
        """Whether no more is tried."""
        return len(self.tried) >= self.most or time.process_time() > self.deadline


def rank(candidate: Candidate) -> float:
    """Returns where a cure stands among others: what it costs, a little more for each edit."""
    meaning = 10 * (candidate.changes == "meaning")
    return candidate.cost + 0.1 * len(candidate.edits) + meaning


def joined(first: Candidate, second: Candidate) -> Candidate | None:
    """Returns two changes as one of the text before; None where their lines are the same."""
    lines = {edit.line for edit in first.edits}
    if any(edit.line in lines for edit in second.edits):
        shifted = _shifted(first, second)
        if shifted is None:
            return None
        second = shifted
    changes = second.changes if first.changes == "model" else first.changes
    both = first.changes == second.changes == "input"  # two sizes of one picture
    cost = max(first.cost, second.cost) + 0.2 if both else first.cost + second.cost
    return Candidate((*first.edits, *second.edits), cost, first.kind, changes)


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
