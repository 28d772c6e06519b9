"""SigLIP: pictures and sentences as points, each pair of which is judged by itself."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import AxisSize, seq, space
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Conv, Einsum, Group, Index, LayerNorm, Linear, Map, Param, Scale, Softmax
from ncd.systems.images.contrastive_model import Tower, add_positions, tower_layers, unit_length
from ncd.systems.language_models.model_parts import tanh_gelu

EPS = 1e-6
PICTURE = Tower("i", "q", "y", "m", "h", "d", causal=False, eps=EPS)
SENTENCE = Tower("j", "s", "w", "e", "g", "f", causal=False, k="r", eps=EPS)
WARM, COLD = "2.302585", "-10"  # at first similarities are multiplied by 10, and 10 is taken away


def siglip(
    i: int = 6,
    j: int = 6,
    n: int = 2,
    l: int = 2,  # noqa: E741  the letter of the layers that read sentences
    x: int = 4,
    p: int = 8,
    h: int = 2,
    k: int = 8,
    d: int = 64,
    s: int = 6,
    g: int = 2,
    r: int = 8,
    f: int = 64,
    v: int = 64,
    *,
    activation: Term | None = None,
    side: str = "",
) -> Term:
    """Returns the scores of pictures and sentences, or one side that makes their points.

    Args:
        i: The pictures.
        j: The sentences.
        n: The layers that read a picture.
        l: The layers that read a sentence.
        x: The patches along each side of a picture.
        p: The pixels along each side of a patch.
        h: The heads that read a picture.
        k: The features of a head that reads a picture; a point has h · k.
        d: The hidden features of the side that reads pictures.
        s: The words of a sentence, the last of which is read out.
        g: The heads that read a sentence.
        r: The features of a head that reads a sentence.
        f: The hidden features of the side that reads sentences.
        v: The words that are known.
        activation: The function of the feed-forwards; by default the GELU with a tanh.
        side: ``"vision"`` or ``"text"`` for one side alone.

    Returns:
        A term from pictures and the words of sentences to a score for each pair, of which the
        sigmoid is the probability that they belong together: ``i c u, j s#v -> i j``. Of one side
        a term to its points, ``i c u -> i m`` or ``j s#v -> j m``.

    Source: Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", section 3.2.

    >>> import ncd
    >>> sizes = dict(n=12, l=12, x=14, p=16, h=12, k=64, d=3072, s=64, g=12, r=64, f=3072, v=32000)
    >>> ncd.cost(siglip(**sizes)).parameters  # base, with patches of 16 pixels
    203155970
    """
    sizes: dict[str, AxisSize] = {"m": h * k}
    if side != "text":
        sizes |= {"i": i, "c": 3, "u": space(x * p, x * p), "x": space(x, x), "q": seq(x * x)}
        sizes |= {"h": h, "k": k, "d": d, "y": seq(x * x)}
    if side != "vision":
        sizes |= {"j": j, "e": g * r, "g": g, "r": r, "f": f, "s": seq(s), "w": seq(s), "v": v}
    return Axes(**sizes)(_siglip(n, l, p, activation or tanh_gelu(), side))


@lru_cache(32)
def _siglip(pictures: int, sentences: int, patch: int, activation: Term, side: str) -> Term:
    sees = _pictures(pictures, patch, activation)
    reads = _sentences(sentences, activation)
    if side:
        return sees if side == "vision" else reads
    compared = Then(
        unit_length("i m") @ unit_length("j m"),
        Einsum("i m, j m -> i j", "similarity"),
        Id("i j") @ Param("()", "logit_scale", WARM) @ Param("()", "logit_bias", COLD),
        Map("i j, (), () -> i j", "exp($2) * $1 + $3", "scaled"),
    )
    sides = Block(sees, "Picture Encoder", "residual", "vision") @ Block(
        reads, "Text Encoder", "window", "text"
    )
    return sides >> Block(compared, "Scores of Pairs", "note")


def _pictures(layers: int, patch: int, activation: Term) -> Term:
    """Returns a point for each picture: what a learned query finds among its patches."""
    first = (
        Conv("c u -> m x", "patch_embedding", patch, patch, 0)
        >> Group("x -> q")
        >> Einsum("i m q -> i q m")
        >> add_positions(PICTURE)
    )
    return (
        Id("i c u")
        >> Block(first, "Patches", "folded")
        >> tower_layers(PICTURE, layers, activation)
        >> LayerNorm("m", "post_layernorm", EPS)
        >> _attention_pool(activation)
    )


def _attention_pool(activation: Term) -> Term:
    """Returns attention of one learned query to all patches, and a feed-forward."""
    asked = Param("m", "probe", "normal") >> Linear("m -> h k", "q", True)
    attention = Then(
        Wire("i q m -> i q m, i q m"),
        asked @ Linear("m -> h k", "k", True) @ Linear("m -> h k", "v", True),
        Einsum("h k, i q h k -> i h q", "scores"),
        Scale("k"),
        Softmax("q"),
        Einsum("i h q, i q h k -> i h k"),
        Linear("h k -> m", "out", True),
    )
    maps = Linear("m -> d", "fc1", True) >> activation >> Linear("d -> m", "fc2", True)
    added = Then(
        Wire("i m -> i m, i m"),
        (LayerNorm("m", "layernorm", EPS) >> maps) @ Id("i m"),
        Add(),
    )
    return Block(attention >> added, "Attention Pooling", "module", "head")


def _sentences(layers: int, activation: Term) -> Term:
    """Returns a point for each sentence, read at its last word."""
    first = (
        Id("j s#v") @ Param("v e", "token_embedding")
        >> Index("j s#v, v e -> j s e")
        >> add_positions(SENTENCE)
    )
    return (
        Block(first, "Words", "folded")
        >> tower_layers(SENTENCE, layers, activation)
        >> Index("s e", s=-1)
        >> LayerNorm("e", "final_layer_norm", EPS)
        >> Linear("e -> m", "head", True)
    )
