"""Cures that change an argument of the layer or of the call that failed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from math import prod

from torch import nn

from ncd.findings.cures.candidate import SHAPED, Candidate, operands, replaced
from ncd.findings.failures.call_reasons import PAIRS
from ncd.findings.failures.failure import TAKES, Failure, flattened
from ncd.findings.failures.size_words import equation
from ncd.findings.finding import further_argument

GIVES = ("out_features", "out_channels", "hidden_size")
LONGEST = 60  # letters of a product that may stand in several places
TWINS = 8  # equal products that are changed together
KEPT = ("bias", "inplace", "device", "affine", "elementwise_affine", "track_running_stats")


def argument_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields other expressions for the arguments: ``hidden_units`` → ``hidden_units * 7 * 7``."""
    text, found = failure.trace.text, equation(failure)
    calls = [failure.made] if failure.made is not None else []
    shaped = failure.call is not None and failure.call.name in SHAPED
    if isinstance(failure.node, ast.Call) and failure.layer is None and shaped:
        calls.append(failure.node)
    equal = found is not None and found[0] == "equal"
    wanted = _wanted(failure) + ([failure.value(n) for n in found[1:]] if found and equal else [])
    products = _products(failure.trace.tree) if calls else {}
    for call in calls:
        for argument in (*call.args, *(word.value for word in call.keywords)):
            if not isinstance(argument, ast.Name | ast.BinOp | ast.Attribute):
                continue
            twins = products.get(ast.unparse(argument), [])
            for value in dict.fromkeys(wanted):
                for rank, words in enumerate(_expressions(failure, argument, value)):
                    edit = replaced(text, argument, words)
                    if edit is not None:
                        yield Candidate((edit,), 0.9 + 0.1 * rank + failure.turned, "argument")
                    if 1 < len(twins) <= TWINS:
                        edits = tuple(filter(None, (replaced(text, one, words) for one in twins)))
                        yield Candidate(edits, 0.85 + 0.1 * rank + failure.turned, "argument")


def _products(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Returns the products and sums of a text by their words: equal ones may have to go along."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp) or node.end_lineno != node.lineno:
            continue
        if (node.end_col_offset or 0) - node.col_offset <= LONGEST:
            found.setdefault(ast.unparse(node), []).append(node)
    return found


def swap_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the layer with its first two sizes exchanged: ``nn.LSTM(hidden, embedding)``."""
    made, text = failure.made, failure.trace.text
    if made is None or failure.layer is None or len(made.args) < 2:
        return
    first, second = made.args[:2]
    words = [ast.get_source_segment(text, one) or "" for one in (first, second)]
    edits = (replaced(text, first, words[1]), replaced(text, second, words[0]))
    if words[0] != words[1] and edits[0] is not None and edits[1] is not None:
        gives = max(int(getattr(failure.layer, name, 0)) for name in GIVES)
        if gives in failure.values()[1:]:
            yield Candidate((edits[0], edits[1]), 0.7, "argument")


def parameter_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a parameter that is added to an array with as many rows as this has."""
    call, text = failure.call, failure.trace.text
    if call is None or call.name not in PAIRS or len(call.shapes) != 2:
        return
    arrays = [*operands(failure)]
    for node, own, other in zip(arrays, call.shapes, call.shapes[::-1], strict=False):
        made = _made(failure.trace.tree, ast.unparse(node))
        if made is None or len(own) != len(made.args) or len(own) != len(other):
            continue
        for argument, size, wanted in zip(made.args, own, other, strict=True):
            has, takes = failure.value(size), failure.value(wanted)
            if has == takes or 1 in (has, takes):
                continue
            source = ast.get_source_segment(text, argument) or ""
            written = [str(takes)]
            if abs(takes - has) < 3:
                written.insert(0, f"{source} {'+' if takes > has else '-'} {abs(takes - has)}")
            for rank, words in enumerate(written):
                edit = replaced(text, argument, words)
                if edit is not None and not isinstance(argument, ast.Constant):
                    yield Candidate((edit,), 0.7 + 0.1 * rank, "argument")


def _made(tree: ast.AST, name: str) -> ast.Call | None:
    """Returns the call that makes the numbers of a parameter: ``torch.zeros(1, n, d)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            value = node.value
            if (
                isinstance(value, ast.Call)
                and value.args
                and "Parameter" in ast.unparse(value.func)
            ):
                value = value.args[0]
            return value if isinstance(value, ast.Call) else None
    return None


def _wanted(failure: Failure) -> list[int]:
    values = failure.values()
    rest = [prod(values[1:]), *values[-1:], *values[1:2]] if len(values) > 1 else []
    return [n for n in rest if n > 0]


def _expressions(failure: Failure, argument: ast.expr, value: int) -> list[str]:
    """Returns ways to write a size, the one that says how it comes about first."""
    words = [str(value)]
    takes = max(int(getattr(failure.layer, name, 0)) for name in TAKES)
    if 0 < takes < value and value % takes == 0 and isinstance(argument, ast.Name | ast.Attribute):
        words.insert(0, f"{value // takes} * {ast.unparse(argument)}")
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
    if call is None or layer is None:
        return
    takes = dict(inspect.signature(type(layer).__init__).parameters)
    names = [n for n, p in takes.items() if isinstance(p.default, bool)]
    names += ["batch_first"] if isinstance(layer, nn.RNNBase) else []
    if isinstance(layer, nn.MultiheadAttention) and len(failure.arrays) > 2:
        key, value = (failure.values(i)[-1] for i in (1, 2))
        if (key, value) != (layer.kdim, layer.vdim):
            edit = further_argument(text, call, f"kdim={key}, vdim={value}")
            yield Candidate((edit,), 0.4, "switch")
    for name in names:
        if name in KEPT:
            continue
        cost = 0.5 if name == "batch_first" else 4.5
        word = next((one for one in call.keywords if one.arg == name), None)
        if word is None:
            default = takes[name].default if name in takes else False
            edit = further_argument(text, call, f"{name}={not default}")
            yield Candidate((edit,), cost, "switch")
        elif isinstance(word.value, ast.Constant):
            turned = replaced(text, word.value, str(not word.value.value))
            if turned is not None:
                yield Candidate((turned,), cost + 0.1, "switch")


def direction_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields one direction for a recurrent layer whose state one in a single direction takes."""
    layer, text = failure.layer, failure.trace.text
    if not isinstance(layer, nn.RNNBase) or layer.bidirectional or "hidden" not in failure.message:
        return
    for node in ast.walk(failure.trace.tree):
        both = node.value if isinstance(node, ast.keyword) and node.arg == "bidirectional" else None
        if isinstance(both, ast.Constant) and both.value is True:
            edit = replaced(text, both, "False")
            if edit is not None:
                yield Candidate((edit,), 1.0, "switch")
