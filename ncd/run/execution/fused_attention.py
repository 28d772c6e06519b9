"""Attention as one call of ``F.scaled_dot_product_attention``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.formulas.expr import Group
from ncd.run.execution.evaluate import Code, Like
from ncd.run.execution.tensor_ops import permuted, rearranged

Move = Callable[[Tensor], Tensor]
Sorted = tuple[Group, Group, Group]  # the dimensions of heads, queries and keys


class Mask(NamedTuple):
    """A mask that hides scores or is added to them; ``args`` are its inputs of the step."""

    code: Code
    hides: bool
    args: slice


@dataclass(frozen=True)
class Attention:
    """Attention of a query, a key and a value in any order of dimensions.

    Each is brought to (batch, heads, positions, features) with contiguous features, for which torch
    is fast.
    """

    moves: tuple[Move, Move, Move]
    back: Move
    scale: float
    causal: bool
    masks: tuple[Mask, ...]
    shaped: Move

    def __call__(self, args: Sequence[Tensor], own: Any, like: Like) -> Tensor:
        parts = [move(x) for move, x in zip(self.moves, args, strict=False)]
        leads = [x.shape[:-3] for x in parts]
        lead: tuple[int, ...] = leads[0]
        if leads[1] != lead or leads[2] != lead:
            lead = torch.broadcast_shapes(*leads)
            parts = [x.expand(lead + x.shape[-3:]) for x in parts]
        query, key, value = [_ready(x) for x in parts]
        mask = self._mask(args, like, lead)
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(query.dtype)
        out = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=self.causal, scale=self.scale
        )
        if mask is not None:
            out = self._blinded(out, mask, value)
        if len(lead) != 1:
            out = out.reshape(lead + out.shape[-3:])
        return self.back(out)

    def _mask(self, args: Sequence[Tensor], like: Like, lead: tuple[int, ...]) -> Tensor | None:
        """Combines all masks: true where a score counts, or the numbers that are added to it."""
        hidden: Tensor | None = None
        added: Tensor | None = None
        for mask in self.masks:
            x = self.shaped(mask.code(args[mask.args], None, like))
            if mask.hides:
                hidden = x if hidden is None else hidden | x
            else:
                added = x if added is None else added + x
        if added is not None:
            both = added if hidden is None else torch.where(hidden, -math.inf, added)
        elif hidden is not None:
            both = ~hidden
        else:
            return None
        if both.dim() > 4:
            both = both.expand(lead + both.shape[-3:])
        return _batch(both)

    def _blinded(self, out: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        """Returns NaN for each query that sees no key, as a softmax of nothing does.

        Torch returns 0 there. Gradients also match the separate steps: none through a hidden
        score, and some through an added mask.
        """
        hidden = ~mask if mask.dtype == torch.bool else mask == -math.inf
        blind = hidden.all(-1, keepdim=True)
        if not all(part.hides for part in self.masks):
            return out * torch.where(blind, math.nan, 1.0).to(out.dtype)
        spoilt = torch.where(blind.any(-2, keepdim=True), math.nan, 0.0).to(out.dtype)
        return torch.where(blind, spoilt * value.sum(-2, keepdim=True), out)


def attending(
    arrays: tuple[Group, Group, Group],
    scores: Sorted,
    weights: Sorted,
    features: tuple[Group, Group],
    out: Group,
    order: tuple[int, ...],
    scale: float,
    causal: bool,
    masks: tuple[Mask, ...],
) -> Attention:
    """Returns the step of an attention.

    ``arrays`` are the dimensions of query, key and value. ``scores`` and ``weights`` are those of
    the scores, by the names of the first and of the second product; ``order`` is where these are
    in the scores. ``features`` are those of the query and of the value.
    """
    heads, queries, keys = scores
    moves = (
        _move(arrays[0], (heads, queries, features[0])),
        _move(arrays[1], (heads, keys, features[0])),
        _move(arrays[2], (weights[0], weights[2], features[1])),
    )
    given = (weights[0], weights[1], features[1])
    back = rearranged(given, tuple((dim,) for dim in out))
    return Attention(moves, back, scale, causal, masks, _shaped(scores, order))


def _move(before: Group, after: tuple[Group, ...]) -> Move:
    return rearranged(tuple((dim,) for dim in before), after)


def _shaped(scores: Sorted, order: tuple[int, ...]) -> Move:
    """Returns how to reshape a mask to (…, heads, queries, keys), each full or 1."""
    n, several = len(order), any(len(group) != 1 for group in scores)
    move = permuted([place - n for place in order])
    sizes = tuple(dim.size for group in scores for dim in group)
    ends = tuple(math.prod(dim.size for dim in group) for group in scores)

    def shaped(x: Tensor) -> Tensor:
        if x.dim() < n:
            x = x.reshape((1,) * (n - x.dim()) + x.shape)
        x = move(x)
        if not several:
            return x
        lead = x.shape[: x.dim() - n]
        return x.expand(lead + sizes).reshape(lead + ends)

    return shaped


def _batch(x: Tensor) -> Tensor:
    """Returns the tensor with exactly one batch axis before the last three."""
    if x.dim() == 4:
        return x
    return x.unsqueeze(0) if x.dim() == 3 else x.reshape((-1, *x.shape[-3:]))


def _ready(x: Tensor) -> Tensor:
    x = _batch(x)
    return x if x.stride(-1) == 1 else x.contiguous()
