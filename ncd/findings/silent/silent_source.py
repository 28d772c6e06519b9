"""A source that is read for its silent faults: its model, its inputs, and its runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from ncd.findings.finding import Edit
from ncd.findings.reading.source_trace import Trace
from ncd.findings.silent.model_runs import Run, arrays_of, recorded, same_calls
from ncd.findings.silent.source_text import SourceText
from ncd.pytorch_source.base.source_values import Interpreted

SECONDS = 20.0  # of one reading


@dataclass(frozen=True)
class Attempt:
    """Edits that may cure a fault, and what they change."""

    edits: tuple[Edit, ...]
    changes: Literal["model", "input", "meaning"] = "model"


@dataclass(frozen=True)
class Fault:
    """A silent fault, before its cures are tried."""

    line: int
    layer: str
    says: str
    attempts: tuple[Attempt, ...] = ()


class Source:
    """A source whose model has been made, with the inputs that it is given or that are assumed.

    ``script`` is the run of the whole text, with the lines around the model; ``readable`` is
    whether it was read to its end.

    Args:
        text: The whole text.
        deadline: When it gives up, in seconds of computing.
        trace: A reading of it without symbols, if there is one already.
    """

    def __init__(
        self, text: str, deadline: float = float("inf"), trace: Trace | None = None
    ) -> None:
        self._deadline = deadline
        trace = trace or Trace(text, symbolic=False, deadline=self.until()).read()
        self.machine, self._recorder = trace.machine, trace.recorder
        self.source = SourceText(text, trace.tree)
        self.assumed = bool(trace.assumed)
        self.why = trace.error or trace.refusal or ("unsure" if trace.unsure else None)
        self.readable = self.why is None
        self.model, self.args, self.named = model_among(trace.ran)
        self.script = Run(trace.recorder.calls, trace.recorder.makers, trace.recorder.kept)
        self._runs: dict[int | str, Run | None] = {}

    def until(self) -> float:
        """Returns when a single reading or run has to end."""
        return min(self._deadline, time.process_time() + SECONDS)

    @property
    def run(self) -> Run | None:
        """The run of the model on its inputs; None if it stops with an error."""
        return self._once("", (self.args, self.named))

    @property
    def training(self) -> Run | None:
        """The run of the model while it trains; None if it stops with an error."""
        return self._once("training", (self.args, self.named))

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """The run of the model, and that of the whole text."""
        return tuple(one for one in (self.run, self.script) if one is not None)

    def changed(self, axis: int) -> Run | None:
        """Returns the run where an axis of the first input is of another size; None if it stops.

        Other inputs whose axis of that place is as long are changed with it. A run that takes
        other turns is none either, as its calls are not those of the first one.
        """
        if axis not in self._runs:
            self._runs[axis] = self._changed(axis)
        return self._runs[axis]

    def _changed(self, axis: int) -> Run | None:
        values: Any = (self.args, self.named)
        first = next(iter(arrays_of(values)), None)
        if self.run is None or first is None or not 0 <= axis < first.dim():
            return None
        size = first.shape[axis]
        for new in (2 * size, size // 2, size + 1):
            found = self._recorded(resized(values, axis, size, new)) if new > 1 else None
            if found and same_calls(found, self.run):
                return found
        return None

    def _once(self, key: str, values: Any) -> Run | None:
        if key not in self._runs:
            self._runs[key] = self._recorded(values, key == "training")
        return self._runs[key]

    def _recorded(self, values: Any, training: bool = False) -> Run | None:
        args, named = values
        self._recorder.table.deadline = self.until()
        return recorded(self._recorder, self.model, args, named, training)

    def parts(self) -> Iterator[tuple[str, Interpreted]]:
        """Yields the modules of the source's own classes, with their paths."""
        for path, part in self.model.named_modules():
            if isinstance(part, Interpreted):
                yield path, part


def model_among(given: list[Any]) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Returns the model of a text among the modules that it calls, and what it is called on."""
    losses = (one for one in given if not type(one[0]).__name__.endswith("Loss"))
    every = sorted(losses, key=lambda one: sum(1 for _ in one[0].parameters()))
    return every[-1] if every else (nn.Module(), (), {})


def resized(values: Any, axis: int, size: int, new: int) -> Any:
    """Returns inputs whose axis of a size is of another one."""

    def one(value: Tensor) -> Tensor:
        if value.dim() <= axis or value.shape[axis] != size:
            return value
        shape = [new if i == axis else n for i, n in enumerate(value.shape)]
        return torch.zeros((), dtype=value.dtype).expand(shape)

    return tree_map_only(Tensor, one, values)
