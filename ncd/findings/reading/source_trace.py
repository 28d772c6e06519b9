"""One reading of a source: its calls, and the failure with which it stops."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_iter, tree_leaves

from ncd.findings.reading.call_recorder import Call, Recorder
from ncd.findings.reading.input_places import assumed_places, shape_places
from ncd.findings.reading.origins import keep_origins, record_einops
from ncd.findings.reading.size_table import OutOfTime, SizeTable
from ncd.findings.reading.traced_numbers import Place
from ncd.importing.torch_export import quiet
from ncd.pytorch_source import source_reader, top_lines
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised, Stopped
from ncd.pytorch_source.base.source_tree import deep, syntax_tree
from ncd.pytorch_source.base.source_values import Scope, Unknown
from ncd.pytorch_source.function_values import Left, Returned
from ncd.pytorch_source.listed.lazy_layers import lazy_parts, settle
from ncd.pytorch_source.model_choice import model_of
from ncd.pytorch_source.model_inputs import accepted, given_inputs, guessed
from ncd.pytorch_source.one_line import take_shape
from ncd.pytorch_source.usual.object_inputs import by_name
from ncd.text.shape_lines import shape_line
from ncd.text.text_errors import TextError

RUNS = 12  # of modules outside of others; a loop of training goes on with unknown results
UNSURE = ("DataDependent", "DynamicOutput", "GuardOnData", "UnsupportedOperator", "Metadata")
WHY = "it is the result of a later turn of a loop"


class Trace:
    """One reading of a source, over arrays without numbers.

    Args:
        text: The source.
        symbolic: Whether its whole numbers are symbols, so that each size has an origin.
        deadline: When it gives up, in seconds of computing.
        shapes: The inputs to take if the source has none, such as ``1x3x32x32``.
        only: The line up to which it reads at most.

    ``error`` is the failure with which it stopped, ``node`` where, and ``call`` the call of torch
    that failed, if it was one; ``refusal`` is an error of the reader instead. ``result`` is what
    the last module, or the last line, gave.

    Source: this project's own.
    """

    def __init__(
        self, text: str, symbolic: bool = True, deadline: float = float("inf"), shapes: str = ""
    ) -> None:
        self.text, self.symbolic, self.shapes = text, symbolic, shapes
        self.table = SizeTable(deadline)
        self.machine: Machine = source_reader.new_machine()
        fake = FakeTensorMode(shape_env=self.table, allow_non_fake_inputs=True)
        self.recorder = Recorder(self.machine, self.table, fake, symbolic)
        self.error: Exception | None = None
        self.node: ast.AST | None = None
        self.refusal: TextError | None = None
        self.unsure = False  # whether it depends on numbers that no reading knows
        self.left_out: list[int] = []  # lines that are not understood
        self.assumed = ""  # the shape of an input that the text does not give
        self.result: Any = None
        self.model: nn.Module | None = None
        self.ran: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = []  # outside of others
        self.inputs: list[Tensor] = []
        self.tree: ast.Module = ast.Module([], [])
        self._runs = 0

    @property
    def call(self) -> Call | None:
        """The call of torch that failed; None if the failure is none of a call."""
        last = next((one for one in reversed(self.recorder.calls) if one.error), None)
        return last if last is not None and self.error is not None else None

    @property
    def message(self) -> str:
        """The words of the failure; empty if there is none."""
        return "" if self.error is None else str(self.error)

    def read(self) -> Trace:
        """Reads the source, and returns itself."""
        source, given = shape_line(self.text)
        try:
            self.tree = syntax_tree(source)
            with self._modes():
                self._read(source, given)
        except OutOfTime:
            self.unsure = True
        except RecursionError:
            self.refusal = Stopped("it is nested too deep", 1, 1)
        except TextError as error:
            self.refusal = error
        except Raised as raised:
            self._stopped(raised)
        return self

    @contextmanager
    def _modes(self) -> Iterator[None]:
        with warnings.catch_warnings(), quiet(), deep(), self.recorder:
            warnings.simplefilter("ignore")
            yield

    def _read(self, source: str, given: str) -> None:
        machine, scope = self.machine, Scope()
        machine.text, machine.runner = source, self._run
        record_einops(machine, self.recorder)
        if self.symbolic:
            keep_origins(machine, self.table, self.text, self.tree)
        places = shape_places(self.text, self.tree, bool(given))
        called = take_shape(self.tree)
        shapes = given or called
        named = self._free_names(scope) if given and not _classes(self.tree) else []
        if named:
            arrays = self._arrays(shapes, places)
            scope.names.update(zip(named, arrays, strict=False))
        self._lines(scope)
        if (self._runs and not shapes) or named:
            return
        try:
            model = model_of(machine, self.tree, scope)
        except TextError:
            if self.recorder.calls and not _classes(self.tree):
                return  # a line of functions, which has run
            raise
        self._drawn(model, shapes, places)

    def _lines(self, scope: Scope) -> None:
        """Interprets the text; lines that are not understood are left out, as the reader does."""

        def run(node: ast.stmt) -> None:
            self.machine.node = node
            try:
                value = self._line(node, scope)
            except Raised as error:
                if self._counts(error):
                    error.inside = True  # type: ignore[attr-defined]
                raise
            self.result = self.result if value is None else value

        for node, _ in top_lines.skipped_lines(self.tree, scope, run):
            self.left_out += range(node.lineno, (node.end_lineno or node.lineno) + 1)

    def _line(self, node: ast.stmt, scope: Scope) -> Any:
        machine = self.machine
        try:
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                value = machine.value(node.value, scope)
                if isinstance(value, nn.Module):
                    machine.shown = value
                return value if isinstance(value, Tensor | tuple) else None
            machine.run([node], scope)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = scope.names.get(node.targets[0].id)
                return value if isinstance(value, Tensor) else None
        except (Returned, Left):
            raise Stopped("it stands outside of a function or a loop", node.lineno, 1) from None
        return None

    def _counts(self, raised: Raised) -> bool:
        """Returns whether an error is one of arrays or layers, not of the rest of a script."""
        calls = self.recorder.calls
        of_call = any(one.error is raised.error and one.takes for one in calls[-3:])
        of_layer = isinstance(raised.node, ast.Call) and makes_layer(raised.node)
        return of_call or of_layer or bool(self.recorder.layers) or hasattr(raised, "inside")

    def _run(self, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Runs a module outside of others, as a line of the text calls it."""
        every = tree_leaves((args, named))
        if any(isinstance(x, Unknown) for x in every) or self._runs >= RUNS:
            return Unknown("the result of the model", WHY)
        if not any(isinstance(x, Tensor) for x in every):
            return Unknown("the result of the model", "it is given no array")
        if lazy_parts(module):
            if self.symbolic:
                raise OutOfTime  # layers without sizes: read them with plain numbers
            accepted(self.machine, module, args, named)
            settle(module)
        self._runs += 1
        self.model = module
        self.ran.append((module, args, named))
        if not self.inputs:
            self.inputs = [x for x in every if isinstance(x, Tensor)]
        machine = self.machine
        try:
            with self.recorder.running(module):
                self.result = machine.attempt(module, *args, **named)
        except (Raised, TextError) as error:
            error.inside = True  # type: ignore[union-attr]
            raise
        return self.result

    def _drawn(self, model: nn.Module, shapes: str, places: list[list[Place]]) -> None:
        """Runs the module that is drawn, on the inputs of a line of shapes, or on assumed ones."""
        if shapes or self.shapes:
            args = self._arrays(shapes or self.shapes, places if shapes else [])
        else:
            args = self._guessed(model)
        self._run(model, *by_name(model, args))

    def _arrays(self, shapes: str, places: list[list[Place]]) -> tuple[Any, ...]:
        """Returns the inputs of a line of shapes."""
        args = given_inputs(shapes, self.tree.body[-1].end_lineno or 1)
        if not places:
            places = assumed_places(shapes)
        if self.symbolic:
            args = self._symbolic(args, places)
        self._limit(args, shapes)
        return args

    def _free_names(self, scope: Scope) -> list[str]:
        """Returns the names that a line of functions takes and nothing sets: its inputs."""
        names = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        free = sorted((n.lineno, n.col_offset, n.id) for n in names if n.id not in stored)
        return [n for n in dict.fromkeys(n for *_, n in free) if n not in self.machine.names]

    def _guessed(self, model: nn.Module) -> tuple[Any, ...]:
        """Returns inputs that fit; they are said as assumed."""
        first = guessed(self.machine, model)
        if first is None:
            raise Stopped("no input is known", 1, 1)
        if first[1] and not accepted(self.machine, model, first[0], {}):
            first = guessed(self.machine, model, failed=first[1]) or first
        self.assumed = first[1]
        return first[0]

    def _symbolic(
        self, arrays: tuple[Tensor, ...], places: list[list[Place]]
    ) -> tuple[Tensor, ...]:
        found = []
        for array, own in zip(arrays, places, strict=False):
            numbers = [self.table.number(place) for place in own[: array.dim()]]
            with self.recorder.fake:
                found.append(torch.empty(tuple(numbers), dtype=array.dtype))
        return tuple(found)

    def _limit(self, arrays: tuple[Tensor, ...], shapes: str) -> None:
        """Notes that tokens of an input are below the number behind its shape."""
        self.recorder.kept.append(arrays)
        for array, shape in zip(arrays, shapes.split(","), strict=False):
            if limit := shape.partition("#")[2].strip():
                self.recorder.limits[id(array)] = self.table.expr(int(limit))

    def _stopped(self, raised: Raised) -> None:
        """Keeps the failure of the source."""
        failure = self.machine.failure
        inner = failure if isinstance(failure, Raised) else raised
        error = inner.error
        if isinstance(error, TextError) and not isinstance(error, TypeError):
            self.refusal = error
            return
        name = type(error).__name__
        if any(word in name for word in UNSURE) or isinstance(error, NotImplementedError):
            self.unsure = True
            return
        assert isinstance(error, Exception)
        self.error, self.node = error, inner.node

    def shape_of(self, found: Any) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the arrays in a result."""
        arrays = [x for x in tree_iter(found) if isinstance(x, Tensor)]
        return tuple(self.recorder.values(self.recorder.shape(x)) for x in arrays)


def makes_layer(node: ast.Call) -> bool:
    """Returns whether a call makes a layer of torch."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    kind = getattr(nn, name, None)
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def _classes(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ClassDef) for node in tree.body)
