"""Parts that no line uses, that no optimiser sees, or that stand in two places by accident."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ncd.findings.reading.finding import Edit
from ncd.findings.reading.source_text import SourceText, called_name
from ncd.findings.silent.model_runs import (
    Attempt,
    SilentFault,
    Source,
    SourceRun,
    argument,
    layer_of,
    line_of,
)
from ncd.read.python_source.interpreter import SourceModule, source_attributes
from ncd.words import near_name

# --- Layers in a plain list, tuple or dictionary, and plain arrays, which no optimiser sees

DEEP = 3  # lists inside of each other
CONTAINERS = {list: "ModuleList", tuple: "ModuleList", dict: "ModuleDict"}


def plain_lists(source: Source) -> Iterator[SilentFault]:
    """Yields the attributes that hold layers which the model does not know of."""
    known = {id(part) for part in source.model.modules()}
    weights = {id(one) for one in source.model.parameters()}
    for path, part in source.parts():
        tuples = {name: value for name, value in vars(part).items() if isinstance(value, tuple)}
        for name, value in {**tuples, **source_attributes(part)}.items():
            layers = [x for x in _nested_items(value) if isinstance(x, nn.Module)]
            layers = [x for x in layers if id(x) not in known and _matters(x)]
            loose = [x for x in _nested_items(value) if isinstance(x, nn.Parameter)]
            loose = [x for x in loose if id(x) not in weights]
            if not layers and not loose:
                continue
            place = assignment(source.source, type(part).__name__, name)
            if place is None or not _makes_its_layers(source.source, place, name):
                continue
            yield _list_fault(
                source.source, place, f"{path}.{name}".strip("."), value, layers or loose
            )


def plain_tensors(source: Source) -> Iterator[SilentFault]:
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
                attempt = Attempt(text.wrapping_edits(call, "nn.Parameter(", ")"))
                yield SilentFault(call.lineno, f"{path}.{name}".strip("."), says, (attempt,))


def _nested_items(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields what lists, tuples and dictionaries hold."""
    if depth and not isinstance(value, list | tuple | dict):
        yield value
    elif isinstance(value, list | tuple | dict) and depth < DEEP:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _nested_items(one, depth + 1)


def _matters(layer: nn.Module) -> bool:
    """Returns whether a layer learns, or is another one in evaluation."""
    dropout = any(isinstance(x, nn.modules.dropout._DropoutNd) for x in layer.modules())
    return dropout or any(True for _ in layer.parameters())


def _list_fault(
    text: SourceText, place: ast.Assign | ast.AnnAssign, path: str, value: Any, held: list[Any]
) -> SilentFault:
    kind = next(one for one in CONTAINERS if isinstance(value, one))
    layers = isinstance(held[0], nn.Module)
    container = CONTAINERS[kind] if layers else CONTAINERS[kind].replace("Module", "Parameter")
    what = f"{len(held)} {'layer' if layers else 'parameter'}{'s' * (len(held) > 1)}"
    verb = "are" if len(held) > 1 else "is"
    says = (
        f"{path} is a plain {kind.__name__}: its {what} {verb} no part of the model, so that no "
        f"optimiser trains {'them' if len(held) > 1 else 'it'}, and nothing saves or moves them."
    ).replace("saves or moves them", "saves or moves " + ("them" if len(held) > 1 else "it"))
    if (
        any(isinstance(one, list | tuple | dict) for one in _direct_items(value))
        or place.value is None
    ):
        return SilentFault(place.lineno, path, says)
    edits = text.wrapping_edits(place.value, f"nn.{container}(", ")")
    return SilentFault(place.lineno, path, says, (Attempt(edits),))


def _direct_items(value: Any) -> list[Any]:
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


def _makes_its_layers(text: SourceText, place: ast.stmt, name: str) -> bool:
    """Returns whether the layers of a list are made in the function that sets it.

    A list of one layer that is handed in is how authors keep it out of a model on purpose.
    """
    function = text.function(place)
    calls = (one for one in ast.walk(function or place) if isinstance(one, ast.Call))
    value = getattr(place, "value", None)
    if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1:
        return isinstance(value.elts[0], ast.Call)
    return any(called_name(call)[:1].isupper() or called_name(call) == "append" for call in calls)


# --- Results that no line takes: ``x.relu()`` as a line of its own changes nothing

SIDE_EFFECT_CALLS = ("print", "info", "append", "extend", "backward", "add_", "update")
CHANGING = (nn.modules.batchnorm._NormBase,)  # they keep statistics


def lost_results(source: Source) -> Iterator[SilentFault]:
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
        if own or name.endswith("_") or call.name.endswith("_") or name in SIDE_EFFECT_CALLS:
            continue
        if any(word.arg in ("inplace", "out") for word in node.keywords):
            continue
        if any(one is x for one in call.gives for x in call.takes) or text.function(node) is None:
            continue
        if getattr(layer_of(call), "inplace", False) or argument(call, 1, "inplace") is True:
            continue
        seen.add(node)
        yield _lost_result_fault(source, node, name, call.path)


def _lost_result_fault(source: Source, node: ast.Call, name: str, path: str) -> SilentFault:
    text = source.source
    says = f"The result of {name} is not used: the line gives a new array, and changes none."
    subject = node.func.value if isinstance(node.func, ast.Attribute) else None
    first = node.args[0] if node.args else None
    target = subject if isinstance(subject, ast.Name) and subject.id not in HOMES else first
    if not isinstance(target, ast.Name):
        return SilentFault(node.lineno, path, says)
    edits = text.wrapping_edits(node, f"{target.id} = ", "")[:1]
    return SilentFault(node.lineno, path, says, (Attempt(edits),))


