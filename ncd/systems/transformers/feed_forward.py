"""Feed-forwards: pointwise, gated, a mixture of experts."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Conv, Einsum, Elementwise, Linear, Map
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.expert_mixture import mixture, softmax_router
from ncd.systems.shared_parts import feed_forward
from ncd.systems.transformers.encoder_decoder import LONGEST_CACHE

# --- A feed-forward in which one map decides how much of another one passes


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


# --- A mixture of experts: a router sends each position to the best few of many feed-forwards


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


# --- The feed-forward of a transformer, as linear maps or as convolutions of width 1


def pointwise_feed_forward(t: int = 4, m: int = 6, d: int = 6, conv: int = 1) -> Term:
    """Two affine maps at every position; with ``conv``, as 1 × 1 convolutions along t."""
    return Axes(t=seq(t), m=m, d=d)(_pointwise(conv))


@lru_cache
def _pointwise(conv: int) -> Term:
    if not conv:
        return Id("t m") >> feed_forward()
    return (
        Einsum("t m -> m t")
        >> Conv("m t -> d t", "conv1")
        >> Elementwise("relu")
        >> Conv("d t -> m t", "conv2")
        >> Einsum("m t -> t m")
    )


POINTWISE_FEED_FORWARD = Entry(
    name="pointwise-feed-forward",
    title="Point-wise feed-forward",
    source="Unit tests, Conv1d",
    knobs=(
        Knob("m", 1, 64, 6, help="features of a position", reason="six in the notebook"),
        Knob("d", 1, 256, 6, help="hidden features", reason="often 4 · m"),
        Knob("t", 1, 64, 4, help="positions", reason=LONGEST_CACHE),
        switch(
            "conv",
            1,
            "as a convolution",
            "on, both maps are convolutions of width 1 along t; off, linear maps",
        ),
    ),
    system=pointwise_feed_forward,
    section="Transformers",
    type="t m -> t m",
)
