"""Gemma: layers that see a window, with a layer that sees all in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
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
    cap,
    gated_mlp,
    grouped_attention,
    sliding_window,
    tanh_gelu,
    tied_model,
)
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import Add, Map, RMSNorm

PLAIN = Rotary.plain(10000)


@dataclass(frozen=True)
class Variant:
    """The choices in which the three generations of Gemma differ.

    Args:
        window: The positions that a local layer sees; 0 if all layers see all.
        every: The layers of one round: the last sees all, those before it a window.
        around: Whether a norm also follows each part.
        head_norm: Whether queries and keys are normalised.
        scale: The number by whose root the scores are divided; 0 for the features of a head.
        score_cap: The number at which scores are capped; 0 for none.
        word_cap: The number at which the scores of words are capped; 0 for none.
        rotary: The angles of the layers that see all.
        local: The angles of the others.
        eps: The number that the norms add.

    Source: Gemma Team 2024, "Gemma 2", table 1 and section 2; 2025, "Gemma 3", section 2.
    """

    window: int = 0
    every: int = 1
    around: bool = False
    head_norm: bool = False
    scale: float = 0
    score_cap: float = 0
    word_cap: float = 0
    rotary: Rotary = PLAIN
    local: Rotary = PLAIN
    eps: float = 1e-6


GEMMA_2 = Variant(window=4, every=2, around=True, score_cap=50, word_cap=30)


def gemma(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    g: int = 2,
    q: int = 2,
    k: int = 16,
    d: int = 128,
    v: int = 256,
    *,
    variant: Variant = GEMMA_2,
) -> Term:
    """Returns a language model of Google's Gemma family.

    Its norms multiply by 1 + w where w is published; here they multiply by the weight itself.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        g: The heads of keys and values.
        q: The queries for each of them.
        k: The features of a head.
        d: The hidden features.
        v: The words.
        variant: The choices of the generation.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Gemma Team 2024, "Gemma", table 1, and "Gemma 2", table 1.

    >>> import ncd
    >>> sizes = dict(n=18, t=1, m=2048, g=1, q=8, k=256, d=16384, v=256000)
    >>> ncd.cost(gemma(**sizes, variant=Variant())).parameters  # Gemma 2B
    2506172416
    """
    return Axes(t=seq(t), m=m, g=g, q=q, k=k, d=d, v=v)(_gemma(n, variant))


@lru_cache(32)
def _gemma(n: int, variant: Variant) -> Term:
    whole, left = divmod(n, variant.every)
    near = _layer(variant, sees_all=False)
    windows = Repeat((near,) * (variant.every - 1), "local") if variant.every > 1 else Id("t m")
    one = windows >> _layer(variant, sees_all=True)
    rounds = (Repeat((one,) * whole),) if whole else ()
    rest = (Repeat((near,) * left, "last"),) if left else ()
    layers = Then(Id("t m"), *rounds, *rest, RMSNorm("m", "norm", variant.eps))
    scaled = Map("m -> m", "$1 * sqrt(n_m)", "scale")
    model = tied_model(layers, "embed_tokens", scaled)
    return model >> cap(variant.word_cap) if variant.word_cap else model


def _layer(variant: Variant, sees_all: bool) -> Term:
    """Returns a layer that sees all positions before it, or a window of them."""
    local = variant.window and not sees_all
    attention = grouped_attention(
        variant.local if local else variant.rotary,
        *((cap(variant.score_cap),) if variant.score_cap else ()),
        *((sliding_window(variant.window),) if local else ()),
        head_norm=RMSNorm("k", "norm", variant.eps) if variant.head_norm else None,
        scale=_scaled(variant.scale) if variant.scale else None,
    )
    before = ("input_layernorm", "pre_feedforward_layernorm")
    after = ("post_attention_layernorm", "post_feedforward_layernorm")
    if not variant.around:
        before = (before[0], after[0])
    parts = (attention, gated_mlp(tanh_gelu()))
    return Then(
        *(_residual(p, b, a, variant) for p, b, a in zip(parts, before, after, strict=True))
    )


def _scaled(number: float) -> Term:
    """Returns the scores divided by the root of a number."""
    return Map("() -> ()", f"$1 / sqrt({number:.17g})", "scale")


def _residual(part: Term, before: str, after: str, variant: Variant) -> Term:
    """Returns x + norm(part(norm x)), or x + part(norm x)."""
    behind = (RMSNorm("m", after, variant.eps),) if variant.around else ()
    inner = Then(RMSNorm("m", before, variant.eps), part, *behind)
    return Wire("t m -> t m, t m") >> inner @ Id("t m") >> Add()


def gemma_2(n: int, t: int, m: int, g: int, q: int, k: int, d: int, w: int, v: int) -> Term:
    """Returns Gemma 2, whose layers alternate between a window of w positions and all."""
    return gemma(n, t, m, g, q, k, d, v, variant=replace(GEMMA_2, window=w))


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
        TURNED,
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
