"""Cures that give an array the axes that are wanted: flattened, one more, one less, resized."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isqrt, prod
from typing import Any

from torch import nn
from torch.nn.modules.conv import _ConvNd

from ncd.findings.cures.candidate import Candidate, appended, inserted, operands, replaced
from ncd.findings.failures.call_reasons import CLASSES, LOSSES
from ncd.findings.failures.failure import Failure

JOINED = ("cat", "concat", "concatenate", "add", "__add__", "__radd__", "__iadd__")


def shape_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the array of the failing layer or call with other axes."""
    for number, move, cost in _moves(failure):
        array = _operand(failure, number)
        if array is not None:
            yield Candidate(appended(failure.trace.text, array, move), cost, "shape")
    yield from _flatten_layer(failure)
    yield from _resized(failure)


def _operand(failure: Failure, number: int) -> ast.expr | None:
    """Returns the expression of an array that the failing call takes."""
    found, count = [*operands(failure)], len(failure.arrays)
    found = found[max(0, len(found) - count) :]  # without the module that is called
    return found[number] if number < len(found) else None


def _moves(failure: Failure) -> Iterator[tuple[int, str, float]]:
    """Yields which operand is changed, what is put behind it, and the cost."""
    values, layer = failure.values(), failure.layer
    wanted = _features(failure)
    if wanted:
        for k in range(1, len(values) - 1):
            if prod(values[k:]) == wanted:
                yield 0, f".flatten({k})", 0.3
        if len(values) == 4:
            yield 0, ".flatten(1)", 0.95
    if isinstance(layer, _ConvNd):
        yield from ((0, *move) for move in _picture_moves(values, layer))
    if isinstance(layer, nn.RNNBase) and layer.input_size == 1 and len(values) == 2:
        yield 0, ".unsqueeze(-1)", 0.4
    if isinstance(layer, nn.RNNBase) and len(values) > 3:
        yield from ((0, f".squeeze({i})", 0.4) for i, n in enumerate(values) if n == 1)
    if failure.call is not None and failure.call.name == "gather" and len(failure.call.takes) > 1:
        yield from ((1, f".unsqueeze({i})", 0.4 - 0.1 * i) for i in range(2))
    if failure.call is not None and failure.call.name in LOSSES and len(failure.call.shapes) > 1:
        yield from _target_moves(failure)


def _features(failure: Failure) -> int:
    """Returns how many features a linear map takes; 0 if it is none that failed."""
    if isinstance(failure.layer, nn.Linear):
        return int(failure.layer.in_features)
    call = failure.call
    if failure.layer is None and call is not None and call.name == "linear":
        return failure.value(call.shapes[1][-1]) if len(call.shapes) > 1 else 0
    return 0


def _picture_moves(values: tuple[int, ...], layer: Any) -> Iterator[tuple[str, float]]:
    """Yields what gives an array the axes of a convolution: batch, channels and sides."""
    channels, sides = int(layer.in_channels), len(layer.kernel_size)
    if len(values) == 2 and values[1] == channels:
        yield f"[:, :{', None' * sides}]", 0.4
    if len(values) == sides + 1 and channels == 1:
        yield ".unsqueeze(1)", 0.4
    if len(values) == sides and channels == 1:
        yield "[None, None]", 0.5
    area, rest = divmod(values[-1], channels) if values else (0, 1)
    side = isqrt(area)
    if len(values) == 2 and sides == 2 and not rest and side > 1 and side * side == area:
        yield f".view(-1, {channels}, {side}, {side})", 0.5


def _target_moves(failure: Failure) -> Iterator[tuple[int, str, float]]:
    """Yields what brings the prediction and the target of a loss into one shape."""
    assert failure.call is not None
    scores, target = (tuple(map(failure.value, one)) for one in failure.call.shapes[:2])
    whole = not failure.call.takes[1].is_floating_point()
    classes = failure.call.name in CLASSES
    wanted = (scores[0], *scores[2:]) if classes and len(scores) > 1 else scores
    for axis, size in enumerate(target):
        if size == 1 and (*target[:axis], *target[axis + 1 :]) == wanted:
            yield 1, f".squeeze({axis})", 0.3
    for axis, size in enumerate(wanted):
        if size == 1 and (*wanted[:axis], *wanted[axis + 1 :]) == target:
            yield 1, f".unsqueeze({axis})", 0.3
    if classes and whole and target == scores:
        yield 1, ".argmax(1)", 0.3
    if not classes and whole and target == scores:
        yield 1, ".float()", 0.3


def _flatten_layer(failure: Failure) -> Iterator[Candidate]:
    """Yields a ``nn.Flatten()`` before a linear layer of a ``nn.Sequential``."""
    values, made = failure.values(), failure.made
    if made is None or not isinstance(failure.layer, nn.Linear) or len(values) < 3:
        return
    for node in ast.walk(failure.trace.tree):
        if isinstance(node, ast.Call) and made in node.args:
            name = ast.unparse(node.func)
            if name.endswith("Sequential"):
                new = f"{name.removesuffix('Sequential')}Flatten(), "
                edit = inserted(failure.trace.text, made.lineno, made.col_offset, new)
                exact = prod(values[1:]) == failure.layer.in_features
                yield Candidate((edit,), 0.2 if exact else 0.8, "shape")


def _resized(failure: Failure) -> Iterator[Candidate]:
    """Yields one of two feature maps resized to the sides of the other."""
    call = failure.call
    if call is None or call.name not in JOINED or len(call.shapes) != 2 or failure.layer:
        return
    shapes = [tuple(map(failure.value, one)) for one in call.shapes]
    arrays = [*operands(failure)]
    if len({*map(len, shapes)}) > 1 or len(shapes[0]) not in (4, 5) or len(arrays) != 2:
        return
    space = "F" if "functional as F" in failure.trace.text else "nn.functional"
    smaller = 0 if prod(shapes[0][2:]) < prod(shapes[1][2:]) else 1
    for number in (smaller, 1 - smaller):
        node, other = arrays[number], ast.unparse(arrays[1 - number])
        resized = f"{space}.interpolate({ast.unparse(node)}, size={other}.shape[2:])"
        edit = replaced(failure.trace.text, node, resized)
        if edit is not None:
            yield Candidate((edit,), 1.2 + 0.2 * (number != smaller), "shape")
