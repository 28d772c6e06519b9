"""Reads a source with other numbers and sizes, to find the ranges that work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from sympy import primefactors
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from ncd.findings.reading.finding import Edit, apply_edits
from ncd.findings.reading.size_table import OutOfTime
from ncd.findings.reading.source_trace import UNSURE, SourceTrace
from ncd.findings.silent.model_runs import Shape, SourceRun, arrays_of, model_among, run_of, shapes
from ncd.notation.term_reader import TextError
from ncd.read.python_source.interpreter import SourceException, SourceModule

# --- Reads a source with other numbers, and runs its model on inputs of other sizes

SECONDS = 2.0  # of one reading
READINGS = 12  # of edited texts that are kept, for runs on other inputs

Shapes = tuple[Shape, ...]
Edits = tuple[Edit, ...]


@dataclass(frozen=True)
class ProbeOutcome:
    """The end of a run: whether it works, and where it fails.

    ``works`` is None where it depends on what no reading knows, or takes too long. ``line`` and
    ``layer`` say where it fails, and ``call`` in which line; ``results`` are the shapes that come
    out.
    """

    works: bool | None
    line: int = 0
    layer: str = ""
    call: int = 0
    results: Shapes = ()


class Probe:
    """A source that runs, and its runs with other numbers and on inputs of other sizes.

    Args:
        text: The source.
        plain: A reading of it that has come to its end.
        deadline: When it gives up with OutOfTime, in seconds of computing.
    """

    def __init__(self, text: str, plain: SourceTrace, deadline: float) -> None:
        self.text, self.deadline = text, deadline
        self._given = plain.assumed or plain.shapes
        self._readings: dict[Edits, SourceTrace] = {(): plain}
        self._outcomes: dict[tuple[Shapes | None, Edits], ProbeOutcome] = {}
        self.model, self.args, self.named = model_among(plain.ran)
        self.inputs = shapes(tuple(arrays_of((self.args, self.named))))

    def works(self, sizes: Shapes | None = None, edits: Edits = ()) -> bool | None:
        """Returns whether the source runs with edits, and inputs of these shapes."""
        return self.outcome(sizes, edits).works

    def outcome(self, sizes: Shapes | None = None, edits: Edits = ()) -> ProbeOutcome:
        """Returns what the model gives after edits, on inputs of these shapes or on its own."""
        edits = tuple(sorted(edits))
        if (sizes, edits) not in self._outcomes:
            if time.process_time() > self.deadline:
                raise OutOfTime
            self._outcomes[sizes, edits] = self._compute_outcome(sizes, edits)
        return self._outcomes[sizes, edits]

    def _compute_outcome(self, sizes: Shapes | None, edits: Edits) -> ProbeOutcome:
        trace = self._reading(edits)
        lost = {edit.line for edit in edits} & set(trace.left_out)
        if not trace.ran or lost:  # it stops before its model is made
            return _stop(trace) if trace.error is not None and not lost else ProbeOutcome(None)
        model, args, named = model_among(trace.ran)
        if sizes is not None:
            try:
                args, named = with_shapes((args, named), sizes)
            except (OverflowError, RuntimeError, TypeError):  # more numbers than torch counts
                return ProbeOutcome(None)
        return self._run(trace, model, args, named)

    def _reading(self, edits: Edits) -> SourceTrace:
        if edits not in self._readings:
            while len(self._readings) > READINGS:
                self._readings.pop(next(one for one in self._readings if one))
            end = min(self.deadline, time.process_time() + SECONDS)
            text = apply_edits(self.text, edits)
            self._readings[edits] = SourceTrace(text, False, end, self._given).read()
        return self._readings[edits]

    def _run(self, trace: SourceTrace, model: nn.Module, args: Any, named: Any) -> ProbeOutcome:
        recorder, machine = trace.recorder, trace.machine
        recorder.table.deadline = min(self.deadline, time.process_time() + SECONDS)
        machine.steps, machine.failure = 0, None
        try:
            run = run_of(recorder, model, args, named)
        except (TextError, OutOfTime, MemoryError, RecursionError):
            return ProbeOutcome(None)
        except Exception as error:
            raised = machine.failure if isinstance(machine.failure, SourceException) else error
            return _failure_outcome(trace, raised)
        return _result(run)


def with_shapes(values: Any, sizes: Shapes) -> Any:
    """Returns inputs without numbers, of other shapes and the same kinds."""
    left = iter(sizes)

    def one(array: Tensor) -> Tensor:
        return torch.zeros((), dtype=array.dtype).expand(next(left))

    return tree_map_only(Tensor, one, values)


def _result(run: SourceRun) -> ProbeOutcome:
    """Returns the outcome of a run to its end; one that gives arrays without numbers is useless."""
    given = shapes(tuple(arrays_of(run.output)))
    return ProbeOutcome(not any(0 in shape for shape in given), results=given)


def _failure_outcome(trace: SourceTrace, error: Exception) -> ProbeOutcome:
    """Returns the outcome of a run that stops."""
    inner = error.error if isinstance(error, SourceException) else error
    name = type(inner).__name__
    if isinstance(inner, TextError | NotImplementedError) or any(one in name for one in UNSURE):
        return ProbeOutcome(None)
    line = getattr(error.node, "lineno", 0) if isinstance(error, SourceException) else 0
    for layer in reversed(trace.recorder.layers):
        made = trace.machine.places.get(id(layer.module))
        if made is not None and not isinstance(layer.module, SourceModule):
            return ProbeOutcome(False, getattr(made, "lineno", line), layer.path, line)
        if isinstance(layer.module, SourceModule):
            break
    return ProbeOutcome(False, line, "", line)


def _stop(trace: SourceTrace) -> ProbeOutcome:
    line = getattr(trace.node, "lineno", 0)
    return ProbeOutcome(False, line, "", line)


# --- The sizes that work, found by trying: their step, the least, and the largest

Works = Callable[[int], bool | None]

FAR = (2, 8, 64)  # times the present size, that are tried
STEPS = (2, 3, 4, 8, 16, 32, 64)  # that a size may have to be one more or less of
HINTED_STEPS = range(2, 65)  # steps that the numbers of a text may be
HINTS = 8  # numbers of a text that are tried as sizes for which it may fail


@dataclass(frozen=True)
class SizeInterval:
    """The sizes from ``low`` to ``high`` in steps of ``step``; no ``high`` was found if it is 0.

    ``square`` is whether only squares of whole numbers work, and ``allows_one`` whether a size that
    must be another may be 1 as well, which torch broadcasts.
    """

    low: int
    step: int = 1
    high: int = 0
    square: bool = False
    allows_one: bool = False

    @property
    def is_free(self) -> bool:
        """Whether any size works."""
        return self.low == self.step == 1 and not self.high and not self.square

    @property
    def is_fixed(self) -> bool:
        """Whether only one size works."""
        return self.low == self.high


def working_range(works: Works, now: int, hints: Iterable[int] = ()) -> SizeInterval | None:
    """Returns the sizes that work, of which ``now`` is one; None where they follow no rule.

    Args:
        works: Whether a size works; None where that is not known.
        now: A size that works.
        hints: Numbers that may be a step or a largest size.

    >>> working_range(lambda n: n % 16 == 0, 224)
    SizeInterval(low=16, step=16, high=0, square=False, allows_one=False)
    >>> found = working_range(lambda n: 32 <= n < 36, 32)
    >>> found.low, found.high, working_range(lambda n: n == 3, 3).is_fixed
    (32, 35, True)
    """
    near = [works(now + 1), works(now - 1) if now > 2 else False]
    if None in near:
        return None
    hints, root = sorted({*hints}), isqrt(now)
    squares = not any(near) and root * root == now
    if squares and works((root + 1) ** 2) and works((root + 2) ** 2):  # no step leads to both
        return SizeInterval(1 if works(1) else now, square=True)
    if step := 1 if any(near) else _step(works, now, hints):
        return _stepped_interval(works, now, step, hints)
    return SizeInterval(now, high=now, allows_one=now > 1 and bool(works(1)))


def _step(works: Works, now: int, hints: list[int]) -> int:
    """Returns the least step to a larger or smaller size that works; 0 if there is none."""
    tries = dict.fromkeys([now, *STEPS, *(n for n in hints if n in HINTED_STEPS)])
    found = next((d for d in tries if works(now + d) or (d < now - 1 and works(now - d))), 0)
    if not found:
        return 0
    for prime in primefactors(found):
        while found % prime == 0 and _either(works, now, found // prime):
            found //= prime
    return found


def _either(works: Works, now: int, step: int) -> bool:
    return bool(works(now + step) or (step < now - 1 and works(now - step)))


def _stepped_interval(works: Works, now: int, step: int, hints: list[int]) -> SizeInterval | None:
    """Returns the sizes in steps from the present one; None if one between them fails."""

    def at(place: int) -> bool | None:  # a size of 1 may work as it is broadcast, and 2 not
        size = first + step * place
        return works(size) and (size > 1 or now == 1 or step > 1 or works(2))

    first = now % step or step
    place = (now - first) // step
    low = _edge(at, place, 0)
    high = _highest(at, place, [-(-(n - first) // step) for n in hints])
    if high is None or (low and at(low - 1) is None):
        return None
    if step > 1 and works(first + step * low + 1):  # such as the divisors of a number
        return None
    within = [(low + place) // 2, (place + (high or place)) // 2]
    others = [place - 1, place + 1, *(k for n in hints[:HINTS] for k in _places(n, first, step))]
    within += [max(low, min(k, high or k)) for k in others]
    beyond = (low and at(max(low - 2, 0))) or (high and at(high + 2))
    if beyond or not all(map(at, within)):  # a hole
        return None
    return SizeInterval(first + step * low, step, first + step * high if high else 0)


def _places(size: int, first: int, step: int) -> range:
    """Returns the place of a size in steps from the first one; none if it lies between two.

    >>> [*_places(9, 1, 4)], [*_places(8, 1, 4)], [*_places(5, 5, 4)], [*_places(1, 5, 4)]
    ([2], [], [0], [])
    """
    place, rest = divmod(size - first, step)
    return range(place, place if rest or place < 0 else place + 1)


def _edge(at: Works, good: int, bad: int) -> int:
    """Returns the last place that works on the way from one that does to an end."""
    if good == bad or at(bad):
        return bad
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if at(middle) else (good, middle)
    return good


def _highest(at: Works, place: int, hints: list[int]) -> int | None:
    """Returns the largest place that works, 0 if there seems to be none, None if it is unknown."""
    far = [(place + 1) * times for times in FAR]
    far += [n + over for n in hints for over in (0, 1) if place < n <= far[-1]]
    tries = sorted({place + 1, *far})
    failing = next((n for n in tries if at(n) is False), 0)
    if not failing:
        return 0 if at(far[0]) else None
    good = max((n for n in tries if n < failing and at(n)), default=place)
    best = _edge(at, good, failing)
    return best if at(best + 1) is False else None


# --- Sentences about sizes that work

ANY_SIZE = ""


def range_words(found: SizeInterval) -> str:
    """Returns the sizes that work in words; none where all do.

    >>> range_words(SizeInterval(16, 16))
    'must be divisible by 16, from 16 up'
    >>> range_words(SizeInterval(32, 1, 35)), range_words(SizeInterval(3, high=3))
    ('must be 32 to 35', 'must be 3')
    """
    low, step, high = found.low, found.step, found.high
    if found.square:
        root = isqrt(low)
        return f"must be a square, such as {(root + 1) ** 2} or {(root + 2) ** 2}"
    if found.is_fixed:
        return f"must be {low:,}" + " (or 1, which torch broadcasts)" * found.allows_one
    if step == 1 and not high:
        return f"must be at least {low:,}" if low > 1 else ANY_SIZE
    if step == 1:
        return f"must be {low:,} to {high:,}" if low > 1 else f"must be at most {high:,}"
    ends = f"from {low:,} {f'to {high:,}' if high else 'up'}"
    if low % step == 0:
        return f"must be divisible by {step}, {ends}"
    return f"must be {low % step} more than a multiple of {step}, {ends}"
