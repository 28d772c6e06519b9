"""The line that makes a module and calls it, with all that a reading has assumed."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from torch import nn

from ncd.importing.imported import Imported
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised, told
from ncd.pytorch_source.base.source_values import Assumed, Plain, Scope
from ncd.pytorch_source.base.usual_sizes import PLAIN, written
from ncd.pytorch_source.usual.assumptions import unfit
from ncd.pytorch_source.usual.mode_words import in_training, mode_words
from ncd.pytorch_source.usual.spelled_inputs import input_words
from ncd.text.call_form import BLANK, ModuleCall
from ncd.text.text_errors import TextError

BELOW = re.compile(r"#(\d+)")  # in the words of an input: its whole numbers are below this one
NAMESPACE = "from types import SimpleNamespace\n"


def module_call(
    machine: Machine,
    found: Imported,
    tree: ast.Module,
    scope: Scope,
    words: str,
    shapes: str,
    classes: tuple[str, ...],
) -> ModuleCall:
    """Returns how the drawn module is made and called.

    Args:
        machine: The interpretation.
        found: The module as a term.
        tree: The source.
        scope: The names of the source.
        words: The inputs that are assumed; empty if the source gives them.
        shapes: The shapes that the source gives.
        classes: The classes that could be drawn.
    """
    model = found.exported.module
    args, named = found.exported.args, dict(found.exported.named)
    inputs = tuple(inspect.signature(model.forward).parameters)
    sizes = tuple(name for given in machine.taken.values() for name in given)
    line, modes = "", mode_words(model, tree)
    if words or sizes or (shapes and modes):
        line = assumed_call(machine, model, args, named, words or shapes, tree, scope)
    asked = (*inputs[: len(args)], *named)
    assumed = (*sizes, *(asked if words else ())) if line else ()
    drawn, training = type(model).__name__, in_training(model)
    refused = bool(machine.evaluated)
    return ModuleCall(line, assumed, inputs, drawn, classes, training, modes, refused)


def assumed_call(
    machine: Machine,
    model: nn.Module,
    args: tuple[Any, ...],
    named: dict[str, Any],
    words: str,
    tree: ast.Module,
    scope: Scope,
) -> str:
    """Returns the line that makes a module and calls it on its inputs, or an empty text.

    Args:
        machine: The interpretation.
        model: The module that is drawn.
        args: What it is called on.
        named: Those by name.
        words: The shapes of its inputs, such as ``1x16#50257``.
        tree: The source.
        scope: The names of the source.
    """
    made = _made(machine, model, tree, scope)
    below = iter(BELOW.findall(words))
    given = [input_words(x, below) for x in args]
    words_of = {name: input_words(x, below) for name, x in named.items()}
    if not made or None in given or None in words_of.values():
        return ""
    every = (*filter(None, given), *(f"{name}={word}" for name, word in words_of.items()))
    call = f"{made}({', '.join(every)})"
    return f"{NAMESPACE}{call}" if "SimpleNamespace(" in call else call


def blank_call(
    machine: Machine, model: nn.Module, names: list[str], tree: ast.Module, scope: Scope
) -> ModuleCall | None:
    """Returns the call of a module on inputs of which no shape is known; None if it has no name."""
    made = _made(machine, model, tree, scope)
    given = ", ".join(f"torch.randn({BLANK})" for _ in names)
    kind = type(model).__name__
    return ModuleCall(f"{made}({given})", (), tuple(names), kind, (kind,)) if made else None


def call_of(name: str, given: dict[str, Any], machine: Machine) -> str:
    """Returns the call of a class or function with such arguments; empty if one has no spelling."""
    words = {key: _spelled(key, value, machine) for key, value in given.items()}
    if None in words.values():
        return ""
    return f"{name}({', '.join(f'{key}={word}' for key, word in words.items())})"


def of_other_values(
    machine: Machine, raised: Raised | TextError, name: str, given: dict[str, Any]
) -> TextError:
    """Returns the error of making a class with assumed values; its call asks for these.

    What the reader does not understand is no matter of values.
    """
    error = told(raised) if isinstance(raised, Raised) else raised
    rests = error is not raised and error is not getattr(raised, "error", None)
    fact = f"{unfit('', machine.taken)}: {error.fact}" if rests else error.fact
    cure = error.cure or f"a last line model = {written(name, given)}, of other values"
    line = call_of(name, given, machine) if rests else ""
    call = ModuleCall(line, tuple(given), (), name) if line else None
    return TextError(fact, error.line, error.column, error.end, cure, call)


def _made(machine: Machine, model: nn.Module, tree: ast.Module, scope: Scope) -> str:
    """Returns the expression that gives a module: a call, the last line, or a name."""
    if machine.maker is not None and machine.maker[0] is model:
        return call_of(machine.maker[1], machine.maker[2], machine)
    last = tree.body[-1] if tree.body else None
    if machine.shown is model and isinstance(last, ast.Expr):
        return ast.get_source_segment(machine.text, last.value) or ""
    return next((name for name, value in scope.names.items() if value is model), "")


def _spelled(key: str, value: Any, machine: Machine) -> str | None:
    """Returns an argument as it is written, or None."""
    if value is ...:
        return BLANK
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, tuple | list):
        parts = [_spelled(key, each, machine) for each in value]
        return None if None in parts else repr(value)
    if isinstance(value, Assumed):
        return call_of("SimpleNamespace", value.own, machine) or None
    if isinstance(value, Plain):  # a settings object of a class of the source
        return call_of(type(value).__name__, machine.taken.get(key, {}), machine) or None
    return None
