"""A fixed learned map, and a low-rank update that is trained beside it."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Add, Linear, Map
from ncd.systems.catalogue_entry import Entry, Preset


def lora(r: int = 2, a: int = 4, m: int = 64, d: int = 48, t: int = 6, merged: int = 0) -> Term:
    """A map from m to d features with an update of rank r; with ``merged`` they are one map.

    Source: Hu et al. 2021, "LoRA", section 4.1, equation 3.
    """
    sizes = Axes(t=seq(t), m=m, d=d) if merged else Axes(t=seq(t), m=m, d=d, r=r)
    return sizes(_merged_map() if merged else _low_rank_update(a))


@lru_cache
def _merged_map() -> Term:
    return Id("t m") >> Block(Linear("m -> d", "W"), "Merged", "linear")


@lru_cache(64)
def _low_rank_update(scale: int) -> Term:
    update = Block(
        Linear("m -> r", "A")
        >> Linear("r -> d", "B")
        >> Map("t d -> t d", f"{scale} / n_r * $1", "scale", "r"),
        "Low Rank",
        "weighted",
    )
    frozen = Block(Linear("m -> d", "W"), "Pretrained", "linear")
    return Wire("t m -> t m, t m") >> frozen @ update >> Add()


def _notes(merged: int, **rest: int) -> dict[str, str]:
    """Returns the callouts of the drawing; if merged, there is only one map."""
    if merged:
        return {"W": "One map, whose weights are those of $W$ with the update added."}
    return {
        "W": "The trained map stays as it is.",
        "A": "All that is learned passes through $r$ features.",
    }


_PAPER = 'Hu et al. 2021, "LoRA"'
_SIZE = "up to 512; published ones are a choice above"
LORA = Entry(
    name="lora",
    title="LoRA",
    source=f"{_PAPER}, equation 3",
    knobs=(
        Knob("r", 1, 16, 2, help="rank of the update", reason="published ones are mostly 1 to 64"),
        Knob("a", 1, 64, 4, help="α, the strength of the update", reason="it is divided by r"),
        Knob("m", 1, 512, 64, help="features in", reason=_SIZE),
        Knob("d", 1, 512, 48, help="features out", reason=_SIZE),
        Knob("t", 1, 64, 6, help="positions", reason="each goes through the same maps"),
        switch("merged", 0, "merged", "the update is added to the map once, after training"),
    ),
    system=lora,
    section="Components",
    type="t m -> t d",
    presets=(
        Preset(
            "roberta-base",
            {"r": 8, "a": 8, "m": 768, "d": 768},
            f"{_PAPER}, table 9: queries and values of RoBERTa base",
            "RoBERTa base",
        ),
        Preset(
            "gpt-2-medium",
            {"r": 4, "a": 32, "m": 1024, "d": 1024},
            f"{_PAPER}, table 11: queries and values of GPT-2 medium",
            "GPT-2 medium",
        ),
    ),
    notes=_notes,
)
