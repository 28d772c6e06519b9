"""The blocks and the whole of the transformer, also decoding with a cache."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Concat, LayerNorm, Linear
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.shared_parts import (
    FOLDED_ROLES,
    OPEN_ROLES,
    YX,
    Pair,
    Roles,
    attention,
    feed_forward,
    residual,
    scaled_dot_product,
    self_attention,
)

# --- Transformer layers that decode one position at a time, with cached keys and values


def cached_layer(pre: bool, activation: str = "relu") -> Term:
    """A decoder-only layer on one new position, with a cache of s positions."""
    first = residual(_cached_self("s"), "norm1", pre, memory=", s h k, s h k", at="1")
    return first >> residual(feed_forward(activation), "norm2", pre, at="1")


def cached_decoder_layer(pre: bool, roles: Roles = OPEN_ROLES) -> Term:
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


# --- Encoder and decoder blocks, and the whole transformer ("Attention Is All You Need")


def encoder_block(n: int, h: int, k: int, d: int, t: int, prenorm: int, gelu: int) -> Term:
    """n encoder layers on t positions: self-attention, then a feed-forward, each a residual."""
    return _sizes(t, h, k, d)(_encoder_block(n, prenorm, gelu))


def decoder_block(n: int, h: int, k: int, d: int, t: int, s: int, prenorm: int, cache: int) -> Term:
    """n decoder layers on t positions, which also attend to s positions of an encoder.

    With ``cache`` it is the last step of writing t positions: the last one alone goes in, and what
    every layer has kept: its keys and values of the u before it, and of the s positions.
    """
    if cache and t > 1:
        return _sizes(t, h, k, d, s, t - 1)(_cached_decoder(n, prenorm))
    return _sizes(t, h, k, d, s)(_decoder_block(n, prenorm))


def decoder_only_block(
    n: int, h: int, k: int, d: int, t: int, prenorm: int, gelu: int, final: int, cache: int
) -> Term:
    """n layers of a language model, in which no position sees later ones.

    With ``final``, a norm follows the last layer. With ``cache`` it is the last step of writing t
    positions: the last one alone goes in, and of the others the keys and values that every layer
    has kept.
    """
    if cache and t > 1:
        return _sizes(t, h, k, d, t - 1)(_cached_step(n, prenorm, gelu, final))
    return _sizes(t, h, k, d)(_decoder_only_block(n, prenorm, gelu, final))


def encoder_decoder(
    n: int, h: int, k: int, d: int, s: int, t: int, prenorm: int, cache: int
) -> Term:
    """n encoder layers on s positions and n decoder layers on t, with final norms.

    With ``cache`` it is the last step of writing t positions, as of :func:`decoder_block`: the
    encoder has run before, and what it gave is in the keys and values that are kept.
    """
    if cache and t > 1:
        return _sizes(t, h, k, d, s, t - 1)(
            _decoder_with_norm(_cached_decoder(n, prenorm, FOLDED_ROLES))
        )
    return _sizes(t, h, k, d, s)(_encoder_decoder(n, prenorm))


def _sizes(t: int, h: int, k: int, d: int, s: int = 1, u: int = 1) -> Axes:
    """Returns the sizes; m is the number of features of all heads together."""
    return Axes(t=seq(t), s=seq(s), u=seq(u), m="h*k", h=h, k=k, d=d)


YZ: Pair = ("y", "z")  # of attention to the s positions of the encoder
ACTIVATIONS = ("relu", "gelu")  # as the knob gelu chooses


def encoder_layer(
    pre: bool,
    dropout: float = 0,
    causal: bool = False,
    roles: Roles = OPEN_ROLES,
    activation: str = "relu",
    at: str = "t",
    axes: Pair = YX,
) -> Term:
    """``nn.TransformerEncoderLayer``; with ``causal``, a layer of a decoder-only model.

    ``at`` is the axis of positions, ``axes`` those of queries and keys.
    """
    attends = self_attention("self_attn", causal, roles[0], at, axes)
    thinks = feed_forward(activation, role=roles[1])
    return residual(attends, "norm1", pre, dropout=dropout, at=at) >> residual(
        thinks, "norm2", pre, dropout=dropout, at=at
    )


def decoder_layer(pre: bool, roles: Roles = OPEN_ROLES) -> Term:
    """``nn.TransformerDecoderLayer``: the memory is the second array."""
    own = self_attention("self_attn", causal=True, role=roles[0])
    cross = attention("multihead_attn", title="Cross-Attention", role=roles[0], axes=YZ)
    return (
        residual(own, "norm1", pre)
        >> residual(cross, "norm2", pre, memory=", s m")
        >> residual(feed_forward(role=roles[1]), "norm3", pre)
    )


@lru_cache
def _encoder_block(n: int, pre: int, gelu: int) -> Term:
    layer = encoder_layer(bool(pre), activation=ACTIVATIONS[gelu])
    return Id("t m") >> Repeat((layer,) * n)


@lru_cache
def _decoder_block(n: int, pre: int) -> Term:
    return Id("t m, s m") >> Repeat((decoder_layer(bool(pre)),) * n, memory=1)


@lru_cache
def _decoder_only_block(n: int, pre: int, gelu: int, final: int) -> Term:
    layer = encoder_layer(bool(pre), causal=True, activation=ACTIVATIONS[gelu])
    return _with_final_norm(Id("t m") >> Repeat((layer,) * n), final)


def _with_final_norm(layers: Term, final: int) -> Term:
    return layers >> LayerNorm("m", "norm") if final else layers


@lru_cache
def _cached_step(n: int, pre: int, gelu: int, final: int) -> Term:
    return _with_final_norm(Repeat((cached_layer(bool(pre), ACTIVATIONS[gelu]),) * n), final)


@lru_cache
def _cached_decoder(n: int, pre: int, roles: Roles = OPEN_ROLES) -> Term:
    return Repeat((cached_decoder_layer(bool(pre), roles),) * n)


def _decoder_with_norm(layers: Term) -> Term:
    """Returns the decoder layers with the norm after them."""
    return Block(layers >> LayerNorm("m", "norm"), "Decoder", "neutral", "decoder")


@lru_cache
def _encoder_decoder(n: int, pre: int) -> Term:
    """Returns the whole model: the encoder runs along s, the decoder along t."""
    reads = encoder_layer(bool(pre), roles=FOLDED_ROLES, at="s", axes=("w", "z"))
    writes = decoder_layer(bool(pre), FOLDED_ROLES)
    encoder = Repeat((reads,) * n) >> LayerNorm("m", "norm")
    return (
        Id("t m, s m")
        >> Id("t m") @ Block(encoder, "Encoder", "neutral", "encoder")
        >> _decoder_with_norm(Repeat((writes,) * n, memory=1))
    )


LONGEST_CACHE = "up to 64, so that every map stays readable"
HEADS = "16 in large models"
FEATURES = "the length of a query and of a key; 64 in the base model"
_LAYERS = Knob("n", 1, 6, 2, help="layers", reason="six in the original transformer", most=48)
_HEADS = (
    Knob("h", 1, 8, 4, help="heads", reason="8 in the base model"),
    Knob("k", 1, 32, 16, help="features", reason=FEATURES),
    Knob("d", 8, 512, 128, 8, "hidden features", "often 4 · m", least=1),
)
_T = Knob("t", 1, 64, 12, help="positions", reason=LONGEST_CACHE)
_S = Knob("s", 1, 64, 16, help="positions of the encoder", reason=LONGEST_CACHE)
_PRENORM = switch(
    "prenorm",
    1,
    "the norm comes first",
    "on, the norm stands before each part; off, behind the sum, as first published",
)
_GELU = switch(
    "gelu",
    0,
    "GELU as activation",
    "on, as in BERT and GPT-2; off, the ReLU of the original transformer",
)
_FINAL = switch(
    "final",
    0,
    "a norm after the last layer",
    "on, as in GPT-2: with the norm first, the sums of all layers are never normalised",
)
_CACHE = switch(
    "cache",
    0,
    "keys and values are kept",
    "on, only the last position goes in, and of the others what the layers have kept",
)

_VASWANI = 'Vaswani et al. 2017, "Attention Is All You Need", table 3'
BASE = Preset(
    "transformer-base",
    {"n": 6, "h": 8, "k": 64, "d": 2048, "prenorm": 0},
    _VASWANI,
    "Transformer, base",
)
BERT = Preset(
    "bert-base",
    {"n": 12, "h": 12, "k": 64, "d": 3072, "prenorm": 0, "gelu": 1},
    'Devlin et al. 2019, "BERT", section 3, and appendix A.2 for the GELU',
    "BERT, base",
)
GPT_2 = Preset(
    "gpt-2-small",
    {"n": 12, "h": 12, "k": 64, "d": 3072, "t": 1024, "prenorm": 1, "gelu": 1, "final": 1},
    'Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2 and '
    "section 2.3; the 12 heads and the GELU stand in its published code",
    "GPT-2 small",
)

WIDTH = 900.0  # a whole layer is longer than a page

_TUTORIAL = "Tutorial"

ENCODER_BLOCK = Entry(
    name="encoder-block",
    title="Encoder block",
    source=f"{_TUTORIAL}, encoder",
    knobs=(_LAYERS, *_HEADS, _T, _PRENORM, _GELU),
    system=encoder_block,
    section="Transformers",
    width=WIDTH,
    type="t m -> t m",
    presets=(BASE, BERT),
)
DECODER_BLOCK = Entry(
    name="decoder-block",
    title="Decoder block",
    source=f"{_TUTORIAL}, decoder",
    knobs=(_LAYERS, *_HEADS, _T, _S, _PRENORM, _CACHE),
    system=decoder_block,
    section="Transformers",
    width=WIDTH,
    presets=(BASE,),
)
DECODER_ONLY_BLOCK = Entry(
    name="decoder-only-block",
    title="Decoder-only block",
    source=f"{_TUTORIAL}, decoder only",
    knobs=(_LAYERS, *_HEADS, _T, _PRENORM, _GELU, _FINAL, _CACHE),
    system=decoder_only_block,
    section="Transformers",
    width=WIDTH,
    presets=(GPT_2,),
)
ENCODER_DECODER = Entry(
    name="encoder-decoder",
    title="Encoder–decoder",
    source=f"{_TUTORIAL}, whole",
    knobs=(_LAYERS, *_HEADS, _S, _T, _PRENORM, _CACHE),
    system=encoder_decoder,
    section="Transformers",
    presets=(BASE,),
)
