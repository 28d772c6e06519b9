"""Inputs in parts: dictionaries, tuples and lists of arrays, as a ``forward`` reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from torch import Tensor, nn

from ncd.importing.module_files import example_tensors
from ncd.pytorch_source.usual.several_inputs import KEYS, LISTS, WIDTHS, Guess, fits


def keyed(
    forward: ast.AST,
    name: str,
    shape: str,
    settings: dict[str, Any],
    own: Mapping[str, str] = MappingProxyType({}),
) -> Guess | None:
    """Returns a dictionary for an input of which a ``forward`` reads keys; None if it reads none.

    ``own`` are shapes of its arrays, by their names such as ``x.high``; others have the main one.

    >>> tree = ast.parse("def forward(self, x): return x['low'] + x['high']")
    >>> keyed(tree, "x", "1x8x4x4", {"low_channels": 3}).words
    'low 1x3x4x4, high 1x8x4x4'
    """
    keys = [one.value for one in _places(forward, name) if isinstance(one, ast.Constant)]
    shapes: dict[str, str] = {}
    for key in (one for one in keys if isinstance(one, str)):
        width = settings.get(f"{key}_channels")
        first, _, *rest = shape.split("x")
        named = "x".join((first, str(width), *rest))
        usual = named if type(width) is int and fits(named) else shape
        shapes[key] = own.get(f"{name}.{key}", usual)
    if not 0 < len(shapes) <= KEYS:
        return None
    found = {key: example_tensors(each)[0] for key, each in shapes.items()}
    words = ", ".join(f"{key} {each}" for key, each in shapes.items())
    return Guess((found,), words)


def _places(forward: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yields what an input is read at: ``k`` of ``x[k]`` and of ``x.get(k)``."""
    for one in ast.walk(forward):
        if isinstance(one, ast.Subscript) and _is(one.value, name):
            yield one.slice
        call = one.func if isinstance(one, ast.Call) and one.args else None
        if isinstance(call, ast.Attribute) and call.attr == "get" and _is(call.value, name):
            yield one.args[0]  # type: ignore[attr-defined]


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def tupled(forward: ast.AST, name: str, shape: str) -> Guess | None:
    """Returns a tuple for an input that a ``forward`` takes apart; None if it does not.

    >>> tupled(ast.parse("def forward(self, x): a, b = x"), "x", "1x8").words
    'a tuple of 1x8, 1x8'
    """
    count = max(
        (
            len(one.targets[0].elts)
            for one in ast.walk(forward)
            if isinstance(one, ast.Assign)
            and _is(one.value, name)
            and isinstance(one.targets[0], ast.Tuple | ast.List)
        ),
        default=0,
    )
    if not count:
        keys = [one.value for one in _places(forward, name) if isinstance(one, ast.Constant)]
        whole = {key for key in keys if type(key) is int}
        count = max(whole) + 1 if {0, 1} <= whole else 0
    if not 1 < count <= KEYS:
        return None
    arrays = tuple(example_tensors(shape)[0] for _ in range(count))
    return Guess((arrays,), f"a tuple of {', '.join([shape] * count)}")


def attributes(forward: ast.AST, name: str) -> list[str]:
    """Returns the attributes that a ``forward`` reads of an input, and that no array has.

    >>> attributes(ast.parse("def forward(self, d): return d.x + d.shape[0] + d.y"), "d")
    ['x', 'y']
    """
    read = [one for one in ast.walk(forward) if isinstance(one, ast.Attribute)]
    read.sort(key=lambda one: (one.lineno, one.col_offset))
    names = dict.fromkeys(one.attr for one in read if _is(one.value, name))
    names.pop("get", None)
    return [each for each in names if not hasattr(Tensor, each)]


def lists(names: list[str], settings: dict[str, Any]) -> Guess | None:
    """Returns feature maps of halving sides for a module that is made with a list of widths.

    >>> lists(["features"], {"encoder_channels": (3, 8)}).words
    'a list of 1x3x64x64, 1x8x32x32'
    """
    if len(names) != 1 or names[0] not in LISTS:
        return None
    widths = next((w for n in WIDTHS if isinstance(w := settings.get(n), list | tuple)), ())
    whole = [n for n in widths if type(n) is int and n > 0]
    if not 1 < len(whole) < 8:
        return None
    shapes = [f"1x{n}x{64 >> i}x{64 >> i}" for i, n in enumerate(whole)]
    if not all(map(fits, shapes)):
        return None
    return Guess(([example_tensors(s)[0] for s in shapes],), f"a list of {', '.join(shapes)}")


def alongside(forward: ast.AST, names: list[str], model: nn.Module) -> Guess | None:
    """Returns a list for an input that a ``forward`` goes through together with layers.

    >>> class Hops(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.maps = nn.ModuleList([nn.Linear(8, 3), nn.Linear(4, 3)])
    >>> tree = ast.parse("def forward(self, xs): return [f(x) for x, f in zip(xs, self.maps)]")
    >>> alongside(tree, ["xs"], Hops()).words
    'a list of 1x8, 1x4'
    """
    for call in ast.walk(forward):
        args = call.args if isinstance(call, ast.Call) else []
        zipped = isinstance(call, ast.Call) and ast.unparse(call.func) == "zip"
        ours = [one.id for one in args if isinstance(one, ast.Name)]
        held = (getattr(model, x.attr, None) for x in args if isinstance(x, ast.Attribute))
        layers = next((x for x in held if isinstance(x, nn.ModuleList | nn.Sequential)), None)
        if not zipped or ours != names or layers is None or len(names) > 1:
            continue
        shapes = [_taken(layer) for layer in layers]
        if 0 < len(shapes) <= KEYS and all(shape and fits(shape) for shape in shapes):
            arrays = [example_tensors(shape)[0] for shape in shapes]
            return Guess((arrays,), f"a list of {', '.join(shapes)}")
    return None


def _taken(layer: nn.Module) -> str:
    """Returns the shape that the first layer in a module takes; empty if that is not known."""
    for part in layer.modules():
        if isinstance(part, nn.Linear):
            return f"1x{part.in_features}"
        if isinstance(part, nn.Conv2d):
            return f"1x{part.in_channels}x32x32"
    return ""
