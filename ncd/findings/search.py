"""Finds what is wrong with a source, where, why, and the edits that cure it."""

from __future__ import annotations

import time

from ncd.findings.assumed_inputs import plain_reading, with_assumption
from ncd.findings.cures.trying import cures
from ncd.findings.cures.working_sizes import working_sizes
from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.finding import LATE, Finding
from ncd.findings.reading.source_trace import Trace
from ncd.findings.silent.silent import silent
from ncd.findings.sizes.sizes import sizes
from ncd.pytorch_source.base.source_tree import deep
from ncd.text.unindented import unindented

SECONDS = 9.0  # of computing, for everything; the process has 16
SYMBOLS = 0.6  # of it for the reading with symbols
SIZES = 0.3  # of what is left for the sizes that would work
LEFT = Finding("size", 0, "", "The time for silent faults ran out: not all were looked for.")


@deep()
def findings(text: str, seconds: float = SECONDS) -> tuple[Finding, ...]:
    """Returns what is wrong with a source of PyTorch; it is read, and never executed.

    Args:
        text: The source, or a line of it.
        seconds: The time that it may take.

    A text that is indented, or copied with prompts, is edited without these.

    Source: this project's own.

    >>> found = findings("nn.Linear(8, 3)(torch.randn(5, 6))")
    >>> found[0].says
    'Linear gets 6 features (the features of the input, line 1); it takes 8 (in_features, line 1).'
    >>> found[0].cures[0].text
    'nn.Linear(6, 3)(torch.randn(5, 6))'
    """
    text, deadline = unindented(text), time.process_time() + seconds
    plain = plain_reading(text, deadline)
    failure, in_time = _failure(plain, deadline)
    if failure is not None:
        now = time.process_time()
        reason = with_assumption(failure, plain, explanation(failure))
        working = working_sizes(failure, now + SIZES * (deadline - now))
        edits = cures(failure, plain, deadline)
        late = not in_time or (not edits and time.process_time() > deadline)
        words = filter(None, (reason, working, LATE.says if late else ""))
        return (Finding("failure", failure.line, failure.path, " ".join(words), edits),)
    if plain.refusal is not None:
        return ()
    if plain.unsure:
        return (LATE,) if time.process_time() > deadline else ()
    faults = silent(text, deadline - time.process_time(), plain)
    return (*faults, LEFT) if time.process_time() > deadline else tuple(faults)


@deep()
def size_findings(text: str, seconds: float = SECONDS) -> tuple[Finding, ...]:
    """Returns for which sizes a source works; nothing for one that fails.

    >>> head = "class N(nn.Module):\\n  def __init__(self, d=8):\\n    super().__init__()\\n"
    >>> body = "    self.fc = nn.Linear(d, 2)\\n  def forward(self, x):\\n    return self.fc(x)\\n"
    >>> [found.says for found in size_findings(f"{head}{body}3x8")]
    ['Batch is free.', 'Features must be 8, as `d` is 8.', '`d` is free.']
    """
    text, deadline = unindented(text), time.process_time() + seconds
    plain = plain_reading(text, deadline)
    if plain.error is not None or plain.refusal is not None or plain.unsure:
        return ()
    return tuple(sizes(text, plain, deadline - time.process_time()))


def _failure(plain: Trace, deadline: float) -> tuple[Failure | None, bool]:
    """Returns the failure of a reading, with symbols if these stop at the same place.

    Also returns whether the time for symbols was enough.
    """
    found = failure_of(plain)
    if found is None:
        return None, True
    now = time.process_time()
    end = now + SYMBOLS * (deadline - now)
    shapes = plain.assumed or plain.shapes
    symbolic = failure_of(Trace(plain.text, True, end, shapes).read())
    in_time = time.process_time() < end
    same = symbolic is not None and symbolic.line == found.line
    return symbolic if same else found, in_time
