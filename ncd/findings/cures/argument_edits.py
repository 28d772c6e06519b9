"""Cures that change an argument of the layer or of the call that failed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from math import prod

from torch import nn

from ncd.findings.cures.candidate import Candidate, inserted, replaced
from ncd.findings.failures.failure import Failure, flattened
from ncd.findings.failures.size_words import equation

SHAPED = ("view", "reshape", "expand", "unflatten", "split", "repeat")  # take sizes
KEPT = ("bias", "inplace", "device", "affine", "elementwise_affine", "track_running_stats")


def argument_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields other expressions for the arguments: ``hidden_units`` → ``hidden_units * 7 * 7``."""
    text, found = failure.trace.text, equation(failure)
    calls = [failure.made] if failure.made is not None else []
    shaped = failure.call is not None and failure.call.name in SHAPED
    if isinstance(failure.node, ast.Call) and failure.layer is None and shaped:
        calls.append(failure.node)
    wanted = _wanted(failure) + ([failure.value(n) for n in found[1:]] if found else [])
    for call in calls:
        for argument in (*call.args, *(word.value for word in call.keywords)):
            if not isinstance(argument, ast.Name | ast.BinOp | ast.Attribute):
                continue
            for value in dict.fromkeys(wanted):
                for rank, words in enumerate(_expressions(failure, argument, value)):
                    edit = replaced(text, argument, words)
                    if edit is not None:
                        yield Candidate((edit,), 0.9 + 0.1 * rank, "argument")


def _wanted(failure: Failure) -> list[int]:
    values = failure.values()
    rest = [prod(values[1:]), *values[-1:], *values[1:2]] if len(values) > 1 else []
    return [n for n in rest if n > 0]


def _expressions(failure: Failure, argument: ast.expr, value: int) -> list[str]:
    """Returns ways to write a size, the one that says how it comes about first."""
    words = [str(value)]
    for array in failure.arrays[:1]:
        flat = flattened(failure, array)
        sizes = flat[0] if flat else failure.values()[1:]
        if len(sizes) < 2 or prod(sizes) != value:
            continue
        words.insert(0, " * ".join(map(str, sizes)))
        name = argument.id if isinstance(argument, ast.Name) else _first_name(argument)
        if name:
            words.insert(0, " * ".join([name, *map(str, sizes[1:])]))
    return words


def _first_name(node: ast.expr) -> str:
    """Returns the name with which a product begins, such as ``h`` of ``h * 4 * 4``."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        node = node.left
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def switch_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the switches of a layer, turned: ``batch_first=True``."""
    call, layer, text = failure.made, failure.layer, failure.trace.text
    if call is None or layer is None or not call.end_col_offset:
        return
    takes = dict(inspect.signature(type(layer).__init__).parameters)
    names = [n for n, p in takes.items() if isinstance(p.default, bool)]
    names += ["batch_first"] if isinstance(layer, nn.RNNBase) else []
    for name in names:
        if name in KEPT:
            continue
        cost = 0.5 if name == "batch_first" else 4.5
        word = next((one for one in call.keywords if one.arg == name), None)
        if word is None:
            default = takes[name].default if name in takes else False
            new = f", {name}={not default}"
            edit = inserted(text, call.end_lineno or call.lineno, call.end_col_offset - 1, new)
            yield Candidate((edit,), cost, "switch")
        elif isinstance(word.value, ast.Constant):
            turned = replaced(text, word.value, str(not word.value.value))
            if turned is not None:
                yield Candidate((turned,), cost + 0.1, "switch")
