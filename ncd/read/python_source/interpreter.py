"""The state of one interpretation: its bounds, values and errors."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.fx.traceback import annotate

from ncd.errors import plain_message, printable_line
from ncd.notation.call_form import ModuleCall
from ncd.notation.term_reader import TextError, spoken
from ncd.read.device_places import Placement

# --- Errors in a visitor's source, with their positions

LONGEST_MESSAGE = 300  # of a message of torch


class SourceException(Exception):
    """An error that the source, or a function called by it, raises; the source may catch it."""

    def __init__(self, error: BaseException, node: ast.AST) -> None:
        super().__init__(str(error))
        self.error, self.node = error, node
        self.call: ModuleCall | None = None  # the last line that would give other values


class LimitExceeded(TextError):
    """An exceeded limit; it ends the reading, and the source cannot catch it."""


class UnknownValueError(TextError):
    """The use of a value that comes from elsewhere, such as a file."""


class LayerStops(TextError):
    """A layer of torch that stops on the array that it is given."""


class WrongArguments(TextError, TypeError):
    """A call with arguments that do not fit; the source may catch it, as Python's TypeError."""


def error_at(
    node: ast.AST, fact: str, cure: str = "", kind: type[TextError] = TextError
) -> TextError:
    """Returns an error at the position of a node."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = (getattr(node, "end_lineno", 0) or line, getattr(node, "end_col_offset", 0) or column)
    return kind(fact, line, column + 1, (end[0], end[1] + 1), cure)


def as_text_error(raised: SourceException) -> TextError:
    """Returns the error that is shown to the visitor for an error raised by the source."""
    if isinstance(raised.error, TextError):
        raised.error.call = raised.error.call or raised.call
        return raised.error
    said = plain_message(str(raised.error))
    if "data-dependent" in said:
        fact = "what comes out depends on the numbers of an array, which a diagram does not know"
        return error_at(raised.node, fact, "its size as an argument")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    words = printable_line(lines[0], LONGEST_MESSAGE) if lines else ""
    name = type(raised.error).__name__
    found = error_at(raised.node, f"{name}: {words}" if words else name)
    found.call = raised.call
    return found


# --- Values of a source: functions, classes and objects of the interpreter

SUBMODULES = ("torch", "pytorch", "models")  # of libraries, with the same names


class _SharedValue:
    """A value that copies of a module share."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self


@dataclass(eq=False)
class UnknownValue(_SharedValue):
    """A value that is not known, such as a result of an unknown library."""

    name: str
    reason: str


@dataclass(eq=False)
class Namespace(_SharedValue):
    """A module of a library, with the names that may be used."""

    name: str
    names: Mapping[str, Any]

    def missing_name(self, name: str, missing: Any) -> Any:
        """Returns the value of a name that is not among them."""
        return missing


class PartialNamespace(Namespace):
    """A library of which some names are known, and all others unknown."""

    def missing_name(self, name: str, missing: Any) -> Any:
        if name in SUBMODULES:
            return PartialNamespace(f"{self.name}.{name}", self.names)
        return UnknownValue(f"{self.name}.{name}"[:80], f"{name} of {self.name} is not read")


@dataclass(eq=False)
class Scope(_SharedValue):
    """The names of a module, class or function; ``outer`` is the enclosing scope."""

    outer: Scope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    declared_scopes: dict[str, Scope] = field(default_factory=dict)  # declared global or nonlocal
    function: SourceFunction | None = None
    is_class: bool = False

    def home(self, name: str) -> Scope:
        """Returns the scope in which a name is set."""
        return self.declared_scopes.get(name, self)

    def find(self, name: str) -> Scope | None:
        """Returns the scope that knows a name; a class does not show its names to its methods."""
        scope: Scope | None = self.home(name)
        while scope is not None and (
            name not in scope.names or (scope.is_class and scope is not self)
        ):
            scope = scope.outer
        return scope

    @property
    def top(self) -> Scope:
        """The scope of the whole text."""
        return self if self.outer is None else self.outer.top


