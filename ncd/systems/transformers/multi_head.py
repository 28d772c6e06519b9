"""Scaled dot-product and multi-head attention, with separate, packed or two images' heads."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq, space
from ncd.language.blocks import Block
from ncd.language.op import Op
from ncd.language.terms import Id, Term, Then
from ncd.ops import (
    CausalMask,
    Conv,
    ConvTranspose,
    Copy,
    Cut,
    Einsum,
    Linear,
    Map,
    Named,
    Scale,
    Softmax,
    Split,
)
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.shared_parts import attention, scaled_dot_product
from ncd.systems.transformers.encoder_decoder import FEATURES, HEADS, LONGEST_CACHE

# --- Scaled dot-product attention (notebook, figure 20) and multi-head attention (figure 21)


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
MULTI_HEAD_PRESETS = (
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
    for preset in MULTI_HEAD_PRESETS
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
    presets=MULTI_HEAD_PRESETS,
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


# --- Visual attention (notebook, figure 28): multi-head attention between two images


def visual_attention(
    h: int = 4, k: int = 8, c: int = 3, y: int = 32, x: int = 32, w: int = 3, s: int = 3
) -> Term:
    """Attention from patches of a y × y image to patches of an x × x image, with h heads.

    A patch is a window of w × w pixels, and the next one begins s pixels further.
    """
    return Axes(c=c, k=k, h=h, y=space(y, y), x=space(x, x))(_visual_attention(w, s, h == 1))


@lru_cache
def _visual_attention(w: int, s: int, single: bool) -> Term:
    h = 'h"1"' if single else "h"
    y, x, z = ('y/s"y"', 'x/s"x"', 'z"y"') if w == s == 1 else ("y/s", "x/s", 'z"y′"')
    window: dict[str, Any] = {"kernel": w, "stride": s, "padding": 0, "bias": False}
    attend = (
        Einsum(f"{h} k {y}, {h} k {x} -> {h} {x} {y}", "scores")
        >> Scale("k")
        >> Softmax(x)
        >> Einsum(f"{h} {x} {y}, {h} k {x} -> {h} k {y}", "out")
    )
    return Block(
        Id("c y") @ Copy("c x")
        >> Block(Conv(f"c y -> {h} k {y}", "Q", **window), "", "convolution")
        @ Block(Conv(f"c x -> {h} k {x}", "K", **window), "", "convolution")
        @ Block(Conv(f"c x -> {h} k {x}", "V", **window), "", "convolution")
        >> Block(attend, "Scaled Dot-Product Attention", "neutral")
        >> Block(ConvTranspose(f"{h} k {y} -> c {z}", "O", **window), "", "convolution"),
        "Visual Attention",
        "neutral",
    )


_NOTEBOOK = "Neural circuit diagrams, section 3.5"
VISUAL_ATTENTION_PRESETS = (
    Preset(
        "figure-28",
        {"h": 1, "k": 8, "c": 33, "y": 16, "x": 16, "w": 1, "s": 1},
        f"{_NOTEBOOK}, figure 28, for the sizes of its run",
        "The notebook's figure",
    ),
    Preset(
        "notebook",
        {"h": 4, "k": 8, "c": 33, "y": 16, "x": 16, "w": 3, "s": 3},
        f"{_NOTEBOOK}, the run below the figure",
        "The notebook's run",
    ),
    Preset(
        "vit-b-16",
        {"h": 12, "k": 64, "c": 3, "y": 224, "x": 224, "w": 16, "s": 16},
        'Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", table 1: its 14 × 14 patches '
        "and its heads; there the layers that follow see the patches, not the image",
        "ViT-B/16",
    ),
)


def _notes(w: int, **knobs: int) -> dict[str, str]:
    """Returns the published callout, or for windows other than 1 × 1 how they differ."""
    said = "$1 × 1$ convolution tensors are the identity, so can be freely added."
    if w > 1:
        window = f"${w} × {w}$"
        said = f"The window of {window} takes in a patch of the image; $1 × 1$ is the identity."
    return {"Q": said}


_IMAGE = "up to 64, as small pictures have"

VISUAL_ATTENTION = Entry(
    name="visual-attention",
    title="Visual attention",
    source="Notebook, figure 28",
    knobs=(
        Knob("w", 1, 8, 3, help="kernel", reason="height and width of a patch, in pixels"),
        Knob("s", 1, 8, 3, help="stride", reason="pixels from one patch to the next"),
        Knob("h", 1, 16, 4, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 8, help="features a head", reason="the length of a query and of a key"),
        Knob("c", 1, 64, 3, help="channels", reason="3, as a picture in colours has"),
        Knob("y", 8, 64, 32, 1, "height and width that ask", _IMAGE, least=1),
        Knob("x", 8, 64, 32, 1, "height and width that answer", _IMAGE, least=1),
    ),
    system=visual_attention,
    section="Images",
    presets=VISUAL_ATTENTION_PRESETS,
    notes=_notes,
)


# --- Packed heads: ``nn.MultiheadAttention``, and one map for queries, keys and values


def torch_multihead_attention(
    h: int = 1, k: int = 6, y: int = 4, x: int = 4, pad: int = 0, causal: int = 0
) -> Term:
    """``nn.MultiheadAttention`` on y queries and x keys, the last ``pad`` of them padding."""
    return Axes(y=seq(y), x=seq(x), m="h*k", h=h, k=k)(_multihead(pad, causal))


@lru_cache
def _multihead(pad: int, causal: int) -> Term:
    padding = Map("y x h -> y x h", f"where(x >= n_x - {pad}, -inf, $1)", "padding")
    masks = (*((CausalMask("y x"),) if causal else ()), *((padding,) if pad else ()))
    return Id("y m, x m") >> attention("", *masks)


def merged_qkv(h: int = 4, k: int = 8, m: int = 32, t: int = 10, outside: int = 1) -> Term:
    """Self-attention with one map for queries, keys and values, with 3hk output features.

    With ``outside`` the heads are the outer axis of these features, ``(h 3k)``; else the inner one,
    ``(3k h)``.
    """
    return Axes(t=seq(t), m=m, h=h, k=k, e="3*h*k")(_merged_qkv(outside))


ALL, THIRDS = 'e"3hk"', 'c"3k"'


@lru_cache
def _merged_qkv(outside: int) -> Term:
    thirds = Cut(f"{THIRDS} -> k, k, k")
    if outside:
        parts = Split(f"{ALL} -> h {THIRDS}") >> thirds
    else:
        turn = Einsum("t k h -> t h k")
        parts = Split(f"{ALL} -> {THIRDS} h") >> thirds >> turn @ turn @ turn
    return (
        Id("t m")
        >> Linear(f"m -> {ALL}", "qkv", True)
        >> Block(parts, "Reshape, permute, chunk", "reshape")
        >> scaled_dot_product()
        >> Linear("h k -> m", "o", True)
    )


TORCH_MULTIHEAD_ATTENTION = Entry(
    name="torch-multihead-attention",
    title="Multi-head attention in torch",
    source="Unit tests, attention",
    knobs=(
        Knob("h", 1, 16, 1, help="heads", reason=HEADS),
        Knob("k", 1, 64, 6, help="features", reason=FEATURES),
        Knob("y", 1, 64, 4, help="queries", reason=LONGEST_CACHE),
        Knob("x", 1, 64, 4, help="keys and values", reason=LONGEST_CACHE),
        Knob("pad", 0, 8, 0, help="keys that are padding", reason="the last ones", below="x"),
        CAUSAL,
    ),
    system=torch_multihead_attention,
    section="Transformers",
    type="y m, x m -> y m",
    presets=(
        Preset(
            "notebook", {"h": 1, "k": 6, "y": 4, "x": 4}, "Unit-testing a transformer", "Notebook"
        ),
    ),
)
MERGED_QKV = Entry(
    name="merged-qkv",
    title="Merged queries, keys and values",
    source="Notes, transformer exercise",
    knobs=(
        Knob("h", 1, 16, 4, help="heads", reason=HEADS),
        Knob("k", 1, 64, 8, help="features", reason=FEATURES),
        Knob(
            "m", 1, 512, 32, help="features of a position", reason="up to 512, as in the base model"
        ),
        Knob("t", 1, 64, 10, help="positions", reason=LONGEST_CACHE),
        switch(
            "outside",
            1,
            "heads outside",
            "on, the features are read as (h 3k): head by head; off, as (3k h)",
        ),
    ),
    system=merged_qkv,
    section="Transformers",
    type="t m -> t m",
)
