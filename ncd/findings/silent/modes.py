"""Dropout and layers that evaluation does not reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ncd.findings.silent.silent_source import Attempt, Fault, Source
from ncd.findings.silent.source_text import SourceText, called_name

DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
HOMES = ("F", "nn.functional", "torch.nn.functional")


def dropout_always(source: Source) -> Iterator[Fault]:
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
        yield Fault(node.lineno, "", says, attempts)


def _only_in_training(text: SourceText, node: ast.AST) -> bool:
    """Returns whether a node stands behind a question such as ``if self.training``."""
    questions = [one.test for one in text.above(node) if isinstance(one, ast.If | ast.IfExp)]
    return any("train" in text.letters(one) for one in questions)


def _never(chance: ast.expr | None) -> bool:
    """Returns whether a chance is 0 as it stands."""
    return isinstance(chance, ast.Constant) and chance.value == 0


def made_in_forward(source: Source) -> Iterator[Fault]:
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
        yield Fault(node.lineno, "", f"nn.{kind.__name__} {says}")


def _learns(kind: type[nn.Module]) -> bool:
    """Returns whether layers of a class have weights."""
    bases = (
        *(nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd, nn.Embedding, nn.EmbeddingBag),
        *(nn.RNNBase, nn.MultiheadAttention, nn.modules.batchnorm._BatchNorm, nn.PReLU),
        *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer),
    )
    return issubclass(kind, bases)
