"""The axes that a call names, and whether its array has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from inspect import Parameter, isfunction, signature
from typing import Any

import sympy
import torch
from torch import Tensor

NAMES = (  # of the arguments that say which axes are meant
    *("dim", "dims", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "start_dim", "end_dim"),
    *("dimension", "source", "destination"),
)
ONE_MORE = ("stack", "unsqueeze", "unsqueeze_")  # count the axes of their result
COUNTS = ("tensordot",)  # whose number is how many axes there are


class NoAxis(IndexError):
    """An axis that an array does not have: the one that is named, and how many it has."""

    def __init__(self, axis: int, rank: int) -> None:
        super().__init__(f"axis {axis} of an array with {rank}")
        self.axis, self.rank = axis, rank


def check_axes(recorder: Any, call: Any) -> None:
    """Raises NoAxis for an axis that the array of a call does not have."""
    if not call.takes or call.name in COUNTS:
        return
    rank = max(1, max(x.dim() for x in call.takes[:2]) if "cosine" in call.name else _rank(call))
    for axis in named_axes(call.function, call.name, call.words):
        expr = recorder.table.expr(axis)
        place = recorder.table.value(expr)
        if not -rank <= place < rank:
            sides = (expr, rank - 1) if place >= rank else (-rank, expr)
            recorder.table.test(sympy.Le(*sides, evaluate=False), False)
            raise NoAxis(place, rank)


def _rank(call: Any) -> int:
    rank: int = call.takes[0].dim()
    return rank + (call.name in ONE_MORE)


def named_axes(function: Any, name: str, words: Mapping[int | str, Any]) -> Iterator[Any]:
    """Yields the whole numbers of a call that are axes, by the signature of its function.

    Args:
        function: The function of torch.
        name: Its name.
        words: What it is given, by place or name.

    >>> x = torch.ones(2, 3)
    >>> list(named_axes(torch.roll, "roll", {0: x, 1: 2, "dims": (0, 1)}))
    [0, 1]
    >>> list(named_axes(torch.max, "max", {0: x, 1: x}))
    []
    """
    places = [i for i in words if isinstance(i, int)]
    for names, types in _signatures(function, name):
        if not all(_takes(types, i, words[i]) for i in places):
            continue
        called = {i: names[min(i, len(names) - 1)] if isinstance(i, int) else i for i in words}
        given = [words[i] for i, own in called.items() if own in NAMES and own in names]
        every = [
            one for each in given for one in (each if isinstance(each, tuple | list) else [each])
        ]
        if every:
            whole = (one for one in every if isinstance(one, int | torch.SymInt))
            yield from (one for one in whole if not isinstance(one, bool))
            return


def _signatures(function: Any, name: str) -> list[tuple[list[str], list[str]]]:
    """Returns the names of the arguments of a function, and their types where torch says them."""
    plain = isfunction(function) and not hasattr(function, "__wrapped__")  # else one of C
    if not plain:
        return _schemas(name)
    taken = signature(function).parameters.values()
    return [([one.name for one in taken if one.kind is not Parameter.VAR_KEYWORD], [])]


@cache
def _schemas(name: str) -> list[tuple[list[str], list[str]]]:
    found = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    pairs = ([(one.name, str(one.type)) for one in schema.arguments] for schema in found)
    return [([name for name, _ in pair], [kind for _, kind in pair]) for pair in pairs if pair]


def _takes(types: list[str], place: int, value: Any) -> bool:
    """Returns whether a function takes a value at a place; several numbers may be its last list."""
    if not types:
        return True
    if place >= len(types):
        return "List[int]" in types[-1]
    kind = types[place]
    if isinstance(value, Tensor):
        return "Tensor" in kind and "List" not in kind
    if isinstance(value, bool):
        return "bool" in kind
    if isinstance(value, int | torch.SymInt):
        return "int" in kind or "number" in kind
    if isinstance(value, tuple | list):
        return "List" in kind
    return True
