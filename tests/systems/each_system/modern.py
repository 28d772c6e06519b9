"""Parts of today's transformers: norms, positions, gates, fewer keys, windows, experts, LoRA."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd import (
    Axes,
    CausalMask,
    Concat,
    Copy,
    Einsum,
    Id,
    Linear,
    Map,
    Param,
    Reduce,
    RMSNorm,
    Scale,
    Softmax,
    Term,
    Wire,
    seq,
)
from ncd.systems.shared_parts import scaled_dot_product
from ncd.systems.transformers.position_encoding import rope
from tests.systems.each_system.system import System, Weights


def sized(make: Callable[[], Term]) -> Callable[..., Term]:
    """What gives the term of ``make`` with its sizes; t, s, y and x are sequences."""

    def build(**sizes: int) -> Term:
        marks = {name: seq(n) if name in "tsyx" else n for name, n in sizes.items()}
        if "h" in sizes:
            marks["m"] = sizes["h"] * sizes["k"]
        return Axes(**marks)(make())

    return build


ONE = ({"t": 5, "m": 7}, {"t": 1, "m": 3}, {"t": 9, "m": 5})
HEADS = ({"t": 5, "h": 3, "k": 5}, {"t": 3, "h": 1, "k": 7}, {"t": 9, "h": 5, "k": 3})
EVEN = ({"t": 5, "h": 3, "k": 6}, {"t": 3, "h": 1, "k": 10}, {"t": 9, "h": 5, "k": 2})
CACHED = ({"s": 5, "h": 3, "k": 5}, {"s": 1, "h": 1, "k": 7}, {"s": 9, "h": 5, "k": 3})
GROUPS = (
    {"y": 5, "x": 7, "m": 9, "g": 3, "q": 5, "k": 3},
    {"y": 3, "x": 1, "m": 5, "g": 1, "q": 3, "k": 7},
    {"y": 1, "x": 9, "m": 7, "g": 5, "q": 1, "k": 5},
)


# --- norms ---------------------------------------------------------------------------------------


def layer_norm() -> Term:
    """Layer norm from Reduce and Map: less the mean, over the root of the variance."""
    return (
        Copy("t m")
        >> Reduce("m ->", "mean")
        >> Map("t, t m -> t m", "$2 - $1")
        >> Copy("t m")
        >> Map("m -> m", "$1 ** 2")
        >> Reduce("m ->", "mean")
        >> Map("t, t m -> t m", "$2 / sqrt($1 + 1e-5)")
        >> Param("m", "weight", "1 + normal / 4")
        >> Map("m, t m -> t m", "$1 * $2")
        >> Param("m", "bias", "normal")
        >> Map("m, t m -> t m", "$1 + $2")
    )


def layer_norm_reference(w: Weights, x: Tensor, **sizes: int) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], w["weight"], w["bias"])


def rms_norm() -> Term:
    """x / √(mean x² + ε), with a gain."""
    return (
        Copy("t m")
        >> Map("m -> m", "$1 ** 2")
        >> Reduce("m ->", "mean")
        >> Map("t, t m -> t m", "$2 / sqrt($1 + 1e-5)")
        >> Param("m", "weight", "1 + normal / 4")
        >> Map("m, t m -> t m", "$1 * $2")
    )


def rms_norm_op() -> Term:
    return Id("t m") >> RMSNorm("m", "norm", 1e-5)


def rms_norm_reference(w: Weights, x: Tensor, **sizes: int) -> Tensor:
    (weight,) = w.values()
    return F.rms_norm(x, x.shape[-1:], weight, 1e-5)


# --- positions -----------------------------------------------------------------------------------


def rope_attention() -> Term:
    """Attention of a sequence to itself with RoPE on queries and keys."""
    return (
        Wire("t m -> t m, t m, t m")
        >> (Linear("m -> h k", "q") >> rope())
        @ (Linear("m -> h k", "k") >> rope())
        @ Linear("m -> h k", "v")
        >> scaled_dot_product(CausalMask("y x"))
        >> Linear("h k -> m", "o")
    )


def rope_reference(w: Weights, x: Tensor, *, h: int, **sizes: int) -> Tensor:
    """After Llama's ``rotate_half``."""
    q, k, v = (F.linear(x, w[f"{name}.weight"]).unflatten(-1, (h, -1)) for name in "qkv")
    half = q.shape[-1] // 2
    speed = 1 / 10000 ** (torch.arange(half, dtype=x.dtype) / half)
    angle = (torch.arange(len(x), dtype=x.dtype)[:, None] * speed).repeat(1, 2)[:, None]

    def turned(a: Tensor) -> Tensor:
        one, two = a.chunk(2, -1)
        return a * angle.cos() + torch.cat((-two, one), -1) * angle.sin()

    q, k, v = (a.transpose(0, 1) for a in (turned(q), turned(k), v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.linear(out.transpose(0, 1).flatten(1), w["o.weight"])


def biased(bias: str) -> Term:
    """Attention whose scores are changed by a formula of the positions."""
    return (
        Wire("t m -> t m, t m, t m")
        >> Linear("m -> h k", "q") @ Linear("m -> h k", "k") @ Linear("m -> h k", "v")
        >> scaled_dot_product(Map("y x h -> y x h", bias), CausalMask("y x"))
        >> Linear("h k -> m", "o")
    )


def alibi() -> Term:
    """ALiBi: the score falls with the distance, at a speed of its own for every head."""
    return biased("$1 - 2 ** (-8 * (h + 1) / n_h) * (y - x)")


def window() -> Term:
    """A query sees the last three positions."""
    return biased("where(y - x >= 3, -inf, $1)")


def biased_reference(w: Weights, x: Tensor, bias: Tensor, h: int) -> Tensor:
    q, k, v = (F.linear(x, w[f"{name}.weight"]) for name in "qkv")
    q, k, v = (a.unflatten(-1, (h, -1)).transpose(0, 1) for a in (q, k, v))
    hidden = torch.ones(len(x), len(x)).triu(1).bool()
    mask = bias.masked_fill(hidden, -torch.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return F.linear(out.transpose(0, 1).flatten(1), w["o.weight"])


def distances(x: Tensor) -> Tensor:
    at = torch.arange(len(x), dtype=x.dtype)
    return at[:, None] - at


def alibi_reference(w: Weights, x: Tensor, *, h: int, **sizes: int) -> Tensor:
    slopes = torch.tensor([2 ** (-8 * (i + 1) / h) for i in range(h)], dtype=x.dtype)
    return biased_reference(w, x, -slopes[:, None, None] * distances(x), h)


def window_reference(w: Weights, x: Tensor, *, h: int, **sizes: int) -> Tensor:
    far = distances(x) >= 3
    return biased_reference(w, x, torch.zeros_like(distances(x)).masked_fill(far, -torch.inf), h)


# --- fewer keys, kept keys -----------------------------------------------------------------------


def grouped_queries() -> Term:
    """g groups of q queries share a key and a value."""
    return (
        Wire("y m, x m -> y m, x m, x m")
        >> Linear("m -> g q k", "q") @ Linear("m -> g k", "k") @ Linear("m -> g k", "v")
        >> Einsum("y g q k, x g k -> g q y x", "scores")
        >> Scale("k")
        >> Softmax("x")
        >> Einsum("g q y x, x g k -> y g q k")
        >> Linear("g q k -> m", "o")
    )


def grouped_reference(
    w: Weights, target: Tensor, source: Tensor, *, g: int, q: int, **sizes: int
) -> Tensor:
    queries = F.linear(target, w["q.weight"]).unflatten(-1, (g * q, -1))
    k, v = (F.linear(source, w[f"{name}.weight"]).unflatten(-1, (g, -1)) for name in "kv")
    heads = (a.transpose(0, 1) for a in (queries, k, v))
    out = F.scaled_dot_product_attention(*heads, enable_gqa=True)
    return F.linear(out.transpose(0, 1).flatten(1), w["o.weight"])


def cached_step() -> Term:
    """One position more, with the keys and values of the s before; gives them for the next."""
    return (
        Wire("1 m, s h k, s h k -> 1 m, s h k, 1 m, s h k, 1 m")
        >> Linear("m -> h k", "q")
        @ (Id("s h k") @ Linear("m -> h k", "k"))
        @ (Id("s h k") @ Linear("m -> h k", "v"))
        >> Id("1 h k") @ Concat("s, 1 -> x") @ Concat("s, 1 -> x")
        >> Wire("1 h k, x h k, x h k -> 1 h k, x h k, x h k, x h k, x h k")
        >> scaled_dot_product()
        >> Linear("h k -> m", "o")
    )


def cached_reference(
    w: Weights, x: Tensor, keys: Tensor, values: Tensor, *, h: int, **sizes: int
) -> tuple[Tensor, ...]:
    q, k, v = (F.linear(x, w[f"{name}.weight"]).unflatten(-1, (h, -1)) for name in "qkv")
    keys, values = torch.cat((keys, k)), torch.cat((values, v))
    heads = (a.transpose(0, 1) for a in (q, keys, values))
    out = F.scaled_dot_product_attention(*heads)
    return F.linear(out.transpose(0, 1).flatten(1), w["o.weight"]), keys, values


SYSTEMS = (
    System("layer norm from maps", sized(layer_norm), layer_norm_reference, ONE),
    System("RMS norm from maps", sized(rms_norm), rms_norm_reference, ONE),
    System("RMS norm", sized(rms_norm_op), rms_norm_reference, ONE),
    System("RoPE", sized(rope_attention), rope_reference, EVEN),
    System("ALiBi", sized(alibi), alibi_reference, HEADS),
    System("sliding window", sized(window), window_reference, HEADS),
    System("grouped queries", sized(grouped_queries), grouped_reference, GROUPS),
    System("step with a cache", sized(cached_step), cached_reference, CACHED),
)
