"""Mixtral: each position is worked on by the best few of many feed-forwards."""

from __future__ import annotations

from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.decoder import DecoderDesign, Heads, Norm, decoder
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
)

DESIGN = DecoderDesign(Heads(Rotary.from_base(1e6)), Norm(eps=1e-5), router=softmax_router())


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
    return decoder(DESIGN, n, t, m=m, g=g, q=q, k=k, d=d, e=e, c=c, v=v)


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
