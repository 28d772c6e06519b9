"""Reads a source with other numbers, and runs its model on inputs of other sizes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from ncd.findings.finding import Edit, edited
from ncd.findings.reading.size_table import OutOfTime
from ncd.findings.reading.source_trace import UNSURE, Trace
from ncd.findings.silent.model_runs import Run, Shape, arrays_of, run_of, shapes
from ncd.findings.silent.silent_source import model_among
from ncd.pytorch_source.base.source_errors import Raised
from ncd.pytorch_source.base.source_values import Interpreted
from ncd.text.text_errors import TextError

SECONDS = 2.0  # of one reading
READINGS = 12  # of edited texts that are kept, for runs on other inputs

Shapes = tuple[Shape, ...]
Edits = tuple[Edit, ...]


@dataclass(frozen=True)
class Outcome:
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

    def __init__(self, text: str, plain: Trace, deadline: float) -> None:
        self.text, self.deadline = text, deadline
        self._given = plain.assumed or plain.shapes
        self._readings: dict[Edits, Trace] = {(): plain}
        self._outcomes: dict[tuple[Shapes | None, Edits], Outcome] = {}
        self.model, self.args, self.named = model_among(plain.ran)
        self.inputs = shapes(tuple(arrays_of((self.args, self.named))))

    def works(self, sizes: Shapes | None = None, edits: Edits = ()) -> bool | None:
        """Returns whether the source runs with edits, and inputs of these shapes."""
        return self.outcome(sizes, edits).works

    def outcome(self, sizes: Shapes | None = None, edits: Edits = ()) -> Outcome:
        """Returns what the model gives after edits, on inputs of these shapes or on its own."""
        edits = tuple(sorted(edits))
        if (sizes, edits) not in self._outcomes:
            if time.process_time() > self.deadline:
                raise OutOfTime
            self._outcomes[sizes, edits] = self._found(sizes, edits)
        return self._outcomes[sizes, edits]

    def _found(self, sizes: Shapes | None, edits: Edits) -> Outcome:
        trace = self._reading(edits)
        lost = {edit.line for edit in edits} & set(trace.left_out)
        if not trace.ran or lost:  # it stops before its model is made
            return _stop(trace) if trace.error is not None and not lost else Outcome(None)
        model, args, named = model_among(trace.ran)
        if sizes is not None:
            try:
                args, named = with_shapes((args, named), sizes)
            except (OverflowError, RuntimeError, TypeError):  # more numbers than torch counts
                return Outcome(None)
        return self._run(trace, model, args, named)

    def _reading(self, edits: Edits) -> Trace:
        if edits not in self._readings:
            while len(self._readings) > READINGS:
                self._readings.pop(next(one for one in self._readings if one))
            end = min(self.deadline, time.process_time() + SECONDS)
            text = edited(self.text, edits)
            self._readings[edits] = Trace(text, False, end, self._given).read()
        return self._readings[edits]

    def _run(self, trace: Trace, model: nn.Module, args: Any, named: Any) -> Outcome:
        recorder, machine = trace.recorder, trace.machine
        recorder.table.deadline = min(self.deadline, time.process_time() + SECONDS)
        machine.steps, machine.failure = 0, None
        try:
            run = run_of(recorder, model, args, named)
        except (TextError, OutOfTime, MemoryError, RecursionError):
            return Outcome(None)
        except Exception as error:
            raised = machine.failure if isinstance(machine.failure, Raised) else error
            return _failed(trace, raised)
        return _result(run)


def with_shapes(values: Any, sizes: Shapes) -> Any:
    """Returns inputs without numbers, of other shapes and the same kinds."""
    left = iter(sizes)

    def one(array: Tensor) -> Tensor:
        return torch.zeros((), dtype=array.dtype).expand(next(left))

    return tree_map_only(Tensor, one, values)


def _result(run: Run) -> Outcome:
    """Returns the outcome of a run to its end; one that gives arrays without numbers is useless."""
    given = shapes(tuple(arrays_of(run.output)))
    return Outcome(not any(0 in shape for shape in given), results=given)


def _failed(trace: Trace, error: Exception) -> Outcome:
    """Returns the outcome of a run that stops."""
    inner = error.error if isinstance(error, Raised) else error
    name = type(inner).__name__
    if isinstance(inner, TextError | NotImplementedError) or any(one in name for one in UNSURE):
        return Outcome(None)
    line = getattr(error.node, "lineno", 0) if isinstance(error, Raised) else 0
    for layer in reversed(trace.recorder.layers):
        made = trace.machine.places.get(id(layer.module))
        if made is not None and not isinstance(layer.module, Interpreted):
            return Outcome(False, getattr(made, "lineno", line), layer.path, line)
        if isinstance(layer.module, Interpreted):
            break
    return Outcome(False, line, "", line)


def _stop(trace: Trace) -> Outcome:
    line = getattr(trace.node, "lineno", 0)
    return Outcome(False, line, "", line)
