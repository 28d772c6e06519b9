"""Results that no line takes: ``x.relu()`` as a line of its own changes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ncd.findings.silent.model_runs import argument, layer_of
from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import called_name

SHOWN = ("print", "info", "append", "extend", "backward", "add_", "update")
CHANGING = (nn.modules.batchnorm._NormBase,)  # they keep statistics


def lost_results(source: Source) -> Iterator[Fault]:
    """Yields the lines of methods that compute an array and leave it."""
    run, text = source.run, source.source
    if run is None:
        return
    lines = {
        node.value: node
        for node in text.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    seen: set[ast.AST] = set()
    for call in run.calls:
        node = call.node
        if not isinstance(node, ast.Call) or node not in lines or node in seen:
            continue
        name = called_name(node)
        own = isinstance(layer_of(call), CHANGING) or not call.gives
        if own or name.endswith("_") or call.name.endswith("_") or name in SHOWN:
            continue
        if any(word.arg in ("inplace", "out") for word in node.keywords):
            continue
        if any(one is x for one in call.gives for x in call.takes) or text.function(node) is None:
            continue
        if getattr(layer_of(call), "inplace", False) or argument(call, 1, "inplace") is True:
            continue
        seen.add(node)
        yield _fault(source, node, name, call.path)


def _fault(source: Source, node: ast.Call, name: str, path: str) -> Fault:
    text = source.source
    says = f"The result of {name} is not used: the line gives a new array, and changes none."
    subject = node.func.value if isinstance(node.func, ast.Attribute) else None
    first = node.args[0] if node.args else None
    target = subject if isinstance(subject, ast.Name) and subject.id not in HOMES else first
    if not isinstance(target, ast.Name):
        return Fault(node.lineno, path, says)
    edits = text.around(node, f"{target.id} = ", "")[:1]
    return Fault(node.lineno, path, says, (Attempt(edits),))


HOMES = ("F", "torch", "self", "nn")
