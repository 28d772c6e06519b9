"""The classes and functions of a source that may be its model, with the sizes they are given."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from torch import nn

from ncd.notation.term_reader import TextError
from ncd.read.python_source.functions_and_classes import LoopExit, ReturnSignal
from ncd.read.python_source.interpreter import (
    BoundFunction,
    ClassValue,
    DecoratedFunction,
    Interpreter,
    Scope,
    SourceException,
    SourceFunction,
    UnknownValue,
    parameters,
)

# --- The classes and functions of a source that may be its model, the most complete ones first


def outermost_classes(machine: Interpreter, tree: ast.Module, scope: Scope) -> list[ClassValue]:
    """Returns the module classes that can run and that no other class uses; else all of them.

    A class may use another one through a function. Classes that use no others are left out where
    some do: they are parts for other files.
    """
    found = module_classes(machine, scope)
    used, reached = _parts_of_classes(tree), _dependencies(tree)
    alone = [one for one in found if one.name not in used]
    built = [one for one in alone if len(reached.get(one.name, ())) > 1]
    return by_completeness(tree, built or alone or found)[:10]


def module_classes(machine: Interpreter, scope: Scope) -> list[ClassValue]:
    """Returns the module classes of a source that can run, without those of other files."""
    shared = [*machine.known_file_values.values()]
    shared += [value for parts in machine.parts.values() for value in parts.values()]
    return [
        value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and value.is_module and _forward(value)
        if value not in shared and value.real not in machine.classes_without_input
    ]


def by_completeness(tree: ast.Module, classes: list[ClassValue]) -> list[ClassValue]:
    """Returns classes, those first that are built of most other classes and functions; then the
    last ones.
    """
    reached = _dependencies(tree)
    last = classes[::-1]
    return sorted(last, key=lambda one: -len(reached.get(one.name, ())))


def most_complete(tree: ast.Module, classes: list[ClassValue]) -> list[ClassValue]:
    """Returns the classes of which none is built of more than another."""
    counts = {name: len(parts) for name, parts in _dependencies(tree).items()}
    most = max((counts.get(one.name, 0) for one in classes), default=0)
    return [one for one in classes if counts.get(one.name, 0) == most]


@lru_cache(maxsize=1)
def _dependencies(tree: ast.Module) -> dict[str, set[str]]:
    """Returns the classes and functions of which each one is built, with itself."""
    uses = {
        node.name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    reached: dict[str, set[str]] = {}
    for name in uses:
        found, waiting = {name}, [name]
        while waiting:
            new = (uses[waiting.pop()] & uses.keys()) - found
            found |= new
            waiting += new
        reached[name] = found
    return reached


def _parts_of_classes(tree: ast.Module) -> set[str]:
    """Returns the classes and functions that a class is built of, which is no part of them."""
    reached = _dependencies(tree)
    kinds = (part.name for part in tree.body if isinstance(part, ast.ClassDef))
    return {name for kind in kinds for name in reached[kind] if kind not in reached[name]}


def left_to_others(machine: Interpreter, tree: ast.Module, scope: Scope) -> list[str]:
    """Returns the names of classes that make a module of the source, and run another file's code.

    Such a class has no ``forward`` of its own, and a base that is not known.
    """
    modules = {one.name for one in module_classes(machine, scope)}
    bases = {
        name: [base for base in value.bases if isinstance(base, UnknownValue)]
        for name, value in scope.names.items()
        if isinstance(value, ClassValue) and not value.is_module
    }
    making = {
        name
        for name in bases
        for node in ast.walk(place_of(tree, name) if bases[name] else ast.Pass())
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if any(isinstance(x, ast.Call) and _called_name(x) in modules for x in ast.walk(node))
    }
    return [name for name in bases if name in making]


def _called_name(call: ast.Call) -> str:
    """Returns the name of what is called; empty for what has none."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _forward(value: ClassValue) -> bool:
    layers = nn.Sequential in value.real.__mro__
    own = getattr(value.real, "forward", None)
    return layers or not (own is nn.Module.forward or left_open(value))


