"""Learned, sinusoidal and rotary positions."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Add, Einsum, Group, Linear, Map, Param, Split
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import Rotary
from ncd.systems.shared_parts import scaled_dot_product
from ncd.systems.transformers.attention_variants import LENGTH
from ncd.systems.transformers.encoder_decoder import HEADS, LONGEST_CACHE

# --- Attention with queries and keys rotated by an angle proportional to the position

BASE = 10000


def rotary(h: int = 2, k: int = 16, t: int = 12, s: int = 0) -> Term:
    """Self-attention of t positions with rotary encoding, the first of which has number s.

    Source: Su et al. 2021, "RoFormer", section 3.2; features of a pair stand half a head apart, as
    in Llama's published weights.
    """
    return Axes(t=seq(t), m="h*k", h=h, k=k)(_rotary(s))


@lru_cache(64)
def _rotary(first: int) -> Term:
    turned = Rotary.from_base(BASE).term("h", first=first)
    maps = (
        (Linear("m -> h k", "Q") >> turned)
        @ (Linear("m -> h k", "K") >> turned)
        @ Linear("m -> h k", "V")
    )
    body = Id("t m, t m, t m") >> maps >> scaled_dot_product() >> Linear("h k -> m", "O")
    return Wire("t m -> t m, t m, t m") >> Block(body, "Attention with Rotary Positions", "module")


PRESETS = (
    Preset(
        "roformer",
        {"h": 12, "k": 64, "t": 512},
        'Su et al. 2021, "RoFormer", section 4.2: a BERT of the base size',
        "RoFormer",
    ),
    Preset(
        "llama-7b",
        {"h": 32, "k": 128, "t": 2048},
        'Touvron et al. 2023, "LLaMA", table 2 and section 2.2; its causal mask is left out here',
        "Llama 7B",
    ),
)

ROTARY = Entry(
    name="rotary",
    title="Rotary positions",
    source='Su et al. 2021, "RoFormer", section 3.2',
    knobs=(
        Knob("h", 1, 16, 2, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 2, 64, 16, 2, "features a head", "even: they turn in pairs", multiple=2),
        LENGTH,
        Knob("s", 0, 200, 0, help="number of the first position", reason="where the text begins"),
    ),
    system=rotary,
    section="Components",
    type="t m -> t m",
    cached=("K", "V"),
    presets=PRESETS,
    notes={
        "turn": "A pair of features $p$ turns to $i$, by an angle of its own for every position.",
        "scores": "Two turned vectors: what counts is the difference of their angles.",
    },
)


# --- Position encodings for attention: learned, sinusoidal, or rotary

KINDS = ("none", "learned", "sinusoidal", "rotary")


def positional_embedding(kind: int = 2, h: int = 2, k: int = 16, t: int = 24) -> Term:
    """Self-attention with one of four kinds of positions, a number of ``KINDS``."""
    return Axes(t=seq(t), m="h*k", h=h, k=k)(_positional(kind))


@lru_cache
def _positional(kind: int) -> Term:
    turn = rope() if kind == 3 else Id("t h k")
    attends = (
        Wire("t m -> t m, t m, t m")
        >> (Linear("m -> h k", "q") >> turn)
        @ (Linear("m -> h k", "k") >> turn)
        @ Linear("m -> h k", "v")
        >> scaled_dot_product()
        >> Linear("h k -> m", "o")
    )
    if kind == 1:
        return Id("t m") >> Param("t m", "wpe", "normal") >> Add() >> attends
    if kind == 2:
        return Id("t m") >> sinusoids() >> Add() >> attends
    return Id("t m") >> attends


def sinusoids() -> Term:
    """Sinusoidal encoding: feature 2i is a sine, 2i + 1 a cosine, as in section 3.5."""
    angle = "t / 10000 ** ((m - m % 2) / n_m)"
    return Map("-> t m", f"where(m % 2 == 0, sin({angle}), cos({angle}))", "sin, cos")


def rope() -> Term:
    """Rotary encoding: pairs of features (p, i) rotate by an angle proportional to position t.

    Su et al. 2021, "RoFormer"; the features of a pair stand half a head apart, as in Llama.
    """
    angle = "t * 10000 ** (-r / n_r)"
    turn = f"where(p == i, cos({angle}), where(p < i, sin({angle}), -sin({angle})))"
    return Block(
        Split("k -> p:2 r")
        >> Map("-> t p r i:2", turn, "turn")
        >> Einsum("t p r i, t h p r -> t h i r")
        >> Group("i r -> k"),
        "Rotary",
        "neutral",
    )


POSITIONAL_EMBEDDING = Entry(
    name="positional-embedding",
    title="Positional embedding",
    source="Unit tests, positions",
    knobs=(
        Knob("kind", 0, 3, 2, help="position encoding", reason=", ".join(KINDS), names=KINDS),
        Knob("h", 1, 16, 2, help="heads", reason=HEADS),
        Knob("k", 2, 64, 16, 2, "features", "even: they turn in pairs", multiple=2),
        Knob("t", 2, 64, 24, help="positions", reason=LONGEST_CACHE, least=1),
    ),
    system=positional_embedding,
    section="Transformers",
    width=720.0,
    type="t m -> t m",
)
