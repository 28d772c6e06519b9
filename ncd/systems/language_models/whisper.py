"""Whisper: from the spectrogram of speech to words."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Conv, Einsum, Elementwise, Index, Param, Rename
from ncd.systems.language_models.bart import BartStyle, decoder_layers, encoder_layers
from ncd.systems.language_models.model_parts import learned_positions


def whisper(
    n: int = 2,
    l: int = 2,  # noqa: E741  the letter of the decoder's layers
    s: int = 16,
    t: int = 12,
    c: int = 16,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    e: int = 128,
    u: int = 64,
    v: int = 256,
    *,
    activation: Term | None = None,
) -> Term:
    """Returns a model from the spectrogram of speech to the spoken words.

    Args:
        n: The layers of the encoder.
        l: The layers of the decoder.
        s: The positions of the encoder; each is two frames of the spectrogram.
        t: The words that are written.
        c: The frequencies of the spectrogram.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features of the encoder.
        e: The hidden features of the decoder.
        u: The positions that the decoder has vectors for.
        v: The words.
        activation: The function of the feed-forward; by default the GELU.

    Returns:
        A term from frequencies by frames and the words so far to the scores of the next word,
        ``c f, t#v -> t v``.

    Source: Radford et al. 2022, "Robust Speech Recognition via Large-Scale Weak Supervision",
    section 2.2.

    >>> import ncd
    >>> sizes = dict(n=4, l=4, s=1500, t=1, c=80, h=6, k=64, d=1536, e=1536, u=448, v=51865)
    >>> ncd.cost(whisper(**sizes)).parameters  # Whisper tiny
    37760640
    """
    sizes = Axes(t=seq(t), s=seq(s), f=2 * s, c=c, m="h*k", h=h, k=k, d=d, e=e, u=u, v=v)
    return sizes(_whisper(n, l, activation or Elementwise("gelu")))


@lru_cache(32)
def _whisper(encoders: int, decoders: int, activation: Term) -> Term:
    return (
        Id("c f, t#v")
        >> _encoder(encoders, activation) @ Id("t#v") @ Param("v m", "embed_tokens", "normal")
        >> Wire("s m, t#v, v m -> t#v, v m, s m, v m")
        >> Index("t#v, v m -> t m") @ Id("s m, v m")
        >> _decoder(decoders, activation) @ Id("v m")
        >> Einsum("t m, v m -> t v", "words")
    )


def _encoder(n: int, activation: Term) -> Term:
    """Returns the encoder, from ``c f`` to ``s m``."""
    style = BartStyle(activation, pre_norm=True, key_bias=False)
    body = Then(
        Conv("c f -> m g", "conv1", kernel=3, padding=1),
        activation,
        Conv("m g -> n p", "conv2", kernel=3, stride=2, padding=1),
        activation,
        Einsum("n p -> p n"),
        Rename("n -> m"),
        Rename("p -> s"),
        Id("s m") @ Param("s m", "embed_positions", "normal"),
        Add(),
        *encoder_layers(n, style),
    )
    return Block(body, "Encoder", "neutral", "encoder")


def _decoder(n: int, activation: Term) -> Term:
    """Returns the decoder, from ``t m, s m`` to ``t m``."""
    style = BartStyle(activation, pre_norm=True, key_bias=False)
    layers = decoder_layers(n, style)
    body = Then(learned_positions("embed_positions") @ Id("s m"), *layers)
    return Block(body, "Decoder", "neutral", "decoder")