def left_open(value: ClassValue) -> bool:
    """Returns whether a class leaves its ``forward`` to those that extend it, as a base does."""
    kinds = (vars(kind)["visitor"] for kind in value.real.__mro__ if "visitor" in vars(kind))
    forward = next((x.names["forward"] for x in kinds if "forward" in x.names), None)
    inner = forward.function if isinstance(forward, DecoratedFunction | BoundFunction) else forward
    node = inner.node if isinstance(inner, SourceFunction) else None
    return isinstance(node, ast.FunctionDef) and all(map(_does_nothing, node.body))


def _does_nothing(node: ast.stmt) -> bool:
    """Returns whether a statement is a text, ``pass``, ``...`` or ``raise NotImplementedError``."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    if isinstance(raised, ast.Name):
        return raised.id == "NotImplementedError"
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def place_of(tree: ast.Module, name: str) -> ast.AST:
    """Returns the node of a class or function; the whole source if it has none of that name."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    every = (node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    return next(every, tree)


def builders_of(
    machine: Interpreter, tree: ast.Module, scope: Scope, name: str
) -> list[SourceFunction]:
    """Returns the functions without required arguments that return what they make of a class."""
    reached = _dependencies(tree)
    return [
        one
        for one in builders(machine, tree, scope)
        if name in reached.get(one.name, ()) and not parameters(one)[1]
        if any(isinstance(node, ast.Return) and node.value for node in ast.walk(one.node))
    ]


def builders(machine: Interpreter, tree: ast.Module, scope: Scope) -> list[SourceFunction]:
    """Returns the functions that may create a module.

    None of them makes a class that is left out, or a part of a class.
    """
    left_out = {machine.classes[one].name for one in machine.classes_without_input}
    parts = _parts_of_classes(tree)
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (
            node.name in parts or _dependencies(tree)[node.name] & left_out
        ):
            continue
        value = scope.names.get(node.name) if isinstance(node, ast.FunctionDef) else None
        value = value.function if isinstance(value, BoundFunction) else value
        if isinstance(value, SourceFunction):
            found.append(value)
    return found[:40]


def candidates(machine: Interpreter, tree: ast.Module, scope: Scope) -> tuple[str, ...]:
    """Returns the names of the classes that can be drawn, the most complete one first."""
    return tuple(
        dict.fromkeys(x.name for x in by_completeness(tree, module_classes(machine, scope)))
    )


# --- Sizes with which a source itself makes its classes, in functions that are not called

Scopes = tuple[ast.Module | ast.FunctionDef, ...]  # around a call, the outer ones first
LARGEST = 2**16  # of a size


