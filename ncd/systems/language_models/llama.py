"""Llama, and decoders that differ little from it: Gemma, which sees a window, and Mixtral."""

from __future__ import annotations

from dataclasses import replace

from ncd.circuit.knob import Knob
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.decoder import DecoderDesign, DecoderLayer, Heads, Norm, decoder
from ncd.systems.language_models.expert_mixture import softmax_router
from ncd.systems.language_models.model_parts import (
    CHOSEN_EXPERTS,
    EXPERTS,
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
    tanh_gelu,
)

# --- Llama, and models with its structure and sizes of their own


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


# --- Gemma: layers that see a window, with a layer that sees all in between


GEMMA_2 = DecoderDesign(
    Heads(window=4, cap=50),
    norms="around",
    activation=tanh_gelu(),
    round=(DecoderLayer(has_window=True), DecoderLayer()),
    tied=True,
    growth_factor=0,
    word_cap=30,
)


def gemma_2(n: int, t: int, m: int, g: int, q: int, k: int, d: int, w: int, v: int) -> Term:
    """Returns Gemma 2, whose layers alternate between a window of w positions and all.

    Its norms multiply by 1 + w where w is published; here they multiply by the weight itself.

    Source: Gemma Team 2024, "Gemma 2", table 1 and section 2.

    >>> import ncd
    >>> sizes = dict(n=26, t=1, m=2304, g=4, q=2, k=256, d=9216, w=4096, v=256000)
    >>> ncd.cost(gemma_2(**sizes)).parameters  # Gemma 2 2B
    2614341888
    """
    design = replace(GEMMA_2, heads=replace(GEMMA_2.heads, window=w))
    return decoder(design, n, t, m=m, g=g, q=q, k=k, d=d, v=v)


_TABLE = 'Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size", table 1'
_WINDOW = Knob("w", 1, 16, 4, help="positions of a window", reason="4,096 in Gemma 2")

GEMMA = Entry(
    name="gemma",
    title="Gemma",
    source="Gemma Team 2024, Gemma 2",
    knobs=(
        LAYERS,
        POSITIONS,
        FEATURES,
        GROUPS,
        QUERIES,
        ROTARY_HEAD,
        HIDDEN,
        _WINDOW,
        WORDS,
    ),
    system=gemma_2,
    section=SECTION,
    type="t#v -> t v",
    cached=("k_proj", "v_proj"),
    width=WIDTH,
    presets=(
        Preset(
            "gemma-2-2b",
            {
                **{"n": 26, "m": 2304, "g": 4, "q": 2, "k": 256, "d": 9216},
                **{"w": 4096, "v": 256000},
            },
            f"{_TABLE}, where d is given for gate and values together",
            "Gemma 2 2B",
        ),
        Preset(
            "gemma-2-9b",
            {
                **{"n": 42, "m": 3584, "g": 8, "q": 2, "k": 256, "d": 14336},
                **{"w": 4096, "v": 256000},
            },
            f"{_TABLE}, where d is given for gate and values together",
            "Gemma 2 9B",
        ),
    ),
)


# --- Mixtral: each position is worked on by the best few of many feed-forwards


MIXTRAL_DESIGN = DecoderDesign(
    Heads(Rotary.from_base(1e6)), Norm(eps=1e-5), router=softmax_router()
)


def mixtral(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    g: int = 2,
    q: int = 2,
    k: int = 16,
    d: int = 128,
    e: int = 8,
    c: int = 2,
    v: int = 256,
) -> Term:
    """Returns a language model whose feed-forward is a mixture of experts.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        g: The heads of keys and values.
        q: The queries for each of them.
        k: The features of a head.
        d: The hidden features of an expert.
        e: The experts.
        c: The experts that are chosen for a position.
        v: The words.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Jiang et al. 2024, "Mixtral of Experts", section 2.

    >>> import ncd
    >>> sizes = dict(n=32, t=1, m=4096, g=8, q=4, k=128, d=14336, e=8, c=2, v=32000)
    >>> ncd.cost(mixtral(**sizes)).parameters  # Mixtral 8x7B
    46702792704
    """
    return decoder(MIXTRAL_DESIGN, n, t, m=m, g=g, q=q, k=k, d=d, e=e, c=c, v=v)


MIXTRAL = Entry(
    name="mixtral",
    title="Mixtral",
    source="Jiang et al. 2024, Mixtral",
    knobs=(
        LAYERS,
        POSITIONS,
        FEATURES,
        GROUPS,
        QUERIES,
        ROTARY_HEAD,
        HIDDEN,
        EXPERTS,
        CHOSEN_EXPERTS,
        WORDS,
    ),
    system=mixtral,
    section=SECTION,
    type="t#v -> t v",
    cached=("k_proj", "v_proj"),
    width=WIDTH,
    presets=(
        Preset(
            "mixtral-8x7b",
            {
                **{"n": 32, "m": 4096, "g": 8, "q": 4, "k": 128, "d": 14336},
                **{"e": 8, "c": 2, "v": 32000},
            },
            'Jiang et al. 2024, "Mixtral of Experts", table 1',
            "Mixtral 8x7B",
        ),
    ),
)
