"""A mixture of experts: a router sends each position to the best few of many feed-forwards."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.terms import Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.language_models.expert_mixture import mixture, softmax_router


def mixture_of_experts(t: int = 12, m: int = 16, d: int = 32, e: int = 8, c: int = 2) -> Term:
    """Returns e gated feed-forwards with d hidden features; c of them run per position.

    Source: Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2; the experts and
    the router are those of Jiang et al. 2024, "Mixtral of Experts", section 2.1.

    >>> import ncd
    >>> ncd.cost(mixture_of_experts(m=16, d=32, e=8)).parameters  # a router and 8 × 3 maps
    12416
    """
    return Axes(t=seq(t), m=m, d=d, e=e, c=c)(_mixture_of_experts())


@lru_cache
def _mixture_of_experts() -> Term:
    return mixture(softmax_router(), "d", ("w1", "w3", "w2"))


_LAYER = "this is one layer of it"
MIXTURE_OF_EXPERTS = Entry(
    name="mixture-of-experts",
    title="Mixture of experts",
    source="Shazeer et al. 2017, section 2",
    knobs=(
        Knob("e", 4, 16, 8, help="experts", reason="8 to 256 in published models"),
        Knob("c", 1, 4, 2, help="experts for a position", reason="1 to 8 in published models"),
        Knob("t", 1, 32, 12, help="positions", reason="up to 32, so that every map stays readable"),
        Knob("m", 1, 128, 16, help="features", reason="of a position"),
        Knob("d", 1, 256, 32, help="hidden features of an expert", reason="often fewer than 4 m"),
    ),
    system=mixture_of_experts,
    section="Components",
    type="t m -> t m",
    width=900.0,
    presets=(
        Preset(
            "mixtral-8x7b",
            {"e": 8, "c": 2, "m": 4096, "d": 14336},
            f'Jiang et al. 2024, "Mixtral of Experts", table 1; {_LAYER}',
            "Mixtral 8x7B",
        ),
        Preset(
            "qwen3-30b-a3b",
            {"e": 128, "c": 8, "m": 2048, "d": 768},
            f'Yang et al. 2025, "Qwen3 Technical Report", and its published config.json; {_LAYER}',
            "Qwen3 30B-A3B",
        ),
    ),
    notes={"Top": "Only the experts with the largest scores are computed."},
)
