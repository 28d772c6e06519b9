"""The axes of a model's inputs: their names, and the sizes of each that work."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.findings.silent.model_runs import Run
from ncd.findings.sizes.probe import Probe

PICTURE = ("batch", "channels", "height", "width")
NAMES = {  # by the number of axes, and by the first call that takes the input
    (2, "linear"): ("batch", "features"),
    (2, "embedding"): ("batch", "length"),
    (3, "linear"): ("batch", "length", "features"),
    (3, "conv1d"): ("batch", "channels", "length"),
    (4, "conv2d"): PICTURE,
    (5, "conv3d"): ("batch", "channels", "depth", "height", "width"),
}


PATTERN = re.compile(r"b\w* \(?c\b[^)]*\)? ?\(? ?h\b[^)]*\)? ?\(? ?w\b")  # b c (h p1) (w p2)
NAMED = {
    **dict.fromkeys(("max_pool2d", "conv_transpose2d", "avg_pool2d"), "conv2d"),
    **dict.fromkeys(("layer_norm", "lstm", "gru", "rnn_tanh"), "linear"),
    "multi_head_attention_forward": "linear",
}


@dataclass(frozen=True)
class InputAxis:
    """An axis of an input: which, its size, and its name, without that of the input."""

    array: int
    place: int
    size: int
    plain: str
    of: str = ""

    @property
    def name(self) -> str:
        """The name with that of the input, where there are several."""
        return self.plain + self.of

    @property
    def is_batch(self) -> bool:
        """Whether it is the axis of the batch."""
        return self.place == 0 and self.plain == "batch"


def input_axes(probe: Probe, run: Run, tree: ast.AST) -> list[InputAxis]:
    """Returns the axes of all inputs of a model, with names that a reader of the source knows."""
    arrays = [x for x in tree_leaves((probe.args, probe.named)) if isinstance(x, Tensor)]
    words = _input_words(probe.model, len(probe.args), [*probe.named])
    named = len(words) == len(arrays)  # not where an input is a list of arrays
    unpacked = _unpacked(probe.model, tree)
    found = []
    for i, shape in enumerate(probe.inputs):
        word = words[i] if named else f"input {i + 1}"
        names = unpacked.get((word, len(shape)), ("",) * len(shape))
        usual = _names(probe.model, run, i, len(shape))
        of = f" of `{word}`" if named and len(arrays) > 1 else "" if named else f" of {word}"
        for j, size in enumerate(shape):
            plain = names[j] or (usual[j] if usual else f"axis {j}")
            found.append(InputAxis(i, j, size, plain, of))
    return found


def _input_words(model: nn.Module, count: int, keywords: list[str]) -> list[str]:
    """Returns the names of the inputs, as the model's ``forward`` has them."""
    takes = [*inspect.signature(model.forward).parameters]
    return [*takes[:count], *keywords]


def _unpacked(model: nn.Module, tree: ast.AST) -> dict[tuple[str, int], tuple[str, ...]]:
    """Returns the names of an input's axes where ``forward`` says ``b, t, d = x.shape``."""
    kind = next((n for n in ast.walk(tree) if getattr(n, "name", "") == type(model).__name__), None)
    body = getattr(kind, "body", [])
    forward = next((one for one in body if getattr(one, "name", "") == "forward"), None)
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    changed: set[str] = set()  # names that are no longer the input's
    for line in getattr(forward, "body", []):
        word, parts = _unpacking(line)
        if word and word not in changed:
            found.setdefault((word, len(parts)), tuple(map(_spelled, parts)))
        stored = (n for n in ast.walk(line) if isinstance(getattr(n, "ctx", None), ast.Store))
        changed |= {node.id for node in stored if isinstance(node, ast.Name)}
    return found


def _unpacking(line: ast.stmt) -> tuple[str, list[ast.expr]]:
    """Returns the array whose shape a line unpacks, and what its sizes are put into."""
    if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Tuple):
        return "", []
    value = line.value.func if isinstance(line.value, ast.Call) else line.value
    if not isinstance(value, ast.Attribute) or value.attr not in ("shape", "size"):
        return "", []
    return getattr(value.value, "id", ""), line.targets[0].elts


def _spelled(target: ast.expr) -> str:
    """Returns the name of a size; nothing for one that is not used."""
    return f"`{target.id}`" if isinstance(target, ast.Name) and target.id.strip("_") else ""


def _names(model: nn.Module, run: Run, index: int, rank: int) -> tuple[str, ...]:
    """Returns the usual names of an input's axes; none where it is not known which comes first."""
    if any(getattr(part, "batch_first", True) is False for part in model.modules()):
        return ()
    arrays = {id(run.layers[0].arrays[index])}
    for call in run.calls:
        if not any(id(array) in arrays for array in call.takes):
            continue
        if found := NAMES.get((rank, NAMED.get(call.name, call.name))):
            return found
        pattern = " ".join(str(call.words.get(1, "")).split())
        if call.name == "rearrange" and PATTERN.match(pattern):
            return PICTURE if rank == len(PICTURE) else ()
        if [each.dim() for each in call.gives] == [rank]:  # such as relu
            arrays.add(id(call.gives[0]))
    return ()
