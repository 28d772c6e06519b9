"""Writes lookups in a table, and sums into the places of one."""

from __future__ import annotations

from ncd.code.line_breaking import Code, called, method, receiver
from ncd.lang.formulas.expr import Lookup, Scattered


def looked_up(
    expr: Lookup, index: Code, table: Code, ranks: tuple[int, int], batched: tuple[bool, bool]
) -> Code:
    """Returns the shortest form of a lookup in torch.

    That is an embedding if nothing is shared, an index if only the table has a batch, and otherwise
    ``take_along_dim``, which needs equally many dimensions on both sides.
    """
    rank, rest = ranks[1], expr.rest
    if rank == 1 + rest and not batched[1]:
        if rest == 1:
            return called("F.embedding(", (index, table))
        return receiver(table).after(f"[{index.text}]")
    if rank == 1 + rest and not batched[0]:
        return receiver(table).after(f"[..., {index.text}{', :' * rest}]")
    places = _places(expr, index)
    width = ranks[0] - expr.own + 1 + rest  # of the places
    if batched == (False, True):
        places = _spread(places, width, table, rank)
    elif batched == (True, False):
        table = _spread(table, rank, index, ranks[0])
    dim = Code(f"dim={-1 - rest}")
    found = called("torch.take_along_dim(", (table, places, dim))
    if expr.own == 0:
        return method(found, "squeeze", (Code(str(-1 - rest)),))
    if expr.own == 1:
        return found
    sizes = f"{receiver(index).text}.shape[-{expr.own}:]"
    return method(found, "unflatten", (Code(str(-1 - rest)), Code(sizes)))


def scattered(
    expr: Scattered, index: Code, values: Code, ranks: tuple[int, int], batched: tuple[bool, bool]
) -> Code:
    """Returns zeros with values added at their places, by ``scatter_add``."""
    rest, dim = expr.rest, -1 - expr.rest
    places = _places(expr, index)
    if expr.own != 1:
        name, args = (
            ("unsqueeze", (dim,)) if expr.own == 0 else ("flatten", (dim - expr.own + 1, dim))
        )
        values = method(values, name, tuple(Code(str(arg)) for arg in args))
    if batched == (True, False):
        width = ranks[0] - expr.own + 1 + rest
        values = _spread(values, width, index, ranks[0])
    on = receiver(values).text
    sizes = [Code(f"*{on}.shape[:{dim}]"), Code(str(expr.size))]
    sizes += [Code(f"*{on}.shape[{-rest}:]")] if rest else []
    zeros = method(values, "new_zeros", tuple(sizes))
    wide = method(places, "expand_as", (values,))
    return method(zeros, "scatter_add", (Code(str(dim)), wide, values))


def _places(expr: Lookup | Scattered, index: Code) -> Code:
    """Returns the index with one dimension of its own, and size 1 for the others."""
    if expr.own > 1:
        index = method(index, "flatten", (Code(str(-expr.own)),))
    ones = expr.rest + (expr.own == 0)
    return receiver(index).after(f"[...{', None' * ones}]") if ones else index


def _spread(on: Code, rank: int, like: Code, like_rank: int) -> Code:
    """Returns a tensor with the batch axes of another in front."""
    lead = Code(f"*{receiver(like).text}.shape[:{-like_rank or ''}]")
    return method(on, "expand", (lead, *[Code("-1")] * rank))
