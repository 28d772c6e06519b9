"""Mixtral: each position is worked on by the best few of many feed-forwards."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Preset
from ncd.models.language_models.expert_mixture import mixture, softmax_router
from ncd.models.language_models.model_knobs import (
    CHOSEN,
    EXPERTS,
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
    grouped_attention,
    sliding_window,
    untied_model,
)
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import RMSNorm


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
    *,
    rotary: Rotary | None = None,
    eps: float = 1e-5,
    window: int = 0,
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
        rotary: The angles of the positions.
        eps: The number that the norms add.
        window: The positions that each one sees; 0 for all before it.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Jiang et al. 2024, "Mixtral of Experts", section 2.

    >>> import ncd
    >>> sizes = dict(n=32, t=1, m=4096, g=8, q=4, k=128, d=14336, e=8, c=2, v=32000)
    >>> ncd.cost(mixtral(**sizes)).parameters  # Mixtral 8x7B
    46702792704
    """
    sizes = Axes(t=seq(t), m=m, g=g, q=q, k=k, d=d, e=e, c=c, v=v)
    return sizes(_mixtral(n, rotary or Rotary.plain(1e6), eps, window))


@lru_cache(32)
def _mixtral(n: int, rotary: Rotary, eps: float, window: int) -> Term:
    masks = (sliding_window(window),) if window else ()
    moe = mixture(softmax_router(), "d", ("w1", "w3", "w2"))
    moe = Block(moe, "Mixture of Experts", "folded", "block_sparse_moe")
    layer = after_norm(
        grouped_attention(rotary, *masks), RMSNorm("m", "input_layernorm", eps)
    ) >> after_norm(moe, RMSNorm("m", "post_attention_layernorm", eps))
    return untied_model(Repeat((layer,) * n) >> RMSNorm("m", "norm", eps), "embed_tokens")


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
        TURNED,
        HIDDEN,
        EXPERTS,
        CHOSEN,
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
