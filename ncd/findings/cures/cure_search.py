"""Tries edits, alone or after each other, by reading the edited source; keeps those that work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from math import inf

from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.device_edits import device_edits
from ncd.findings.cures.format_edits import format_edits
from ncd.findings.cures.layer_edits import (
    argument_edits,
    batch_first_edits,
    direction_edits,
    group_edits,
    mode_edits,
    norm_edits,
    padding_edits,
    parameter_edits,
    projection_edits,
    shortcut_edits,
    stride_edits,
    swap_edits,
    switch_edits,
)
from ncd.findings.cures.made_array_edits import mask_shape_edits, state_edits
from ncd.findings.cures.mask_edits import mask_edits
from ncd.findings.cures.number_edits import MIN_COST, number_edits
from ncd.findings.cures.scope_edits import carried_edits, layer_of_function_edits, name_edits
from ncd.findings.cures.shape_edits import (
    axis_edits,
    binary_loss_edits,
    call_edits,
    flattening_edits,
    rank_edits,
    shape_edits,
)
from ncd.findings.failures.failure import Failure, failure_of, flattening_call
from ncd.findings.reading.finding import Cure, Edit, apply_edits
from ncd.findings.reading.source_trace import SourceTrace

# --- All edits that may cure a failure, and the reading that shows whether they do

SECONDS = 5.0  # of one reading
SEARCHES = (
    *(argument_edits, swap_edits, parameter_edits, switch_edits, direction_edits, axis_edits),
    *(call_edits, shape_edits, shortcut_edits, projection_edits, padding_edits, mode_edits),
    *(
        device_edits,
        format_edits,
        norm_edits,
        mask_edits,
        mask_shape_edits,
        state_edits,
        batch_first_edits,
        flattening_edits,
        name_edits,
        carried_edits,
        binary_loss_edits,
        layer_of_function_edits,
        rank_edits,
        group_edits,
        stride_edits,
    ),
)


def candidates(failure: Failure) -> Iterator[Candidate]:
    """Yields all edits that a search finds, the likeliest first.

    Numbers are solved for, which is slow, only once nothing cheaper than any of them is left.
    """
    joined = flattening_call(failure)
    if joined is not None and len(joined.shapes[0]) > 3:  # else features would hold the batch
        yield from flattening_edits(failure)
        return
    found = sorted((one for search in SEARCHES for one in search(failure)), key=_cost)
    first = [one for one in found if one.cost <= MIN_COST]
    yield from first
    yield from sorted((*found[len(first) :], *number_edits(failure)), key=_cost)


def _cost(one: Candidate) -> float:
    return one.cost


def read_again(
    text: str, trace: SourceTrace, deadline: float, symbolic: bool = False
) -> SourceTrace:
    """Returns the reading of an edited text, with the inputs of the reading before."""
    end = min(deadline, time.process_time() + SECONDS)
    return SourceTrace(text, symbolic, end, trace.shapes or trace.assumed).read()


def works(after: SourceTrace, before: SourceTrace, edits: tuple[Edit, ...]) -> bool:
    """Returns whether an edited source was read to its end without a failure, as far as before."""
    if after.error is not None or after.refusal is not None or after.unsure:
        return False
    changed = {edit.line for edit in edits} & set(after.left_out)
    return not changed and len(after.left_out) <= len(before.left_out)


# --- Cures of several edits, each of which is found after the one before brought the reading on

MAX_CHAIN_STARTS = 4  # edits with which a chain begins
MAX_NEXT_EDITS = 10  # edits that are tried behind one
LONGEST = 5  # edits of a chain
ONCE = ("axes", "view")  # edits after which the same call may not fail again
DEAREST = {"model": 4.0, "input": 5.0, "meaning": 0.0}  # cost; dearer is hardly what was meant
CHAIN_TRIES = 40  # readings behind one edit
ALONE = ("layer", "mode", "written")  # edits that add lines, hide the failure, or are guesses

WorkingCandidate = tuple[Candidate, str, SourceTrace]


def chain(
    failure: Failure,
    before: SourceTrace,
    failed: list[tuple[Candidate, SourceTrace]],
    deadline: float,
    below: float = inf,
) -> WorkingCandidate | None:
    """Returns a cure of several edits, with the edited text and its reading; None if none is found.

    Args:
        failure: The first failure.
        before: The reading of the text with plain numbers.
        failed: The single edits that did not cure it, with their readings.
        deadline: When it stops trying, in seconds of computing.
        below: The rank of the best single edit; a chain that does not come before it is not tried.
    """
    search = _ChainSearch(failure.trace, deadline, below)
    begun = [(one, trace) for one, trace in failed if search.goes_on(one, before, trace)]
    for candidate, trace in sorted(begun, key=lambda pair: _order(before, *pair))[
        :MAX_CHAIN_STARTS
    ]:
        search.most = len(search.tried) + CHAIN_TRIES
        if (cured := search.behind(candidate, trace, LONGEST - 1)) is not None:
            return cured
    return None


def _order(before: SourceTrace, candidate: Candidate, after: SourceTrace) -> tuple[bool, float]:
    """Returns an order: edits that brought the reading to another place come first."""
    return _place(after) == _place(before), candidate.cost


def _place(trace: SourceTrace) -> tuple[int, str, str]:
    """Returns where a reading stopped: the line, the layer and the function."""
    failure = failure_of(trace)
    if failure is None:
        return 0, "", ""
    name = failure.call.name if failure.call is not None else ""
    return getattr(failure.node, "lineno", 0), failure.path, name


class _ChainSearch:
    """The search for chains: what was tried, and until when it goes on."""

    def __init__(self, trace: SourceTrace, deadline: float, below: float) -> None:
        self.trace, self.deadline, self.below = trace, deadline, below
        self.tried: set[str] = set()
        self.most = CHAIN_TRIES

    def goes_on(self, candidate: Candidate, before: SourceTrace, after: SourceTrace) -> bool:
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

    def behind(
        self, candidate: Candidate, trace: SourceTrace, left: int
    ) -> WorkingCandidate | None:
        """Returns the first cure that begins with some edits; None if none is found."""
        failure = failure_of(trace)
        if failure is None or left == 0:
            return None
        for symbolic in (False, True):
            steps: list[tuple[Candidate, SourceTrace]] = []
            if symbolic:
                text = apply_edits(self.trace.text, candidate.edits)
                failure = failure_of(read_again(text, self.trace, self.deadline, True)) or failure
            for more in islice(candidates(failure), MAX_NEXT_EDITS):
                both = self.combine(candidate, more)
                text = "" if both is None else apply_edits(self.trace.text, both.edits)
                if both is None or text in self.tried or self.is_exhausted:
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

    def combine(self, first: Candidate, more: Candidate) -> Candidate | None:
        """Returns two changes as one; None if they are hardly what was meant."""
        if more.kind in ALONE or (first.kind == "number" and more.kind in ("axes", "shape")):
            return None
        both = combine_candidates(first, more)
        dear = both is None or both.cost > DEAREST[both.changes] or rank(both) >= self.below
        return None if dear else both

    @property
    def is_exhausted(self) -> bool:
        """Whether no more is tried."""
        return len(self.tried) >= self.most or time.process_time() > self.deadline


def rank(candidate: Candidate) -> float:
    """Returns where a cure stands among others: what it costs, a little more for each edit."""
    meaning = 10 * (candidate.changes == "meaning")
    return candidate.cost + 0.1 * len(candidate.edits) + meaning


def combine_candidates(first: Candidate, second: Candidate) -> Candidate | None:
    """Returns two changes as one of the text before; None where their lines are the same."""
    lines = {edit.line for edit in first.edits}
    if any(edit.line in lines for edit in second.edits):
        shifted = _with_original_places(first, second)
        if shifted is None:
            return None
        second = shifted
    changes = second.changes if first.changes == "model" else first.changes
    both = first.changes == second.changes == "input"  # two sizes of one picture
    cost = max(first.cost, second.cost) + 0.2 if both else first.cost + second.cost
    return Candidate((*first.edits, *second.edits), cost, first.kind, changes)


def _with_original_places(first: Candidate, second: Candidate) -> Candidate | None:
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


# --- Tries edits by reading the edited source again, and keeps those that work

MAX_CURES = 3  # cures of a failure
TRIES = 45  # readings for them
SINGLE_CURE_KINDS = ("axes", "shape")  # searches of which one cure is shown
LIKELY_COST = (
    1.5  # a cure that is likely what was meant, so that none of several edits is looked for
)
PATIENCE = 15  # readings behind such a cure that bring no other one
VAIN = 6  # of them, of one search: then another may have an alternative
MAX_EXTRA_COST = 3.5  # dearer than the best cure, and not tried any more


def cures(failure: Failure, plain: SourceTrace, deadline: float) -> tuple[Cure, ...]:
    """Returns at most three cures of a failure, each of which was read, the likeliest first.

    Args:
        failure: The failure, of a reading with symbols if there is one.
        plain: The reading with plain numbers.
        deadline: When it stops trying, in seconds of computing.
    """
    trace, last = failure.trace, 0  # readings up to the last cure
    tried: dict[str, SourceTrace] = {}
    good: list[tuple[Candidate, Cure]] = []
    failed: list[tuple[Candidate, SourceTrace]] = []
    vain: Counter[str] = Counter()  # readings of each search since its last cure
    for candidate in candidates(failure):
        cheap = _has_cheap(good)
        most = min(TRIES, last + PATIENCE) if cheap else TRIES
        if len(tried) >= most or time.process_time() > deadline:
            break
        if good and candidate.cost > good[0][0].cost + MAX_EXTRA_COST:
            break
        text = apply_edits(trace.text, candidate.edits)
        if text in tried or (cheap and vain[candidate.kind] >= VAIN):
            continue
        again = tried[text] = read_again(text, trace, deadline)
        if works(again, trace, candidate.edits):
            good.append((candidate, _cure(candidate, text, again)))
            last, vain[candidate.kind] = len(tried), 0
            has_choice = len({c.kind for c, _ in good}) > 1
            if len(good) >= MAX_CURES + (not has_choice):
                break
        else:
            failed.append((candidate, again))
            vain[candidate.kind] += 1
    if not _has_cheap(good):
        best = min((rank(one) for one, _ in good), default=inf)
        found = chain(failure, plain, failed, deadline, best)
        good += [(found[0], _cure(*found))] if found else []
    return _best_cures(failure, good)


def _has_cheap(good: list[tuple[Candidate, Cure]]) -> bool:
    """Returns whether one of the cures is likely what was meant."""
    return any(one.changes == "model" and one.cost <= LIKELY_COST for one, _ in good)


def _best_cures(failure: Failure, good: list[tuple[Candidate, Cure]]) -> tuple[Cure, ...]:
    """Returns the best of the cures; several of one search only where no other has any."""
    batch = failure.trace.inputs[0].shape[0] if _has_batch(failure) else None
    first = None if batch is None else failure.value(failure.trace.table.expr(batch))

    def order(pair: tuple[Candidate, Cure]) -> float:
        candidate, cure = pair
        moved = candidate.kind == "axes" and first is not None and cure.shapes
        lost = moved and cure.shapes[0][:1] != (first,)
        return rank(candidate) + 1.5 * bool(lost)

    masks = {one.edits[-1].line for one, _ in good if one.kind == "mask"}
    good = [one for one in good if one[0].kind != "axes" or one[0].edits[-1].line not in masks]
    ranked = sorted(good, key=order)
    moved = bool(ranked) and ranked[0][0].kind == "axes"
    counts: dict[object, int] = {}
    found: list[Cure] = []
    for candidate, cure in ranked:
        place = (candidate.kind, candidate.edits[0].line, candidate.edits[0].start)
        key = candidate.kind if candidate.kind in SINGLE_CURE_KINDS else place
        counts[key] = counts.get(key, 0) + 1
        lucky = moved and candidate.changes == "input" and candidate.kind == "number"
        more = any({*one.edits} <= {*cure.edits} for one in found)  # with edits that nothing needs
        if counts[key] <= (1 if key in SINGLE_CURE_KINDS else 2) and not lucky and not more:
            found.append(cure)
    return tuple(found[:MAX_CURES])


def _has_batch(failure: Failure) -> bool:
    inputs = failure.trace.inputs
    return bool(inputs) and inputs[0].dim() > 0


def _cure(candidate: Candidate, text: str, trace: SourceTrace) -> Cure:
    return Cure(candidate.edits, text, candidate.changes, trace.shape_of(trace.result))