@dataclass(eq=False)
class SourceFunction(_SharedValue):
    """A function defined in the source, which is interpreted when called."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    interpret: Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    owner: ClassValue | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.interpret(self, args, named)


def parameters(function: SourceFunction) -> tuple[list[str], list[str]]:
    """Returns the names of all arguments without ``self``, and of those that have no default."""
    given = function.node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = [one.arg for one in every][int(function.owner is not None) :]
    return names, [name for name in names if name not in function.defaults]


@dataclass(eq=False)
class DecoratedFunction(_SharedValue):
    """A function behind ``@property``, ``@staticmethod`` or ``@classmethod``.

    ``sets`` is the function that a property is set by, if it has one.
    """

    kind: str
    function: Any
    sets: Any = None


@dataclass(eq=False)
class BoundFunction(_SharedValue):
    """A function with its first arguments given: a method, or ``functools.partial``."""

    function: Any
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*self.args, *args, **{**self.named, **named})


@dataclass(eq=False)
class ListedMethod(_SharedValue):
    """A method that is on the list for a kind of value."""

    name: str
    call: Callable[..., Any]

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.call(*args, **named)


@dataclass(eq=False)
class Super(_SharedValue):
    """``super()``: the classes that come after a class in the method resolution order."""

    owner: ClassValue
    subject: Any


@dataclass(eq=False)
class ClassValue(_SharedValue):
    """A class of the source; ``real`` is an empty Python class with the same base order."""

    name: str
    real: type
    names: dict[str, Any]
    create: Callable[..., Any]
    bases: tuple[Any, ...] = ()
    annotated_names: list[str] = field(default_factory=list)  # names with a type hint
    fields: list[str] | None = None  # of a data class

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.create(self, args, named)

    @property
    def is_module(self) -> bool:
        """Whether it is a subclass of ``nn.Module``."""
        return issubclass(self.real, nn.Module)


class PlainObject:
    """An object of a class that is not a module."""

    visitor: ClassValue

    def __init__(self) -> None:
        self.own: dict[str, Any] = {}


class AssumedSettings(PlainObject):
    """Settings that a source takes from elsewhere; each has the value usual for its name.

    Args:
        name: Its name in the source.
    """

    visitor = ClassValue("Config", PlainObject, {}, lambda *_: None)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Record(PlainObject):
    """An object that only has attributes, as ``SimpleNamespace`` makes them."""

    visitor = ClassValue("SimpleNamespace", PlainObject, {}, lambda *_: None)


class NamedResults(Record):
    """Arrays with names and an order, as a published model gives them."""

    def __getitem__(self, place: Any) -> Any:
        """Returns an array by its name or its place, or several in order."""
        return self.own[place] if isinstance(place, str) else tuple(self.own.values())[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)


class SourceModule(nn.Module):
    """A module of a class of the source, with plain attributes in ``source_attributes``."""

    visitor: ClassValue


@dataclass(eq=False)
class BuiltinFunction(_SharedValue):
    """A function implemented here for the interpreter, which is its first argument."""

    name: str
    run: Callable[..., Any]


class NoOpContext(_SharedValue):
    """A context or decorator without effect, such as ``torch.no_grad()``."""

    def __call__(self, function: Any = None, *more: Any, **named: Any) -> Any:
        return function


PART = re.compile(r"[\w\-+ /:]{1,80}")  # the name of an attribute, which torch writes into code
MIXIN = "for modules"  # the attribute of plain classes with what stands for them in modules
SETTINGS = "made_with"  # the attribute of modules with the arguments of their ``__init__``
SOURCE_NAMES_KEY = "own_names"  # the attribute of modules with what the source sets on them


def source_attributes(value: nn.Module) -> dict[str, Any]:
    """Returns the attributes that a source has set on a module, besides its tensors and modules."""
    found: dict[str, Any] = value.__dict__.setdefault(SOURCE_NAMES_KEY, {})
    return found


# --- The state of one interpretation: bounds, scopes, and which reader each kind of node has

STEPS = 400_000  # nodes that are interpreted
CALLS = 40  # functions of the source inside of each other
MAX_NESTING = 90  # parts of one expression or statement inside of each other
ITEMS = 100_000  # of a list
LONGEST_TEXT = 20_000  # of a text that is computed
BITS = 256  # of a whole number
NODE = ast.Pass()
LINES = "source lines"  # what is noted on the nodes of torch's graph
WEIGHT_LOADERS = ("torch.load(", "state_dict(")  # weights, through whose names a loop may go
LONG_FORMATS = (torch.float32, torch.float64)

Reader = Callable[["Interpreter", Any, Scope], Any]


@contextmanager
def default_format(kind: torch.dtype) -> Iterator[None]:
    """Lets torch make arrays of a format where it is asked for none."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@dataclass(eq=False)
