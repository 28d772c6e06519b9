"""Transformer layers that decode one position at a time, with cached keys and values."""

from __future__ import annotations

from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.models.shared_parts import OPEN, Roles, feed_forward, residual, scaled_dot_product
from ncd.ops import Concat, Linear


def cached_layer(pre: bool, activation: str = "relu") -> Term:
    """A decoder-only layer on one new position, with a cache of s positions."""
    first = residual(_cached_self("s"), "norm1", pre, memory=", s h k, s h k", at="1")
    return first >> residual(feed_forward(activation), "norm2", pre, at="1")


def cached_decoder_layer(pre: bool, roles: Roles = OPEN) -> Term:
    """A decoder layer on one new position, with caches of u positions and of memory."""
    cross = Block(
        Linear("m -> h k", "q", True) @ Id("s h k, s h k")
        >> scaled_dot_product(axes=("y", "z"))
        >> Linear("h k -> m", "out", True),
        "Cached Cross-Attention",
        roles[0],
        "multihead_attn",
    )
    return (
        residual(_cached_self("u", roles[0]), "norm1", pre, memory=", u h k, u h k", at="1")
        >> residual(cross, "norm2", pre, memory=", s h k, s h k", at="1")
        >> residual(feed_forward(role=roles[1]), "norm3", pre, at="1")
    )


def _cached_self(before: str, role: str = "module") -> Term:
    """Self-attention of one new position, to itself and to the cached positions."""
    kept = f"{before} h k"
    return Block(
        Wire(f"1 m, {kept}, {kept} -> 1 m, {kept}, 1 m, {kept}, 1 m")
        >> Linear("m -> h k", "q", True)
        @ (Id(kept) @ Linear("m -> h k", "k", True))
        @ (Id(kept) @ Linear("m -> h k", "v", True))
        >> Id("1 h k") @ Concat(f"{before}, 1 -> t") @ Concat(f"{before}, 1 -> t")
        >> scaled_dot_product()
        >> Linear("h k -> m", "out", True),
        "Cached Self-Attention",
        role,
        "self_attn",
    )
