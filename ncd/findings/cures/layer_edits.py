"""Cures that add a layer, or choose evaluation: a shortcut for a sum, and ``eval()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from ncd.findings.cures.candidate import Candidate, inserted, operands, replaced
from ncd.findings.failures.call_reasons import PAIRS
from ncd.findings.failures.failure import Failure
from ncd.pytorch_source.base.source_values import SETTINGS, Interpreted


def shortcut_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a 1 × 1 convolution, or a linear map, for the branch of a sum that does not fit."""
    call, layers = failure.call, failure.trace.recorder.layers
    owner = next((x.module for x in reversed(layers) if isinstance(x.module, Interpreted)), None)
    if call is None or PAIRS.get(call.name) != "+" or owner is None or len(call.shapes) != 2:
        return
    first, second = call.shapes
    init = _init(failure.trace.tree, type(owner).__name__)
    if init is None or len(first) != len(second) or len(first) not in (3, 4):
        return
    node = failure.node
    pairs = [(getattr(node, "value", None), second, first)]
    if isinstance(node, ast.BinOp):
        pairs = [(node.right, second, first), (node.left, first, second)]
    names = _sizes(failure, owner)
    for branch, has, wanted in pairs:
        if isinstance(branch, ast.Name):
            yield from _shortcut(failure, init, branch, (has, wanted), names)


def _shortcut(
    failure: Failure, init: ast.FunctionDef, branch: ast.Name, shapes: Any, names: dict[str, Any]
) -> Iterator[Candidate]:
    has, wanted = shapes
    makers = [failure.trace.recorder.maker(array) for array in failure.arrays]
    if len(has) == 3 and any(one is not None and "conv" in one.name for one in makers):
        return  # what differs is the length of a sequence, not its features
    axis = 1 if len(has) == 4 else 2
    into, out = (_named(failure, one[axis], names) for one in (has, wanted))
    made = f"nn.Linear({into}, {out})"
    if len(has) == 4:
        small = max(1, failure.value(wanted[2]))
        ratio = max(1, -(-failure.value(has[2]) // small))
        stride = _stride(failure, ratio, names)
        made = f"nn.Conv2d({into}, {out}, 1{stride})"
    yield from _added(failure, init, branch, ("shortcut", made), 0.4)


def projection_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a linear map to the width that attention takes, before the layer that fails."""
    recorder, layer = failure.trace.recorder, failure.layer
    owner = next((x.module for x in recorder.layers if isinstance(x.module, Interpreted)), None)
    if not isinstance(layer, nn.MultiheadAttention) or owner is None:
        return
    init = _init(failure.trace.tree, type(owner).__name__)
    width = failure.shapes[0][-1]
    if init is None or failure.value(width) == layer.embed_dim:
        return
    names = _sizes(failure, owner)
    sizes = (width, failure.trace.table.expr(layer.embed_dim))
    into, out = (_named(failure, size, names) for size in sizes)
    for branch in operands(failure):
        if isinstance(branch, ast.Name):
            made = f"nn.Linear({into}, {out})"
            yield from _added(failure, init, branch, ("projection", made), 1.4)


def _added(
    failure: Failure, init: ast.FunctionDef, array: ast.Name, layer: tuple[str, str], cost: float
) -> Iterator[Candidate]:
    """Yields a further layer of the class, made at the end of ``__init__``, around an array."""
    text, (name, made) = failure.trace.text, layer
    last = init.body[-1]
    row = text.split("\n")[(last.end_lineno or 1) - 1]
    line = f"\n{' ' * init.body[0].col_offset}self.{name} = {made}"
    called = replaced(text, array, f"self.{name}({array.id})")
    if called is not None:
        end = inserted(text, last.end_lineno or 1, len(row.encode()), line)
        yield Candidate((called, end), cost, "layer")


def _stride(failure: Failure, ratio: int, names: dict[str, Any]) -> str:
    if ratio == 1:
        name = next((n for n in names if "stride" in n), "")
        return f", stride={name}" if name else ""
    name = next((n for n, e in names.items() if "stride" in n and failure.value(e) == ratio), "")
    return f", stride={name or ratio}"


def _init(tree: ast.AST, name: str) -> ast.FunctionDef | None:
    """Returns the ``__init__`` of a class of the text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    return part
    return None


def _sizes(failure: Failure, owner: nn.Module) -> dict[str, Any]:
    """Returns the whole numbers that a module was made with, by their names."""
    made = owner.__dict__.get(SETTINGS, {})
    whole = {n: v for n, v in made.items() if isinstance(v, int) and not isinstance(v, bool)}
    return {name: failure.trace.table.expr(value) for name, value in whole.items()}


def _named(failure: Failure, size: Any, names: dict[str, Any]) -> str:
    """Returns a size in the names of a scope: the same expression, a multiple, else its value."""
    value = failure.value(size)
    same = [n for n, expr in names.items() if expr == size and not size.is_number]
    same += [n for n, expr in names.items() if failure.value(expr) == value and value > 1]
    if same:
        return same[0]
    for name, expr in names.items():
        own = failure.value(expr)
        if own > 1 and value % own == 0 and "stride" not in name and size.has(*expr.free_symbols):
            return f"{name} * {value // own}"
    return str(value)


def mode_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields ``eval()`` for a batch norm that gets one value a channel."""
    if not isinstance(failure.layer, _NormBase) or "more than 1" not in failure.message:
        return
    text = failure.trace.text
    for node in failure.trace.tree.body:
        call = getattr(node, "value", None)
        if not isinstance(call, ast.Call):
            continue
        made = call.func
        if isinstance(made, ast.Call) and made.end_col_offset:
            edit = inserted(text, made.end_lineno or 1, made.end_col_offset, ".eval()")
            yield Candidate((edit,), 6.0, "mode", "meaning")
        elif isinstance(made, ast.Name) and isinstance(failure.trace.model, nn.Module):
            edit = inserted(text, made.lineno, made.end_col_offset or 0, ".eval()")
            yield Candidate((edit,), 6.0, "mode", "meaning")
