"""Finds what is wrong with a source or a module, where, why, and the edits that cure it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sympy
from torch import nn
from torch.utils._pytree import tree_leaves

from ncd.errors import ParseError, short_repr
from ncd.findings.cures.cure_search import cures
from ncd.findings.cures.number_edits import near_sizes, solutions
from ncd.findings.cures.working_sizes import working_sizes
from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.reading.finding import LATE, Finding
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.silent.silent_search import silent
from ncd.findings.sizes.size_search import sizes
from ncd.read.python_source.assumptions import OTHER_INPUT_CURE, unfit
from ncd.read.python_source.model_inputs import input_words
from ncd.read.python_source.source_tree import deep
from ncd.read.python_source.usual_sizes import PLAIN_TYPES
from ncd.read.question import pasted_code
from ncd.read.torch_module.from_torch import Imported

# --- Reads a source that gives no input: with the one that the reader assumes, or one that fits

TOKENS = "1x16"  # a batch and its length
TURNS = 3  # sizes that are fitted
RANK = 3  # of inputs whose sizes are fitted; for a picture the reader tries the usual ones


def plain_reading(text: str, deadline: float) -> SourceTrace:
    """Returns a reading with plain numbers, whose failure is not that of an assumed input.

    Args:
        text: The source.
        deadline: When it gives up, in seconds of computing.
    """
    trace = SourceTrace(text, False, deadline).read()
    failure = failure_of(trace) if trace.assumed else None
    if failure is not None and failure.call is not None and failure.call.name == "embedding":
        rows = failure.value(failure.call.shapes[-1][0])
        trace = SourceTrace(text, False, deadline, f"{TOKENS}#{rows}").read()
    for _ in range(TURNS):
        shapes = trace.assumed or trace.shapes
        if trace.error is None or not shapes or "," in shapes or shapes.count("x") >= RANK:
            break
        again = _fitting_reading(text, shapes, deadline)
        if again is None or again.message == trace.message:
            break
        trace = again
    return trace


def with_assumption(failure: Failure, plain: SourceTrace, reason: str) -> str:
    """Returns the reason of a failure; first that what is assumed does not fit, if it rests on it.

    Args:
        failure: The failure.
        plain: The reading with plain numbers, which knows what is assumed.
        reason: Why it fails.
    """
    taken, table = plain.machine.assumed_settings, failure.trace.table
    if not (plain.assumed or taken):
        return reason
    sure = failure.trace.symbolic and failure.test is not None
    inputs, sizes = plain.assumed, taken
    if sure and failure.test is not None:
        of_input = [table.places.get(one) for one in table.numbers(failure.test.expr)]
        inputs = inputs if any(one and not one.line for one in of_input) else ""
        plainly = {int(one) for one in failure.test.expr.atoms(sympy.Integer)}
        sizes = {name: given for name, given in taken.items() if plainly & {*_numbers(given)}}
    words = unfit(inputs, sizes, sure)
    return f"{words[:1].upper()}{words[1:]}: {reason} Try {OTHER_INPUT_CURE}." if words else reason


def _numbers(given: Mapping[str, Any]) -> Iterator[int]:
    """Yields the whole numbers among some values, and those in their lists."""
    for value in given.values():
        yield from (n for n in tree_leaves(value) if type(n) is int)


def _fitting_reading(text: str, shapes: str, deadline: float) -> SourceTrace | None:
    """Returns a reading with another size of the assumed input, if one may fit."""
    failure = failure_of(SourceTrace(text, True, deadline, shapes).read())
    if failure is None or failure.test is None:
        return None
    table = failure.trace.table
    for symbol in sorted(table.numbers(failure.test.expr), key=str):
        place = table.places.get(symbol)
        if place is None or place.line:
            continue
        for value in solutions(failure, (symbol,), near_sizes(failure))[:1]:
            return SourceTrace(text, False, deadline, _with_size(shapes, place.start, value)).read()
    return None


def _with_size(shapes: str, index: int, value: int) -> str:
    """Returns a shape with another size at a place.

    >>> _with_size("1x16#50", 1, 12)
    '1x12#50'
    """
    sizes, hash_sign, rows = shapes.partition("#")
    numbers = sizes.split("x")
    numbers[index] = str(value)
    return "x".join(numbers) + hash_sign + rows


# --- Finds what is wrong with a source, where, why, and the edits that cure it

SECONDS = 9.0  # of computing, for everything; the process has 16
SYMBOLS = 0.6  # of it for the reading with symbols
SIZES = 0.3  # of what is left for the sizes that would work
TIMEOUT_FINDING = Finding(
    "size", 0, "", "The time for silent faults ran out: not all were looked for."
)


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
    text, deadline = pasted_code(text), time.process_time() + seconds
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
    return (*faults, TIMEOUT_FINDING) if time.process_time() > deadline else tuple(faults)


@deep()
def size_findings(text: str, seconds: float = SECONDS) -> tuple[Finding, ...]:
    """Returns for which sizes a source works; nothing for one that fails.

    >>> head = "class N(nn.Module):\\n  def __init__(self, d=8):\\n    super().__init__()\\n"
    >>> body = "    self.fc = nn.Linear(d, 2)\\n  def forward(self, x):\\n    return self.fc(x)\\n"
    >>> [found.says for found in size_findings(f"{head}{body}3x8")]
    ['Batch is free.', 'Features must be 8, as `d` is 8.', '`d` is free.']
    """
    text, deadline = pasted_code(text), time.process_time() + seconds
    plain = plain_reading(text, deadline)
    if plain.error is not None or plain.refusal is not None or plain.unsure:
        return ()
    return tuple(sizes(text, plain, deadline - time.process_time()))


def _failure(plain: SourceTrace, deadline: float) -> tuple[Failure | None, bool]:
    """Returns the failure of a reading, with symbols if these stop at the same place.

    Also returns whether the time for symbols was enough.
    """
    found = failure_of(plain)
    if found is None:
        return None, True
    now = time.process_time()
    end = now + SYMBOLS * (deadline - now)
    shapes = plain.assumed or plain.shapes
    symbolic = failure_of(SourceTrace(plain.text, True, end, shapes).read())
    in_time = time.process_time() < end
    same = symbolic is not None and symbolic.line == found.line
    return symbolic if same else found, in_time


# --- Findings in the source of a real module, which is read beside its run


def module_findings(found: Imported) -> tuple[Finding, ...]:
    """Returns what is found in the source of a module that has been imported.

    Its file is read, and nothing in it is run again. The module is made anew from the arguments
    that it keeps under their own names, or has by default.

    Args:
        found: What ``ncd.from_torch`` returned.

    Returns:
        The findings, whose lines are those of the file of the module's class; none where that has
        no file, or where it cannot be told how the module was made.

    Raises:
        ParseError: For something that ``from_torch`` did not return.

    Source: this project's own.

    >>> import ncd, torch
    >>> ncd.module_findings(ncd.from_torch(nn.Linear(8, 3), torch.ones(2, 8)))
    ()
    """
    if not isinstance(found, Imported):
        raise ParseError(
            f"{short_repr(found)} is no module that was imported", cure="ncd.from_torch"
        )
    module, kind = found.exported_module.module, type(found.exported_module.module)
    if kind.__module__.startswith("torch.") or "." in kind.__qualname__:
        return ()
    settings = _settings(module)
    inputs = _arguments_text(found.exported_module.args, found.exported_module.named_parts)
    try:
        text = Path(inspect.getsourcefile(kind.forward) or "").read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError):
        return ()
    if settings is None or inputs is None:
        return ()
    return call_findings(text, f"{kind.__name__}({settings})({inputs})", bool(found.failure))


def call_findings(text: str, call: str, fails: bool) -> tuple[Finding, ...]:
    """Returns what is found in a text on a call in its last line.

    A failure is one of the module only if that ``fails`` as well.
    """
    line = text.count("\n") + 2  # of the call
    known = (each for each in findings(f"{text}\n{call}") if each.line < line)
    return tuple(
        replace(each, cures=tuple(c for c in each.cures if all(e.line < line for e in c.edits)))
        for each in known
        if each.kind != "failure" or fails
    )


def _settings(module: nn.Module) -> str | None:
    """Returns the arguments with which a module was made; None if one is not known."""
    found = []
    given = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    for each in given:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        value = vars(module).get(each.name, each.default)
        if type(value) not in PLAIN_TYPES or (value is None and each.default is not None):
            if each.default is each.empty:
                return None
            continue
        found.append(f"{each.name}={value!r}")
    return ", ".join(found)


def _arguments_text(args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Returns the inputs of a module as a source writes them; None if it cannot."""
    pairs = [*(("", x) for x in args), *((f"{name}=", x) for name, x in named.items())]
    words = [(name, input_words(x)) for name, x in pairs]
    if any(each is None for _, each in words):
        return None
    return ", ".join(f"{name}{each}" for name, each in words)
