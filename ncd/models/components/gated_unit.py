"""A feed-forward in which one map decides how much of another one passes."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.ops import Elementwise, Linear, Map


def swiglu(m: int = 16, d: int = 40, t: int = 12) -> Term:
    """(SiLU(x W) · x V) W₂ on d hidden features.

    Source: Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
    """
    return Axes(t=seq(t), m=m, d=d)(_swiglu())


@lru_cache
def _swiglu() -> Term:
    gate = Block(Linear("m -> d", "W") >> Elementwise("silu"), "Gate", "activate")
    return (
        Wire("t m -> t m, t m")
        >> Id("t m, t m")
        >> gate @ Block(Linear("m -> d", "V"), "Values", "linear")
        >> Map("d, d -> d", "$1 * $2", "times")
        >> Block(Linear("d -> m", "W2"), "Output", "linear")
    )


_REPORT = "its gate, values and output are maps of these sizes"
SWIGLU = Entry(
    name="swiglu",
    title="SwiGLU",
    source='Shazeer 2020, "GLU Variants Improve Transformer", equation 6',
    knobs=(
        Knob("m", 1, 256, 16, help="features", reason="of a position"),
        Knob("d", 1, 1024, 40, help="hidden features", reason="usually about 8/3 of the features"),
        Knob("t", 1, 64, 12, help="positions", reason="each is worked on alone"),
    ),
    system=swiglu,
    section="Components",
    type="t m -> t m",
    presets=(
        Preset(
            "llama-2-7b",
            {"m": 4096, "d": 11008},
            f'Touvron et al. 2023, "Llama 2", and its published config.json; {_REPORT}',
            "Llama 2 7B",
        ),
        Preset(
            "mistral-7b",
            {"m": 4096, "d": 14336},
            f'Jiang et al. 2023, "Mistral 7B", table 1; {_REPORT}',
            "Mistral 7B",
        ),
    ),
    notes={"times": "Where the gate is near 0, nothing of the value passes."},
)
