"""torch's transformer: encoder and decoder layers, pre- and post-norm, and the whole."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from ncd import Axes, Block, Id, LayerNorm, Repeat, Term, seq
from tests.systems.parts import attention, feed_forward, residual, self_attention
from tests.systems.system import System, Weights, as_torch, run


def encoder_layer(pre: bool, dropout: float = 0) -> Term:
    return residual(self_attention("self_attn"), "norm1", pre, dropout=dropout) >> residual(
        feed_forward(), "norm2", pre, dropout=dropout
    )


def decoder_layer(pre: bool) -> Term:
    return (
        residual(self_attention("self_attn", causal=True), "norm1", pre)
        >> residual(attention("multihead_attn"), "norm2", pre, memory=", s m")
        >> residual(feed_forward(), "norm3", pre)
    )


def transformer(pre: bool) -> Term:
    """Two layers each; the encoder's names are its own, so that it runs along s."""
    encoder = Repeat((encoder_layer(pre),) * 2) >> LayerNorm("m", "norm")
    decoder = Repeat((decoder_layer(pre),) * 2, memory=1) >> LayerNorm("m", "norm")
    return (
        Id("t m, s m")
        >> Id("t m") @ Block(encoder, "Encoder", "module", "encoder", local=True)
        >> Block(decoder, "Decoder", "module", "decoder")
    )


def sized(term: Term, t: int, h: int, k: int, d: int, s: int = 0) -> Term:
    return Axes(t=seq(t), s=seq(s or t), m=h * k, h=h, k=k, d=d)(term)


ATTENTIONS = ("self_attn", "multihead_attn")


def hidden(x: Tensor) -> Tensor:
    """The additive causal mask of a sequence."""
    n = x.shape[-2]
    return torch.zeros(n, n, dtype=x.dtype).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)


def encoder_reference(pre: bool, w: Weights, x: Tensor, *, h: int, d: int, **sizes: int) -> Tensor:
    layer = nn.TransformerEncoderLayer(x.shape[-1], h, d, 0.0, batch_first=True, norm_first=pre)
    return run(layer, as_torch(w, *ATTENTIONS), x)


def decoder_reference(
    pre: bool, w: Weights, x: Tensor, memory: Tensor, *, h: int, d: int, **sizes: int
) -> Tensor:
    layer = nn.TransformerDecoderLayer(x.shape[-1], h, d, 0.0, batch_first=True, norm_first=pre)
    return run(layer, as_torch(w, *ATTENTIONS), x, memory, tgt_mask=hidden(x))


def transformer_reference(
    pre: bool, w: Weights, x: Tensor, memory: Tensor, *, h: int, d: int, **sizes: int
) -> Tensor:
    layer = nn.Transformer(x.shape[-1], h, 2, 2, d, dropout=0.0, batch_first=True, norm_first=pre)
    return run(layer, as_torch(w, *ATTENTIONS), memory, x, tgt_mask=hidden(x))


ONE = (
    {"t": 5, "h": 3, "k": 5, "d": 7},
    {"t": 3, "h": 1, "k": 7, "d": 5},
    {"t": 9, "h": 5, "k": 3, "d": 11},
)
TWO = tuple({**sizes, "s": s} for sizes, s in zip(ONE, (7, 5, 3), strict=True))
NORMS = {"pre-norm": True, "post-norm": False}

SYSTEMS = (
    *(
        System(
            f"{name}, {norm}",
            lambda make=make, pre=pre, **sizes: sized(make(pre), **sizes),
            partial(reference, pre),
            sizes,
        )
        for name, make, reference, sizes in (
            ("encoder layer", encoder_layer, encoder_reference, ONE),
            ("decoder layer", decoder_layer, decoder_reference, TWO),
            ("transformer", transformer, transformer_reference, TWO),
        )
        for norm, pre in NORMS.items()
    ),
    System(
        "encoder layer with dropout, in eval",
        lambda **sizes: sized(encoder_layer(True, 0.1), **sizes),
        partial(encoder_reference, True),
        ONE,
    ),
)
