"""The state of one interpretation: bounds, scopes, and which reader each kind of node has."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.fx.traceback import annotate

from ncd.pytorch_source.base.source_errors import NotKnown, Raised, Stopped, error_at
from ncd.pytorch_source.base.source_values import ClassValue, Scope, Unknown
from ncd.text.text_errors import TextError, spoken

STEPS = 400_000  # nodes that are interpreted
CALLS = 40  # functions of the source inside of each other
NESTED = 90  # parts of one expression or statement inside of each other
ITEMS = 100_000  # of a list
LETTERS = 20_000  # of a text that is computed
BITS = 256  # of a whole number
NODE = ast.Pass()
LINES = "source lines"  # what is noted on the nodes of torch's graph

Reader = Callable[["Machine", Any, Scope], Any]


@dataclass(eq=False)
class Machine:
    """One interpretation of a source.

    ``tracing`` is whether a module runs on arrays without numbers, ``building`` how many modules
    are being made. ``ran`` are the calls of modules, which are not carried out.
    """

    expressions: Mapping[type[ast.AST], Reader]
    statements: Mapping[type[ast.AST], Reader]
    names: Mapping[str, Any]  # the built-in ones
    libraries: Mapping[str, Any]
    shared: Mapping[str, Any] = field(default_factory=dict)  # parts of well-known other files
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)  # of libraries, as needed
    optional: bool = False  # whether a library that is not there is expected
    classes: dict[type, ClassValue] = field(default_factory=dict)
    ran: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    direct: set[int] = field(default_factory=set)  # ids of those called outside of a function
    parents: dict[int, nn.Module] = field(default_factory=dict)  # by the ids of their parts
    places: dict[int, ast.AST] = field(default_factory=dict)  # where layers are made, by their ids
    shown: nn.Module | None = None  # the last one that is the value of a line
    maker: tuple[nn.Module, str, dict[str, Any]] | None = None  # a class that was chosen, with what
    tracing: bool = False
    building: int = 0
    text: str = ""
    steps: int = 0
    began: int = 0  # the steps at the beginning of a line that has a limit of its own
    most: int = STEPS
    calls: int = 0
    nested: int = 0
    modules: int = 0  # of the source's classes that were made
    numbers: int = 0  # of the tensors that were computed
    node: ast.AST = NODE  # the one being interpreted
    failure: Raised | TextError | None = None  # with which a module stopped
    root: nn.Module | None = None  # the module that is drawn
    runner: Callable[[nn.Module, Any, Any], Any] | None = None  # of calls that are carried out
    box: Callable[..., Any] | None = None  # makes one, see elsewhere.py
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)  # sizes that are assumed
    presumed: dict[str, str] = field(default_factory=dict)  # other values that are, in words
    assumed_at: dict[int, Unknown] = field(default_factory=dict)  # by ids of syntax nodes
    starred: str = ""  # a file of which everything is imported
    line_shapes: dict[int, tuple[tuple[int, ...], ...]] = field(
        default_factory=dict
    )  # shapes, by lines
    partly: bool = False  # whether modules that are to be given become boxes
    lines: list[int] = field(default_factory=list)  # being interpreted, the outer ones first
    left_out: list[int] = field(default_factory=list)  # lines that could not be interpreted
    plain: dict[str, int] = field(default_factory=dict)  # of weights; see torch_names.py
    boxes: dict[str, tuple[Unknown, ast.AST]] = field(default_factory=dict)  # see elsewhere.py
    box_results: list[Any] = field(default_factory=list)
    folded: Counter[str] = field(default_factory=Counter)  # see folding/, by their classes
    recorded: Any = None  # the last run of a large model, see folding/large_models.py
    instead: dict[str, str] = field(default_factory=dict)  # why more complete classes are not drawn
    evaluated: str = ""  # why a module is read in evaluation, though it is in training
    skipped: set[type] = field(default_factory=set)  # classes of which no input is known
    first_layers: bool = False  # whether torch's stacks of equal layers are made with one of them

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
        self.nested += 1
        before, self.node = self.node, node
        try:
            if self.tracing and isinstance(node, ast.stmt):
                with self._line(node):
                    return reader(self, node, scope)
            return reader(self, node, scope)
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
                raise
            raise error_at(node, "it needs too much memory", "smaller sizes", Stopped) from None
        finally:
            self.nested -= 1
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
        if self.steps > self.most:
            taken = self.most - self.began
            raise error_at(node, f"it takes more than {taken:,} steps", "shorter loops", Stopped)
        if self.nested > NESTED * (1 + self.calls):
            raise error_at(node, f"it is nested more than {NESTED} deep", "shorter lines", Stopped)

    @contextmanager
    def aside(self, most: int) -> Iterator[None]:
        """Gives a line that may be left out few steps of its own."""
        self.began, self.most = self.steps, min(STEPS, self.steps + most)
        try:
            yield
        finally:
            self.began, self.most = 0, STEPS

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Counts a call of a function of the source; raises Stopped for too many at once."""
        self.calls += 1
        try:
            if self.calls > CALLS:
                fact = f"functions call each other more than {CALLS} deep"
                raise error_at(self.node, fact, "a loop", Stopped)
            yield
        finally:
            self.calls -= 1

    @contextmanager
    def made(self) -> Iterator[None]:
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
            return function(*args, **named)
        except (Raised, TextError, MemoryError):
            raise
        except Exception as error:
            if "allocate memory" in str(error):
                raise self.stop("it needs too much memory", "smaller sizes") from None
            raise Raised(error, node) from None

    def raised(self, error: BaseException, node: ast.AST) -> Raised:
        """Returns an error of the source with its position."""
        return Raised(error, node)

    def items(self, value: Any) -> list[Any]:
        """Returns the items that a loop iterates over, up to a limit."""
        if isinstance(value, Unknown):
            if self.strict:
                raise self.unknown(value)
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

    def unknown(self, value: Unknown) -> Exception:
        """Returns the error for the use of an unknown value."""
        fact = f"{value.name} is not known here: {value.why}"
        return error_at(self.node, fact, "code without it", NotKnown)

    def boxed(self, value: Unknown, arrays: list[Any]) -> Any:
        """Returns the array that an unknown value makes of others, like the first of them."""
        if self.box is None:
            raise self.unknown(value)
        return self.box(self, value, arrays)

    def stop(self, fact: str, cure: str = "a smaller one") -> Exception:
        """Returns the error for a limit exceeded at the current node."""
        return error_at(self.node, fact, cure, Stopped)

    def refuse(self, fact: str, cure: str = "") -> Exception:
        """Returns the error for unsupported syntax at the current node."""
        return error_at(self.node, fact, cure)

    def within(self, value: Any) -> Any:
        """Returns a Python value unchanged; raises Stopped if it is too large."""
        if type(value) is int and value.bit_length() > BITS:
            raise self.stop(f"a whole number has more than {BITS} bits")
        if isinstance(value, str) and len(value) > LETTERS:
            raise self.stop(f"a text has more than {LETTERS:,} letters")
        if isinstance(value, list | tuple | dict | set) and len(value) > ITEMS:
            raise self.stop(f"a list has more than {ITEMS:,} items")
        return value
