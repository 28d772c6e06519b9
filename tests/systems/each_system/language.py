"""A GPT with token ids, learned positions, a merged query-key-value map and a tied head."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from ncd import (
    Add,
    Axes,
    Block,
    CausalMask,
    Cut,
    Einsum,
    Index,
    LayerNorm,
    Linear,
    Param,
    Repeat,
    Split,
    Term,
    Wire,
    seq,
)
from ncd.systems.shared_parts import feed_forward, residual, scaled_dot_product
from tests.systems.each_system.system import System, Weights, under


def merged_attention() -> Term:
    """Queries, keys and values out of one map."""
    return Block(
        Linear("m -> 3d", "c_attn", True)
        >> Cut("3d -> hk, hk, hk")
        >> Split("hk -> h k") @ Split("hk -> h k") @ Split("hk -> h k")
        >> scaled_dot_product(CausalMask("y x"))
        >> Linear("h k -> m", "c_proj", True),
        "Self-Attention",
        "module",
        "attn",
    )


def gpt(t: int, v: int, h: int, k: int, d: int) -> Term:
    """GPT-2, two layers."""
    layer = residual(merged_attention(), "ln_1") >> residual(
        Block(feed_forward("gelu", "c_fc", "c_proj"), "MLP", name="mlp"), "ln_2"
    )
    return Axes(t=seq(t), v=v, m=h * k, h=h, k=k, d=d)(
        Param("v m", "wte")
        >> Wire("v m, t#v -> t#v, v m, v m")
        >> Index("t#v, v m -> t m")
        >> Param("t m", "wpe")
        >> Add()
        >> Repeat((layer, layer), "h")
        >> LayerNorm("m", "ln_f")
        >> Einsum("t m, v m -> t v", "logits")
    )


def gpt_reference(w: Weights, ids: Tensor, *, h: int, **sizes: int) -> Tensor:
    """After nanoGPT's ``model.py``."""
    x = w["wte"][ids] + w["wpe"]
    for i in range(2):
        own = under(w, f"h.{i}")
        a = F.layer_norm(x, x.shape[-1:], own["ln_1.weight"], own["ln_1.bias"])
        a = F.linear(a, own["attn.c_attn.weight"], own["attn.c_attn.bias"])
        q, k, v = (part.unflatten(-1, (h, -1)).transpose(-2, -3) for part in a.chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(-2, -3).flatten(-2)
        x = x + F.linear(a, own["attn.c_proj.weight"], own["attn.c_proj.bias"])
        a = F.layer_norm(x, x.shape[-1:], own["ln_2.weight"], own["ln_2.bias"])
        a = F.gelu(F.linear(a, own["mlp.c_fc.weight"], own["mlp.c_fc.bias"]))
        x = x + F.linear(a, own["mlp.c_proj.weight"], own["mlp.c_proj.bias"])
    x = F.layer_norm(x, x.shape[-1:], w["ln_f.weight"], w["ln_f.bias"])
    return x @ w["wte"].T


SYSTEMS = (
    System(
        "GPT",
        gpt,
        gpt_reference,
        (
            {"t": 5, "v": 11, "h": 3, "k": 5, "d": 7},
            {"t": 3, "v": 5, "h": 1, "k": 7, "d": 9},
            {"t": 7, "v": 13, "h": 5, "k": 3, "d": 5},
        ),
    ),
)
