"""Runs of a model on arrays without numbers: its calls, its layers, and what comes out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.findings.reading.call_recorder import Call, Layer, Recorder
from ncd.findings.reading.size_table import OutOfTime
from ncd.importing.torch_export import quiet
from ncd.pytorch_source.base.source_tree import deep

Shape = tuple[int, ...]


@dataclass(eq=False)
class Run:
    """One run of a source, or of its model.

    Args:
        calls: The calls of functions, in their order.
        makers: The call that made each array, by the array's id.
        inputs: The shapes of the model's inputs.
        layers: The layers that ran, in the order in which they began.
        output: The result, whatever it is.
        kept: All arrays, so that no id is used again.
    """

    calls: list[Call]
    makers: dict[int, Call]
    kept: list[Any]
    inputs: tuple[Shape, ...] = ()
    layers: list[Layer] = field(default_factory=list)
    output: Any = None

    def maker(self, value: Any) -> Call | None:
        """Returns the call that made an array, which is no call that only hands it on."""
        found = self.makers.get(id(value))
        return None if found and any(value is one for one in found.takes) else found


def argument(call: Call, place: int, name: str) -> Any:
    """Returns an argument of a call that is given by position or by name; None for neither."""
    return call.words.get(name, call.words.get(place))


def shapes(arrays: tuple[Tensor, ...]) -> tuple[Shape, ...]:
    """Returns the shapes of arrays."""
    return tuple(tuple(x.shape) for x in arrays)


def layer_of(call: Call) -> nn.Module | None:
    """Returns the layer in which a function is called."""
    return call.layer.module if call.layer else None


def line_of(node: Any) -> int:
    """Returns the line of a node, 0 if it has none."""
    line: int = getattr(node, "lineno", 0)
    return line


def recorded(
    recorder: Recorder, model: nn.Module, args: Any, named: Any, training: bool = False
) -> Run | None:
    """Returns the run of a model on arrays without numbers; None if it stops with an error."""
    try:
        return run_of(recorder, model, args, named, training)
    except (Exception, OutOfTime):  # a failure, which is told of elsewhere
        return None
    finally:
        recorder.machine.failure = None


def run_of(
    recorder: Recorder, model: nn.Module, args: Any, named: Any, training: bool = False
) -> Run:
    """Returns the run of a model on arrays without numbers; raises the error with which it stops.

    Of the inputs only the shapes and the kinds of numbers are taken.
    """
    modes = {part: part.training for part in model.modules()}
    recorder.calls, recorder.makers, recorder.kept = [], {}, []
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
    return Run(recorder.calls, recorder.makers, recorder.kept, inputs, layers, output)


def _without_numbers(array: Tensor) -> Tensor:
    return torch.empty(tuple(array.shape), dtype=array.dtype)


@contextmanager
def _layers(model: nn.Module) -> Iterator[list[Layer]]:
    """Lists each layer as it begins to run."""
    found: list[Layer] = []
    paths: dict[int, str] = {}
    for path, part in model.named_modules():
        paths.setdefault(id(part), path)

    def enter(layer: nn.Module, args: Any, named: Any) -> None:
        found.append(Layer(paths.get(id(layer), ""), layer, tuple(arrays_of((args, named)))))

    with ExitStack() as stack:
        for part in model.modules():
            stack.callback(part.register_forward_pre_hook(enter, with_kwargs=True).remove)
        yield found


def arrays_of(values: Any) -> list[Tensor]:
    """Returns the arrays in tuples, lists and dictionaries."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor)]


def same_calls(a: Run, b: Run) -> bool:
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