def call_sizes(tree: ast.Module, kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Returns the numbers that a source gives to a class, in the call that gives most of them.

    Args:
        tree: The source.
        kind: The name of the class.
        names: The names of its arguments, in their order.

    Returns:
        Numbers by the names of the arguments. Each stands in the call, or is the value or the
        default of a name of the function around it.

    >>> text = "def make(n=5):\\n    width = 8\\n    return Net(width, n, other)"
    >>> call_sizes(ast.parse(text), "Net", ("dim", "depth", "kind"))
    {'dim': 8, 'depth': 5}
    """
    found = [_sizes(call, around, names) for call, around in _calls(tree).get(kind, ())]
    return max(found, key=len, default={})


@lru_cache(maxsize=1)
def _calls(tree: ast.Module) -> dict[str, list[tuple[ast.Call, Scopes]]]:
    """Returns the calls by the names of what they call, with what stands around each."""
    found: dict[str, list[tuple[ast.Call, Scopes]]] = defaultdict(list)
    waiting: list[tuple[ast.AST, Scopes]] = [(tree, ())]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.Module | ast.FunctionDef):
            around = (*around, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[node.func.id].append((node, around))
        waiting += [(child, around) for child in ast.iter_child_nodes(node)]
    return found


def _sizes(call: ast.Call, around: Scopes, names: Sequence[str]) -> dict[str, Any]:
    by_place = zip(names, call.args, strict=False)
    by_name = ((word.arg, word.value) for word in call.keywords if word.arg in names)
    every = ((str(name), _number(value, around)) for name, value in (*by_place, *by_name))
    return {name: number for name, number in every if number is not None}


def _number(node: ast.expr, around: Scopes) -> int | float | None:
    """Returns the number that an expression is known to have; None if it is not known."""
    if isinstance(node, ast.Constant):
        fits = type(node.value) in (int, float) and 0 <= node.value < LARGEST  # type: ignore[operator]
        return node.value if fits else None  # type: ignore[return-value]
    if not isinstance(node, ast.Name):
        return None
    values = [each for scope in around for each in _values(scope, node.id)]
    return _number(values[-1], ()) if values else None


def _values(scope: ast.Module | ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """Yields the default of an argument, and what is assigned to a name in a function's body."""
    if isinstance(scope, ast.FunctionDef):
        given = scope.args
        plain = [*given.posonlyargs, *given.args]
        yield from _default(plain[len(plain) - len(given.defaults) :], given.defaults, name)
        yield from _default(given.kwonlyargs, given.kw_defaults, name)
    lines = ast.walk(scope) if isinstance(scope, ast.FunctionDef) else scope.body
    for line in (one for one in lines if isinstance(one, ast.Assign)):
        if any(isinstance(one, ast.Name) and one.id == name for one in line.targets):
            yield line.value


def _default(
    given: Sequence[ast.arg], defaults: Sequence[ast.expr | None], name: str
) -> Iterator[ast.expr]:
    pairs = zip(given, defaults, strict=True)
    yield from (value for one, value in pairs if one.arg == name and value is not None)


# --- The example in the docstring of a class: how it is made, and called on which inputs

PROMPT = re.compile(r"\s*>>> ?(.*)")
CONTINUATION = re.compile(r"\s*\.\.\. ?(.*)")
MAX_EXAMPLE_STEPS = 50_000  # nodes that are interpreted for a statement of an example


def example_statements(text: str, node: ast.AST) -> Iterator[ast.stmt]:
    """Yields the statements behind prompts in the lines of a class, with their own line numbers.

    >>> text = "class A:\\n  '_'\\n  >>> a = A(\\n  ...     3)\\n  >>> a(\\n  '_'"
    >>> found = example_statements(text, ast.ClassDef(lineno=1, end_lineno=6))
    >>> [(ast.unparse(one), one.lineno) for one in found]
    [('a = A(3)', 3)]
    """
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 0)
    parts: list[tuple[int, list[str]]] = []
    prompted = False
    for number, line in enumerate(text.split("\n")[first - 1 : last], first):
        begins, goes_on = PROMPT.fullmatch(line), CONTINUATION.fullmatch(line)
        if begins:
            parts.append((number, [begins[1]]))
        elif goes_on and prompted:
            parts[-1][1].append(goes_on[1])
        prompted = bool(begins or (goes_on and prompted))
    for number, lines in parts:
        try:
            yield from ast.parse("\n" * (number - 1) + "\n".join(lines)).body
        except (SyntaxError, ValueError):  # an output that begins like a prompt, or a part of code
            continue


def example_module(
    machine: Interpreter, tree: ast.Module, scope: Scope, kind: ClassValue
) -> nn.Module | None:
    """Returns the object of a class that the example in its docstring runs; None if it runs none.

    The call is recorded as one of the source. A line that cannot be interpreted is left out.
    """
    node = next(
        (one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == kind.name), None
    )
    statements = [*example_statements(machine.text, node)] if node is not None else []
    if not statements:
        return None
    before = len(machine.ran)
    inner = Scope(scope)
    for statement in statements:
        if not _is_own_import(statement, scope):
            _interpret(machine, statement, inner)
    for module, _, _ in reversed(machine.ran[before:]):
        if machine.classes.get(type(module)) is kind:
            return module
    del machine.ran[before:]
    return None


def _is_own_import(node: ast.stmt, scope: Scope) -> bool:
    """Returns whether a statement only imports what the source defines, as users of it would."""
    return isinstance(node, ast.ImportFrom) and all(one.name in scope.names for one in node.names)


def _interpret(machine: Interpreter, node: ast.stmt, scope: Scope) -> None:
    """Interprets a statement of an example; what it would set is unknown if that fails."""
    try:
        with machine.with_step_budget(MAX_EXAMPLE_STEPS):
            machine.run([node], scope)
    except (SourceException, TextError, ReturnSignal, LoopExit):
        machine.failure = None
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                scope.names.setdefault(part.id, UnknownValue(part.id, "an example leaves it open"))
