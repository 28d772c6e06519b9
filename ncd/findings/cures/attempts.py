"""All edits that may cure a failure, and the reading that shows whether they do."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ncd.findings.cures.argument_edits import (
    argument_edits,
    direction_edits,
    parameter_edits,
    swap_edits,
    switch_edits,
)
from ncd.findings.cures.axis_edits import axis_edits, call_edits
from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.layer_edits import mode_edits, projection_edits, shortcut_edits
from ncd.findings.cures.mask_edits import mask_edits
from ncd.findings.cures.number_edits import LEAST, number_edits
from ncd.findings.cures.shape_edits import shape_edits
from ncd.findings.cures.window_edits import padding_edits
from ncd.findings.failures.failure import Failure
from ncd.findings.finding import Edit
from ncd.findings.reading.source_trace import Trace

SECONDS = 5.0  # of one reading
SEARCHES = (
    *(argument_edits, swap_edits, parameter_edits, switch_edits, direction_edits, axis_edits),
    *(call_edits, shape_edits, shortcut_edits, projection_edits, padding_edits, mode_edits),
    mask_edits,
)


def candidates(failure: Failure) -> Iterator[Candidate]:
    """Yields all edits that a search finds, the likeliest first.

    Numbers are solved for, which is slow, only once nothing cheaper than any of them is left.
    """
    found = sorted((one for search in SEARCHES for one in search(failure)), key=_cost)
    first = [one for one in found if one.cost <= LEAST]
    yield from first
    yield from sorted((*found[len(first) :], *number_edits(failure)), key=_cost)


def _cost(one: Candidate) -> float:
    return one.cost


def read_again(text: str, trace: Trace, deadline: float, symbolic: bool = False) -> Trace:
    """Returns the reading of an edited text, with the inputs of the reading before."""
    end = min(deadline, time.process_time() + SECONDS)
    return Trace(text, symbolic, end, trace.shapes or trace.assumed).read()


def works(after: Trace, before: Trace, edits: tuple[Edit, ...]) -> bool:
    """Returns whether an edited source was read to its end without a failure, as far as before."""
    if after.error is not None or after.refusal is not None or after.unsure:
        return False
    changed = {edit.line for edit in edits} & set(after.left_out)
    return not changed and len(after.left_out) <= len(before.left_out)
