"""Position encodings for attention: learned, sinusoidal, or rotary."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob
from ncd.models.shared_parts import scaled_dot_product
from ncd.models.transformers.encoder_decoder import HEADS, LENGTH
from ncd.ops import Add, Einsum, Group, Linear, Map, Param, Split

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
        Knob("kind", 0, 3, 2, help="of positions", reason=", ".join(KINDS), names=KINDS),
        Knob("h", 1, 16, 2, help="heads", reason=HEADS),
        Knob("k", 2, 64, 16, 2, "features", "even: they turn in pairs", multiple=2),
        Knob("t", 2, 64, 24, help="positions", reason=LENGTH, least=1),
    ),
    system=positional_embedding,
    section="Transformers",
    width=720.0,
    type="t m -> t m",
)
