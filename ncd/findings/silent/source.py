"""A source that is read for its silent faults: its model, its inputs, and its runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.findings.finding import Edit
from ncd.findings.silent.calls import Run, arrays_of, recorded
from ncd.findings.silent.script import script_run
from ncd.findings.silent.source_text import SourceText
from ncd.pytorch_source import source_reader
from ncd.pytorch_source.base.source_values import Interpreted, Scope, Unknown
from ncd.pytorch_source.listed.lazy_layers import lazy_parts, settle
from ncd.pytorch_source.model_choice import model_of
from ncd.pytorch_source.model_inputs import accepted, given_inputs, guessed, shape_line
from ncd.pytorch_source.one_line import take_shape


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

    Args:
        text: The whole text.

    Raises:
        TextError: For a source from which no model can be made.
    """

    def __init__(self, text: str) -> None:
        rest, shapes = shape_line(text)
        tree = source_reader._tree(rest)
        self.source = SourceText(text, tree)
        shapes = shapes or take_shape(tree)
        self.machine = source_reader.new_machine()
        self.machine.text = rest
        self.assumed = False
        self.scope = Scope()
        with source_reader._deep():
            source_reader._top(self.machine, tree, self.scope)
            self.model: nn.Module = model_of(self.machine, tree, self.scope)
            self.args, self.named = self._inputs(shapes, rest.count("\n") + 1)
            if lazy_parts(self.model):
                accepted(self.machine, self.model, self.args, self.named)
                settle(self.model)
        self._runs: dict[int | None, Run | None] = {}

    @cached_property
    def script(self) -> Run | None:
        """The run of the lines outside of classes and functions, with the model's own calls."""
        return script_run(self.machine, self.source.tree, self.scope, self.model)

    @cached_property
    def training(self) -> Run | None:
        """The run of the model while it trains; None if it stops with an error."""
        return self._recorded((self.args, self.named), training=True)

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """The run of the model, and that of the lines around it."""
        return tuple(one for one in (self.run, self.script) if one is not None)

    def _inputs(self, shapes: str, line: int) -> tuple[Any, dict[str, Any]]:
        """Returns the inputs that a source gives, or those that are assumed."""
        if shapes:
            return given_inputs(shapes, line), {}
        for ran, args, named in reversed(self.machine.ran):
            known = not any(isinstance(x, Unknown) for x in tree_leaves((args, named)))
            if ran is self.model and known and arrays_of((args, named)):
                return args, named
        self.assumed = True
        found = guessed(self.machine, self.model)
        if found and not accepted(self.machine, self.model, found[0], {}):
            found = guessed(self.machine, self.model, failed=found[1]) or found
        return (found[0] if found else ()), {}

    @property
    def run(self) -> Run | None:
        """The run of the model on its inputs; None if it stops with an error."""
        return self.changed(None)

    def changed(self, axis: int | None) -> Run | None:
        """Returns the run where an axis of the first input is of another size; None if it stops.

        Other inputs whose axis of that place is as long are changed with it. A run that takes
        other turns is none either, as its calls are not those of the first one.
        """
        if axis not in self._runs:
            self._runs[axis] = self._changed(axis)
        return self._runs[axis]

    def _changed(self, axis: int | None) -> Run | None:
        values: Any = (self.args, self.named)
        if axis is None:
            return self._recorded(values)
        first = next(iter(arrays_of(values)), None)
        if self.run is None or first is None or not 0 <= axis < first.dim():
            return None
        size = first.shape[axis]
        for new in (2 * size, size // 2, size + 1):
            found = self._recorded(resized(values, axis, size, new)) if new > 1 else None
            if found and same_calls(found, self.run):
                return found
        return None

    def _recorded(self, values: Any, training: bool = False) -> Run | None:
        with source_reader._deep():
            args, named = values
            return recorded(self.machine, self.model, args, named, training)

    def parts(self) -> Iterator[tuple[str, Interpreted]]:
        """Yields the modules of the source's own classes, with their paths."""
        for path, part in self.model.named_modules():
            if isinstance(part, Interpreted):
                yield path, part

    def line_of(self, layer: nn.Module | None, node: ast.AST) -> int:
        """Returns the line on which a layer is made; that of a node if it is not known."""
        place = self.machine.places.get(id(layer), node)
        return getattr(place, "lineno", 0)


def resized(values: Any, axis: int, size: int, new: int) -> Any:
    """Returns inputs whose axis of a size is of another one."""

    def one(value: Tensor) -> Tensor:
        if value.dim() <= axis or value.shape[axis] != size:
            return value
        shape = [new if i == axis else n for i, n in enumerate(value.shape)]
        return torch.zeros((), dtype=value.dtype).expand(shape)

    return tree_map_only(Tensor, one, values)


def same_calls(a: Run, b: Run) -> bool:
    """Returns whether two runs call the same functions on arrays of as many axes."""
    if len(a.calls) != len(b.calls) or len(a.layers) != len(b.layers):
        return False
    pairs = [*zip(a.calls, b.calls, strict=True), *zip(a.layers, b.layers, strict=True)]
    return all(
        x.name == y.name
        and [len(s) for s in x.shapes] == [len(s) for s in y.shapes]
        and [len(s) for s in x.gives] == [len(s) for s in y.gives]
        for x, y in pairs
    )
