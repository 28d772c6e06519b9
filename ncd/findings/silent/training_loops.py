"""Loops that train a model which is in evaluation: its dropout and batch norms are silent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ncd.findings.finding import Edit
from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import SourceText, called_name

SILENCED = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)


def trained_in_evaluation(source: Source) -> Iterator[Fault]:
    """Yields the calls of ``eval()`` after which a loop trains, without ``train()`` in between."""
    kinds = {type(x).__name__ for x in source.model.modules() if isinstance(x, SILENCED)}
    text = source.source
    for name in _trained(text) if kinds else ():
        for loop in text.nodes:
            if not isinstance(loop, ast.For | ast.While) or _inside_of_loop(text, loop):
                continue
            inside = [one for one in ast.walk(loop) if isinstance(one, ast.Call)]
            stops = [one for one in inside if _calls(text, one, name, "eval")]
            starts = any(_calls(text, one, name, "train") for one in inside)
            if not any(called_name(one) == "backward" for one in inside) or starts or not stops:
                continue
            says = (
                f"{name}.eval() is never undone in the loop: from its second turn on "
                f"{' and '.join(sorted(kinds))} {'are' if len(kinds) > 1 else 'is'} silent while "
                "it trains."
            )
            yield Fault(stops[0].lineno, "", says, (_begun(text, loop, name),))


def _trained(text: SourceText) -> list[str]:
    """Returns the names of the models whose parameters an optimiser takes."""
    found = []
    for node in text.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "parameters":
            home = text.letters(node.value)
            outer = [called_name(one) for one in text.above(node) if isinstance(one, ast.Call)]
            if any(one[:1].isupper() for one in outer) and home not in found:
                found.append(home)
    return found


def _calls(text: SourceText, call: ast.Call, name: str, method: str) -> bool:
    """Returns whether a call is ``name.method(…)``."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != method:
        return False
    return text.letters(function.value) == name


def _inside_of_loop(text: SourceText, loop: ast.AST) -> bool:
    """Returns whether a loop stands in another one of its function."""
    for one in text.above(loop):
        if isinstance(one, ast.FunctionDef):
            return False
        if isinstance(one, ast.For | ast.While):
            return True
    return False


def _begun(text: SourceText, loop: ast.For | ast.While, name: str) -> Attempt:
    """Returns the edit that sets the model to train at the beginning of each turn."""
    line, start = text.start(loop.body[0])
    blank = text.lines[line - 1][:start]
    return Attempt((Edit(line, start, start, f"{name}.train()\n{blank}"),))
