"""The lines of a source around its model, carried out on arrays without numbers."""

from __future__ import annotations

import ast
import copy
import warnings

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map_only

from ncd.findings.silent.calls import Recorder, Run, watched
from ncd.findings.silent.source_text import called_name
from ncd.importing.torch_export import quiet
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Scope, Unknown

STEPS = 50_000  # of one line
DEFINED = (ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom)


def script_run(machine: Machine, tree: ast.Module, scope: Scope, model: nn.Module) -> Run | None:
    """Returns the calls of the lines outside of classes; None if there are no such lines.

    A line that cannot be carried out is left out, and of a loop the first turn is taken.
    """
    lines = [node for node in tree.body if _counts(node, scope)]
    if not any(isinstance(one, ast.Call) for node in lines for one in ast.walk(node)):
        return None
    run, before = Run(), {**scope.names}
    machine.tracing = True
    try:
        with quiet(), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            recorder = Recorder(machine, run)
            fake = FakeTensorMode(allow_non_fake_inputs=True)
            with fake as mode, watched(recorder, model), recorder:
                for name, value in before.items():
                    if isinstance(value, Tensor | tuple | list):
                        scope.names[name] = tree_map_only(Tensor, mode.from_tensor, value)
                for node in lines:
                    _carried_out(machine, node, scope)
    finally:
        machine.tracing, machine.failure = False, None
        scope.names.clear()
        scope.names.update(before)
    return run


def _counts(node: ast.stmt, scope: Scope) -> bool:
    """Returns whether a line does more than to define something or to make a model."""
    if isinstance(node, DEFINED):
        return False
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Call):
        return called_name(call.func) in dir(nn)  # else it makes the model, and runs it
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return not isinstance(scope.names.get(node.targets[0].id), nn.Module)
    return True


def _carried_out(machine: Machine, node: ast.stmt, scope: Scope) -> None:
    """Carries out a line; the names that it sets are unknown if it cannot be."""
    try:
        with machine.aside(STEPS):
            machine.run([_once(node)], scope)
    except Exception:  # such as a loader of data, which is not known
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                scope.names.setdefault(one.id, Unknown(one.id, "its line is left out"))


def _once(node: ast.stmt) -> ast.stmt:
    """Returns a loop with its first turn alone; other lines are unchanged."""
    if not isinstance(node, ast.For):
        return node
    first = copy.copy(node)
    first.body = [*(_once(one) for one in node.body), ast.copy_location(ast.Break(), node)]
    return first
