"""Layers and parameters that no line reads, and arguments that are swallowed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ncd.findings.silent.model_runs import Run
from ncd.findings.silent.plain_lists import assignment
from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import SourceText
from ncd.lang.near_names import near_name
from ncd.pytorch_source.base.source_values import Interpreted

BY_NAME = ("getattr", "__dict__", "_modules", "_parameters", "vars")
GONE_THROUGH = ("children", "named_children", "parameters", "named_parameters")


def unused_parts(source: Source) -> Iterator[Fault]:
    """Yields the layers and parameters of a class that nothing in the text reads."""
    run = source.run
    if run is None or _by_name(source.source):
        return
    taken = _taken(run)
    seen: set[tuple[str, str]] = set()
    for path, part in source.parts():
        for name, value in (*part._modules.items(), *part._parameters.items()):
            key = (type(part).__name__, name)
            if value is None or key in seen or not _counts(value, taken):
                continue
            place = assignment(source.source, *key)
            if place is None or _reads(source.source, part, name):
                continue
            seen.add(key)
            yield Fault(place.lineno, f"{path}.{name}".strip("."), _words(path, name, value))


def _taken(run: Run) -> set[int]:
    """Returns the ids of all arrays and layers that the run has used."""
    found = {id(x) for call in run.calls for x in call.takes}
    return found | {id(layer.module) for layer in run.layers}


def _counts(value: nn.Module | nn.Parameter, taken: set[int]) -> bool:
    """Returns whether a part is not used, and matters: it learns, or it is a dropout."""
    if isinstance(value, nn.Parameter):
        return id(value) not in taken
    weights = list(value.parameters())
    every = [*value.modules(), *weights]
    dropout = isinstance(value, nn.modules.dropout._DropoutNd) and value.p > 0
    return (bool(weights) or dropout) and not any(id(one) in taken for one in every)


def _by_name(text: SourceText) -> bool:
    """Returns whether a source reads attributes by names that it computes."""
    names = (*BY_NAME, *GONE_THROUGH)
    for node in text.nodes:
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, ast.Attribute) and node.attr in BY_NAME:
            return True
    return False


def _reads(text: SourceText, part: Interpreted, name: str) -> bool:
    """Returns whether anything in the text reads an attribute of this name."""
    if isinstance(part, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        return True
    for node in text.nodes:
        if isinstance(node, ast.Attribute):
            named = node.attr == name and isinstance(node.ctx, ast.Load)
            if named and not _only_initialised(text, node):
                return True
        elif isinstance(node, ast.Constant) and node.value == name:
            return True  # as getattr, a state or a list of names may take it
    own = text.classes(type(part).__name__)
    if not own:
        return True
    inside = [node for made in own for node in ast.walk(made)]
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in GONE_THROUGH[:2]
        and isinstance(node.value, ast.Name)
        for node in inside
    )


def _only_initialised(text: SourceText, node: ast.Attribute) -> bool:
    """Returns whether a part is read only to set its first values: ``nn.init.zeros_(self.w)``."""
    for one in text.above(node):
        if isinstance(one, ast.Call):
            words = text.letters(one.func)
            if "init" in words or words.endswith("_"):
                return True
        if isinstance(one, ast.stmt):
            return False
    return False


def _words(path: str, name: str, value: nn.Module | nn.Parameter) -> str:
    full = f"{path}.{name}".strip(".")
    if isinstance(value, nn.Parameter):
        size = "×".join(map(str, value.shape)) or "1"
        return f"{full}, a parameter of {size}, is never used: no call takes it."
    count = sum(one.numel() for one in value.parameters())
    kind = type(value).__name__
    numbers = f" with its {count:,} parameters" if count else ""
    return f"{full} ({kind}) is never used: it is made{numbers}, and no line calls it."


def swallowed_arguments(source: Source) -> Iterator[Fault]:
    """Yields the arguments of calls that ``**kwargs`` takes and nothing reads."""
    text = source.source
    for made in text.tree.body:
        if not isinstance(made, ast.ClassDef):
            continue
        first = next(
            (
                one
                for one in made.body
                if isinstance(one, ast.FunctionDef) and one.name == "__init__"
            ),
            None,
        )
        if first is None or first.args.kwarg is None:
            continue
        rest = first.args.kwarg.arg
        if any(isinstance(one, ast.Name) and one.id == rest for one in ast.walk(first)):
            continue
        names = [one.arg for one in (*first.args.args, *first.args.kwonlyargs)][1:]
        yield from _swallowed(text, made.name, names, rest)


def _swallowed(text: SourceText, kind: str, names: list[str], rest: str) -> Iterator[Fault]:
    for call in text.nodes:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        for word in call.keywords if call.func.id == kind else ():
            if word.arg and word.arg not in names:
                near = near_name(word.arg, names)
                attempt = (
                    (Attempt(text.replaced(word, f"{near}={text.letters(word.value)}"), "meaning"),)
                    if near
                    else ()
                )
                says = (
                    f"{word.arg} has no effect: {kind} takes it by **{rest}, and never reads that"
                    + (f"; {near} is meant?" if near else ".")
                )
                yield Fault(word.lineno, "", says, attempt)
