"""A softmax before a loss that has one of its own, and what the mode of a module silences."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import Tensor, nn

from ncd.findings.reading.finding import Edit
from ncd.findings.reading.source_text import SourceText, called_name
from ncd.findings.reading.source_trace import TracedCall
from ncd.findings.silent.model_runs import (
    Attempt,
    SilentFault,
    Source,
    SourceRun,
    argument,
    layer_of,
    line_of,
)

# --- A softmax, or its like, before a loss that has one of its own; and twice in a row

MOVES = (
    *("view", "reshape", "flatten", "unflatten", "permute", "transpose", "squeeze", "unsqueeze"),
    *("contiguous", "movedim", "float", "to", "clone"),
)
LOSS_INPUTS = {  # what a loss takes, and what it must not be given
    "cross_entropy": (("softmax",), "the scores themselves, as it has a softmax of its own"),
    "nll_loss": (("softmax",), "logarithms, as log_softmax gives them"),
    "binary_cross_entropy_with_logits": (
        ("sigmoid", "softmax"),
        "the scores themselves, as it has a sigmoid of its own",
    ),
}
LOSSES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
TWICE = ("softmax", "log_softmax")
LAYERS = (nn.Softmax, nn.LogSoftmax, nn.Sigmoid)
MODELS = ("model", "net", "network", "classifier", "self", "module", "cnn", "mlp")


def softmax_before_loss(source: Source) -> Iterator[SilentFault]:
    """Yields the softmaxes whose result goes into a loss that has its own, or into another one."""
    seen: set[ast.AST] = set()
    for run in source.all_runs:
        for call in run.calls:
            first = call.takes[0] if call.takes else None
            maker = _original_maker(run, first)
            if maker is None:
                continue
            wrong, takes = LOSS_INPUTS.get(call.name, ((), ""))
            if maker.name in wrong:
                seen.add(maker.node)
                yield _fault(source, maker, call.name, takes)
            elif call.name == maker.name and call.name in TWICE:
                same = argument(call, 1, "dim") == argument(maker, 1, "dim")
                yield from [_twice(source, maker)] * same
    yield from _at_the_end(source, seen)


def _original_maker(run: SourceRun, value: Tensor | None) -> TracedCall | None:
    """Returns the call that made an array, before those that only move its axes."""
    maker = run.maker(value)
    while maker is not None and maker.name in MOVES and maker.takes:
        maker = run.maker(maker.takes[0])
    return maker


def _twice(source: Source, maker: TracedCall) -> SilentFault:
    place, attempts = _softmax_removal(source, maker)
    effect = "flattens them" if maker.name == "softmax" else "changes nothing"
    says = f"{maker.name} is taken twice in a row: the second one {effect}."
    return SilentFault(line_of(place), maker.path, says, attempts)


def _fault(source: Source, maker: TracedCall, loss: str, takes: str) -> SilentFault:
    place, attempts = _softmax_removal(source, maker)
    says = (
        f"{loss} is given the result of {maker.name}, but takes {takes}: it trains, slowly and to "
        "the wrong values."
    )
    if loss == "nll_loss":
        text = source.source
        attempts = ()
        made = source.machine.places.get(id(layer_of(maker)), maker.node)
        if isinstance(made, ast.Call) and called_name(made) in ("softmax", "Softmax"):
            name = "log_softmax" if called_name(made) == "softmax" else "LogSoftmax"
            written = text.letters(made.func)
            new = written[: -len(called_name(made))] + name
            attempts = (Attempt(text.node_edits(made.func, new)),)
    return SilentFault(line_of(place), maker.path, says, attempts)


def _softmax_removal(source: Source, maker: TracedCall) -> tuple[ast.AST, tuple[Attempt, ...]]:
    """Returns where a softmax stands, and the edit that leaves it out."""
    text, node = source.source, maker.node
    if isinstance(layer_of(maker), LAYERS):
        made = source.machine.places.get(id(layer_of(maker)))
        around = text.parents.get(made) if made is not None else None
        if isinstance(around, ast.Call) and made in around.args:
            return made, _taken_out(text, around.args, around.args.index(made))
        if isinstance(node, ast.Call) and len(node.args) == 1:
            return node, (Attempt(text.node_edits(node, text.letters(node.args[0]))),)
        return made or node, ()
    if not isinstance(node, ast.Call):
        return node, ()
    if isinstance(node.func, ast.Attribute):
        home = text.letters(node.func.value)
        if home in ("F", "torch", "nn.functional", "torch.nn.functional") and node.args:
            return node, (Attempt(text.node_edits(node, text.letters(node.args[0]))),)
        return node, (Attempt(text.node_edits(node, home)),)
    return node, ()


def _taken_out(text: SourceText, items: list[ast.expr], place: int) -> tuple[Attempt, ...]:
    """Returns the edit that takes one of several arguments out, with its comma."""
    if len(items) < 2:
        return ()
    if place:
        return (Attempt(text.range_edits(text.end(items[place - 1]), text.end(items[place]), "")),)
    return (Attempt(text.range_edits(text.start(items[0]), text.start(items[1]), "")),)


# a loss outside of the model ----------------------------------------------------------------------


def _at_the_end(source: Source, seen: set[ast.AST]) -> Iterator[SilentFault]:
    """Yields the softmax with which a model ends, if the text gives its result to such a loss."""
    losses = [*_losses_of_results(source)]
    if not losses:
        return
    run = source.training or (None if ".training" in source.source.text else source.run)
    if run is None:
        return
    several = run.output if isinstance(run.output, tuple | list) else ()
    results = dict(enumerate(several)) or {-1: run.output}
    for loss, place in losses:
        maker = _original_maker(run, results.get(place))
        wrong, takes = LOSS_INPUTS[loss]
        if maker is not None and maker.node not in seen and maker.name in wrong:
            seen.add(maker.node)
            yield _fault(source, maker, loss, takes)


def _losses_of_results(source: Source) -> Iterator[tuple[str, int]]:
    """Yields the losses to which a text gives a result of its model, and which one it is.

    The place is -1 for a result that is no tuple.
    """
    text = source.source
    names = dict(_loss_names(text))
    for node in text.nodes:
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        loss = called_name(node)
        if isinstance(node.func, ast.Call):  # nn.CrossEntropyLoss()(…, …)
            loss = LOSSES.get(called_name(node.func), "")
        loss = names.get(loss, loss)
        place = _result(source, node, node.args[0]) if loss in LOSS_INPUTS else None
        if place is not None:
            yield loss, place


def _loss_names(text: SourceText) -> Iterator[tuple[str, str]]:
    """Yields the names that a text gives to losses."""
    for node in text.nodes:
        if isinstance(node, ast.Assign) and called_name(node.value) in LOSSES:
            for target in node.targets:
                name: str = getattr(target, "attr", "") or getattr(target, "id", "")
                yield name, LOSSES[called_name(node.value)]


def _result(source: Source, call: ast.Call, value: ast.expr) -> int | None:
    """Returns which result of the model an expression is: -1 for ``model(x)``, or its name."""
    text = source.source
    if not isinstance(value, ast.Name):
        return -1 if isinstance(value, ast.Call) and _is_model(source, value) else None
    places: set[int | None] = set()
    for one in ast.walk(text.function(call) or text.tree):
        if not isinstance(one, ast.Assign):
            continue
        of_model = isinstance(one.value, ast.Call) and _is_model(source, one.value)
        for target in one.targets:
            inside = target.elts if isinstance(target, ast.Tuple) else [target]
            for k, x in enumerate(inside):
                if isinstance(x, ast.Name) and x.id == value.id:
                    place = k if isinstance(target, ast.Tuple) else -1
                    places.add(place if of_model else None)
    return places.pop() if len(places) == 1 else None


def _is_model(source: Source, value: ast.Call) -> bool:
    """Returns whether a call is one of the model."""
    text = source.source
    words = text.letters(value.func)
    kinds = [
        called_name(node.value)
        for node in text.tree.body
        if isinstance(node, ast.Assign) and text.classes(called_name(node.value))
        if any(isinstance(one, ast.Name) and one.id == words for one in node.targets)
    ]
    if kinds:
        return kinds[-1] == type(source.model).__name__
    return words.rpartition(".")[2] in MODELS


# --- Loops that train a model which is in evaluation: its dropout and batch norms are silent

MODE_LAYERS = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)


def trained_in_evaluation(source: Source) -> Iterator[SilentFault]:
    """Yields the calls of ``eval()`` after which a loop trains, without ``train()`` in between."""
    kinds = {type(x).__name__ for x in source.model.modules() if isinstance(x, MODE_LAYERS)}
    text = source.source
    for name in _optimised_models(text) if kinds else ():
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
            yield SilentFault(stops[0].lineno, "", says, (_train_mode_attempt(text, loop, name),))


def _optimised_models(text: SourceText) -> list[str]:
    """Returns the names of the models whose parameters an optimiser takes."""
    found = []
    for node in text.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "parameters":
            home = text.letters(node.value)
            outer = [
                called_name(one) for one in text.enclosing_nodes(node) if isinstance(one, ast.Call)
            ]
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
    for one in text.enclosing_nodes(loop):
        if isinstance(one, ast.FunctionDef):
            return False
        if isinstance(one, ast.For | ast.While):
            return True
    return False


def _train_mode_attempt(text: SourceText, loop: ast.For | ast.While, name: str) -> Attempt:
    """Returns the edit that sets the model to train at the beginning of each turn."""
    line, start = text.start(loop.body[0])
    blank = text.lines[line - 1][:start]
    return Attempt((Edit(line, start, start, f"{name}.train()\n{blank}"),))


# --- Dropout and layers that evaluation does not reach

DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
HOMES = ("F", "nn.functional", "torch.nn.functional")


def dropout_always(source: Source) -> Iterator[SilentFault]:
    """Yields the calls of ``F.dropout`` in a module that leave out whether it is training."""
    text = source.source
    for node in text.nodes:
        if not isinstance(node, ast.Call) or called_name(node) not in DROPOUTS:
            continue
        home = node.func.value if isinstance(node.func, ast.Attribute) else None
        if home is None or text.letters(home) not in HOMES:
            continue
        words = {word.arg: word.value for word in node.keywords}
        function = text.function(node)
        if None in words or len(node.args) > 2 or function is None or text.class_of(node) is None:
            continue
        if words.get("training") is not None or _only_in_training(text, node):
            continue
        if _never(node.args[1] if len(node.args) > 1 else words.get("p")):
            continue
        attempts: tuple[Attempt, ...] = ()
        if any(one.arg == "self" for one in function.args.args):
            attempts = (Attempt(text.argument(node, "training", "self.training")),)
        says = (
            f"F.{called_name(node)} drops numbers in evaluation too, as training is True unless "
            "it is passed on: eval() does not reach it."
        )
        yield SilentFault(node.lineno, "", says, attempts)


def _only_in_training(text: SourceText, node: ast.AST) -> bool:
    """Returns whether a node stands behind a question such as ``if self.training``."""
    questions = [
        one.test for one in text.enclosing_nodes(node) if isinstance(one, ast.If | ast.IfExp)
    ]
    return any("train" in text.letters(one) for one in questions)


def _never(chance: ast.expr | None) -> bool:
    """Returns whether a chance is 0 as it stands."""
    return isinstance(chance, ast.Constant) and chance.value == 0


def layers_of_forward(source: Source) -> Iterator[SilentFault]:
    """Yields the layers that are made anew at each call of ``forward``."""
    text = source.source
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        kind = getattr(nn, called_name(node), None)
        function = text.function(node)
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            continue
        if function is None or function.name != "forward" or text.class_of(function) is None:
            continue
        around = text.parents.get(node)
        if not isinstance(around, ast.Call) or around.func is not node:
            continue
        if issubclass(kind, nn.modules.dropout._DropoutNd):
            says = "is made at each call, and so always training: eval() does not reach it."
        elif _learns(kind):
            says = "is made at each call with new weights: nothing that it learns is kept."
        else:
            continue
        yield SilentFault(node.lineno, "", f"nn.{kind.__name__} {says}")


def _learns(kind: type[nn.Module]) -> bool:
    """Returns whether layers of a class have weights."""
    bases = (
        *(nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd, nn.Embedding, nn.EmbeddingBag),
        *(nn.RNNBase, nn.MultiheadAttention, nn.modules.batchnorm._BatchNorm, nn.PReLU),
        *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer),
    )
    return issubclass(kind, bases)
