"""The first layer that takes each input, which fixes its width; formats of inputs."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_map_only

from ncd.read.python_source.input_shapes import LAYERS
from ncd.read.python_source.interpreter import LONG_FORMATS
from ncd.read.torch_module.from_torch import example_tensors

# --- The first layer that a ``forward`` gives each of its inputs to, as this fixes their widths

NORMS = (_BatchNorm,)  # which fix a size of their input too, where nothing stands before them
SAME_SHAPE_METHODS = (
    "float",
    "long",
    "double",
    "to",
    "cuda",
    "contiguous",
    "detach",
    "clone",
)  # keep the shape


def first_layers(
    forward: ast.AST, names: Collection[str], model: nn.Module
) -> dict[str, nn.Module]:
    """Returns the first layer that takes each input, by its name, key or attribute.

    Args:
        forward: The source of a ``forward``.
        names: The names of its inputs; of ``b["x"]`` and of ``b.x`` the name is ``b.x``.
        model: The module, whose layers are found by their paths.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.a, self.b = nn.Linear(13, 4), nn.Sequential(nn.ReLU(), nn.Linear(7, 4))
    >>> text = "def forward(self, d, y): x = d['x']; return self.a(x.float()) + self.b(y)"
    >>> tree = ast.parse(text)
    >>> {name: layer.in_features for name, layer in first_layers(tree, ["d", "y"], Net()).items()}
    {'d.x': 13, 'y': 7}
    """
    known = {name: name for name in names}
    found: dict[str, nn.Module] = {}
    nodes = [one for one in ast.walk(forward) if isinstance(one, ast.Assign | ast.Call)]
    for node in sorted(nodes, key=_end):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                _name(known, target, value)
            continue
        layer = _layer(node.func, model)
        for value in node.args[:1] if layer is not None else ():
            if (part := _part(value, known)) and layer is not None:
                found.setdefault(part, layer)
    return found


def _end(node: ast.Assign | ast.Call) -> tuple[int, int, bool]:
    """Returns where a node ends: what is called in an assignment comes before it."""
    return node.end_lineno or 0, node.end_col_offset or 0, isinstance(node, ast.Assign)


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Returns the targets of an assignment with their values: of ``a, b = x, y`` both."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [*zip(target.elts, value.elts, strict=False)]
    return [(target, value)]


def _name(known: dict[str, str], target: ast.expr, value: ast.expr) -> None:
    """Notes which part of an input a name stands for from here on."""
    if isinstance(target, ast.Name):
        known.pop(target.id, None)
        if part := _part(value, known):
            known[target.id] = part


def _part(node: ast.expr, known: dict[str, str]) -> str:
    """Returns which part of an input an expression is, in its shape; empty if it is none."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    call = node.func if isinstance(node, ast.Call) else None
    if isinstance(call, ast.Attribute) and call.attr in SAME_SHAPE_METHODS:
        return _part(call.value, known)
    key: Any = None
    if isinstance(node, ast.Subscript):
        key, owner = node.slice, node.value
    elif isinstance(call, ast.Attribute) and call.attr == "get" and node.args:  # type: ignore[attr-defined]
        key, owner = node.args[0], call.value  # type: ignore[attr-defined]
    elif isinstance(node, ast.Attribute):
        key, owner = ast.Constant(node.attr), node.value
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return ""
    whole = _part(owner, known)
    return f"{whole}.{key.value}" if whole and "." not in whole else ""


def _layer(node: ast.expr, model: nn.Module) -> nn.Module | None:
    """Returns the first layer in what ``self.encoder.first`` names; None where that is none."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    part: Any = model if isinstance(node, ast.Name) and node.id == "self" and path else None
    for name in path:
        part = part._modules.get(name) if isinstance(part, nn.Module) else None
    if not isinstance(part, nn.Module):
        return None
    return next((one for one in part.modules() if isinstance(one, (*LAYERS, *NORMS))), None)


# --- Assumed and written inputs in the format that a module takes, and the order of their axes


def in_range(model: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Returns the input of an embedding as whole numbers of its range, where none is given.

    >>> in_range(nn.Embedding(100, 8), (torch.ones(2, 5),))[0].dtype
    torch.int64
    """
    first = next((part for part in model.modules() if isinstance(part, LAYERS)), None)
    real = len(given) == 1 and given[0].is_floating_point()
    if not real or not isinstance(first, nn.Embedding):
        return given
    if not type(model).__module__.startswith("torch.nn."):  # it may take real numbers first
        return given
    return example_tensors(f"{'x'.join(map(str, given[0].shape))}#{first.num_embeddings}")


def in_format(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns inputs in the format that the first weights of the module have, if it is a real one.

    >>> [x.dtype for x in in_format(nn.Linear(2, 2).half(), (torch.ones(2), torch.tensor([1])))]
    [torch.float16, torch.int64]
    """
    if (kind := _weight_format(model)) is None:
        return inputs
    real = (isinstance(x, Tensor) and x.is_floating_point() and x.dtype != kind for x in inputs)
    return tuple(x.to(kind) if other else x for x, other in zip(inputs, real, strict=True))


def in_long_format(model: nn.Module, given: Any) -> Any:
    """Returns what a source gives a module, its short formats as that of the drawn weights.

    A drawing gives weights no short format, so the arrays beside them have none either.
    """
    kind = _weight_format(model)
    if kind not in LONG_FORMATS:
        return given

    def lengthened(x: Tensor) -> Tensor:
        return x.to(kind) if x.is_floating_point() and x.dtype not in LONG_FORMATS else x

    return tree_map_only(Tensor, lengthened, given)


def _weight_format(model: nn.Module) -> torch.dtype | None:
    """Returns the format of the first weights that are real numbers; None without any."""
    every = (each.dtype for each in model.parameters() if each.is_floating_point())
    return next(every, None)


def steps_first(model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, str]:
    """Returns the axes of the input of a recurrent layer that takes its steps before its batch."""
    first = inputs[0] if inputs else None
    if isinstance(model, nn.RNNBase) and isinstance(first, Tensor) and first.dim() == 3:
        return {} if model.batch_first else {"input": "t b m"}
    return {}
