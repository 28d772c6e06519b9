"""The sentence about the mode of a module, ``train()`` or ``eval()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ncd.lang.plain_text import listed

CALLS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


def in_training(model: nn.Module) -> bool:
    """Returns the mode of a module, whatever a source has set in its place."""
    return model.__dict__.get("training") is not False


def mode_words(model: nn.Module, tree: ast.Module) -> str:
    """Returns a sentence about what the mode of a module means for it; empty if nothing.

    >>> mode_words(nn.Dropout(0.1).eval(), ast.parse("")), mode_words(nn.ReLU(), ast.parse(""))
    ('In evaluation dropout changes nothing.', '')
    """
    words = [*_norm(model), *_dropped(model, tree), *_asked(model, tree)]
    mode = "training" if in_training(model) else "evaluation"
    return f"In {mode} {listed(words)}." if words else ""


def _norm(model: nn.Module) -> Iterator[str]:
    norms = [part for part in model.modules() if isinstance(part, _BatchNorm)]
    if any(part.track_running_stats for part in norms):
        yield (
            "batch norm takes the mean and the variance of this batch"
            if in_training(model)
            else "batch norm takes the mean and the variance that it has kept (0 and 1 at first)"
        )


def _dropped(model: nn.Module, tree: ast.Module) -> Iterator[str]:
    shares = [part.p for part in model.modules() if isinstance(part, _DropoutNd)]
    shares += [
        part.dropout
        for part in model.modules()
        if isinstance(part, nn.MultiheadAttention)
        or (isinstance(part, nn.RNNBase) and part.num_layers > 1)
    ]
    found = sorted({share for share in shares if share > 0})
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    if not found and not any(isinstance(f, ast.Attribute) and f.attr in CALLS for f in calls):
        return
    share = f"{found[0]:.0%} of the numbers" if len(found) == 1 else "some of the numbers"
    yield f"dropout sets {share} to 0" if in_training(model) else "dropout changes nothing"


def _asked(model: nn.Module, tree: ast.Module) -> Iterator[str]:
    """Yields what becomes of lines that ask for the mode themselves."""
    names = (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    if "training" in names:
        yield f"self.training is {in_training(model)}"
