"""A layer of a decoder on a batch, whose axes are put on several devices."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.terms import Id, Term
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.shared_parts import feed_forward, residual, self_attention


def parallelism(b: int = 8, t: int = 16, h: int = 8, k: int = 8, d: int = 256) -> Term:
    """Returns a layer of a decoder, ``b t m -> b t m``, with the norm before each part.

    Source: Shoeybi et al. 2019, "Megatron-LM", section 3, which splits such a layer.

    >>> parallelism().cod.spec
    'b:8 ~t:16 m:64'
    """
    return Axes(b=b, t=seq(t), m="h*k", h=h, k=k, d=d)(_layer())


@lru_cache
def _layer() -> Term:
    attends = residual(self_attention("self_attn", causal=True), "norm1")
    return Id("b t m") >> attends >> residual(feed_forward("gelu"), "norm2")


PARALLELISM = Entry(
    name="parallelism",
    title="Parallelism",
    source='Shoeybi et al. 2019, "Megatron-LM", section 3',
    knobs=(
        Knob("b", 1, 32, 8, help="examples", reason="of a batch: each device can have some"),
        Knob("t", 1, 64, 16, help="positions", reason="up to 64, so that every map stays readable"),
        Knob("h", 1, 16, 8, help="heads", reason="each device can have some", least=1),
        Knob("k", 1, 64, 8, help="features a head", reason="64 in the base model", least=1),
        Knob("d", 1, 1024, 256, help="hidden features", reason="often 4 · m", least=1),
    ),
    system=parallelism,
    section="Training",
    type="b t m -> b t m",
    presets=(
        Preset(
            "megatron-8-3b",
            {"b": 8, "t": 1024, "h": 32, "k": 96, "d": 12288},
            'Shoeybi et al. 2019, "Megatron-LM", table 1, on 8 devices for each model; 1,024 '
            "positions and a batch of 8 in section 5.1",
            "Megatron-LM 8.3B",
        ),
    ),
)
