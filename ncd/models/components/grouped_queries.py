"""Attention in which several query heads share one head of keys and values."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.ops import CausalMask, Einsum, Linear, Scale, Softmax

LENGTH = Knob(
    "t", 1, 128, 12, help="positions", reason="up to 128, so that an attention map stays readable"
)


def grouped_queries(g: int = 2, q: int = 4, k: int = 16, m: int = 128, t: int = 12) -> Term:
    """Attention with g heads of keys and values, each used by q heads of queries.

    Source: Ainslie et al. 2023, "GQA", section 2.2; with g = 1 Shazeer 2019, "Fast Transformer
    Decoding", section 3.
    """
    return Axes(t=seq(t), m=m, g=g, q=q, k=k)(_grouped())


@lru_cache
def _grouped() -> Term:
    maps = (
        Block(Linear("m -> g q k", "Q"), "Linear", "linear")
        @ Block(Linear("m -> g k", "K"), "", "linear")
        @ Block(Linear("m -> g k", "V"), "", "linear")
    )
    scores = Block(
        Then(
            Einsum("y g q k, x g k -> y x g q", "scores"),
            Scale("k"),
            CausalMask("y x"),
            Softmax("x"),
            Einsum("y x g q, x g k -> y g q k", "out"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )
    heads = Id("t m, t m, t m") >> maps >> scores
    return Wire("t m -> t m, t m, t m") >> Block(
        heads >> Block(Linear("g q k -> m", "O"), "Linear", "linear"),
        "Grouped-Query Attention",
        "module",
    )


_SHARED = "1 for multi-head attention"
PRESETS = (
    Preset(
        "transformer-base",
        {"g": 8, "q": 1, "k": 64, "m": 512},
        'Vaswani et al. 2017, "Attention Is All You Need", table 3: every query head has keys and '
        "values of its own",
        "Transformer, base (multi-head)",
    ),
    Preset(
        "mistral-7b",
        {"g": 8, "q": 4, "k": 128, "m": 4096, "t": 8192},
        'Jiang et al. 2023, "Mistral 7B", table 1; its window is left out here',
        "Mistral 7B (grouped)",
    ),
    Preset(
        "llama-2-70b",
        {"g": 8, "q": 8, "k": 128, "m": 8192, "t": 4096},
        'Touvron et al. 2023, "Llama 2", section 2.2 and table 1; its 64 heads stand in its '
        "published code",
        "Llama 2 70B (grouped)",
    ),
    Preset(
        "palm-8b",
        {"g": 1, "q": 16, "k": 256, "m": 4096, "t": 2048},
        'Chowdhery et al. 2022, "PaLM", section 2 and table 1',
        "PaLM 8B (multi-query)",
    ),
)

GROUPED_QUERIES = Entry(
    name="grouped-queries",
    title="Grouped queries",
    source='Ainslie et al. 2023, "GQA", section 2.2',
    knobs=(
        Knob("g", 1, 16, 2, help="heads of keys and values", reason="1 for multi-query attention"),
        Knob("q", 1, 16, 4, help="query heads for each", reason=_SHARED),
        Knob("k", 1, 128, 16, help="features a head", reason="up to 128, as in large models"),
        Knob("m", 1, 512, 128, help="features", reason="of a position"),
        LENGTH,
    ),
    system=grouped_queries,
    section="Components",
    type="t m -> t m",
    presets=PRESETS,
    cached=("K", "V"),
    notes={
        "K": "Keys and values have the axis $g$ only: this is all that a cache keeps.",
        "scores": "The axis $q$ passes the keys by: $q$ query heads ask the same keys.",
    },
)
