"""Scaled dot-product attention (notebook, figure 20) and multi-head attention (figure 21)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.op import Op
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset, switch
from ncd.ops import CausalMask, Copy, Einsum, Linear, Named, Scale, Softmax


def scaled_dot_product_attention(y: int = 20, x: int = 22, k: int = 16, causal: int = 0) -> Term:
    """softmax(Q Kᵀ / √k) V on y queries and x keys. "Attention Is All You Need", equation 1."""
    return Axes(y=seq(y), x=seq(x), k=k)(_scaled_dot_product(causal))


@lru_cache
def _scaled_dot_product(causal: int) -> Term:
    scores, scale, *rest, values = _steps("y k, x k -> y x", "y x, x k -> y k", causal)
    return Named("y k", "Q") @ Named("x k", "K") @ Named("x k", "V") >> Block(
        Then(
            Block(scores, "", "einsum"),
            Block(scale, "", "scale"),
            *(Block(step, "SoftMax" if step is rest[-1] else "Mask", step.role) for step in rest),
            Block(values, "", "weighted"),
        ),
        TITLE,
        "neutral",
    )


def multi_head_attention(
    h: int = 4, k: int = 16, m: int = 128, y: int = 20, x: int = 22, causal: int = 0
) -> Term:
    """h attentions at once, each on k features. "Attention Is All You Need", section 3.2.2.

    The axes of the heads stand in the notebook's order, ``k h``.
    """
    return Axes(y=seq(y), x=seq(x), m=m, k=k, h=h)(_multi_head(causal))


@lru_cache
def _multi_head(causal: int) -> Term:
    return Block(
        Id("y m") @ Block(Copy("x m"), "Copy", "copy") >> heads(causal),
        "Multi-Head Attention",
        "module",
    )


def heads(causal: int = 0) -> Term:
    """Returns the attention of queries ``y m`` to keys and values ``x m, x m``, in h heads."""
    return (
        Block(Linear("m -> k h", "Q"), "Linear", "linear")
        @ Block(Linear("m -> k h", "K"), "", "linear")
        @ Block(Linear("m -> k h", "V"), "", "linear")
        >> Block(
            Then(*_steps("y k h, x k h -> y x h", "y x h, x k h -> y k h", causal)),
            TITLE,
            "einsum",
        )
        >> Block(Linear("k h -> m", "O"), "Linear", "linear")
    )


def forget() -> None:
    """Empties the caches of both systems."""
    _multi_head.cache_clear()
    _scaled_dot_product.cache_clear()


TITLE = "Scaled Dot-Product Attention"


def _steps(scores: str, values: str, causal: int) -> tuple[Op, ...]:
    """Returns the steps of attention: scores, weights that sum to 1 along x, weighted values."""
    mask = (CausalMask("y x"),) if causal else ()
    return Einsum(scores, "scores"), Scale("k"), *mask, Softmax("x"), Einsum(values, "out")


_MAP = "up to 256, so that an attention map stays readable"
_LENGTH = "the length of a query and of a key; up to 128, as in large models"
_LENGTHS = (
    Knob("y", 1, 256, 20, help="queries", reason=f"the positions that ask; {_MAP}"),
    Knob("x", 1, 256, 22, help="keys and values", reason=f"the positions that answer; {_MAP}"),
)
CAUSAL = switch("causal", 0, "causal mask", "a query sees only the keys up to its own position")

_VASWANI = 'Vaswani et al. 2017, "Attention Is All You Need", table 3'
PRESETS = (
    Preset("transformer-base", {"h": 8, "k": 64, "m": 512}, _VASWANI, "Transformer, base"),
    Preset("transformer-big", {"h": 16, "k": 64, "m": 1024}, _VASWANI, "Transformer, big"),
    Preset(
        "gpt-2-small",
        {"h": 12, "k": 64, "m": 768, "y": 1024, "x": 1024, "causal": 1},
        'Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2 and '
        "section 2.3; the 12 heads stand in its published code",
        "GPT-2 small",
    ),
    Preset(
        "llama-3-8b",
        {"h": 32, "k": 128, "m": 4096, "y": 8192, "x": 8192, "causal": 1},
        'Grattafiori et al. 2024, "The Llama 3 Herd of Models", table 3, and its model card for '
        "the 8,192 positions; there the 32 heads share 8 heads of keys and values",
        "Llama 3 8B",
    ),
    Preset(
        "vit-b-16",
        {"h": 12, "k": 64, "m": 768, "y": 197, "x": 197},
        'Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", table 1; 14 × 14 patches of an '
        "image of 224 × 224, and the class token",
        "ViT-B/16",
    ),
)
ONE_HEAD = tuple(
    replace(preset, knobs={name: n for name, n in preset.knobs.items() if name not in "hm"})
    for preset in PRESETS
    if preset.name != "transformer-big"  # whose heads are those of the base model
)

SCALED_DOT_PRODUCT_ATTENTION = Entry(
    name="scaled-dot-product-attention",
    title="Scaled dot-product attention",
    source="Notebook, figure 20",
    knobs=(
        Knob("k", 1, 128, 16, help="features", reason=_LENGTH),
        *_LENGTHS,
        CAUSAL,
    ),
    system=scaled_dot_product_attention,
    section="Attention",
    type="y k, x k, x k -> y k",
    presets=ONE_HEAD,
)

MULTI_HEAD_ATTENTION = Entry(
    name="multi-head-attention",
    title="Multi-head attention",
    source="Notebook, figure 21",
    knobs=(
        Knob("h", 1, 16, 4, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 16, help="features a head", reason=_LENGTH),
        Knob(
            "m",
            1,
            512,
            128,
            help="features",
            reason="of the inputs and the output; up to 512, as in the paper",
        ),
        *_LENGTHS,
        CAUSAL,
    ),
    system=multi_head_attention,
    section="Attention",
    type="y m, x m -> y m",
    cached=("K", "V"),
    presets=PRESETS,
    notes={
        "Linear": "Learned fully connected layers generate $Q$, $K$, and $V$ from the inputs.",
        "q, k, v": "These generate $k × h$-shaped data, a $k$-deep vector for each attention head.",
        "Copy": "We copy the injected data to generate $K$ and $V$.",
        "axis h": "Concat (Diagonalize): During matrix multiplication, we diagonalize the "
        "$h$-axes, so heads never mix and run in parallel.",
        "O": "A final fully connected layer combines the outputs of the separate heads into one "
        "vector.",
    },
)
