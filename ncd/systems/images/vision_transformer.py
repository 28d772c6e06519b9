"""ViT: an image as a sequence of patches."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import space
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    Concat,
    Conv,
    Einsum,
    Elementwise,
    Group,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
)
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import after_norm, feed_forward
from ncd.systems.shared_parts import self_attention

Tokens = tuple[str, ...]


def vision_transformer(
    n: int = 2,
    x: int = 4,
    s: int = 7,
    c: int = 3,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    v: int = 10,
    *,
    eps: float = 1e-6,
    activation: Term | None = None,
    tokens: Tokens = ("cls_token",),
    heads: Tokens = ("classifier",),
    scaled: bool = False,
) -> Term:
    """Returns a classifier of images that are cut into patches.

    Args:
        n: The layers.
        x: The patches along each side.
        s: The pixels along each side of a patch.
        c: The colours.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features.
        v: The classes.
        eps: The number that the norms add.
        activation: The function of the feed-forward; by default the GELU.
        tokens: The names of the vectors that stand before the patches.
        heads: The names of the maps to the scores, one for each of the first tokens; several
            are averaged. With none, the vectors of all positions are given.
        scaled: Whether what a part adds is multiplied by learned numbers: DINOv2's layer scale.

    Returns:
        A term from an image to the scores of classes, ``c u -> v``, or to vectors, ``c u -> t m``.

    Source: Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", section 3.1.

    >>> import ncd
    >>> sizes = dict(n=12, x=14, s=16, c=3, h=12, k=64, d=3072, v=1000)
    >>> ncd.cost(vision_transformer(**sizes)).parameters  # ViT-B/16
    86567656
    """
    sizes = Axes(u=space(x * s, x * s), c=c, m="h*k", h=h, k=k, d=d, v=v, o=1)
    layers = _layers(n, eps, activation or Elementwise("gelu"), scaled)
    return sizes(_vision_transformer(s, layers, eps, tokens, heads))


@lru_cache(32)
def _layers(n: int, eps: float, activation: Term, scaled: bool) -> Term:
    parts = (
        self_attention("attention", role="folded", axes=("y", "z")),
        feed_forward(activation),
    )
    if scaled:
        first, second = parts
        parts = first >> _layer_scale("layer_scale1"), second >> _layer_scale("layer_scale2")
    layer = after_norm(parts[0], LayerNorm("m", "layernorm_before", eps)) >> after_norm(
        parts[1], LayerNorm("m", "layernorm_after", eps)
    )
    return Repeat((layer,) * n, "layer")


def _layer_scale(name: str) -> Term:
    """Returns a learned factor for each feature: Touvron et al. 2021, "Going deeper", section 2."""
    return Id("t m") @ Param("m", name, "1") >> Map("t m, m -> t m", "$1 * $2", "layer scale")


@lru_cache(32)
def _vision_transformer(s: int, layers: Term, eps: float, tokens: Tokens, heads: Tokens) -> Term:
    patches = (
        Conv("c u -> m x", "patch_embeddings", kernel=s, stride=s, padding=0)
        >> Group("x -> q")
        >> Einsum("m q -> q m")
    )
    axes = ["q", *(f"q_{i}" for i in range(1, len(tokens))), "t"]
    for name, old, new in zip(tokens[::-1], axes, axes[1:], strict=False):
        patches = patches >> Param("o m", name, "normal") >> Concat(f"o, {old} -> {new}")
    return (
        patches
        >> Id("t m") @ Param("t m", "position_embeddings", "normal")
        >> Add()
        >> layers
        >> LayerNorm("m", "layernorm", eps)
        >> (_scores(heads) if heads else Id("t m"))
    )


def _scores(heads: Tokens) -> Term:
    """Returns the scores of classes from the first tokens, or their mean."""
    each = [Index("t m", t=i) >> Linear("m -> v", name, True) for i, name in enumerate(heads)]
    if len(each) == 1:
        return each[0]
    return Wire("t m -> t m, t m") >> each[0] @ each[1] >> Map("v, v -> v", "($1 + $2) / 2", "mean")


def _sizes(n: int, x: int, s: int, h: int, d: int, k: int = 64) -> dict[str, int]:
    """Returns the sizes of a model for coloured images of 224 pixels and 1,000 classes."""
    return {"n": n, "x": x, "s": s, "c": 3, "h": h, "k": k, "d": d, "v": 1000}


_PRESET_SOURCE = 'Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", table 1'

VIT = Entry(
    name="vit",
    title="Vision transformer",
    source="Dosovitskiy et al. 2021, ViT",
    knobs=(
        Knob("n", 1, 6, 2, help="layers", reason="12 in ViT-B", most=48),
        Knob("x", 1, 8, 4, help="patches along a side", reason="14 in ViT-B/16"),
        Knob("s", 1, 16, 7, help="pixels along a side of a patch", reason="16 in ViT-B/16"),
        Knob("c", 1, 4, 3, help="colours", reason="red, green, blue"),
        Knob("h", 1, 16, 4, help="heads", reason="12 in ViT-B"),
        Knob("k", 1, 64, 16, help="features of a head", reason="64 in ViT-B"),
        Knob("d", 8, 512, 128, 8, "hidden features", "4 · h · k in ViT", least=1),
        Knob("v", 1, 100, 10, help="classes", reason="1,000 in ImageNet"),
    ),
    system=vision_transformer,
    section="Images",
    type="c u -> v",
    width=900,
    presets=(
        Preset("vit-b-16", _sizes(12, 14, 16, 12, 3072), _PRESET_SOURCE, "ViT-B/16"),
        Preset("vit-b-32", _sizes(12, 7, 32, 12, 3072), _PRESET_SOURCE, "ViT-B/32"),
        Preset("vit-l-16", _sizes(24, 14, 16, 16, 4096), _PRESET_SOURCE, "ViT-L/16"),
        Preset("vit-h-14", _sizes(32, 16, 14, 16, 5120, 80), _PRESET_SOURCE, "ViT-H/14"),
    ),
    renamed_axes={"n": "q", "p": "x"},
)
