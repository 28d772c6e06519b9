"""The sizes for which a source works: of its inputs, and of its model's parameters."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator

from ncd.findings.finding import LATE_SIZES, Finding
from ncd.findings.reading.size_table import OutOfTime
from ncd.findings.reading.source_trace import Trace
from ncd.findings.silent.model_runs import recorded
from ncd.findings.sizes.equal_sizes import EqualSizes
from ncd.findings.sizes.input_axes import input_axes
from ncd.findings.sizes.input_rules import InputRules
from ncd.findings.sizes.input_sizes import groups
from ncd.findings.sizes.parameter_sizes import ParameterSizes
from ncd.findings.sizes.probe import Probe
from ncd.findings.sizes.size_symbols import TracedSizes
from ncd.pytorch_source.base.source_values import Interpreted

SECONDS = 20.0
SYMBOLS = 0.5  # of the time that is left, for the reading with symbols
LARGEST = 2**17  # of the numbers that may be a largest size


def sizes(text: str, plain: Trace, seconds: float = SECONDS) -> list[Finding]:
    """Returns for which sizes a source works; each boundary was read, and nothing else is said.

    Args:
        text: The source.
        plain: A reading of it with plain numbers that has come to its end.
        seconds: The time that it may take.

    Source: this project's own.
    """
    deadline = time.process_time() + seconds
    found: list[Finding] = []
    try:
        for some in _found(text, plain, deadline):
            found += some
    except OutOfTime:
        found.append(LATE_SIZES)
    return found


def _found(text: str, plain: Trace, deadline: float) -> Iterator[Iterable[Finding]]:
    probe = Probe(text, plain, deadline)
    run = recorded(plain.recorder, probe.model, probe.args, probe.named)
    if run is None or (len(run.layers) < 2 and not isinstance(probe.model, Interpreted)):
        return  # a single layer says it itself
    axes = [*groups(probe, input_axes(probe, run, plain.tree), _numbers(plain.tree))]
    traced, in_time = _traced(text, plain, deadline)
    yield InputRules(probe, plain.tree, traced).findings(axes)
    if not in_time:
        raise OutOfTime
    if traced is not None:
        equal = EqualSizes(probe, traced)
        yield equal.findings()
        yield ParameterSizes(probe, traced, equal.bound).findings()


def _numbers(tree: ast.AST) -> list[int]:
    """Returns the whole numbers of a text that may be a step or a largest size."""
    values = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return sorted(n for n in values if type(n) is int and 1 < n <= LARGEST)


def _traced(text: str, plain: Trace, deadline: float) -> tuple[TracedSizes | None, bool]:
    """Returns a reading with symbols, if there is one, and whether the time was enough for it."""
    now = time.process_time()
    end = now + SYMBOLS * (deadline - now)
    trace = Trace(text, True, end, plain.assumed or plain.shapes).read()
    known = trace.error is None and trace.refusal is None and not trace.unsure and trace.ran
    return TracedSizes(trace) if known else None, time.process_time() < end
