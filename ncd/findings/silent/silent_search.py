"""The silent faults of a source: what runs, and is hardly what was meant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ncd.findings.reading.finding import Cure, Finding, apply_edits
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.silent.axis_mistakes import einsum_letters, grown_pairs, mixing_views
from ncd.findings.silent.batch_mixing import (
    attention_over_batch,
    mean_over_batch,
    softmax_over_batch,
)
from ncd.findings.silent.model_runs import Attempt, SilentFault, Source, arrays_of, shapes
from ncd.findings.silent.training_mistakes import (
    dropout_always,
    layers_of_forward,
    softmax_before_loss,
    trained_in_evaluation,
)
from ncd.findings.silent.unused_parts import (
    lost_results,
    plain_lists,
    plain_tensors,
    swallowed_arguments,
    tied_layers,
    twice_assigned,
    two_names,
    unused_parts,
)

Rule = Callable[[Source], Iterator[SilentFault]]
RULES: tuple[Rule, ...] = (
    attention_over_batch,
    softmax_over_batch,
    mean_over_batch,
    mixing_views,
    grown_pairs,
    einsum_letters,
    softmax_before_loss,
    dropout_always,
    layers_of_forward,
    trained_in_evaluation,
    plain_lists,
    plain_tensors,
    tied_layers,
    twice_assigned,
    two_names,
    unused_parts,
    swallowed_arguments,
    lost_results,
)
MAX_EDITED_TEXTS = 12  # edited texts that are read again
SEARCH_SECONDS = 20.0


def silent(
    text: str, seconds: float = SEARCH_SECONDS, trace: SourceTrace | None = None
) -> list[Finding]:
    """Returns the silent faults of a source, by line; none for one that cannot be read or stops.

    Each cure has been tried: the edited text runs, and no longer has the fault.

    Args:
        text: The source, as it is pasted.
        seconds: The time that it may take; what is not found or tried by then is left out.
        trace: A reading of it without symbols, if there is one already.

    Source: this project's own.

    >>> source = "class N(nn.Module):\\n  def forward(self, x):\\n    return F.dropout(x)\\n2x3"
    >>> found, = silent(source)
    >>> found.line, found.cures[0].text.splitlines()[2]
    (3, '    return F.dropout(x, training=self.training)')
    """
    deadline = time.process_time() + seconds
    source = Source(text, deadline, trace)
    if not source.readable:
        return []
    found, left = [], MAX_EDITED_TEXTS
    for rule in RULES:
        faults = _distinct(rule(source)) if time.process_time() < deadline else []
        for fault in faults:
            attempts = fault.attempts[:left]
            left -= len(attempts)
            tried = (_working_cure(text, one, rule, len(faults), deadline) for one in attempts)
            cures = tuple(cure for cure in tried if cure)
            found.append(Finding("silent", fault.line, fault.layer, fault.says, cures))
    return sorted(found, key=lambda one: one.line)


def _distinct(faults: Iterator[SilentFault]) -> list[SilentFault]:
    """Returns one fault for each line, as a line may run many times."""
    found: dict[object, SilentFault] = {}
    for fault in faults:
        found.setdefault(fault.line or fault.says, fault)
    return list(found.values())


def _working_cure(
    text: str, attempt: Attempt, rule: Rule, before: int, deadline: float
) -> Cure | None:
    """Returns the cure whose text runs and has a fault less; None if it does not."""
    new = apply_edits(text, attempt.edits)
    source = Source(new, deadline)
    if not source.readable or len(_distinct(rule(source))) >= before:
        return None
    results = shapes(tuple(arrays_of(source.run.output))) if source.run else ()
    return Cure(attempt.edits, new, attempt.changes, results)