HOMES = ("F", "torch", "self", "nn")


# --- Layers and parameters that no line reads, and arguments that are swallowed

BY_NAME = ("getattr", "__dict__", "_modules", "_parameters", "vars")
GONE_THROUGH = ("children", "named_children", "parameters", "named_parameters")


def unused_parts(source: Source) -> Iterator[SilentFault]:
    """Yields the layers and parameters of a class that nothing in the text reads."""
    run = source.run
    if run is None or _by_name(source.source):
        return
    taken = _used_ids(run)
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
            yield SilentFault(place.lineno, f"{path}.{name}".strip("."), _words(path, name, value))


def _used_ids(run: SourceRun) -> set[int]:
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


def _reads(text: SourceText, part: SourceModule, name: str) -> bool:
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
    for one in text.enclosing_nodes(node):
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


def swallowed_arguments(source: Source) -> Iterator[SilentFault]:
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
        yield from _swallowed_faults(text, made.name, names, rest)


def _swallowed_faults(
    text: SourceText, kind: str, names: list[str], rest: str
) -> Iterator[SilentFault]:
    for call in text.nodes:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        for word in call.keywords if call.func.id == kind else ():
            if word.arg and word.arg not in names:
                near = near_name(word.arg, names)
                attempt = (
                    (
                        Attempt(
                            text.node_edits(word, f"{near}={text.letters(word.value)}"), "meaning"
                        ),
                    )
                    if near
                    else ()
                )
                says = (
                    f"{word.arg} has no effect: {kind} takes it by **{rest}, and never reads that"
                    + (f"; {near} is meant?" if near else ".")
                )
                yield SilentFault(word.lineno, "", says, attempt)


# --- One layer in several places, by accident

SHARING_WORDS = re.compile(
    r"(?i)(?<![a-z])(shar|ti(e|es|ed|ing)\b|tied?_|_tied|recur|siames|twin|reus|loop)"
)


def tied_layers(source: Source) -> Iterator[SilentFault]:
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
                yield from _tied_faults(source, names, child)


def _tied_faults(source: Source, names: list[str], child: nn.Module) -> Iterator[SilentFault]:
    text = source.source
    kind = type(child).__name__
    node, edits = _layer_repetition(text, kind)
    if node is None:
        node = source.machine.places.get(id(child)) or next(
            (one for one in text.nodes if called_name(one) == kind), None
        )
    if node is None or _mentions_sharing(text, node):
        return
    count = len(names)
    says = (
        f"{', '.join(names[:-1]) if count < 4 else f'{names[0]} to {names[-2]}'} and {names[-1]} "
        f"are one and the same {kind}, with one set of weights: all {count} places share it."
    )
    yield SilentFault(line_of(node), names[0], says, (Attempt(edits),) if edits else ())


def _layer_repetition(text: SourceText, kind: str) -> tuple[ast.AST | None, tuple[Edit, ...]]:
    """Returns where a layer of a class is repeated, and the edits that make each one anew."""
    for node in text.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.List) and len(one.elts) == 1:
                    call = _constructor(text, one.elts[0], kind)
                    if call is not None:
                        new = f"[{text.letters(call)} for _ in range({text.letters(other)})]"
                        return node, text.node_edits(node, new)
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Name):
            call = _constructor(text, node.elt, kind)
            if call is not None:
                return node, text.node_edits(node.elt, text.letters(call))
        if called_name(node) == "append" and isinstance(node, ast.Call) and node.args:
            loop = next(
                (one for one in text.enclosing_nodes(node) if isinstance(one, ast.For)), None
            )
            call = _constructor(text, node.args[0], kind)
            outside = call is not None and loop not in [*text.enclosing_nodes(call)]
            if loop is not None and call is not None and outside and call is not node.args[0]:
                return node, text.node_edits(node.args[0], text.letters(call))
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


def _mentions_sharing(text: SourceText, node: ast.AST) -> bool:
    """Returns whether the class around a node says that weights are shared."""
    around = text.class_of(node) or text.function(node) or text.tree
    first = getattr(around, "lineno", 1)
    last = getattr(around, "end_lineno", None) or len(text.lines)
    return SHARING_WORDS.search("\n".join(text.lines[first - 1 : last])) is not None


def twice_assigned(source: Source) -> Iterator[SilentFault]:
    """Yields the layers that are set under two names: ``self.a = self.b = nn.Linear(…)``."""
    text = source.source
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        names = [one.attr for one in node.targets if isinstance(one, ast.Attribute)]
        kind = getattr(nn, called_name(node.value), None)
        if len(names) < 2 or not isinstance(kind, type) or _mentions_sharing(text, node):
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
            yield SilentFault(node.lineno, path, says, (Attempt(text.node_edits(node, new)),))


def two_names(source: Source) -> Iterator[SilentFault]:
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
            if len(values) < 2 or len(ids) != 1 or made is None or _mentions_sharing(text, made):
                continue
            says = (
                f"{first} and {name} are one and the same {type(layer).__name__}, with one set of "
                "weights: what one learns, the other has too."
            )
            attempt = Attempt(text.node_edits(values[-1], text.letters(made)))
            yield SilentFault(line_of(places[1]), f"{path}.{name}".strip("."), says, (attempt,))
