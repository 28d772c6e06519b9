"""Inputs that are objects of which a module reads attributes, such as ``data.x`` of a graph."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn
from torch.utils import _pytree as tree

from ncd.pytorch_source.base.source_values import Plain, Record
from ncd.pytorch_source.usual.inputs_in_parts import attributes

MOST = 12  # attributes of an input
SIDE = ("edge_index", "edge_attr", "edge_weight", "batch", "pos", "mask", "adj", "adj_t", "y")
Attributes = Mapping[str, Sequence[str]]  # of inputs, by their names; none of an array


def attributes_of(forward: ast.AST, names: Sequence[str]) -> dict[str, list[str]]:
    """Returns the attributes that a ``forward`` reads of its inputs, where these are no arrays.

    The main array of an object comes first.

    >>> tree = ast.parse("def forward(self, data, y): return data.edge_index, data.x, y.shape")
    >>> attributes_of(tree, ["data", "y"])
    {'data': ['x', 'edge_index']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        if 0 < len(read := attributes(forward, name)) <= MOST:
            found[name] = sorted(read, key=lambda one: one in SIDE)
    return found


def spread(names: Sequence[str], attributes: Attributes) -> list[str]:
    """Returns the names of all arrays of some inputs.

    >>> spread(["data", "y"], {"data": ["x", "mask"]})
    ['data.x', 'data.mask', 'y']
    """
    found: list[str] = []
    for name in names:
        found += [f"{name}.{one}" for one in attributes.get(name, ())] or [name]
    return found


def gathered(names: Sequence[str], attributes: Attributes, values: Sequence[Any]) -> Iterator[Any]:
    """Yields the inputs that some arrays make, those of an object together."""
    left = iter(values)
    for name in names:
        if own := attributes.get(name, ()):
            made = Record()
            made.own |= {one: next(left) for one in own}
            see_inside(Record)
            yield made
        else:
            yield next(left)


def see_inside(kind: type) -> None:
    """Lets torch see the arrays in the objects of a class that is no module."""
    if kind not in tree.SUPPORTED_NODES:
        tree.register_pytree_node(
            kind,
            lambda x: ([*x.own.values()], (kind, tuple(x.own))),
            _remade,
            serialized_type_name=f"ncd.{kind.__name__}",
            flatten_with_keys_fn=lambda x: (
                [(tree.GetAttrKey(key), each) for key, each in x.own.items()],
                (kind, tuple(x.own)),
            ),
        )


def _remade(values: Any, context: Any) -> Plain:
    kind, names = context
    made: Plain = object.__new__(kind)
    made.own = dict(zip(names, values, strict=True))
    return made


def required(model: nn.Module) -> list[str]:
    """Returns the required inputs of a module."""
    kinds = inspect.Parameter
    given = inspect.signature(model.forward).parameters.values()
    taken = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    return [one.name for one in given if one.default is kinds.empty and one.kind in taken]


def by_name(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the inputs of a module, and those among them that it takes by their names alone.

    >>> class Sum(nn.Module):
    ...     def forward(self, x, *, y):
    ...         return x + y
    >>> by_name(Sum(), (1, 2))
    ((1,), {'y': 2})
    """
    given = inspect.signature(model.forward).parameters.values()
    kinds = inspect.Parameter
    needed = [x.name for x in given if x.kind is kinds.KEYWORD_ONLY and x.default is kinds.empty]
    at = len(inputs) - len(needed)
    if not needed or at < 0:
        return inputs, {}
    return inputs[:at], dict(zip(needed, inputs[at:], strict=True))
