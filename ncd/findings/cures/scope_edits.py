"""Cures in the names and layers that a text has at the place of a failure."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from ncd.findings.cures.candidate import Candidate, insertion_edit, replacement_edit
from ncd.findings.failures.explanation import NO_LAYER
from ncd.findings.failures.failure import TAKES, Failure
from ncd.read.python_source.interpreter import SETTINGS, PlainObject, SourceModule

# --- The size that a layer gets, by a name of the function that makes the layer

OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
LEAST_NAMED_SIZE = 3  # sizes below it are equal by chance


def name_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a layer whose size is a name that has it: ``nn.Linear(inner, dim)``.

    A name of the arguments has to come from the same number of the text, one that is set in the
    function that makes the layer needs to be equal.
    """
    made, layer = failure.constructor_call, failure.layer
    if made is None or layer is None or not failure.arrays:
        return
    kept = next((name for name in TAKES if getattr(layer, name, 0)), "")
    word = next((one.value for one in made.keywords if one.arg == kept), None)
    argument = word or next(iter(made.args), None)
    value = _incoming_features(failure)
    if argument is None or value < LEAST_NAMED_SIZE or value == getattr(layer, kept):
        return
    for name in _names(failure, made, value):
        edit = replacement_edit(failure.trace.text, argument, name)
        if edit is not None and name != ast.unparse(argument):
            yield Candidate((edit,), 0.7 + failure.has_misplaced_axis, "name")
    if isinstance(argument, ast.Constant) and argument.value == 1:  # which has no symbol
        edit = replacement_edit(failure.trace.text, argument, str(value))
        yield Candidate((edit,) if edit else (), 1.0 + failure.has_misplaced_axis, "number")
    more = value - int(getattr(layer, kept))
    for name in _names(failure, made, more, True) if more >= LEAST_NAMED_SIZE else ():
        end = (argument.end_lineno or argument.lineno, argument.end_col_offset or 0)
        edit = insertion_edit(failure.trace.text, *end, f" + {name}")
        yield Candidate((edit,), 0.8 + failure.has_misplaced_axis, "name")


def _incoming_features(failure: Failure) -> int:
    """Returns the size that a layer gets where it takes its features or channels; 0 if unknown."""
    layer, values = failure.layer, failure.values()
    if isinstance(layer, _ConvNd):
        return values[-len(layer.kernel_size) - 1] if len(values) > len(layer.kernel_size) else 0
    if isinstance(layer, _NormBase):
        return values[1] if len(values) > 1 else 0
    return values[-1] if values and isinstance(layer, nn.Linear | nn.RNNBase) else 0


def _names(failure: Failure, made: ast.Call, value: int, loose: bool = False) -> Iterator[str]:
    """Yields the names that have a size where a call stands, the last one that is set first.

    An argument is taken ``loose`` if its number is equal, else it is to be the same number.
    """
    layers = failure.trace.recorder.layers
    owner = next((x.module for x in reversed(layers) if isinstance(x.module, SourceModule)), None)
    taken = _integer_settings(owner.__dict__.get(SETTINGS, {})) if owner is not None else {}
    local = _assigned_sizes(failure.trace.tree, made, taken)
    yield from (name for name, size in reversed(local.items()) if size == value)
    plain = loose or not failure.trace.symbolic  # then equal numbers are all that is known
    for name, size in taken.items():
        expr = failure.trace.table.expr(size)
        same = expr in failure.shapes[0] and not expr.is_number
        if size == value and (plain or same):
            yield name


def _integer_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the whole numbers among settings, and those of their objects, by their names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, PlainObject):
            found |= {f"{name}.{key}": each for key, each in value.own.items()}
        else:
            found[name] = value
    return {n: v for n, v in found.items() if isinstance(v, int) and not isinstance(v, bool)}


def _assigned_sizes(tree: ast.AST, made: ast.Call, taken: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sizes that a function sets before a call in it, by their names."""
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno < made.lineno <= (node.end_lineno or 0)
    ]
    found: dict[str, Any] = {}
    for node in inside[-1].body if inside else ():
        if isinstance(node, ast.Assign) and node.lineno < made.lineno:
            size = _size(node.value, {**taken, **found})
            if size is not None and not isinstance(node.targets[0], ast.Tuple):
                found[ast.unparse(node.targets[0])] = size
    return found


def _size(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Returns the value of a size; None if it is not known.

    >>> _size(ast.parse("2 * h + self.k", mode="eval").body, {"h": 3, "self.k": 1})
    7
    """
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _size(node.left, known), _size(node.right, known)
        whole = left is not None and right is not None and right != 0
        return OPERATORS[type(node.op)](left, right) if whole else None
    return known.get(ast.unparse(node)) if isinstance(node, ast.Name | ast.Attribute) else None


def carried_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a loop that makes layers and hands on what the last one gives: ``width = h``."""
    made = failure.constructor_call
    if made is None or failure.layer is None or not made.args:
        return
    argument = made.args[0]
    for loop in ast.walk(failure.trace.tree):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        inside = any(node is made for node in ast.walk(loop))
        if inside and isinstance(argument, ast.Name) and argument.id != loop.target.id:
            last = loop.body[-1]
            line = f"\n{' ' * last.col_offset}{argument.id} = {loop.target.id}"
            end = (last.end_lineno or last.lineno, last.end_col_offset or 0)
            yield Candidate((insertion_edit(failure.trace.text, *end, line),), 0.4, "name")


# --- Layers in the place of functions, and of classes that are not called

LAYERS_OF_FUNCTIONS = {
    "relu": "ReLU()",
    "leaky_relu": "LeakyReLU()",
    "elu": "ELU()",
    "gelu": "GELU()",
    "silu": "SiLU()",
    "mish": "Mish()",
    "tanh": "Tanh()",
    "sigmoid": "Sigmoid()",
    "softplus": "Softplus()",
    "softmax": "Softmax(dim=-1)",
    "log_softmax": "LogSoftmax(dim=-1)",
    "flatten": "Flatten()",
    "dropout": "Dropout()",
}


def layer_of_function_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a row of layers with a layer for each function in it: ``nn.ReLU()`` for ``F.relu``."""
    if NO_LAYER not in failure.message or failure.constructor_call is None:
        return
    text, edits = failure.trace.text, []
    for node in _parts(failure.constructor_call):
        name = ast.unparse(node).rpartition(".")[2]
        kind = getattr(nn, name, None)
        if isinstance(kind, type) and issubclass(kind, nn.Module):
            line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
            edits.append(insertion_edit(text, line, end, "()"))
        elif name in LAYERS_OF_FUNCTIONS:
            edit = replacement_edit(text, node, f"nn.{LAYERS_OF_FUNCTIONS[name]}")
            edits += [edit] if edit is not None else []
    if edits:
        yield Candidate(tuple(edits), 0.2, "function")


def _parts(made: ast.Call) -> Iterator[ast.expr]:
    """Yields what is named, and not called, among the parts of a row of layers."""
    lists = [one.elts for one in made.args if isinstance(one, ast.List | ast.Tuple)]
    for node in [*made.args, *(part for each in lists for part in each)]:
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
