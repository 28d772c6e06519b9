"""T5: an encoder and a decoder whose positions are a bias on the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    CausalMask,
    Einsum,
    Elementwise,
    Index,
    Linear,
    Map,
    Param,
    Rename,
    RMSNorm,
    Softmax,
)
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import (
    FEATURES,
    HEAD,
    HEADS,
    HIDDEN,
    LAYERS,
    MAPS,
    SECTION,
    WIDTH,
    WORDS,
    gated_mlp,
    two_texts,
)


@dataclass(frozen=True)
class T5Style:
    """The choices in which the versions of T5 differ.

    Args:
        activation: The function of the feed-forward.
        gated: Whether the feed-forward has a gate, as from version 1.1 on.
        tied: Whether the table of words also gives the scores.
        scales_scores: Whether what gives the scores is divided by √m first.
        buckets: The distances that are told apart.
        far: The distance from which all are one.
        table_per_layer: Whether each layer has its own table of distances.
        eps: The number that the norms add.
    """

    activation: Term
    gated: bool = False
    tied: bool = True
    scales_scores: bool = True
    buckets: int = 32
    far: int = 128
    table_per_layer: bool = False
    eps: float = 1e-6


PLAIN_STYLE = T5Style(Elementwise("relu"))


def t5(
    n: int = 2,
    l: int = 2,  # noqa: E741  the letter of the decoder's layers
    s: int = 12,
    t: int = 12,
    m: int = 64,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    v: int = 256,
    *,
    style: T5Style = PLAIN_STYLE,
) -> Term:
    """Returns a model from a text to another.

    Args:
        n: The layers of the encoder.
        l: The layers of the decoder.
        s: The positions of the text that is read.
        t: The positions of the text that is written.
        m: The features of a position.
        h: The heads.
        k: The features of a head.
        d: The hidden features.
        v: The words.
        style: The choices of the version.

    Returns:
        A term from the words of both texts to the scores of the next word, ``s#v, t#v -> t v``.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified
    Text-to-Text Transformer", section 2.1.

    >>> import ncd
    >>> sizes = dict(n=6, l=6, s=1, t=1, m=512, h=8, k=64, d=2048, v=32128)
    >>> ncd.cost(t5(**sizes)).parameters  # T5 small
    60506624
    """
    sizes = Axes(s=seq(s), t=seq(t), u=seq(s), w=seq(t), m=m, h=h, k=k, d=d, v=v, z=style.buckets)
    return sizes(_t5(n, l, style))


@lru_cache(32)
def _t5(encoders: int, decoders: int, style: T5Style) -> Term:
    model = two_texts(_encoder(encoders, style), _decoder(decoders, style))
    if style.scales_scores:
        model = model >> Map("m -> m", "$1 / sqrt(n_m)", "scale") @ Id("v m")
    if style.tied:
        return model >> Einsum("t m, v m -> t v", "words")
    return model >> Wire("t m, v m -> t m") >> Linear("m -> v", "lm_head")


def _encoder(n: int, style: T5Style) -> Term:
    """Returns the encoder, from ``s m`` to ``s m``."""
    bias = _bias("s", "u", style)
    layer = Then(
        *((Id("s m") @ bias,) if style.table_per_layer else ()),
        Wire("s m, s u h -> s m, s u h, s m"),
        RMSNorm("m", "attention_norm", style.eps),
        _self_attention("s", "u") @ Id("s m"),
        Add(),
        _residual(_feed_forward("s", style), "s", "feed_forward_norm", style),
    )
    body = Then(
        *(() if style.table_per_layer else (Id("s m") @ bias,)),
        Repeat((layer,) * n, "block", memory=0 if style.table_per_layer else 1),
        RMSNorm("m", "final_layer_norm", style.eps),
    )
    return Block(body, "Encoder", "neutral", "encoder")


def _decoder(n: int, style: T5Style) -> Term:
    """Returns the decoder, from ``t m, s m`` to ``t m``."""
    bias = Id("t m, s m") @ _bias("t", "w", style, causal=True)
    layer = Then(
        *((bias,) if style.table_per_layer else ()),
        Wire("t m, s m, t w h -> t m, t w h, t m, s m"),
        RMSNorm("m", "attention_norm", style.eps),
        _self_attention("t", "w", CausalMask("t w")) @ Id("t m, s m"),
        Add() @ Id("s m"),
        Wire("t m, s m -> t m, s m, t m"),
        RMSNorm("m", "cross_norm", style.eps),
        _cross_attention() @ Id("t m"),
        Add(),
        _residual(_feed_forward("t", style), "t", "feed_forward_norm", style),
    )
    body = Then(
        *(() if style.table_per_layer else (bias,)),
        Repeat((layer,) * n, "block", memory=1 if style.table_per_layer else 2),
        RMSNorm("m", "final_layer_norm", style.eps),
    )
    return Block(body, "Decoder", "neutral", "decoder")


def _bias(x: str, y: str, style: T5Style, causal: bool = False) -> Term:
    """Returns the bias of each head for a query at x and a key at y, by their distance."""
    count = style.buckets if causal else style.buckets // 2
    near = count // 2
    away = f"max({x} - {y}, 0)" if causal else f"abs({x} - {y})"
    grown = f"log(max({away}, 1) / {near}) / {math.log(style.far / near):.17g} * {count - near}"
    far = f"min({near} + floor({grown}), {count - 1})"
    bucket = f"where({away} < {near}, {away}, {far})"
    if not causal:
        bucket = f"{bucket} + where({y} > {x}, {count}, 0)"
    numbers = Map(f"-> {x} {y}#z", bucket, "distance") @ Param("z h", "relative_attention_bias")
    return numbers >> Index(f"{x} {y}#z, z h -> {x} {y} h")


def _self_attention(x: str, y: str, *masks: Term) -> Term:
    """Returns attention of x to itself with a bias, from ``x m, x y h`` to ``x m``."""
    body = Then(
        Wire(f"{x} m, {x} {y} h -> {x} m, {x} m, {x} m, {x} {y} h"),
        Linear("m -> h k", "q")
        @ Then(Id(f"{x} m"), Linear("m -> h k", "k"), Rename(f"{x} -> {y}"))
        @ Then(Id(f"{x} m"), Linear("m -> h k", "v"), Rename(f"{x} -> {y}"))
        @ Id(f"{x} {y} h"),
        Wire(
            f"{x} h k, {y} h k, {y} h k, {x} {y} h -> {x} h k, {y} h k, {x} {y} h, {y} h k",
            "1 2 4 3",
        ),
        Einsum(f"{x} h k, {y} h k -> {x} {y} h", "scores") @ Id(f"{x} {y} h, {y} h k"),
        Add() @ Id(f"{y} h k"),
        *(mask @ Id(f"{y} h k") for mask in masks),
        Softmax(y) @ Id(f"{y} h k"),
        Einsum(f"{x} {y} h, {y} h k -> {x} h k"),
        Linear("h k -> m", "o"),
    )
    return Block(body, "Self-Attention with Distances", "module", "SelfAttention")


def _cross_attention() -> Term:
    """Returns attention to the text that was read, from ``t m, s m`` to ``t m``."""
    body = (
        Wire("t m, s m -> t m, s m, s m")
        >> Linear("m -> h k", "q") @ Linear("m -> h k", "k") @ Linear("m -> h k", "v")
        >> Einsum("t h k, s h k -> t s h", "scores") @ Id("s h k")
        >> Softmax("s") @ Id("s h k")
        >> Einsum("t s h, s h k -> t h k")
        >> Linear("h k -> m", "o")
    )
    return Block(body, "Cross-Attention", "module", "EncDecAttention")


def _feed_forward(x: str, style: T5Style) -> Term:
    """Returns the feed-forward, with a gate or without."""
    if style.gated:
        return gated_mlp(style.activation, name="DenseReluDense", at=x)
    body = Linear("m -> d", "wi") >> style.activation >> Linear("d -> m", "wo")
    return Block(body, "Feed-Forward", "linear", "DenseReluDense")


def _residual(part: Term, x: str, norm: str, style: T5Style) -> Term:
    """Returns x + part(norm x)."""
    return Then(
        Wire(f"{x} m -> {x} m, {x} m"), RMSNorm("m", norm, style.eps), part @ Id(f"{x} m"), Add()
    )


def _sizes(n: int, m: int, h: int, d: int) -> dict[str, int]:
    """Returns the sizes of a model with n layers in each stack."""
    return {"n": n, "l": n, "m": m, "h": h, "k": 64, "d": d, "v": 32128}


_RAFFEL = (
    'Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text '
    'Transformer"'
)
_SIZES = f"{_RAFFEL}, sections 2.1 and 3.7; the number of words stands in its code"

T5 = Entry(
    name="t5",
    title="T5",
    source="Raffel et al. 2020, T5",
    knobs=(
        replace(LAYERS, help="layers of the encoder"),
        replace(LAYERS, name="l", help="layers of the decoder"),
        Knob("s", 1, 32, 12, help="positions that are read", reason=MAPS),
        Knob("t", 1, 32, 12, help="positions that are written", reason=MAPS),
        FEATURES,
        HEADS,
        HEAD,
        HIDDEN,
        WORDS,
    ),
    system=t5,
    section=SECTION,
    type="s#v, t#v -> t v",
    width=WIDTH,
    cached=("decoder.k", "decoder.v"),
    presets=(
        Preset("t5-small", _sizes(6, 512, 8, 2048), _SIZES, "T5 small"),
        Preset("t5-base", _sizes(12, 768, 12, 3072), _SIZES, "T5 base"),
        Preset("t5-large", _sizes(24, 1024, 16, 4096), _SIZES, "T5 large"),
    ),
)
