"""The functions of torch that stand for folded modules in its graph, without their values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.library import Library
from torch.utils._pytree import tree_flatten, tree_unflatten

from ncd.ops.torch_calls.opaque import FOLDED
from ncd.pytorch_source.listed.elsewhere import function_words

_FUNCTIONS = Library(FOLDED, "DEF")
_defined: set[str] = set()


def module_box(kind: str, given: list[Tensor], results: Any) -> Any:
    """Returns the results of a box in the place of those of a module.

    Args:
        kind: The class of the module.
        given: The arrays that it takes.
        results: What it gives: arrays of these shapes, perhaps in tuples or dictionaries.

    >>> x = torch.zeros(2, 3)
    >>> [each.shape for each in module_box("Gate", [x], (x, torch.zeros(4)))]
    [torch.Size([2, 3]), torch.Size([4])]
    """
    leaves, spec = tree_flatten(results)
    shapes = [[int(n) for n in x.shape] for x in leaves if isinstance(x, Tensor)]
    call = _function(function_words(kind), len(shapes))
    found = call(given, [n for shape in shapes for n in shape], [*map(len, shapes)])
    made = iter(found if isinstance(found, tuple) else (found,))
    return tree_unflatten([next(made) if isinstance(x, Tensor) else x for x in leaves], spec)


def _function(name: str, count: int) -> Any:
    """Returns the function with so many results, an overload that is made at its first call."""
    overload = "default" if count == 1 else f"results{count}"
    whole = name if count == 1 else f"{name}.{overload}"
    if whole not in _defined:
        gives = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        _FUNCTIONS.define(f"{whole}(Tensor[] arrays, int[] sizes, int[] ranks) -> {gives}")
        _FUNCTIONS.impl(whole, _zeros, "CompositeExplicitAutograd")
        _defined.add(whole)
    return getattr(getattr(getattr(torch.ops, FOLDED), name), overload)


def _zeros(arrays: list[Tensor], sizes: list[int], ranks: list[int]) -> Any:
    """Returns arrays of 0 with such sizes, of which each has so many."""
    like = next((x for x in arrays if x.is_floating_point()), torch.empty(0))
    left = iter(sizes)
    found = tuple(like.new_zeros([next(left) for _ in range(rank)]) for rank in ranks)
    return found if len(found) > 1 else found[0]
