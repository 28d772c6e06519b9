"""One layer in several places, by accident."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from torch import nn

from ncd.findings.finding import Edit
from ncd.findings.silent.model_runs import line_of
from ncd.findings.silent.plain_lists import assignment
from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import SourceText, called_name

MEANT = re.compile(
    r"(?i)(?<![a-z])(shar|ti(e|es|ed|ing)\b|tied?_|_tied|recur|siames|twin|reus|loop)"
)


def tied_layers(source: Source) -> Iterator[Fault]:
    """Yields the layers that stand more than once in a list or in a row, as one object."""
    for path, part in source.model.named_modules():
        if not isinstance(part, nn.Sequential | nn.ModuleList | nn.ModuleDict):
            continue
        places: dict[int, list[str]] = defaultdict(list)
        for name, child in part._modules.items():
            if child is not None and any(True for _ in child.parameters()):
                places[id(child)].append(f"{path}.{name}".strip("."))
        for number, names in places.items():
            if len(names) > 1:
                child = next(one for one in part.children() if id(one) == number)
                yield from _tied(source, names, child)


def _tied(source: Source, names: list[str], child: nn.Module) -> Iterator[Fault]:
    text = source.source
    kind = type(child).__name__
    node, edits = _repeated(text, kind)
    if node is None:
        node = source.machine.places.get(id(child)) or next(
            (one for one in text.nodes if called_name(one) == kind), None
        )
    if node is None or _meant(text, node):
        return
    count = len(names)
    says = (
        f"{', '.join(names[:-1]) if count < 4 else f'{names[0]} to {names[-2]}'} and {names[-1]} "
        f"are one and the same {kind}, with one set of weights: all {count} places share it."
    )
    yield Fault(line_of(node), names[0], says, (Attempt(edits),) if edits else ())


def _repeated(text: SourceText, kind: str) -> tuple[ast.AST | None, tuple[Edit, ...]]:
    """Returns where a layer of a class is repeated, and the edits that make each one anew."""
    for node in text.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.List) and len(one.elts) == 1:
                    call = _constructor(text, one.elts[0], kind)
                    if call is not None:
                        new = f"[{text.letters(call)} for _ in range({text.letters(other)})]"
                        return node, text.replaced(node, new)
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Name):
            call = _constructor(text, node.elt, kind)
            if call is not None:
                return node, text.replaced(node.elt, text.letters(call))
        if called_name(node) == "append" and isinstance(node, ast.Call) and node.args:
            loop = next((one for one in text.above(node) if isinstance(one, ast.For)), None)
            call = _constructor(text, node.args[0], kind)
            outside = call is not None and loop not in [*text.above(call)]
            if loop is not None and call is not None and outside and call is not node.args[0]:
                return node, text.replaced(node.args[0], text.letters(call))
    return None, ()


def _constructor(text: SourceText, node: ast.expr, kind: str) -> ast.Call | None:
    """Returns the call that makes a layer, which a name may stand for."""
    if isinstance(node, ast.Call):
        return node if called_name(node) == kind else None
    if not isinstance(node, ast.Name):
        return None
    function = text.function(node)
    for one in ast.walk(function or text.tree):
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):
            names = [target.id for target in one.targets if isinstance(target, ast.Name)]
            if node.id in names and called_name(one.value) == kind:
                return one.value
    return None


def _meant(text: SourceText, node: ast.AST) -> bool:
    """Returns whether the class around a node says that weights are shared."""
    around = text.class_of(node) or text.function(node) or text.tree
    first = getattr(around, "lineno", 1)
    last = getattr(around, "end_lineno", None) or len(text.lines)
    return MEANT.search("\n".join(text.lines[first - 1 : last])) is not None


def twice_assigned(source: Source) -> Iterator[Fault]:
    """Yields the layers that are set under two names: ``self.a = self.b = nn.Linear(…)``."""
    text = source.source
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        names = [one.attr for one in node.targets if isinstance(one, ast.Attribute)]
        kind = getattr(nn, called_name(node.value), None)
        if len(names) < 2 or not isinstance(kind, type) or _meant(text, node):
            continue
        paths = [
            path
            for path, part in source.parts()
            if (layer := part._modules.get(names[0])) is part._modules.get(names[1])
            and layer is not None
            and any(True for _ in layer.parameters())
        ]
        if paths:
            says = (
                f"{' and '.join(names)} are one and the same {kind.__name__}, with one set of "
                "weights: what one learns, the other has too."
            )
            new = "\n".join(
                text.lines[node.lineno - 1][: text.start(node)[1]] * (i > 0)
                + f"{text.letters(target)} = {text.letters(node.value)}"
                for i, target in enumerate(node.targets)
            )
            path = f"{paths[0]}.{names[0]}".strip(".")
            yield Fault(node.lineno, path, says, (Attempt(text.replaced(node, new)),))


def two_names(source: Source) -> Iterator[Fault]:
    """Yields the layers that a class makes once, and sets under two names."""
    text = source.source
    for path, part in source.parts():
        for name, layer in part._modules.items():
            first = next((n for n, x in part._modules.items() if x is layer), name)
            learns = layer is not None and any(True for _ in layer.parameters())
            places = [assignment(text, type(part).__name__, n) for n in (first, name)]
            if first == name or not learns or places[0] is places[1]:
                continue
            values = [one.value for one in places if one is not None and one.value is not None]
            ids = {one.id for one in values if isinstance(one, ast.Name)}
            made = _constructor(text, values[-1], type(layer).__name__) if values else None
            if len(values) < 2 or len(ids) != 1 or made is None or _meant(text, made):
                continue
            says = (
                f"{first} and {name} are one and the same {type(layer).__name__}, with one set of "
                "weights: what one learns, the other has too."
            )
            attempt = Attempt(text.replaced(values[-1], text.letters(made)))
            yield Fault(line_of(places[1]), f"{path}.{name}".strip("."), says, (attempt,))
