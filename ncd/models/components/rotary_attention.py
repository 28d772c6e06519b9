"""Attention with queries and keys rotated by an angle proportional to the position."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.components.grouped_queries import LENGTH
from ncd.models.language_models.rotary_positions import Rotary
from ncd.models.shared_parts import scaled_dot_product
from ncd.ops import Linear

BASE = 10000


def rotary(h: int = 2, k: int = 16, t: int = 12, s: int = 0) -> Term:
    """Self-attention of t positions with rotary encoding, the first of which has number s.

    Source: Su et al. 2021, "RoFormer", section 3.2; features of a pair stand half a head apart, as
    in Llama's published weights.
    """
    return Axes(t=seq(t), m="h*k", h=h, k=k)(_rotary(s))


@lru_cache(64)
def _rotary(first: int) -> Term:
    turned = Rotary.plain(BASE).term("h", first=first)
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
