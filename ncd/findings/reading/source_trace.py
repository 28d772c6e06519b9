"""One reading of a source without numbers: its calls, and the failure with which it stops."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import einops
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter, tree_leaves, tree_map

from ncd.findings.reading.axis_range import check_axes
from ncd.findings.reading.device_check import check_devices, follow_devices, placement_of
from ncd.findings.reading.format_check import BYTES, OTHER_CONVERSION, check_formats
from ncd.findings.reading.size_table import OutOfTime, SizeTable, check_range
from ncd.findings.reading.traced_numbers import (
    Real,
    SourceNumber,
    TracedInteger,
    as_whole,
    assumed_places,
    floor_or_ceil,
    input_places,
    number_names,
    shape_places,
)
from ncd.notation.call_form import shape_line
from ncd.notation.term_reader import TextError
from ncd.read.python_source import source_reader
from ncd.read.python_source.first_layers import in_format
from ncd.read.python_source.functions_and_classes import LoopExit, ReturnSignal
from ncd.read.python_source.interpreter import (
    BuiltinFunction,
    Interpreter,
    LimitExceeded,
    Namespace,
    Scope,
    SourceException,
    UnknownValue,
)
from ncd.read.python_source.model_choice import model_of
from ncd.read.python_source.model_inputs import (
    can_run,
    guess_input,
    inputs_of_shapes,
    other_input,
)
from ncd.read.python_source.one_line import take_shape
from ncd.read.python_source.python_names import NAMES
from ncd.read.python_source.source_expressions import EXPRESSIONS
from ncd.read.python_source.source_reader import skipped_lines
from ncd.read.python_source.source_tree import deep, syntax_tree
from ncd.read.python_source.structured_inputs import by_name
from ncd.read.python_source.torch_layers import lazy_parts, settle
from ncd.read.torch_module.torch_export import quiet

# --- The results of torch's recurrent kernels, whose loops over the steps no reading needs

STACKS = (nn.TransformerEncoder, nn.TransformerDecoder)  # look at the numbers of their masks
KERNELS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def kernel(name: str, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Returns the arrays that a recurrent layer gives: the sequence, and its last states.

    Args:
        name: The kernel.
        args: Its arguments, as torch's own layers give them: a packed sequence has its batch sizes
            second.

    Source: ``torch.nn.modules.rnn``.
    """
    packed = isinstance(args[1], Tensor) and isinstance(args[3], list | tuple)
    x, states = args[0], args[2] if packed else args[1]
    two = args[8 if packed else 7]
    every = tuple(states) if isinstance(states, list | tuple) else (states,)
    width = every[0].shape[-1] * (2 if two else 1)
    return (x.new_empty((*x.shape[:-1], width)), *(one.new_empty(one.shape) for one in every))


def ctc_result(
    scores: Tensor, targets: Tensor, steps: Tensor, lengths: Tensor, *, reduction: str
) -> Tensor:
    """Returns the loss of a connectionist classification, for which torch has no rule of shapes.

    Raises RuntimeError where the batch of the scores, their second axis, is not that of the rest.
    """
    if scores.dim() == 3:
        others = (steps, lengths, targets) if targets.dim() == 2 else (steps, lengths)
        for other in others:
            if other.dim() == 0 or other.shape[0] != scores.shape[1]:
                raise RuntimeError("the batch of the scores is not that of the targets")
    every = scores.dim() == 3 and reduction == "none"
    return scores.new_empty(scores.shape[1:2] if every else ())


# --- Records each call of torch with its place in the source, its layer, and the arrays around it

MAX_CALLS = 20_000  # calls that are kept
SIZES = ("__get__", "size", "stride", "numel", "nelement", "dim", "__len__", "storage_offset")
QUIET = (*SIZES, "__set__", "is_floating_point", "is_complex", "is_contiguous", "is_nested")
WINDOWS = ("conv", "pool", "interpolate", "pad", "unfold")
FIRST_NUMBERS = ("uniform_", "normal_", "fill_", "zero_", "trunc_normal_", "bernoulli_")
SHORT, LONG = 3, 24  # parts of the expression of a size after a window, and after any call
MAKERS = ("zeros", "ones", "empty", "rand", "randn", "full", "randint", "expand", "arange", "eye")


@dataclass(eq=False)
class TracedModule:
    """A module that runs, and what it was given."""

    path: str
    module: nn.Module
    arrays: tuple[Tensor, ...]


