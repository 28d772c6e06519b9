"""Cures that put an array or a model on the device of what it meets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ncd.findings.cures.candidate import (
    MAKERS,
    Candidate,
    function_name,
    maker_calls,
    method_edits,
    operands,
)
from ncd.findings.failures.failure import Failure
from ncd.findings.reading.device_check import OtherDevice
from ncd.findings.reading.finding import further_argument
from ncd.read.device_places import DEVICES


def device_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the operands and the model of a call on the device of the others."""
    error, text, node = failure.trace.error, failure.trace.text, failure.node
    if not isinstance(error, OtherDevice):
        return
    away = next((one.device for one in error.places if one.device != "cpu"), "cuda")
    arrays = [*operands(failure)]
    names = [name for name in _device_names(failure.trace.tree) if not _in_function(failure)]
    beside = [f"{ast.unparse(x)}.device" for x in arrays if isinstance(x, ast.Name)]
    words = names or (beside if _in_function(failure) else [f'"{away}"'])
    for array in arrays:
        own = f"{ast.unparse(array)}.device"
        for rank, device in enumerate(one for one in words if one != own):
            for made in maker_calls(failure, array):
                if function_name(made) in MAKERS and not _has_device(made):
                    edit = further_argument(text, made, f"device={device}")
                    yield Candidate((edit,), 0.25 + 0.05 * rank, "device")
            edits = method_edits(text, array, f".to({device})")
            yield Candidate(edits, 0.3 + 0.05 * rank, "device")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for device in words:
            yield Candidate(method_edits(text, node.func, f".to({device})"), 0.4, "device")


def _has_device(call: ast.Call) -> bool:
    return any(word.arg == "device" for word in call.keywords)


def _in_function(failure: Failure) -> bool:
    """Returns whether a call stands in a function, where the names of the script mean nothing."""
    functions = (one for one in ast.walk(failure.trace.tree) if isinstance(one, ast.FunctionDef))
    return any(part is failure.node for one in functions for part in ast.walk(one))


def _device_names(tree: ast.AST) -> list[str]:
    """Returns the names that are set to a device: ``device = torch.device("cuda")``."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        words = ast.unparse(node.value)
        texts = (one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant))
        device = any(str(one).partition(":")[0] in DEVICES for one in texts)
        if device and (words.startswith("torch.device(") or "." not in words.partition(" if ")[0]):
            found.append(node.targets[0].id)
    return found
