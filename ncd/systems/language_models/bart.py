"""BART and models like it: a text is read, and another is written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, CausalMask, Einsum, Elementwise, LayerNorm, Linear, Map
from ncd.systems.language_models.model_parts import learned_positions, two_texts
from ncd.systems.shared_parts import scaled_dot_product

GELU = Elementwise("gelu")


@dataclass(frozen=True)
class BartStyle:
    """The choices in which BART and models like it differ.

    Args:
        activation: The function of the feed-forward.
        pre_norm: Whether a norm stands before its part, and one behind the last layer.
        key_bias: Whether keys have a bias.
        skipped_positions: The positions that are skipped.
        has_position_table: Whether positions have learned vectors; else they are sines.
        slower: How many pairs of sines more the slowest one is counted with: 0, or 1 less.
        first_norm: Whether a norm follows the embeddings.
        scales_embeddings: Whether embeddings are multiplied by the root of their features.

    Source: Lewis et al. 2020, "BART"; Liu et al. 2020, "mBART"; Zhang et al. 2020, "PEGASUS";
    Junczys-Dowmunt et al. 2018, "Marian"; Fan et al. 2021, "M2M-100".
    """

    activation: Term = GELU
    pre_norm: bool = False
    key_bias: bool = True
    skipped_positions: int = 2
    has_position_table: bool = True
    slower: int = 0
    first_norm: bool = True
    scales_embeddings: bool = False


def bart(
    n: int,
    l: int,  # noqa: E741  the letter of the decoder's layers
    s: int,
    t: int,
    h: int,
    k: int,
    d: int,
    e: int,
    u: int = 1,
    v: int = 256,
    *,
    style: BartStyle,
) -> Term:
    """Returns a model from a text to another.

    Args:
        n: The layers of the encoder.
        l: The layers of the decoder.
        s: The positions of the text that is read.
        t: The positions of the text that is written.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features of the encoder.
        e: The hidden features of the decoder.
        u: The rows of each table of positions.
        v: The words.
        style: The choices of the model.

    Returns:
        A term from the words of both texts to the scores of the next word, ``s#v, t#v -> t v``.

    Source: Lewis et al. 2020, "BART", section 2.

    >>> import ncd
    >>> sizes = dict(n=6, l=6, s=1, t=1, h=12, k=64, d=3072, e=3072, u=1026, v=50265)
    >>> ncd.cost(bart(**sizes, style=BartStyle())).parameters  # BART base
    139420416
    """
    table = {"u": u} if style.has_position_table else {}
    return Axes(s=seq(s), t=seq(t), m="h*k", h=h, k=k, d=d, e=e, v=v, **table)(_bart(n, l, style))


@lru_cache(32)
def _bart(encoders: int, decoders: int, style: BartStyle) -> Term:
    reads = Then(*_embedding_steps("s", style), *encoder_layers(encoders, style))
    writes = Then(*_embedding_steps("t", style, "s m"), *decoder_layers(decoders, style))
    return two_texts(
        Block(reads, "Encoder", "neutral", "encoder"),
        Block(writes, "Decoder", "neutral", "decoder"),
    ) >> Einsum("t m, v m -> t v", "words")


def _embedding_steps(x: str, style: BartStyle, beside: str = "") -> list[Term]:
    """Returns the steps from the embeddings of a text to its first layer."""
    steps: list[Term] = [Id(f"{x} m")]
    if style.scales_embeddings:
        steps.append(Map("m -> m", "$1 * sqrt(n_m)", "scale"))
    steps.append(
        learned_positions("embed_positions", style.skipped_positions, at=x)
        if style.has_position_table
        else _sines(x, style)
    )
    if style.first_norm:
        steps.append(LayerNorm("m", "layernorm_embedding"))
    return [Then(*steps) @ Id(beside)] if beside else steps


def _sines(x: str, style: BartStyle) -> Term:
    """Returns a step that adds sines to the first half of the features, and cosines to the rest."""
    share = f"m % (n_m // 2) / max(n_m // 2 - {style.slower}, 1)"
    angle = f"({x} + {style.skipped_positions}) * 10000 ** (-({share}))"
    wave = f"$1 + where(m < n_m // 2, sin({angle}), cos({angle}))"
    return Map(f"{x} m -> {x} m", wave, "+ position")


def encoder_layers(n: int, style: BartStyle) -> list[Term]:
    """Returns the layers of the encoder, from ``s m`` to ``s m``."""
    own = Wire("s m -> s m, s m, s m") >> _heads("self_attn", "Self-Attention", style)
    layer = Then(
        *_residual_steps(own, "self_attn_layer_norm", "s", style),
        *_residual_steps(_hidden("d", style), "final_layer_norm", "s", style),
    )
    return [Repeat((layer,) * n), *_final_norm(style)]


def decoder_layers(n: int, style: BartStyle) -> list[Term]:
    """Returns the layers of the decoder, from ``t m, s m`` to ``t m``."""
    title = "Masked Self-Attention"
    own = Wire("t m -> t m, t m, t m") >> _heads("self_attn", title, style, CausalMask("y x"))
    cross = Wire("t m, s m -> t m, s m, s m") >> _heads("encoder_attn", "Cross-Attention", style)
    layer = Then(
        *_residual_steps(own, "self_attn_layer_norm", "t", style),
        *_residual_steps(cross, "encoder_attn_layer_norm", "t", style, ", s m"),
        *_residual_steps(_hidden("e", style), "final_layer_norm", "t", style),
    )
    return [Repeat((layer,) * n, memory=1), *_final_norm(style)]


def _final_norm(style: BartStyle) -> list[Term]:
    return [LayerNorm("m", "layer_norm")] if style.pre_norm else []


def _residual_steps(
    part: Term, norm: str, x: str, style: BartStyle, beside: str = ""
) -> list[Term]:
    """Returns the steps of x + part(norm x), or of norm(x + part x)."""
    copied, norms = Wire(f"{x} m{beside} -> {x} m{beside}, {x} m"), [LayerNorm("m", norm)]
    first, last = (norms, []) if style.pre_norm else ([], norms)
    return [copied, *first, part @ Id(f"{x} m"), Add(), *last]


def _hidden(hidden: str, style: BartStyle) -> Term:
    """Returns the feed-forward."""
    maps = Linear(f"m -> {hidden}", "fc1", True) >> style.activation
    return Block(maps >> Linear(f"{hidden} -> m", "fc2", True), "Feed-Forward", "folded")


def _heads(name: str, title: str, style: BartStyle, *masks: Term) -> Term:
    """Returns attention of queries to keys and values."""
    body = (
        Id("y m, x m, x m")
        >> Linear("m -> h k", "q_proj", True)
        @ Linear("m -> h k", "k_proj", style.key_bias)
        @ Linear("m -> h k", "v_proj", True)
        >> scaled_dot_product(*masks)
        >> Linear("h k -> m", "out_proj", True)
    )
    return Block(body, title, "module", name, local=True)
