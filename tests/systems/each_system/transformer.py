"""torch's transformer: the catalogue's blocks, both norms, against its layers and stacks."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

import ncd
from ncd import Axes, Term, seq
from ncd.systems.transformers.encoder_decoder import encoder_layer
from tests.systems.each_system.system import System, Weights, as_torch, run


def sized(term: Term, t: int, h: int, k: int, d: int, s: int = 0) -> Term:
    return Axes(t=seq(t), s=seq(s or t), m=h * k, h=h, k=k, d=d)(term)


ATTENTIONS = ("self_attn", "multihead_attn")


def hidden(x: Tensor) -> Tensor:
    """The additive causal mask of a sequence."""
    n = x.shape[-2]
    return torch.zeros(n, n, dtype=x.dtype).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)


def encoder_reference(
    pre: bool,
    w: Weights,
    x: Tensor,
    *,
    h: int,
    d: int,
    n: int,
    causal: bool = False,
    activation: str = "relu",
    final: bool = False,
    **sizes: int,
) -> Tensor:
    m, options = x.shape[-1], {"batch_first": True, "norm_first": pre, "activation": activation}
    layer = nn.TransformerEncoderLayer(m, h, d, 0.0, **options)
    norm = nn.LayerNorm(m) if final else None
    stack = nn.TransformerEncoder(layer, n, norm, enable_nested_tensor=False)
    return run(stack, as_torch(w, *ATTENTIONS), x, mask=hidden(x) if causal else None)


def decoder_reference(
    pre: bool, w: Weights, x: Tensor, memory: Tensor, *, h: int, d: int, n: int, **sizes: int
) -> Tensor:
    layer = nn.TransformerDecoderLayer(x.shape[-1], h, d, 0.0, batch_first=True, norm_first=pre)
    stack = nn.TransformerDecoder(layer, n)
    return run(stack, as_torch(w, *ATTENTIONS), x, memory, tgt_mask=hidden(x))


def transformer_reference(
    pre: bool, w: Weights, x: Tensor, memory: Tensor, *, h: int, d: int, n: int, **sizes: int
) -> Tensor:
    layer = nn.Transformer(x.shape[-1], h, n, n, d, dropout=0.0, batch_first=True, norm_first=pre)
    return run(layer, as_torch(w, *ATTENTIONS), memory, x, tgt_mask=hidden(x))


def dropped_reference(w: Weights, x: Tensor, *, h: int, d: int, **sizes: int) -> Tensor:
    layer = nn.TransformerEncoderLayer(x.shape[-1], h, d, 0.0, batch_first=True, norm_first=True)
    return run(layer, as_torch(w, *ATTENTIONS), x)


ONE = (
    {"t": 5, "h": 3, "k": 5, "d": 7},
    {"t": 3, "h": 1, "k": 7, "d": 5},
    {"t": 9, "h": 5, "k": 3, "d": 11},
)
STACKED = tuple({**sizes, "n": n} for sizes, n in zip(ONE, (2, 1, 3), strict=True))
TWO = tuple({**sizes, "s": s} for sizes, s in zip(STACKED, (7, 5, 3), strict=True))
NORMS = {"pre-norm": True, "post-norm": False}

SYSTEMS = (
    *(
        System(
            f"{name}, {norm}",
            partial(ncd.catalogue[name].build, prenorm=int(pre)),
            partial(reference, pre),
            sizes,
        )
        for name, reference, sizes in (
            ("encoder-block", encoder_reference, STACKED),
            ("decoder-only-block", partial(encoder_reference, causal=True), STACKED),
            ("decoder-block", decoder_reference, TWO),
            ("encoder-decoder", transformer_reference, TWO),
        )
        for norm, pre in NORMS.items()
    ),
    System(
        "encoder-block, as in BERT",
        partial(ncd.catalogue["encoder-block"].build, prenorm=0, gelu=1),
        partial(encoder_reference, False, activation="gelu"),
        STACKED,
    ),
    System(
        "decoder-only-block, as in GPT-2",
        partial(ncd.catalogue["decoder-only-block"].build, gelu=1, final=1),
        partial(encoder_reference, True, causal=True, activation="gelu", final=True),
        STACKED,
    ),
    System(
        "encoder layer with dropout, in eval",
        lambda **sizes: sized(encoder_layer(True, 0.1), **sizes),
        dropped_reference,
        ONE,
    ),
)
