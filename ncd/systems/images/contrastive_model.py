"""CLIP: pictures and sentences as points of one space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import AxisSize, plain, seq, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    CausalMask,
    Concat,
    Conv,
    Copy,
    Einsum,
    Group,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
    Reduce,
    Rename,
    Scale,
    Softmax,
)
from ncd.systems.catalogue_entry import Entry, Preset

WARM = "2.6592"  # the logarithm of 1 / 0.07, by which similarities are scaled at first


@dataclass(frozen=True)
class Tower:
    """The names of the axes of one side: of its examples, positions, keys, features and so on.

    ``eps`` is what its norms add.
    """

    example: str
    position: str
    key: str
    m: str
    h: str
    hidden: str
    causal: bool
    k: str = "k"
    eps: float = 1e-5

    @property
    def array(self) -> str:
        """The axes of what its layers read."""
        return f"{self.example} {self.position} {self.m}"


QUICK_GELU = Map("() -> ()", "$1 * sigmoid(1.702 * $1)", "GELU")
PICTURE = Tower("i", "t", "y", "m", "h", "d", causal=False)
SENTENCE = Tower("j", "s", "w", "e", "g", "f", causal=True)


def clip(
    i: int = 6,
    j: int = 6,
    n: int = 2,
    l: int = 2,  # noqa: E741  the letter of the layers that read sentences
    x: int = 4,
    p: int = 8,
    h: int = 2,
    s: int = 6,
    g: int = 2,
    k: int = 8,
    v: int = 64,
    z: int = 16,
    r: int = 0,
    *,
    activation: Term = QUICK_GELU,
) -> Term:
    """Returns the similarities of pictures and sentences.

    Args:
        i: The pictures.
        j: The sentences.
        n: The layers that read a picture.
        l: The layers that read a sentence.
        x: The patches along each side of a picture.
        p: The pixels along each side of a patch.
        h: The heads that read a picture.
        s: The words of a sentence, the last of which is its end.
        g: The heads that read a sentence.
        k: The features of a head.
        v: The words that are known.
        z: The numbers of a point.
        r: The features of a head that reads a sentence, where they are others.
        activation: The function of the feed-forwards.

    Returns:
        A term from pictures and the words of sentences to a score for each pair,
        ``i c u, j s#v -> i j``.

    Source: Radford et al. 2021, "Learning Transferable Visual Models From Natural Language
    Supervision", section 2 and figure 3.

    >>> import ncd
    >>> sizes = dict(n=12, l=12, x=7, p=32, h=12, s=77, g=8, k=64, v=49408, z=512)
    >>> ncd.cost(clip(**sizes)).parameters  # ViT-B/32
    151277313
    """
    sizes: dict[str, AxisSize] = {
        "i": i,
        "j": j,
        "c": 3,
        "u": space(x * p, x * p),
        "v": v,
        "z": z,
        "k": k,
        "o": 1,
    }
    sizes |= {"m": h * k, "h": h, "d": plain(4 * h * k, "4m"), "t": seq(x * x + 1)}
    e = g * (r or k)
    sizes |= {"e": e, "g": g, "f": plain(4 * e, "4e"), "s": seq(s), **({"r": r} if r else {})}
    sizes |= {"x": space(x, x), "q": x * x}
    return Axes(**sizes, y=seq(x * x + 1), w=seq(s))(_clip(n, l, p, bool(r), activation))


@lru_cache(32)
def _clip(pictures: int, sentences: int, patch: int, own: bool, activation: Term) -> Term:
    # Attention of sentences: a word sees those before it, so that the last has seen them all.
    sides = Block(
        _pictures(pictures, patch, activation), "Picture Encoder", "residual", "vision"
    ) @ Block(
        _sentences(sentences, replace(SENTENCE, k="r") if own else SENTENCE, activation),
        "Text Encoder",
        "window",
        "text",
    )
    compared = (
        unit_length("i z") @ unit_length("j z")
        >> Einsum("i z, j z -> i j", "similarity")
        >> Id("i j") @ Param("()", "logit_scale", WARM)
        >> Map("i j, () -> i j", "exp($2) * $1", "scaled")
    )
    return sides >> Block(compared, "Cosine Similarity", "note")


def clip_pictures(
    i: int = 6,
    n: int = 2,
    x: int = 4,
    p: int = 8,
    h: int = 2,
    k: int = 8,
    z: int = 0,
    *,
    activation: Term = QUICK_GELU,
) -> Term:
    """Returns the side of CLIP that reads pictures.

    Args:
        i: The pictures.
        n: The layers.
        x: The patches along each side of a picture.
        p: The pixels along each side of a patch.
        h: The heads.
        k: The features of a head.
        z: The numbers of a point; 0 for no map to points.
        activation: The function of the feed-forwards.

    Returns:
        A term from pictures to their vectors, ``i c u -> i m``, or points, ``i c u -> i z``.

    Source: Radford et al. 2021, section 2.4.

    >>> import ncd
    >>> ncd.cost(clip_pictures(n=12, x=7, p=32, h=12, k=64)).parameters  # ViT-B/32
    87456000
    """
    m: dict[str, AxisSize] = {"m": h * k, "h": h, "d": plain(4 * h * k, "4m"), "k": k, "o": 1}
    m |= {"i": i, "c": 3, "u": space(x * p, x * p), "x": space(x, x), "q": x * x}
    sizes = Axes(**m, t=seq(x * x + 1), y=seq(x * x + 1), **({"z": z} if z else {}))
    return sizes(_pictures(n, p, activation, bool(z)))


def clip_sentences(
    j: int = 6,
    l: int = 2,  # noqa: E741  as in clip
    s: int = 6,
    g: int = 2,
    k: int = 8,
    v: int = 64,
    z: int = 0,
    *,
    activation: Term = QUICK_GELU,
) -> Term:
    """Returns the side of CLIP that reads sentences.

    Args:
        j: The sentences.
        l: The layers.
        s: The words of a sentence, the last of which is its end.
        g: The heads.
        k: The features of a head.
        v: The words that are known.
        z: The numbers of a point; 0 for no map to points.
        activation: The function of the feed-forwards.

    Returns:
        A term from words to the vectors of sentences, ``j s#v -> j e``, or to their points,
        ``j s#v -> j z``.

    Source: Radford et al. 2021, section 2.4.

    >>> import ncd
    >>> ncd.cost(clip_sentences(l=12, s=77, g=8, k=64, v=49408)).parameters  # ViT-B/32
    63165952
    """
    e: dict[str, AxisSize] = {"e": g * k, "g": g, "f": plain(4 * g * k, "4e"), "k": k, "v": v}
    sizes = Axes(**e, j=j, s=seq(s), w=seq(s), **({"z": z} if z else {}))
    return sizes(_sentences(l, SENTENCE, activation, bool(z)))


@lru_cache(32)
def _pictures(layers: int, patch: int, activation: Term, pointed: bool = True) -> Term:
    """Returns a point for each picture: a vision transformer, read at its class vector."""
    first = (
        Conv("c u -> m x", "patch_embedding", patch, patch, 0, False)
        >> Group("x -> q")
        >> Einsum("i m q -> i q m")
        >> Param("o m", "class_embedding", "normal") @ Id("i q m")
        >> Map("o m -> i o m", "$1", "for each") @ Id("i q m")
        >> Concat("o, q -> t")
        >> add_positions(PICTURE)
        >> LayerNorm("m", "pre_layrnorm")
    )
    return (
        Id("i c u")
        >> Block(first, "Patches", "folded")
        >> tower_layers(PICTURE, layers, activation)
        >> Index("t m", t=0)
        >> LayerNorm("m", "post_layernorm")
        >> (Linear("m -> z", "visual_projection") if pointed else Id("i m"))
    )


@lru_cache(32)
def _sentences(layers: int, one: Tower, activation: Term, pointed: bool = True) -> Term:
    """Returns a point for each sentence, read at its last word."""
    first = (
        Id("j s#v") @ Param("v e", "token_embedding")
        >> Index("j s#v, v e -> j s e")
        >> add_positions(one)
    )
    return (
        Block(first, "Words", "folded")
        >> tower_layers(one, layers, activation)
        >> Index("s e", s=-1)
        >> LayerNorm("e", "final_layer_norm")
        >> (Linear("e -> z", "text_projection") if pointed else Id("j e"))
    )


def add_positions(one: Tower) -> Term:
    """Returns an array with a learned vector added at each position."""
    added = Map(f"{one.array}, {one.position} {one.m} -> {one.array}", "$1 + $2", "+ position")
    return Id(one.array) @ Param(f"{one.position} {one.m}", "position_embedding") >> added


def tower_layers(one: Tower, count: int, activation: Term) -> Term:
    """Returns layers of attention and a feed-forward, each with its norm in front."""
    copied = Wire(f"{one.array} -> {one.array}, {one.array}")
    maps = Linear(f"{one.m} -> {one.hidden}", "fc1", True) >> activation
    feed_forward = Block(
        maps >> Linear(f"{one.hidden} -> {one.m}", "fc2", True), "Feed-Forward", "folded"
    )
    layer = Then(
        copied,
        (LayerNorm(one.m, "layer_norm1", one.eps) >> _attention(one)) @ Id(one.array),
        Add(),
        copied,
        (LayerNorm(one.m, "layer_norm2", one.eps) >> feed_forward) @ Id(one.array),
        Add(),
    )
    return Repeat((layer,) * count, "layers")


def _attention(one: Tower) -> Term:
    head = f"{one.h} {one.k}"
    ask, answer = f"{one.position} {head}", f"{one.key} {head}"
    key = Rename(f"{one.array} -> {one.example} {one.key} {one.m}")
    body = Then(
        Linear(f"{one.m} -> {head}", "q", True)
        @ (key >> Linear(f"{one.m} -> {head}", "k", True))
        @ (key >> Linear(f"{one.m} -> {head}", "v", True)),
        Einsum(
            f"{one.example} {ask}, {one.example} {answer} -> {one.example} {one.h} "
            f"{one.position} {one.key}",
            "scores",
        ),
        Scale(one.k),
        *((CausalMask(f"{one.position} {one.key}"),) if one.causal else ()),
        Softmax(one.key),
        Einsum(
            f"{one.example} {one.h} {one.position} {one.key}, {one.example} {answer} -> "
            f"{one.example} {ask}"
        ),
        Linear(f"{head} -> {one.m}", "out", True),
    )
    copied = Wire(f"{one.array} -> {one.array}, {one.array}, {one.array}")
    return Block(copied >> body, "Self-Attention", "folded", "self_attn")


def unit_length(array: str) -> Term:
    """Returns points at length 1; the last axis has their numbers."""
    each = array.rpartition(" ")[0]
    length = Map(f"{array} -> {array}", "$1 ** 2", "square") >> Reduce(f"{array} -> {each}")
    scaled = Map(f"{each}, {array} -> {array}", "$2 / sqrt($1)", "unit length")
    return Copy(array) >> length @ Id(array) >> scaled


_RADFORD = (
    'Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", '
    "table 20, and the published config.json"
)


def _sizes(n: int, x: int, p: int, h: int, g: int, z: int) -> dict[str, int]:
    """Returns the sizes of a model with 12 layers for sentences of 77 words."""
    return {"i": 6, "j": 6, "n": n, "l": 12, "x": x, "p": p, "h": h, "s": 77, "g": g} | {
        "k": 64,
        "v": 49408,
        "z": z,
    }


CLIP = Entry(
    name="clip",
    title="CLIP",
    source="Radford et al. 2021, CLIP",
    knobs=(
        Knob("i", 1, 12, 6, help="pictures", reason="32,768 at a time in training"),
        Knob("j", 1, 12, 6, help="sentences", reason="as many as pictures in training"),
        Knob("n", 1, 3, 2, help="layers for pictures", reason="12 in ViT-B/32", most=48),
        Knob("l", 1, 3, 2, help="layers for sentences", reason="12 in CLIP", most=48),
        Knob("x", 1, 8, 4, help="patches along a side", reason="7 in ViT-B/32"),
        Knob("p", 1, 16, 8, help="pixels along a side of a patch", reason="32 in ViT-B/32"),
        Knob("h", 1, 8, 2, help="heads for pictures", reason="12 in ViT-B/32"),
        Knob("s", 1, 24, 6, help="words of a sentence", reason="77 in CLIP"),
        Knob("g", 1, 8, 2, help="heads for sentences", reason="8 in ViT-B/32"),
        # The norm of a single feature is 0, and a point of length 0 has no direction.
        Knob("k", 2, 32, 8, help="features of a head", reason="64 in CLIP"),
        Knob("v", 2, 256, 64, help="words that are known", reason="49,408 in CLIP"),
        Knob("z", 1, 64, 16, help="numbers of a point", reason="512 in ViT-B/32"),
    ),
    system=clip,
    section="Images",
    type="i c u, j s#v -> i j",
    width=1280.0,
    presets=(
        Preset("clip-vit-b-32", _sizes(12, 7, 32, 12, 8, 512), _RADFORD, "CLIP, ViT-B/32"),
        Preset("clip-vit-b-16", _sizes(12, 14, 16, 12, 8, 512), _RADFORD, "CLIP, ViT-B/16"),
        Preset("clip-vit-l-14", _sizes(24, 16, 14, 16, 12, 768), _RADFORD, "CLIP, ViT-L/14"),
    ),
    notes={
        "similarity": "A score for each pair; in training those on the diagonal belong together."
    },
    renamed_axes={"n": "q", "p": "x"},
)
