"""Cures that give an array or a model the format of numbers of what it meets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from ncd.findings.cures.candidate import (
    Candidate,
    arrays_of_model_call,
    method_edits,
    operands,
    replacement_edit,
)
from ncd.findings.failures.failure import Failure
from ncd.findings.reading.finding import Edit
from ncd.findings.reading.format_check import WrongFormat
from ncd.read.python_source.torch_names import FORMAT_METHODS

MOVES = {kind: f".{name}()" for name, kind in FORMAT_METHODS.items()}


def format_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the arrays of the line that calls the model in another format, then those of the call.

    Last of all, what gives a format is left out.
    """
    error, text = failure.trace.error, failure.trace.text
    if not isinstance(error, WrongFormat) or error.taken not in MOVES or error.given not in MOVES:
        return
    for array in arrays_of_model_call(failure):
        edits = method_edits(text, array, MOVES[error.taken])
        yield Candidate(edits, 0.2, "format", "input")
    for rank, array in enumerate(operands(failure)):
        for kind in (error.taken, error.given):
            cost = 0.5 + 0.05 * rank + 0.3 * (kind == error.given)
            yield Candidate(method_edits(text, array, MOVES[kind]), cost, "format")
    for edit in _left_out(text, failure.trace.tree, (error.taken, error.given)):
        yield Candidate((edit,), 0.3, "format")


def _left_out(text: str, tree: ast.AST, kinds: tuple[torch.dtype, ...]) -> Iterator[Edit]:
    """Yields edits that leave out what gives one of some formats."""
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        kept = _without_format(node, kinds)
        new: str | None = None
        if method == "set_default_dtype" and len(kept.args) < len(node.args):
            new = ""
        elif FORMAT_METHODS.get(method) in kinds or (
            method in ("to", "type") and not _arguments(kept)
        ):
            new = "" if node in alone else ast.unparse(node.func.value)  # type: ignore[attr-defined]
        elif len(_arguments(kept)) < len(_arguments(node)):
            new = ast.unparse(kept)
        edit = None if new is None else replacement_edit(text, node, new)
        if edit is not None:
            yield edit


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _without_format(call: ast.Call, kinds: tuple[torch.dtype, ...]) -> ast.Call:
    """Returns a call without those of its arguments that name one of some formats."""
    args = [one for one in call.args if _format(one) not in kinds]
    words = [one for one in call.keywords if _format(one.value) not in kinds]
    return ast.Call(call.func, args, words)


def _format(node: ast.expr) -> torch.dtype | None:
    """Returns the format that an expression names: ``torch.float16``, ``torch.half``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    found = getattr(torch, name, None)
    return (
        found if isinstance(found, torch.dtype) and ast.unparse(node) == f"torch.{name}" else None
    )
