"""Llama, and models with its structure and sizes of their own."""

from __future__ import annotations

from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.decoder import DecoderDesign, Heads, Norm, decoder
from ncd.systems.language_models.model_parts import (
    FEATURES,
    GROUPS,
    HIDDEN,
    LAYERS,
    POSITIONS,
    QUERIES,
    ROTARY_HEAD,
    SECTION,
    WIDTH,
    WORDS,
    Rotary,
)

DESIGN = DecoderDesign(Heads(Rotary.from_base(500_000)), Norm(eps=1e-5))


def llama(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    g: int = 2,
    q: int = 2,
    k: int = 16,
    d: int = 128,
    v: int = 256,
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

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Touvron et al. 2023, "LLaMA", section 2.2; Jiang et al. 2023, "Mistral 7B", section 2.

    >>> import ncd
    >>> sizes = dict(n=32, t=1, m=4096, g=8, q=4, k=128, d=14336, v=128256)
    >>> ncd.cost(llama(**sizes)).parameters  # Llama 3 8B
    8030261248
    """
    return decoder(DESIGN, n, t, m=m, g=g, q=q, k=k, d=d, v=v)


_LLAMA_3 = 'Grattafiori et al. 2024, "The Llama 3 Herd of Models", table 3'
_LLAMA_2 = 'Touvron et al. 2023, "Llama 2", table 1, and the sizes of its published code'
_MISTRAL = 'Jiang et al. 2023, "Mistral 7B", table 1; its window of 4,096 positions is left out'

LLAMA = Entry(
    name="llama",
    title="Llama",
    source="Touvron et al. 2023, LLaMA",
    knobs=(LAYERS, POSITIONS, FEATURES, GROUPS, QUERIES, ROTARY_HEAD, HIDDEN, WORDS),
    system=llama,
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
