"""The calls of torch that a model makes on arrays without numbers, with the place of each."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.importing.torch_export import quiet
from ncd.pytorch_source.base.machine import Machine

MOST = 20_000  # calls that are kept
ASKED = ("__get__", "__set__", "size", "dim", "stride", "is_contiguous", "numel", "__len__")
Shape = tuple[int, ...]


@dataclass(eq=False)
class Call:
    """A call of a function of torch, or of a layer.

    Args:
        name: The function's name, such as ``softmax``; the class of a layer.
        node: The place in the source.
        path: The path of the layer in which it is called; that of the layer itself.
        layer: This layer.
        args: The arguments by position.
        named: The arguments by name.
        shapes: The shapes of the arrays among them, before the call.
    """

    name: str
    node: ast.AST
    path: str
    layer: nn.Module | None
    args: tuple[Any, ...]
    named: dict[str, Any]
    shapes: tuple[Shape, ...]
    arrays: tuple[Tensor, ...]
    results: tuple[Tensor, ...] = ()

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """Returns an argument that is given by position or by name."""
        if name in self.named:
            return self.named[name]
        return self.args[place] if place < len(self.args) else default

    @property
    def gives(self) -> tuple[Shape, ...]:
        """The shapes of the results."""
        return tuple(tuple(x.shape) for x in self.results)


@dataclass(eq=False)
class Run:
    """One run of a model: its calls of functions, its calls of layers, and its result.

    Args:
        inputs: The shapes of its inputs.
        calls: The calls of functions, in their order.
        layers: The calls of layers, in the order in which they begin.
        output: The result, whatever it is.
        makers: The call that made each array, by the array's id.
    """

    inputs: tuple[Shape, ...] = ()
    calls: list[Call] = field(default_factory=list)
    layers: list[Call] = field(default_factory=list)
    output: Any = None
    makers: dict[int, Call] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # so that no id is used again

    def maker(self, value: Any) -> Call | None:
        """Returns the call that made an array."""
        return self.makers.get(id(value))


class Recorder(TorchFunctionMode):
    """Writes down each call of a function of torch."""

    def __init__(self, machine: Machine, run: Run) -> None:
        super().__init__()
        self.machine, self.run = machine, run
        self.running: list[tuple[str, nn.Module]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in ASKED or not name or len(self.run.calls) >= MOST:
            return func(*args, **named)
        path, layer = self.running[-1] if self.running else ("", None)
        call = made(name, self.machine.node, path, layer, args, named)
        self.run.calls.append(call)
        found = func(*args, **named)
        self.finish(call, found)
        return found

    def finish(self, call: Call, found: Any) -> None:
        """Keeps the results of a call."""
        call.results = tuple(x for x in tree_leaves(found) if isinstance(x, Tensor))
        self.run.kept += (*call.results, *call.arrays)
        for one in call.results:
            if not any(one is x for x in call.arrays):  # else it is only handed on
                self.run.makers[id(one)] = call


def made(name: str, node: ast.AST, path: str, layer: Any, args: Any, named: Any) -> Call:
    """Returns a call that begins."""
    arrays = tuple(x for x in tree_leaves((args, named)) if isinstance(x, Tensor))
    shapes = tuple(tuple(x.shape) for x in arrays)
    return Call(name, node, path, layer, tuple(args), named, shapes, arrays)


@contextmanager
def watched(recorder: Recorder, model: nn.Module) -> Iterator[None]:
    """Writes down each call of a layer while a model runs."""
    run, machine = recorder.run, recorder.machine
    paths: dict[int, str] = {}
    for path, part in model.named_modules():
        paths.setdefault(id(part), path)

    def enter(layer: nn.Module, args: Any, named: Any) -> None:
        path = paths.get(id(layer), "")
        recorder.running.append((path, layer))
        run.layers.append(made(type(layer).__name__, machine.node, path, layer, args, dict(named)))

    def leave(*_: Any) -> None:
        recorder.running.pop()

    with ExitStack() as stack:
        for part in model.modules():
            for hook in (
                part.register_forward_pre_hook(enter, with_kwargs=True),
                part.register_forward_hook(leave, always_call=True),
            ):
                stack.callback(hook.remove)
        yield


def recorded(
    machine: Machine, model: nn.Module, args: Any, named: Any, training: bool = False
) -> Run | None:
    """Returns the run of a model on arrays without numbers; None if it stops with an error."""
    run = Run()
    modes = {part: part.training for part in model.modules()}
    machine.root, machine.tracing = model, True
    try:
        with quiet(), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                args, named = tree_map_only(Tensor, mode.from_tensor, (args, dict(named)))
                run.inputs = tuple(tuple(x.shape) for x in arrays_of((args, named)))
                model.train(training)
                recorder = Recorder(machine, run)
                with watched(recorder, model), recorder:
                    run.output = model(*args, **named)
    except Exception:  # a failure, which is told of elsewhere
        return None
    finally:
        machine.tracing, machine.failure = False, None
        for part, before in modes.items():
            part.training = before
    return run


def arrays_of(values: Any) -> list[Tensor]:
    """Returns the arrays in tuples, lists and dictionaries."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor)]
