"""Finds what is wrong with a source, where, why, and the edits that cure it."""

from __future__ import annotations

import time

from ncd.findings.assumed_inputs import plain_reading
from ncd.findings.cures.number_edits import working_sizes
from ncd.findings.cures.trying import cures
from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.finding import Finding
from ncd.findings.reading.source_trace import Trace
from ncd.findings.silent.silent import silent

SECONDS = 9.0  # of computing, for everything; the process has 16
SYMBOLS = 0.6  # of it for the reading with symbols


def findings(text: str, seconds: float = SECONDS) -> tuple[Finding, ...]:
    """Returns what is found about a source of PyTorch; it is read, and never executed.

    Args:
        text: The source, or a line of it.
        seconds: The time that it may take.

    Source: this project's own.

    >>> found = findings("nn.Linear(8, 3)(torch.randn(5, 6))")
    >>> found[0].says
    'Linear gets 6 features (the features of the input, line 1); it takes 8 (in_features, line 1).'
    >>> found[0].cures[0].text
    'nn.Linear(6, 3)(torch.randn(5, 6))'
    """
    deadline = time.process_time() + seconds
    plain = plain_reading(text, deadline)
    failure = _failure(plain, deadline)
    if failure is None:
        seen = plain.refusal is None
        return tuple(silent(text, deadline - time.process_time(), plain)) if seen else ()
    words = f"{explanation(failure)} {working_sizes(failure)}".strip()
    return (Finding("failure", failure.line, failure.path, words, cures(failure, deadline)),)


def _failure(plain: Trace, deadline: float) -> Failure | None:
    """Returns the failure of a reading, with symbols if these stop at the same place."""
    found = failure_of(plain)
    if found is None:
        return None
    now = time.process_time()
    end = now + SYMBOLS * (deadline - now)
    shapes = plain.assumed or plain.shapes
    symbolic = failure_of(Trace(plain.text, True, end, shapes).read())
    return symbolic if symbolic is not None and symbolic.line == found.line else found