class Interpreter:
    """One interpretation of a source.

    ``tracing`` is whether a module runs on arrays without numbers, ``building`` how many modules
    are being made. ``ran`` are the calls of modules, which are not carried out.
    """

    expressions: Mapping[type[ast.AST], Reader]
    statements: Mapping[type[ast.AST], Reader]
    names: Mapping[str, Any]  # the built-in ones
    libraries: Mapping[str, Any]
    known_file_values: Mapping[str, Any] = field(
        default_factory=dict
    )  # parts of well-known other files
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)  # of libraries, as needed
    optional: bool = False  # whether a library that is not there is expected
    classes: dict[type, ClassValue] = field(default_factory=dict)
    ran: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    direct: set[int] = field(default_factory=set)  # ids of those called outside of a function
    parents: dict[int, nn.Module] = field(default_factory=dict)  # by the ids of their parts
    places: dict[int, ast.AST] = field(default_factory=dict)  # where layers are made, by their ids
    last_value_module: nn.Module | None = None  # the last one that is the value of a line
    last_value: ast.AST | None = None  # its line
    unknown_line: TextError | None = None  # why the value of a line is not known
    maker: tuple[nn.Module, str, dict[str, Any]] | None = None  # a class that was chosen, with what
    example: str = ""  # a class that is drawn as the example in its docstring runs it
    failed_examples: set[str] = field(default_factory=set)  # classes whose examples stop
    tracing: bool = False
    building: int = 0
    text: str = ""
    steps: int = 0
    raising_steps: int = 0  # those for errors, with which a run comes no further
    budget_start: int = 0  # the steps at the beginning of a line that has a limit of its own
    step_limit: int = STEPS
    calls: int = 0
    nesting_depth: int = 0
    modules: int = 0  # of the source's classes that were made
    numbers: int = 0  # of the tensors that were computed
    node: ast.AST = NODE  # the one being interpreted
    failure: SourceException | TextError | None = None  # with which a module stopped
    root: nn.Module | None = None  # the module that is drawn
    runner: Callable[[nn.Module, Any, Any], Any] | None = None  # of calls that are carried out
    placement: Placement | None = None  # of arrays and weights; None if a source uses one device
    follows_formats: bool = False  # whether weights take the short formats of numbers too
    default_format: torch.dtype | None = None  # of what is made; torch's own if there is none
    converted_weights: dict[int, tuple[nn.Parameter, int]] = field(
        default_factory=dict
    )  # by their ids, with the lines that gave them a format
    box: Callable[..., Any] | None = None  # makes one, see elsewhere.py
    name_without_import: Callable[[Interpreter, str, bool], Any] | None = None  # see libraries.py
    assumed_settings: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # sizes that are assumed
    assumed_values: dict[str, str] = field(default_factory=dict)  # other values that are, in words
    assumed_at: dict[int, UnknownValue] = field(default_factory=dict)  # by ids of syntax nodes
    star_import: str = ""  # a file of which everything is imported
    line_shapes: dict[int, tuple[tuple[int, ...], ...]] = field(
        default_factory=dict
    )  # shapes, by lines
    box_missing_modules: bool = False  # whether modules that are to be given become boxes
    lines: list[int] = field(default_factory=list)  # being interpreted, the outer ones first
    left_out: list[int] = field(default_factory=list)  # lines that could not be interpreted
    extra_parameter_counts: dict[str, int] = field(
        default_factory=dict
    )  # of weights; see torch_names.py
    boxes: dict[str, tuple[UnknownValue, ast.AST]] = field(default_factory=dict)  # see elsewhere.py
    box_results: list[Any] = field(default_factory=list)
    box_inputs: dict[int, tuple[UnknownValue, list[Any]]] = field(default_factory=dict)  # by ids
    gradient_shapes: int = 0  # gradients that a forward asks for, which are boxes
    library_models: dict[str, None] = field(default_factory=dict)  # models with known results
    box_calls: dict[tuple[str, tuple[int, ...]], None] = field(default_factory=dict)  # as assumed
    box_fits: dict[tuple[str, tuple[int, ...]], list[int]] = field(default_factory=dict)
    typed_results: dict[str, list[int]] = field(default_factory=dict)  # of boxes, by their names
    tried_inputs: tuple[nn.Module, tuple[Any, ...], dict[str, Any], str] | None = None
    flags: dict[tuple[int, str], bool] = field(default_factory=dict)  # buffers of one number
    flags_read: dict[int, tuple[Any, bool]] = field(default_factory=dict)  # by their arrays' ids
    search_seconds: float = 0.0  # that were taken to search for inputs
    own_gradients: dict[str, None] = field(default_factory=dict)  # functions that have one
    folded_counts: Counter[str] = field(default_factory=Counter)  # see folding/, by their classes
    last_large_run: Any = None  # the last run of a large model, see folding/large_models.py
    instead: dict[str, str] = field(default_factory=dict)  # why more complete classes are not drawn
    evaluation_reason: str = ""  # why a module is read in evaluation, though it is in training
    classes_without_input: set[type] = field(
        default_factory=set
    )  # classes of which no input is known
    other_widths: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # what classes are made with in the place of usual widths, see model_choice.py
    first_layers: bool = False  # whether torch's stacks of equal layers are made with one of them

    def put(self, value: Any, given: Iterable[Any]) -> Any:
        """Returns a value that the source puts on the device that is among some arguments."""
        if self.placement is None:
            return value
        if any(isinstance(one, UnknownValue) for one in given):
            self.placement = None  # nobody knows where it is
            return value
        device = self.placement.named_device(given)
        line = getattr(self.node, "lineno", 0)
        return self.placement.put(value, device, line) if device else value

    def follows_format(self, kind: torch.dtype) -> bool:
        """Whether weights take a format; that of a short one says nothing of what is drawn."""
        return self.follows_formats or kind in LONG_FORMATS

    @property
    def strict(self) -> bool:
        """Whether the use of an unknown value is an error at once."""
        return self.tracing or self.building > 0

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """Returns the value of an expression."""
        return self._read(self.expressions, node, scope)

    def run(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        """Interprets statements in their order."""
        for node in body:
            self._read(self.statements, node, scope)

    def _read(self, readers: Mapping[type[ast.AST], Reader], node: ast.AST, scope: Scope) -> Any:
        reader = readers.get(type(node))
        if reader is None:
            raise error_at(node, f"{spoken(node)} is not understood here", "plain Python")
        self.step(node)
        self.nesting_depth += 1
        before, self.node = self.node, node
        try:
            if self.tracing and isinstance(node, ast.stmt):
                with self._line(node):
                    return reader(self, node, scope)
            return reader(self, node, scope)
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
                raise
            raise error_at(
                node, "it needs too much memory", "smaller sizes", LimitExceeded
            ) from None
        finally:
            self.nesting_depth -= 1
            self.node = before

    @contextmanager
    def _line(self, node: ast.stmt) -> Iterator[None]:
        """Lets the calls of torch that a line makes know it, and the lines that called it."""
        self.lines.append(node.lineno)
        try:
            with annotate({LINES: tuple(dict.fromkeys(self.lines))}):
                yield
        finally:
            self.lines.pop()

    def step(self, node: ast.AST, count: int = 1) -> None:
        """Counts steps; raises Stopped for too many of them."""
        self.steps += count
        if self.steps > self.step_limit:
            taken = self.step_limit - self.budget_start
            raise error_at(
                node, f"it takes more than {taken:,} steps", "shorter loops", LimitExceeded
            )
        if self.nesting_depth > MAX_NESTING * (1 + self.calls):
            raise error_at(
                node, f"it is nested more than {MAX_NESTING} deep", "shorter lines", LimitExceeded
            )

    @contextmanager
    def with_step_budget(self, most: int) -> Iterator[None]:
        """Gives a line that may be left out few steps of its own."""
        self.budget_start, self.step_limit = self.steps, min(STEPS, self.steps + most)
        try:
            yield
        finally:
            self.budget_start, self.step_limit = 0, STEPS

    @contextmanager
    def entering_call(self) -> Iterator[None]:
        """Counts a call of a function of the source; raises Stopped for too many at once."""
        self.calls += 1
        try:
            if self.calls > CALLS:
                fact = f"functions call each other more than {CALLS} deep"
                raise error_at(self.node, fact, "a loop", LimitExceeded)
            yield
        finally:
            self.calls -= 1

    @contextmanager
    def building_module(self) -> Iterator[None]:
        """Marks that a module is being built."""
        self.building += 1
        try:
            yield
        finally:
            self.building -= 1

    def attempt(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Calls a listed function; errors get the position of the current node."""
        node = self.node
        try:
            if self.default_format is None:
                return function(*args, **named)
            with default_format(self.default_format):
                return function(*args, **named)
        except (SourceException, TextError, MemoryError):
            raise
        except Exception as error:
            if "allocate memory" in str(error):
                raise self.stop("it needs too much memory", "smaller sizes") from None
            raise SourceException(error, node) from None

    def source_error(self, error: BaseException, node: ast.AST) -> SourceException:
        """Returns an error of the source with its position."""
        return SourceException(error, node)

    def items(self, value: Any) -> list[Any]:
        """Returns the items that a loop iterates over, up to a limit."""
        if isinstance(value, UnknownValue):
            if self.strict and not value.name.startswith(WEIGHT_LOADERS):
                raise self.unknown_error(value)
            return []
        try:
            count = len(value) if hasattr(value, "__len__") else 0
        except (TypeError, OverflowError):
            count = ITEMS + 1 if isinstance(value, range) else 0
        if count > ITEMS:
            raise self.stop(f"it goes through more than {ITEMS:,} things")
        found = self.attempt(list, value)
        self.step(self.node, len(found))
        return found

    def unknown_error(self, value: UnknownValue) -> Exception:
        """Returns the error for the use of an unknown value."""
        fact = f"{value.name} is not known here: {value.reason}"
        return error_at(self.node, fact, "code without it", UnknownValueError)

    def boxed_array(self, value: UnknownValue, arrays: list[Any]) -> Any:
        """Returns the array that an unknown value makes of others, like the first of them."""
        if self.box is None:
            raise self.unknown_error(value)
        return self.box(self, value, arrays)

    def stop(self, fact: str, cure: str = "a smaller one") -> Exception:
        """Returns the error for a limit exceeded at the current node."""
        return error_at(self.node, fact, cure, LimitExceeded)

    def refuse(self, fact: str, cure: str = "") -> Exception:
        """Returns the error for unsupported syntax at the current node."""
        return error_at(self.node, fact, cure)

    def checked_size(self, value: Any) -> Any:
        """Returns a Python value unchanged; raises Stopped if it is too large."""
        if type(value) is int and value.bit_length() > BITS:
            raise self.stop(f"a whole number has more than {BITS} bits")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise self.stop(f"a text has more than {LONGEST_TEXT:,} letters")
        if isinstance(value, list | tuple | dict | set) and len(value) > ITEMS:
            raise self.stop(f"a list has more than {ITEMS:,} items")
        return value
