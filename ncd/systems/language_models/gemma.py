"""Gemma: layers that see a window, with a layer that sees all in between."""

from __future__ import annotations

from dataclasses import replace

from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry, Knob, Preset
from ncd.systems.language_models.decoder import DecoderDesign, DecoderLayer, Heads, decoder
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
    tanh_gelu,
)

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
