"""Layers in a plain list, tuple or dictionary, and plain arrays, which no optimiser sees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import SourceText, called_name
from ncd.pytorch_source.base.source_values import own_names

DEEP = 3  # lists inside of each other
CONTAINERS = {list: "ModuleList", tuple: "ModuleList", dict: "ModuleDict"}


def plain_lists(source: Source) -> Iterator[Fault]:
    """Yields the attributes that hold layers which the model does not know of."""
    known = {id(part) for part in source.model.modules()}
    weights = {id(one) for one in source.model.parameters()}
    for path, part in source.parts():
        tuples = {name: value for name, value in vars(part).items() if isinstance(value, tuple)}
        for name, value in {**tuples, **own_names(part)}.items():
            layers = [x for x in _inside(value) if isinstance(x, nn.Module)]
            layers = [x for x in layers if id(x) not in known and _matters(x)]
            loose = [x for x in _inside(value) if isinstance(x, nn.Parameter)]
            loose = [x for x in loose if id(x) not in weights]
            if not layers and not loose:
                continue
            place = assignment(source.source, type(part).__name__, name)
            if place is None or not _made_here(source.source, place, name):
                continue
            yield _fault(source.source, place, f"{path}.{name}".strip("."), value, layers or loose)


def plain_tensors(source: Source) -> Iterator[Fault]:
    """Yields the arrays that ask for gradients, but are no parameters of their model."""
    text = source.source
    for path, part in source.parts():
        for name, value in vars(part).items():
            place = assignment(text, type(part).__name__, name)
            call = place.value if place is not None else None
            if not isinstance(value, Tensor) or not isinstance(call, ast.Call):
                continue
            words = {word.arg: word.value for word in call.keywords}
            asked = words.get("requires_grad")
            if isinstance(asked, ast.Constant) and asked.value is True:
                says = (
                    f"{path}.{name}".strip(".") + " asks for gradients, but is a plain array and "
                    "no parameter of the model, so that no optimiser trains it, and nothing "
                    "saves or moves it."
                )
                attempt = Attempt(text.around(call, "nn.Parameter(", ")"))
                yield Fault(call.lineno, f"{path}.{name}".strip("."), says, (attempt,))


def _inside(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields what lists, tuples and dictionaries hold."""
    if depth and not isinstance(value, list | tuple | dict):
        yield value
    elif isinstance(value, list | tuple | dict) and depth < DEEP:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _inside(one, depth + 1)


def _matters(layer: nn.Module) -> bool:
    """Returns whether a layer learns, or is another one in evaluation."""
    dropout = any(isinstance(x, nn.modules.dropout._DropoutNd) for x in layer.modules())
    return dropout or any(True for _ in layer.parameters())


def _fault(
    text: SourceText, place: ast.Assign | ast.AnnAssign, path: str, value: Any, held: list[Any]
) -> Fault:
    kind = next(one for one in CONTAINERS if isinstance(value, one))
    layers = isinstance(held[0], nn.Module)
    container = CONTAINERS[kind] if layers else CONTAINERS[kind].replace("Module", "Parameter")
    what = f"{len(held)} {'layer' if layers else 'parameter'}{'s' * (len(held) > 1)}"
    verb = "are" if len(held) > 1 else "is"
    says = (
        f"{path} is a plain {kind.__name__}: its {what} {verb} no part of the model, so that no "
        f"optimiser trains {'them' if len(held) > 1 else 'it'}, and nothing saves or moves them."
    ).replace("saves or moves them", "saves or moves " + ("them" if len(held) > 1 else "it"))
    if any(isinstance(one, list | tuple | dict) for one in _first(value)) or place.value is None:
        return Fault(place.lineno, path, says)
    edits = text.around(place.value, f"nn.{container}(", ")")
    return Fault(place.lineno, path, says, (Attempt(edits),))


def _first(value: Any) -> list[Any]:
    return list(value.values() if isinstance(value, dict) else value)


def assignment(text: SourceText, kind: str, name: str) -> ast.Assign | ast.AnnAssign | None:
    """Returns the first statement of a class that sets ``self.name``."""
    for made in text.classes(kind):
        for node in ast.walk(made):
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            every = [one for target in targets for one in ast.walk(target)]
            if any(isinstance(one, ast.Attribute) and one.attr == name for one in every):
                return node
    return None


def _made_here(text: SourceText, place: ast.stmt, name: str) -> bool:
    """Returns whether the layers of a list are made in the function that sets it.

    A list of one layer that is handed in is how authors keep it out of a model on purpose.
    """
    function = text.function(place)
    calls = (one for one in ast.walk(function or place) if isinstance(one, ast.Call))
    value = getattr(place, "value", None)
    if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1:
        return isinstance(value.elts[0], ast.Call)
    return any(called_name(call)[:1].isupper() or called_name(call) == "append" for call in calls)
