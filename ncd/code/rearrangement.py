"""Writes rearranged, aligned and contracted dimensions, with einops or with torch alone."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence

from ncd.code.line_breaking import Code, method, tuple_of
from ncd.lang.formulas.expr import Group
from ncd.lang.types.axes import Dim

Groups = tuple[Group, ...]
DimName = Callable[[Dim], str]
SizeOf = Callable[[Dim], Code]


def pattern(before: Groups, after: Groups, name: DimName, batched: bool) -> tuple[str, list[Dim]]:
    """Returns einops' pattern, and the dimensions whose sizes it needs: all but one of a group."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    while same and any(len(group) != 1 for group in before[:same]):
        same -= 1
    before, after = before[same:], after[same:]
    lead = ["..."] if batched or same else []
    left, right = ([*lead, *(_grouped(group, name) for group in side)] for side in (before, after))
    sizes = [dim for group in before for dim in group[1:]]
    return f'"{" ".join(left)} -> {" ".join(right)}"', sizes


def _grouped(group: Group, name: DimName) -> str:
    names = [name(dim) for dim in group]
    return f"({' '.join(names)})" if len(names) > 1 else names[0] if names else "1"


def product(
    before: Sequence[Group], after: Group, name: DimName, batched: Sequence[bool], join: str
) -> str:
    """Returns the pattern of an einsum; ``join`` separates dimensions."""
    sides = [
        join.join([*(["..."] if has else []), *map(name, group)])
        for group, has in zip((*before, after), (*batched, any(batched)), strict=True)
    ]
    comma, arrow = (", ", " -> ") if join else (",", "->")
    return f'"{comma.join(sides[:-1])}{arrow}{sides[-1]}"'


def letters(before: Sequence[Group]) -> DimName:
    """Returns a letter for each dimension: the first of its name if that is free."""
    found: dict[tuple[str, int], str] = {}
    free = dict.fromkeys(string.ascii_lowercase + string.ascii_uppercase)
    for dim in (dim for group in before for dim in group):
        if dim.key not in found:
            first = dim.name[0]
            found[dim.key] = first if first in free else next(iter(free))
            del free[found[dim.key]]
    return lambda dim: found[dim.key]


def spread(kept: Sequence[bool], batched: bool) -> str:
    """Returns an index that adds size 1 for missing dimensions: ``[..., None, :]``.

    Missing dimensions before all others matter only with batch axes.
    """
    words = [":" if has else "None" for has in kept]
    if not batched and ":" in words:
        words = words[words.index(":") :]
    elif not batched:
        words = []
    while words[:1] == [":"]:
        del words[0]
    return f"[..., {', '.join(words)}]" if "None" in words else ""


# --- on torch alone ------------------------------------------------------------------------------


def by_methods(on: Code, before: Groups, after: Groups, size: SizeOf) -> Code:
    """Returns the rearrangement with ``unflatten``, ``transpose``, ``movedim``, ``flatten``."""
    on = _parted(on, before, size)
    start = [dim for group in before for dim in group]
    end = [dim for group in after for dim in group]
    on = _moved(on, [start.index(dim) for dim in end])
    return _merged(on, after)


def _parted(on: Code, before: Groups, size: SizeOf) -> Code:
    for place in reversed(range(len(before))):
        group = before[place]
        at = Code(str(-1 - sum(map(len, before[place + 1 :]))))
        if not group:
            on = method(on, "squeeze", (at,))
        elif len(group) > 1:
            sizes = ", ".join(["-1", *(size(dim).text for dim in group[1:])])
            on = method(on, "unflatten", (at, Code(f"({sizes})")))
    return on


def _merged(on: Code, after: Groups) -> Code:
    for done, group in enumerate(reversed(after)):  # so many dimensions are behind this one
        last = Code(str(-1 - done))
        if not group:
            on = method(on, "unsqueeze", (last,))
        elif len(group) > 1:
            first = Code(str(-len(group) - done))
            on = method(on, "flatten", (first, last) if done else (first,))
    return on


def _moved(on: Code, order: list[int]) -> Code:
    """Returns the last dimensions permuted; ``order`` says where each comes from."""
    n = len(order)
    moved = [to - n for to in range(n) if order[to] != to]
    if not moved:
        return on
    if len(moved) == 2:
        return method(on, "transpose", (Code(str(moved[0])), Code(str(moved[1]))))
    for to in (moved[0], moved[-1]):
        source = order[to] - n
        rest = [i for i in range(n) if i != source + n]
        rest.insert(to + n, source + n)
        if rest == order:
            return method(on, "movedim", (Code(str(source)), Code(str(to))))
    sources = tuple_of([Code(str(order[to] - n)) for to in moved])
    return method(on, "movedim", (sources, tuple_of([Code(str(to)) for to in moved])))