@dataclass(eq=False)
class TracedCall:
    """A call of a function of torch.

    ``node`` is where it stands in the source, ``layer`` the innermost module that makes it (None
    outside of any), ``takes`` and ``gives`` its arrays, ``words`` its other arguments by place or
    name, ``number`` which call it is.
    """

    name: str
    function: Any
    node: ast.AST
    layer: TracedModule | None
    takes: tuple[Tensor, ...]
    words: dict[int | str, Any]
    number: int = 0
    gives: tuple[Tensor, ...] = ()
    error: Exception | None = None
    shapes: tuple[tuple[Any, ...], ...] = ()  # of what it takes, as expressions

    @property
    def path(self) -> str:
        """The path of its layer."""
        return self.layer.path if self.layer else ""


@dataclass(eq=False)
class CallRecorder(TorchFunctionMode):
    """Runs a source's calls on arrays without numbers, and records them."""

    machine: Interpreter
    table: SizeTable
    fake: FakeTensorMode
    symbolic: bool
    calls: list[TracedCall] = field(default_factory=list)
    layers: list[TracedModule] = field(default_factory=list)  # those that run, the outermost first
    paths: dict[int, str] = field(default_factory=dict)  # of modules, by their ids
    makers: dict[int, TracedCall] = field(default_factory=dict)  # of arrays, by their ids
    limits: dict[int, Any] = field(default_factory=dict)  # that the numbers of arrays are below
    retained_objects: list[Any] = field(default_factory=list)  # so that no id is given twice

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, words = getattr(func, "__name__", str(func)), dict(kwargs or {})
        if func is torch._C._set_grad_enabled:
            return func(*args, **words)  # the end of a no_grad comes here too, and may not fail
        if time.process_time() > self.table.deadline:
            raise OutOfTime
        args, words = tree_map(self._to_torch, args), tree_map(self._to_torch, words)
        if name in QUIET:
            return self._sizes(func(*args, **words))
        if name == "__deepcopy__":
            return self._copy_weight(args[0], args[1])
        return self._record_call(name, func, args, words)

    def call_of(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> Any:
        """Runs a function of Python that calls those of torch, and records it as one call."""
        args, words = tree_map(self._to_torch, args), tree_map(self._to_torch, words)
        with torch._C.DisableTorchFunction():
            return self._record_call(name, func, args, words)

    def _record_call(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> Any:
        call = self._begin_call(name, func, args, words)
        try:
            check_axes(self, call)
            check_range(self, call)
            check_formats(self.machine, call)
            check_devices(self.machine.placement, call)
            found = self._run(call, func, args, words)
        except Exception as error:
            call.error = error
            raise
        found = tree_map(self._size_shortener(name), found)
        call.gives = tuple(x for x in tree_iter(found) if isinstance(x, Tensor))
        for each in call.gives:
            self.makers.setdefault(id(each), call)
        self.retained_objects.append(found)
        follow_devices(self.machine.placement, call, self._is_written(name))
        return tree_map(self._from_torch, found)

    def _begin_call(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> TracedCall:
        """Returns the record of a call that is about to run."""
        takes = tuple(x for x in tree_iter((args, words)) if isinstance(x, Tensor))
        layer = self.layers[-1] if self.layers else None
        given: dict[int | str, Any] = dict([*enumerate(args), *words.items()])
        self.table.call += 1
        call = TracedCall(name, func, self.machine.node, layer, takes, given, self.table.call)
        call.shapes = tuple(self.shape(x) for x in takes)
        if len(self.calls) < MAX_CALLS:
            self.calls.append(call)
        return call

    def _run(self, call: TracedCall, func: Any, args: Any, words: dict[str, Any]) -> Any:
        if call.name in FIRST_NUMBERS and call.takes:
            return call.takes[0]  # no reading needs them
        if call.name == "__bool__" and isinstance(getattr(call.layer, "module", None), STACKS):
            return False  # whether a mask is causal, which changes no shape
        if call.name == "ctc_loss":
            return ctc_result(*call.takes, reduction=words.get("reduction", [*args, *[""] * 6][5]))
        if call.name in KERNELS:
            with self.fake:
                return kernel(call.name, args)
        if call.name in BYTES and len(args) > 1 and args[1].dtype == torch.uint8:
            args = (args[0], args[1].long(), *args[2:])  # torch's meta function wants more bits
        if call.name in MAKERS and self._is_shape(call.name, args, words):
            with self.fake:
                return func(*args, **words)
        return func(*args, **words)

    def _is_shape(self, name: str, args: Any, words: Any) -> bool:
        """Returns whether an array is made whose numbers do not matter."""
        if not self.symbolic:
            return not self.machine.strict and self._is_written(name)
        return any(isinstance(x, torch.SymInt) for x in tree_iter((args, words)))

    def _is_written(self, name: str) -> bool:
        """Returns whether the text itself calls a function, at the place that is interpreted."""
        function = getattr(self.machine.node, "func", None)
        return name in (getattr(function, "attr", ""), getattr(function, "id", ""))

    def _copy_weight(self, array: Tensor, memo: dict[int, Any]) -> Tensor:
        """Returns a copy of a weight, which has no numbers."""
        if id(array) not in memo:
            made = array.detach().new_empty(array.shape)
            learned = isinstance(array, nn.Parameter)
            memo[id(array)] = nn.Parameter(made, array.requires_grad) if learned else made
        copied: Tensor = memo[id(array)]
        return copied

    def _to_torch(self, value: Any) -> Any:
        if isinstance(value, Real):
            return float(value)
        if isinstance(value, slice):
            return slice(*map(self._to_torch, (value.start, value.stop, value.step)))
        return self.table.to_torch(value) if isinstance(value, TracedInteger) else value

    def _from_torch(self, value: Any) -> Any:
        return self.table.from_torch(value) if isinstance(value, torch.SymInt) else value

    def _sizes(self, found: Any) -> Any:
        """Returns sizes as the source sees them."""
        if isinstance(found, torch.Size):
            return torch.Size(tuple(map(self._from_torch, found)))
        if isinstance(found, tuple):
            return tuple(map(self._from_torch, found))
        return self._from_torch(found)

    def _size_shortener(self, name: str) -> Callable[[Any], Any]:
        """Returns a function that gives long sizes of an array a symbol of their own."""
        most = SHORT if any(part in name for part in WINDOWS) else LONG

        def shorten(found: Any) -> Any:
            if not self.symbolic or not isinstance(found, Tensor) or found.layout != torch.strided:
                return found
            sizes = [*found.shape]
            for i, size in enumerate(sizes):
                expr = self.table.expr(size)
                if not expr.is_number and not expr.is_Symbol and expr.count_ops() >= most:
                    sizes[i] = self.table.size(self.table.window(expr))
            same = all(a is b for a, b in zip(sizes, found.shape, strict=True))
            return found if same else found.new_empty(tuple(sizes))

        return shorten

    # what is known of arrays ----------------------------------------------------------------------

    def shape(self, array: Tensor) -> tuple[Any, ...]:
        """Returns the sizes of an array as expressions."""
        with torch._C.DisableTorchFunction():
            return tuple(self.table.expr(n) for n in array.shape)

    def values(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """Returns the values of sizes."""
        return tuple(self.table.value(n) for n in shape)

    def maker(self, array: Tensor) -> TracedCall | None:
        """Returns the call that made an array; None for an input or a weight."""
        return self.makers.get(id(array))

    # layers ---------------------------------------------------------------------------------------

    def enter(self, module: nn.Module, args: Any) -> None:
        """Notes that a module begins to run."""
        arrays = tuple(x for x in tree_iter(args) if isinstance(x, Tensor))
        self.retained_objects.append(arrays)
        path = self.paths.get(id(module), "")
        self.layers.append(TracedModule(path, module, arrays))

    def leave(self, module: nn.Module, *_: Any) -> None:
        """Notes that a module has run; what stops within it stays on the list."""
        while self.layers and self.layers.pop().module is not module:
            pass

    @contextmanager
    def running(self, module: nn.Module) -> Iterator[None]:
        """Follows the layers of a module, and takes all arrays as ones without numbers."""
        self.layers.clear()
        for path, part in module.named_modules():
            self.paths.setdefault(id(part), path)
        self.retained_objects.append(module)
        hooks = [part.register_forward_pre_hook(self.enter) for part in module.modules()]
        hooks += [part.register_forward_hook(self.leave) for part in module.modules()]
        before, self.machine.tracing = self.machine.tracing, True
        try:
            with self.fake, torch.no_grad():
                yield
        finally:
            self.machine.tracing = before
            for hook in hooks:
                hook.remove()


# --- Lets the interpreter keep the origins of numbers, and count einops' functions as calls

LARGEST = 2**40  # of the numbers that may be sizes


def keep_origins(machine: Interpreter, table: SizeTable, text: str, tree: ast.Module) -> None:
    """Makes the whole numbers of a text symbols, and ``int`` and the like keep them."""
    constant = _constants(table, text.split("\n"), tree)
    machine.expressions = {**machine.expressions, ast.Constant: constant}
    machine.first_layers = True
    math = machine.libraries["math"]
    names = {**math.names, **_rounding("floor", floor), **_rounding("ceil", ceil)}
    library = Namespace("math", names)
    machine.names = {**machine.names, "math": library, "int": BuiltinFunction("int", _int)}
    machine.libraries = {**machine.libraries, "math": library}


def _rounding(name: str, to: Callable[[float], int]) -> dict[str, BuiltinFunction]:
    return {name: BuiltinFunction(name, lambda machine, value: floor_or_ceil(value, to))}


def _int(machine: Interpreter, *args: Any, **named: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], TracedInteger | Real):
        return as_whole(args[0])
    return NAMES["int"].run(machine, *args, **named)


def _constants(table: SizeTable, rows: list[str], tree: ast.Module) -> Callable[..., Any]:
    """Returns the reader of constants: 2 and more, and all sizes of arrays outside of classes."""
    inputs = input_places(tree)
    names = {**number_names(tree), **inputs}

    def read(machine: Interpreter, node: ast.Constant, scope: Scope) -> Any:
        value, spot = node.value, (node.lineno, node.col_offset)
        least = 1 if spot in inputs else 2
        if type(value) is not int or not least <= value < LARGEST:
            return EXPRESSIONS[ast.Constant](machine, node, scope)
        row = rows[node.lineno - 1].encode()
        start, end = (len(row[:n].decode()) for n in (spot[1], node.end_col_offset or 0))
        name = names.get(spot, "")
        return table.number(SourceNumber(node.lineno, start, end, value, name, spot in inputs))

    return read


def record_einops(machine: Interpreter, recorder: CallRecorder) -> None:
    """Lets einops' functions count as one call each."""

    def one(name: str) -> BuiltinFunction:
        function = getattr(einops, name)
        return BuiltinFunction(
            name, lambda _, *args, **words: recorder.call_of(name, function, args, words)
        )

    own = {name: one(name) for name in ("rearrange", "reduce", "repeat")}
    library = Namespace("einops", {**machine.libraries["einops"].names, **own})
    machine.names = {**machine.names, **own, "einops": library}
    machine.libraries = {**machine.libraries, "einops": library}


# --- One reading of a source: its calls, and the failure with which it stops

RUNS = 12  # of modules outside of others; a loop of training goes on with unknown results
UNSURE = ("DataDependent", "DynamicOutput", "GuardOnData", "UnsupportedOperator", "Metadata")
UNKNOWN_TRUTH_ERROR = "truth value of Relational"  # of a size that only a run tells
LATER_TURN_REASON = "it is the result of a later turn of a loop"


class SourceTrace:
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
        self.machine: Interpreter = source_reader.new_machine()
        self.machine.placement = placement_of(text)
        self.machine.follows_formats = OTHER_CONVERSION.search(text) is None
        fake = FakeTensorMode(shape_env=self.table, allow_non_fake_inputs=True)
        self.recorder = CallRecorder(self.machine, self.table, fake, symbolic)
        self.error: Exception | None = None
        self.node: ast.AST | None = None
        self.refusal: TextError | None = None
        self.unsure = False  # whether it depends on numbers that no reading knows
        self.left_out: list[int] = []  # lines that are not understood
        self.assumed = ""  # the shape of an input that the text does not give
        self.result: Any = None
        self.model: nn.Module | None = None
        self.run_node: ast.AST | None = None  # the call in the text that runs the model
        self.ran: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = []  # outside of others
        self.inputs: list[Tensor] = []
        self.tree: ast.Module = ast.Module([], [])
        self._runs = 0

    @property
    def call(self) -> TracedCall | None:
        """The call of torch that failed; None if the failure is none of a call."""
        last = next((one for one in reversed(self.recorder.calls) if one.error), None)
        return last if last is not None and self.error is not None else None

    @property
    def message(self) -> str:
        """The words of the failure; empty if there is none."""
        return "" if self.error is None else str(self.error)

    def read(self) -> SourceTrace:
        """Reads the source, and returns itself."""
        source, given = shape_line(self.text)
        try:
            self.tree = syntax_tree(source)
            with self._modes():
                self._read(source, given)
        except OutOfTime:
            self.unsure = True
        except RecursionError:
            self.refusal = LimitExceeded("it is nested too deep", 1, 1)
        except TextError as error:
            self.refusal = error
        except SourceException as raised:
            self._record_failure(raised)
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
        self._run_model(model, shapes, places)

    def _lines(self, scope: Scope) -> None:
        """Interprets the text; lines that are not understood are left out, as the reader does."""

        def run(node: ast.stmt) -> None:
            self.machine.node = node
            try:
                value = self._line(node, scope)
            except SourceException as error:
                if self._counts(error):
                    error.inside = True  # type: ignore[attr-defined]
                raise
            self.result = self.result if value is None else value

        for node, _ in skipped_lines(self.tree, scope, run):
            self.left_out += range(node.lineno, (node.end_lineno or node.lineno) + 1)

    def _line(self, node: ast.stmt, scope: Scope) -> Any:
        machine = self.machine
        try:
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                value = machine.value(node.value, scope)
                if isinstance(value, nn.Module):
                    machine.last_value_module = value
                return value if isinstance(value, Tensor | tuple) else None
            machine.run([node], scope)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = scope.names.get(node.targets[0].id)
                return value if isinstance(value, Tensor) else None
        except (ReturnSignal, LoopExit):
            raise LimitExceeded(
                "it stands outside of a function or a loop", node.lineno, 1
            ) from None
        return None

    def _counts(self, raised: SourceException) -> bool:
        """Returns whether an error is one of arrays or layers, not of the rest of a script."""
        calls = self.recorder.calls
        of_call = any(one.error is raised.error and one.takes for one in calls[-3:])
        of_layer = isinstance(raised.node, ast.Call) and makes_layer(raised.node)
        return of_call or of_layer or bool(self.recorder.layers) or hasattr(raised, "inside")

    def _run(self, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Runs a module outside of others, as a line of the text calls it."""
        every = tree_leaves((args, named))
        if any(isinstance(x, UnknownValue) for x in every) or self._runs >= RUNS:
            return UnknownValue("the result of the model", LATER_TURN_REASON)
        if not any(isinstance(x, Tensor) for x in every):
            return UnknownValue("the result of the model", "it is given no array")
        if lazy_parts(module):
            if self.symbolic:
                raise OutOfTime  # layers without sizes: read them with plain numbers
            can_run(self.machine, module, args, named)
            settle(module)
        self._runs += 1
        self.model, self.run_node = module, self.machine.node
        self.ran.append((module, args, named))
        if not self.inputs:
            self.inputs = [x for x in every if isinstance(x, Tensor)]
        machine = self.machine
        try:
            with self.recorder.running(module):
                self.result = machine.attempt(module, *args, **named)
        except (SourceException, TextError) as error:
            error.inside = True  # type: ignore[union-attr]
            raise
        return self.result

    def _run_model(self, model: nn.Module, shapes: str, places: list[list[SourceNumber]]) -> None:
        """Runs the module that is drawn, on the inputs of a line of shapes, or on assumed ones."""
        if shapes or self.shapes:
            args = self._arrays(shapes or self.shapes, places if shapes else [])
        else:
            args = self._assumed_inputs(model)
        self._run(model, *by_name(model, in_format(model, args)))

    def _arrays(self, shapes: str, places: list[list[SourceNumber]]) -> tuple[Any, ...]:
        """Returns the inputs of a line of shapes."""
        args = inputs_of_shapes(shapes, self.tree.body[-1].end_lineno or 1)
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

    def _assumed_inputs(self, model: nn.Module) -> tuple[Any, ...]:
        """Returns inputs that fit; they are said as assumed."""
        first = guess_input(self.machine, model)
        if first.words and not can_run(self.machine, model, first.inputs, {}):
            first = other_input(self.machine, model, first) or first
        self.assumed = first.words
        return first.inputs

    def _symbolic(
        self, arrays: tuple[Tensor, ...], places: list[list[SourceNumber]]
    ) -> tuple[Tensor, ...]:
        found = []
        for array, own in zip(arrays, places, strict=False):
            numbers = [self.table.number(place) for place in own[: array.dim()]]
            with self.recorder.fake:
                found.append(torch.empty(tuple(numbers), dtype=array.dtype))
        return tuple(found)

    def _limit(self, arrays: tuple[Tensor, ...], shapes: str) -> None:
        """Notes that tokens of an input are below the number behind its shape."""
        self.recorder.retained_objects.append(arrays)
        for array, shape in zip(arrays, shapes.split(","), strict=False):
            if limit := shape.partition("#")[2].strip():
                self.recorder.limits[id(array)] = self.table.expr(int(limit))

    def _record_failure(self, raised: SourceException) -> None:
        """Keeps the failure of the source."""
        failure = self.machine.failure
        inner = failure if isinstance(failure, SourceException) else raised
        error = inner.error
        if isinstance(error, TextError) and not isinstance(error, TypeError):
            self.refusal = error
            return
        name = type(error).__name__
        unknown = any(word in name for word in UNSURE) or UNKNOWN_TRUTH_ERROR in str(error)
        if unknown or isinstance(error, NotImplementedError):
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
