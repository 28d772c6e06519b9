"""A source that is read for its silent faults: its model, its inputs, and its runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.findings.reading.finding import Edit
from ncd.findings.reading.size_table import OutOfTime
from ncd.findings.reading.source_text import SourceText
from ncd.findings.reading.source_trace import CallRecorder, SourceTrace, TracedCall, TracedModule
from ncd.read.python_source.interpreter import SourceModule
from ncd.read.python_source.source_tree import deep
from ncd.read.torch_module.torch_export import quiet

# --- Runs of a model on arrays without numbers: its calls, its layers, and what comes out

Shape = tuple[int, ...]


@dataclass(eq=False)
class SourceRun:
    """One run of a source, or of its model.

    Args:
        calls: The calls of functions, in their order.
        makers: The call that made each array, by the array's id.
        inputs: The shapes of the model's inputs.
        layers: The layers that ran, in the order in which they began.
        output: The result, whatever it is.
        retained_objects: All arrays, so that no id is used again.
    """

    calls: list[TracedCall]
    makers: dict[int, TracedCall]
    retained_objects: list[Any]
    inputs: tuple[Shape, ...] = ()
    layers: list[TracedModule] = field(default_factory=list)
    output: Any = None

    def maker(self, value: Any) -> TracedCall | None:
        """Returns the call that made an array, which is no call that only hands it on."""
        found = self.makers.get(id(value))
        return None if found and any(value is one for one in found.takes) else found


def argument(call: TracedCall, place: int, name: str) -> Any:
    """Returns an argument of a call that is given by position or by name; None for neither."""
    return call.words.get(name, call.words.get(place))


def shapes(arrays: tuple[Tensor, ...]) -> tuple[Shape, ...]:
    """Returns the shapes of arrays."""
    return tuple(tuple(x.shape) for x in arrays)


def layer_of(call: TracedCall) -> nn.Module | None:
    """Returns the layer in which a function is called."""
    return call.layer.module if call.layer else None


def line_of(node: Any) -> int:
    """Returns the line of a node, 0 if it has none."""
    line: int = getattr(node, "lineno", 0)
    return line


def run_or_none(
    recorder: CallRecorder, model: nn.Module, args: Any, named: Any, training: bool = False
) -> SourceRun | None:
    """Returns the run of a model on arrays without numbers; None if it stops with an error."""
    try:
        return run_of(recorder, model, args, named, training)
    except (Exception, OutOfTime):  # a failure, which is told of elsewhere
        return None
    finally:
        recorder.machine.failure = None


def run_of(
    recorder: CallRecorder, model: nn.Module, args: Any, named: Any, training: bool = False
) -> SourceRun:
    """Returns the run of a model on arrays without numbers; raises the error with which it stops.

    Of the inputs only the shapes and the kinds of numbers are taken.
    """
    modes = {part: part.training for part in model.modules()}
    recorder.calls, recorder.makers, recorder.retained_objects = [], {}, []
    try:
        with quiet(), warnings.catch_warnings(), deep(), recorder:
            warnings.simplefilter("ignore")
            with recorder.running(model), _layers(model) as layers:
                args, named = tree_map_only(Tensor, _without_numbers, (args, dict(named)))
                inputs = shapes(tuple(arrays_of((args, named))))
                model.train(training)
                output = model(*args, **named)
    finally:
        for part, before in modes.items():
            part.training = before
    return SourceRun(
        recorder.calls, recorder.makers, recorder.retained_objects, inputs, layers, output
    )


def _without_numbers(array: Tensor) -> Tensor:
    return torch.empty(tuple(array.shape), dtype=array.dtype)


@contextmanager
def _layers(model: nn.Module) -> Iterator[list[TracedModule]]:
    """Lists each layer as it begins to run."""
    found: list[TracedModule] = []
    paths: dict[int, str] = {}
    for path, part in model.named_modules():
        paths.setdefault(id(part), path)

    def enter(layer: nn.Module, args: Any, named: Any) -> None:
        found.append(TracedModule(paths.get(id(layer), ""), layer, tuple(arrays_of((args, named)))))

    with ExitStack() as stack:
        for part in model.modules():
            stack.callback(part.register_forward_pre_hook(enter, with_kwargs=True).remove)
        yield found


def arrays_of(values: Any) -> list[Tensor]:
    """Returns the arrays in tuples, lists and dictionaries."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor)]


