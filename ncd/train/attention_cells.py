"""Kinds of cells of an attention map, and the share of a map's weight on them.

Each function takes tokens (…, t) and returns a mask (…, t, t): rows are queries, columns keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def itself(tokens: Tensor) -> Tensor:
    """Returns the cells of the query's own position."""
    return _spread(torch.eye(tokens.shape[-1], dtype=torch.bool), tokens)


def first(tokens: Tensor) -> Tensor:
    """Returns the cells of the first position."""
    t = tokens.shape[-1]
    return _spread(torch.arange(t).expand(t, t) == 0, tokens)


def previous(tokens: Tensor) -> Tensor:
    """Returns the cells of the position before."""
    t = tokens.shape[-1]
    return _spread(torch.eye(t, dtype=torch.bool).roll(1, 0).tril(), tokens)


def mirrored(tokens: Tensor) -> Tensor:
    """Returns the cells of the mirrored position, as far from the end as the query from the start.

    >>> mirrored(torch.tensor([5, 5, 5])).int().tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    return _spread(torch.eye(tokens.shape[-1], dtype=torch.bool).flip(0), tokens)


def same(tokens: Tensor) -> Tensor:
    """Returns the cells of earlier positions with the same symbol."""
    return (tokens[..., :, None] == tokens[..., None, :]).tril(-1)


def following(tokens: Tensor) -> Tensor:
    """Returns the cells after an earlier equal symbol, where an induction head looks.

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".

    >>> following(torch.tensor([7, 8, 7])).int().tolist()
    [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    """
    return same(tokens).roll(1, -1) & _spread(_reached(tokens.shape[-1]), tokens)


def opened(tokens: Tensor) -> Tensor:
    """Returns the cells of the innermost open bracket; even symbols open, odd ones close.

    A bracket that closes nothing is ignored.

    >>> opened(torch.tensor([0, 2, 3, 1])).int().tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    """
    opens = tokens % 2 == 0
    count = torch.where(opens, 1, -1).cumsum(-1)
    depth = count - count.cummin(-1).values.clamp(max=0)
    level = depth[..., :, None] == depth[..., None, :]  # of an opening bracket it is 1 or more
    every = level & opens[..., None, :] & _spread(_reached(tokens.shape[-1]), tokens)
    places = torch.arange(tokens.shape[-1], device=tokens.device)
    return every & (places == last(every)[..., None])


def last(cells: Tensor) -> Tensor:
    """Returns the last selected column of each row; rows without one get any column."""
    return cells.shape[-1] - 1 - cells.flip(-1).byte().argmax(-1)


def _reached(t: int) -> Tensor:
    """Returns the cells up to the query's position."""
    return torch.ones(t, t, dtype=torch.bool).tril()


def _spread(cells: Tensor, tokens: Tensor) -> Tensor:
    """Returns the same cells for every sequence."""
    return cells.to(tokens.device).expand(*tokens.shape[:-1], *cells.shape)


# The kinds that occur in sequences of any task.
CELLS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "itself": itself,
    "first token": first,
    "previous token": previous,
    "same token": same,
    "after the same token": following,
}


def share(weights: Tensor, cells: Tensor) -> float:
    """Returns the share of a map's weight (…, t, t) on the cells, averaged over rows with any.

    The cells may lack leading axes, such as that of the heads.

    >>> share(torch.tensor([[1.0, 0.0], [0.25, 0.75]]), previous(torch.tensor([3, 3])))
    0.25
    """
    found = (weights * cells).sum(-1)
    found = found[cells.any(-1).expand(found.shape)]
    return float(found.mean()) if len(found) else 0.0
