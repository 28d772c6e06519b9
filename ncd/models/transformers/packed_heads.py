"""Packed heads: ``nn.MultiheadAttention``, and one map for queries, keys and values."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.attention.multi_head import CAUSAL
from ncd.models.catalogue_entry import Entry, Knob, Preset, switch
from ncd.models.shared_parts import attention, scaled_dot_product
from ncd.models.transformers.encoder_decoder import FEATURES, HEADS, LENGTH
from ncd.ops import CausalMask, Cut, Einsum, Linear, Map, Split


def torch_multihead_attention(
    h: int = 1, k: int = 6, y: int = 4, x: int = 4, pad: int = 0, causal: int = 0
) -> Term:
    """``nn.MultiheadAttention`` on y queries and x keys, the last ``pad`` of them padding."""
    return Axes(y=seq(y), x=seq(x), m="h*k", h=h, k=k)(_multihead(pad, causal))


@lru_cache
def _multihead(pad: int, causal: int) -> Term:
    padding = Map("y x h -> y x h", f"where(x >= n_x - {pad}, -inf, $1)", "padding")
    masks = (*((CausalMask("y x"),) if causal else ()), *((padding,) if pad else ()))
    return Id("y m, x m") >> attention("", *masks)


def merged_qkv(h: int = 4, k: int = 8, m: int = 32, t: int = 10, outside: int = 1) -> Term:
    """Self-attention with one map for queries, keys and values, with 3hk output features.

    With ``outside`` the heads are the outer axis of these features, ``(h 3k)``; else the inner one,
    ``(3k h)``.
    """
    return Axes(t=seq(t), m=m, h=h, k=k, e="3*h*k")(_merged(outside))


ALL, THIRDS = 'e"3hk"', 'c"3k"'


@lru_cache
def _merged(outside: int) -> Term:
    thirds = Cut(f"{THIRDS} -> k, k, k")
    if outside:
        parts = Split(f"{ALL} -> h {THIRDS}") >> thirds
    else:
        turn = Einsum("t k h -> t h k")
        parts = Split(f"{ALL} -> {THIRDS} h") >> thirds >> turn @ turn @ turn
    return (
        Id("t m")
        >> Linear(f"m -> {ALL}", "qkv", True)
        >> Block(parts, "Reshape, permute, chunk", "reshape")
        >> scaled_dot_product()
        >> Linear("h k -> m", "o", True)
    )


TORCH_MULTIHEAD_ATTENTION = Entry(
    name="torch-multihead-attention",
    title="Multi-head attention in torch",
    source="Unit tests, attention",
    knobs=(
        Knob("h", 1, 16, 1, help="heads", reason=HEADS),
        Knob("k", 1, 64, 6, help="features", reason=FEATURES),
        Knob("y", 1, 64, 4, help="queries", reason=LENGTH),
        Knob("x", 1, 64, 4, help="keys and values", reason=LENGTH),
        Knob("pad", 0, 8, 0, help="keys that are padding", reason="the last ones", below="x"),
        CAUSAL,
    ),
    system=torch_multihead_attention,
    section="Transformers",
    type="y m, x m -> y m",
    presets=(
        Preset(
            "notebook", {"h": 1, "k": 6, "y": 4, "x": 4}, "Unit-testing a transformer", "Notebook"
        ),
    ),
)
MERGED_QKV = Entry(
    name="merged-qkv",
    title="Merged queries, keys and values",
    source="Notes, transformer exercise",
    knobs=(
        Knob("h", 1, 16, 4, help="heads", reason=HEADS),
        Knob("k", 1, 64, 8, help="features", reason=FEATURES),
        Knob(
            "m", 1, 512, 32, help="features of a position", reason="up to 512, as in the base model"
        ),
        Knob("t", 1, 64, 10, help="positions", reason=LENGTH),
        switch(
            "outside",
            1,
            "heads outside",
            "on, the features are read as (h 3k): head by head; off, as (3k h)",
        ),
    ),
    system=merged_qkv,
    section="Transformers",
    type="t m -> t m",
)