def same_calls(a: SourceRun, b: SourceRun) -> bool:
    """Returns whether two runs call the same functions on arrays of as many axes."""
    if len(a.calls) != len(b.calls) or len(a.layers) != len(b.layers):
        return False
    layers = zip(a.layers, b.layers, strict=True)
    if any(x.module is not y.module or _ranks(x.arrays) != _ranks(y.arrays) for x, y in layers):
        return False
    return all(
        x.name == y.name
        and _ranks(x.takes) == _ranks(y.takes)
        and _ranks(x.gives) == _ranks(y.gives)
        for x, y in zip(a.calls, b.calls, strict=True)
    )


def _ranks(arrays: tuple[Tensor, ...]) -> list[int]:
    return [x.dim() for x in arrays]


# --- A source that is read for its silent faults: its model, its inputs, and its runs

RUN_SECONDS = 20.0  # of one reading


@dataclass(frozen=True)
class Attempt:
    """Edits that may cure a fault, and what they change."""

    edits: tuple[Edit, ...]
    changes: Literal["model", "input", "meaning"] = "model"


@dataclass(frozen=True)
class SilentFault:
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
        self, text: str, deadline: float = float("inf"), trace: SourceTrace | None = None
    ) -> None:
        self._deadline = deadline
        trace = trace or SourceTrace(text, symbolic=False, deadline=self.next_deadline()).read()
        self.machine, self._recorder = trace.machine, trace.recorder
        self.source = SourceText(text, trace.tree)
        self.assumed = bool(trace.assumed)
        self.why = trace.error or trace.refusal or ("unsure" if trace.unsure else None)
        self.readable = self.why is None
        self.model, self.args, self.named = model_among(trace.ran)
        self.script = SourceRun(
            trace.recorder.calls, trace.recorder.makers, trace.recorder.retained_objects
        )
        self._runs: dict[int | str, SourceRun | None] = {}

    def next_deadline(self) -> float:
        """Returns when a single reading or run has to end."""
        return min(self._deadline, time.process_time() + RUN_SECONDS)

    @property
    def run(self) -> SourceRun | None:
        """The run of the model on its inputs; None if it stops with an error."""
        return self._once("", (self.args, self.named))

    @property
    def training(self) -> SourceRun | None:
        """The run of the model while it trains; None if it stops with an error."""
        return self._once("training", (self.args, self.named))

    @property
    def all_runs(self) -> tuple[SourceRun, ...]:
        """The run of the model, and that of the whole text."""
        return tuple(one for one in (self.run, self.script) if one is not None)

    def resized_run(self, axis: int) -> SourceRun | None:
        """Returns the run where an axis of the first input is of another size; None if it stops.

        Other inputs whose axis of that place is as long are changed with it. A run that takes
        other turns is none either, as its calls are not those of the first one.
        """
        if axis not in self._runs:
            self._runs[axis] = self._run_resized(axis)
        return self._runs[axis]

    def _run_resized(self, axis: int) -> SourceRun | None:
        values: Any = (self.args, self.named)
        first = next(iter(arrays_of(values)), None)
        if self.run is None or first is None or not 0 <= axis < first.dim():
            return None
        size = first.shape[axis]
        for new in (2 * size, size // 2, size + 1):
            found = self._record_run(resized_inputs(values, axis, size, new)) if new > 1 else None
            if found and same_calls(found, self.run):
                return found
        return None

    def _once(self, key: str, values: Any) -> SourceRun | None:
        if key not in self._runs:
            self._runs[key] = self._record_run(values, key == "training")
        return self._runs[key]

    def _record_run(self, values: Any, training: bool = False) -> SourceRun | None:
        args, named = values
        self._recorder.table.deadline = self.next_deadline()
        return run_or_none(self._recorder, self.model, args, named, training)

    def parts(self) -> Iterator[tuple[str, SourceModule]]:
        """Yields the modules of the source's own classes, with their paths."""
        for path, part in self.model.named_modules():
            if isinstance(part, SourceModule):
                yield path, part


def model_among(given: list[Any]) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Returns the model of a text among the modules that it calls, and what it is called on."""
    losses = (one for one in given if not type(one[0]).__name__.endswith("Loss"))
    every = sorted(losses, key=lambda one: sum(1 for _ in one[0].parameters()))
    return every[-1] if every else (nn.Module(), (), {})


def resized_inputs(values: Any, axis: int, size: int, new: int) -> Any:
    """Returns inputs whose axis of a size is of another one."""

    def one(value: Tensor) -> Tensor:
        if value.dim() <= axis or value.shape[axis] != size:
            return value
        shape = [new if i == axis else n for i, n in enumerate(value.shape)]
        return torch.zeros((), dtype=value.dtype).expand(shape)

    return tree_map_only(Tensor, one, values)
