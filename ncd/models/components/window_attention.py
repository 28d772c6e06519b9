"""Layers of attention that see a window of the last positions."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.shared_parts import scaled_dot_product
from ncd.ops import Add, Linear, Map


def sliding_window(n: int = 3, w: int = 4, h: int = 2, k: int = 8, t: int = 20) -> Term:
    """n layers of attention in which a position sees itself and the w - 1 before it.

    Source: Jiang et al. 2023, "Mistral 7B", section 2; Beltagy et al. 2020, "Longformer", section
    3.1, for windows that also see ahead.
    """
    return Axes(t=seq(t), m="h*k", h=h, k=k)(_layers(n, w))


@lru_cache(64)
def _layers(n: int, w: int) -> Term:
    window = Map("y x h -> y x h", f"where(x > y, -inf, where(y - x < {w}, $1, -inf))", "window")
    attention = Block(
        Id("t m, t m, t m")
        >> Linear("m -> h k", "Q") @ Linear("m -> h k", "K") @ Linear("m -> h k", "V")
        >> scaled_dot_product(window)
        >> Linear("h k -> m", "O"),
        "Sliding-Window Attention",
        "module",
    )
    layer = Wire("t m -> t m, t m, t m, t m") >> attention @ Id("t m") >> Add()
    return Id("t m") >> Repeat((layer,) * n)


SLIDING_WINDOW = Entry(
    name="sliding-window",
    title="Sliding window",
    source='Jiang et al. 2023, "Mistral 7B", section 2',
    knobs=(
        Knob("w", 1, 32, 4, help="positions that one sees", reason="itself and those before it"),
        Knob("n", 1, 8, 3, help="layers", reason="each reaches further back", most=64),
        Knob("h", 1, 16, 2, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 8, help="features a head", reason="up to 128, as in large models"),
        Knob("t", 1, 64, 20, help="positions", reason="up to 64, as each is changed in turn"),
    ),
    system=sliding_window,
    section="Components",
    type="t m -> t m",
    cached=("K", "V"),
    presets=(
        Preset(
            "mistral-7b",
            {"n": 32, "w": 4096, "h": 32, "k": 128, "t": 8192},
            'Jiang et al. 2023, "Mistral 7B", table 1; its 32 heads share 8 heads of keys and '
            "values, and its feed-forwards and norms are left out here",
            "Mistral 7B",
        ),
    ),
    notes={"window": "A query $y$ sees keys $x$ from $y$ back to the edge of its window."},
)
