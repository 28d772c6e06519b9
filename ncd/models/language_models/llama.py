"""Llama and models with the same structure: Mistral and Qwen."""

from __future__ import annotations

from functools import lru_cache, partial

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Preset
from ncd.models.language_models.model_knobs import (
    FEATURES,
    GROUPS,
    HIDDEN,
    LAYERS,
    POSITIONS,
    QUERIES,
    SECTION,
    TURNED,
    WIDTH,
    WORDS,
)
from ncd.models.language_models.model_parts import (
    after_norm,
    gated_mlp,
    grouped_attention,
    sliding_window,
    tied_model,
    untied_model,
)
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import RMSNorm

PLAIN = Rotary.plain(10000)


def llama(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    g: int = 2,
    q: int = 2,
    k: int = 16,
    d: int = 128,
    v: int = 256,
    *,
    rotary: Rotary | None = None,
    eps: float = 1e-5,
    tied: bool = False,
    bias: bool = False,
    out_bias: bool = False,
    mlp_bias: bool = False,
    head_norm: bool = False,
    window: int = 0,
    activation: Term | None = None,
) -> Term:
    """Returns a language model with grouped queries, rotary positions and a gated feed-forward.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        g: The heads of keys and values.
        q: The queries for each of them.
        k: The features of a head.
        d: The hidden features.
        v: The words.
        rotary: The angles of the positions.
        eps: The number that the norms add.
        tied: Whether the table of words also gives the scores.
        bias: Whether queries, keys and values have a bias, as in Qwen 2.
        out_bias: Whether the last map of attention has one.
        mlp_bias: Whether the maps of the feed-forward have one.
        head_norm: Whether queries and keys are normalised, as in Qwen 3.
        window: The positions that each one sees, as in Mistral; 0 for all before it.
        activation: The function of the gate; by default SiLU.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Touvron et al. 2023, "LLaMA", section 2.2; Jiang et al. 2023, "Mistral 7B", section 2;
    Yang et al. 2024 and 2025, "Qwen2 Technical Report" and "Qwen3 Technical Report".

    >>> import ncd
    >>> sizes = dict(n=32, t=1, m=4096, g=8, q=4, k=128, d=14336, v=128256)
    >>> ncd.cost(llama(**sizes)).parameters  # Llama 3 8B
    8030261248
    """
    flags = (tied, bias, out_bias, mlp_bias, head_norm)
    term = _llama(n, rotary or PLAIN, eps, window, activation, *flags)
    return Axes(t=seq(t), m=m, g=g, q=q, k=k, d=d, v=v)(term)


@lru_cache(32)
def _llama(
    n: int,
    rotary: Rotary,
    eps: float,
    window: int,
    activation: Term | None,
    tied: bool,
    bias: bool,
    out_bias: bool,
    mlp_bias: bool,
    head_norm: bool,
) -> Term:
    attention = grouped_attention(
        rotary,
        *((sliding_window(window),) if window else ()),
        bias=bias,
        out_bias=out_bias,
        head_norm=RMSNorm("k", "norm", eps) if head_norm else None,
    )
    layer = after_norm(attention, RMSNorm("m", "input_layernorm", eps)) >> after_norm(
        gated_mlp(activation, mlp_bias), RMSNorm("m", "post_attention_layernorm", eps)
    )
    layers = Repeat((layer,) * n) >> RMSNorm("m", "norm", eps)
    return (tied_model if tied else untied_model)(layers, "embed_tokens")


_LLAMA_3 = 'Grattafiori et al. 2024, "The Llama 3 Herd of Models", table 3'
_LLAMA_2 = 'Touvron et al. 2023, "Llama 2", table 1, and the sizes of its published code'
_MISTRAL = 'Jiang et al. 2023, "Mistral 7B", table 1; its window of 4,096 positions is left out'

LLAMA = Entry(
    name="llama",
    title="Llama",
    source="Touvron et al. 2023, LLaMA",
    knobs=(LAYERS, POSITIONS, FEATURES, GROUPS, QUERIES, TURNED, HIDDEN, WORDS),
    system=partial(llama, rotary=Rotary.plain(500_000)),
    section=SECTION,
    type="t#v -> t v",
    cached=("k_proj", "v_proj"),
    width=WIDTH,
    presets=(
        Preset(
            "llama-3-8b",
            {"n": 32, "m": 4096, "g": 8, "q": 4, "k": 128, "d": 14336, "v": 128256},
            _LLAMA_3,
            "Llama 3 8B",
        ),
        Preset(
            "llama-2-7b",
            {"n": 32, "m": 4096, "g": 32, "q": 1, "k": 128, "d": 11008, "v": 32000},
            _LLAMA_2,
            "Llama 2 7B",
        ),
        Preset(
            "mistral-7b",
            {"n": 32, "m": 4096, "g": 8, "q": 4, "k": 128, "d": 14336, "v": 32000},
            _MISTRAL,
            "Mistral 7B",
        ),
    ),
)
