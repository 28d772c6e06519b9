"""DeBERTa: an encoder whose scores are of words, and of words with distances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log

from ncd.circuit.elaborate import Axes
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    Concat,
    Cut,
    Einsum,
    Elementwise,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
    Rename,
    Softmax,
)
from ncd.systems.language_models.model_parts import feed_forward

GELU = Elementwise("gelu")


@dataclass(frozen=True)
class Distances:
    """The distances that are told apart, and the choices of the model.

    Args:
        buckets: The distances to each side.
        far: The distance from which all are one.
        eps: The number that the norms add.
        activation: The function of the feed-forward.

    Source: He et al. 2021, "DeBERTa", section 3.1, and the code of its third version.
    """

    buckets: int = 256
    far: int = 512
    eps: float = 1e-7
    activation: Term = GELU


USUAL_DISTANCES = Distances()


def deberta(
    n: int = 2,
    t: int = 12,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    v: int = 256,
    *,
    distances: Distances = USUAL_DISTANCES,
) -> Term:
    """Returns an encoder of words whose places count as distances alone, ``t#v -> t m``.

    Args:
        n: The layers.
        t: The positions.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features.
        v: The words.
        distances: How distances are told apart.

    Source: He et al. 2021, "DeBERTaV3", and "DeBERTa", section 3.1.

    >>> import ncd
    >>> ncd.cost(deberta(n=12, t=1, h=12, k=64, d=3072, v=128100)).parameters  # DeBERTa-v3 base
    183831552
    """
    z = 2 * distances.buckets
    sizes = Axes(t=seq(t), x=seq(t), m="h*k", h=h, k=k, d=d, v=v, z=z)
    return sizes(_deberta(n, distances))


@lru_cache(32)
def _deberta(n: int, distances: Distances) -> Term:
    eps = distances.eps
    words = Id("t#v") @ Param("v m", "word_embeddings") >> Index("t#v, v m -> t m")
    rows = Param("z m", "rel_embeddings") >> LayerNorm("m", "rel_norm", eps)
    layer = Then(
        Wire("t m, z m -> t m, z m, t m"),
        _attention(distances) @ Id("t m"),
        Add(),
        LayerNorm("m", "attention_norm", eps),
        Wire("t m -> t m, t m"),
        feed_forward(distances.activation) @ Id("t m"),
        Add(),
        LayerNorm("m", "output_norm", eps),
    )
    embedded = Block(
        words >> LayerNorm("m", "LayerNorm", eps), "Embeddings", "neutral", "embeddings"
    )
    return embedded >> Id("t m") @ rows >> Repeat((layer,) * n, "layer", memory=1)


def _attention(distances: Distances) -> Term:
    """Returns attention whose maps of queries and keys also read the distances."""
    both = Id("t m, z m") >> Concat("t, z -> a")
    cut = Id("a h k") >> Cut("a -> t, z")
    maps = (both >> Linear("m -> h k", "query_proj", True) >> cut) @ (
        both >> Linear("m -> h k", "key_proj", True) >> cut
    )
    place = _place(distances)
    body = Then(
        Wire("t m, z m -> t m, z m, t m, z m, t m"),
        maps @ Linear("m -> h k", "value_proj", True),
        Id("t h k, z h k") @ Rename("t h k -> x h k") @ Id("z h k") @ Rename("t h k -> x h k"),
        Wire(
            "t h k, z h k, x h k, z h k, x h k -> t h k, x h k, t h k, z h k, x h k, z h k, x h k",
            "1 3 1 4 3 2 5",
        ),
        Einsum("t h k, x h k -> t x h", "scores")
        @ _by_distance("t", "distance_keys", place)
        @ _by_distance("x", "distance_queries", place)
        @ Id("x h k"),
        Map("t x h, t x h, t x h -> t x h", "($1 + $2 + $3) / sqrt(3 * n_k)", "sum") @ Id("x h k"),
        Softmax("x") @ Id("x h k"),
        Einsum("t x h, x h k -> t h k"),
        Linear("h k -> m", "out", True),
    )
    return Block(body, "Disentangled Attention", "folded", "attention")


def _by_distance(own: str, name: str, place: str) -> Term:
    """Returns scores with the vectors of all distances, of which each pair takes its own."""
    return Then(
        Einsum(f"{own} h k, z h k -> {own} z h", name),
        Map("-> t x#z", place, "distance") @ Id(f"{own} z h"),
        Index(f"t x#z, {own} z h -> t x h"),
    )


def _place(distances: Distances) -> str:
    """Returns the row of a distance: exact where it is near, by its logarithm farther away."""
    span = distances.buckets
    mid = span // 2
    rate = log((distances.far - 1) / mid)
    grown = f"ceil(log(max(abs(t - x), {mid}) / {mid}) / {rate:.17g} * {mid - 1}) + {mid}"
    row = f"where(abs(t - x) <= {mid}, t - x, where(t < x, -1, 1) * ({grown}))"
    return f"min(max({row} + {span}, 0), {2 * span - 1})"
