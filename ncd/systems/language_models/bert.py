"""BERT and DeBERTa: encoders of sentences; the scores of DeBERTa are of words with distances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
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
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import (
    HEAD,
    HEADS,
    HIDDEN,
    LAYERS,
    POSITIONS,
    SECTION,
    TABLE,
    WIDTH,
    WORDS,
    feed_forward,
    learned_positions,
)
from ncd.systems.shared_parts import self_attention

# --- BERT: an encoder of sentences, with a vector for the whole


@dataclass(frozen=True)
class Encoder:
    """The choices in which encoders like BERT differ.

    Args:
        sentences: Whether words belong to one of several sentences.
        pooler: Whether there is a vector for the whole.
        skipped_positions: The rows of the table of positions that are skipped.
        narrow: Whether embeddings have a features, from which m are made.
        shares_weights: Whether all layers have the same weights.
        eps: The number that the norms add.
        activation: The function of the feed-forward; by default the GELU.

    Source: Liu et al. 2019, "RoBERTa"; Sanh et al. 2019, "DistilBERT"; Lan et al. 2020, "ALBERT";
    Clark et al. 2020, "ELECTRA".
    """

    sentences: bool = True
    pooler: bool = True
    skipped_positions: int = 0
    narrow: bool = False
    shares_weights: bool = False
    eps: float = 1e-12
    activation: Term | None = None


PLAIN_ENCODER = Encoder()


def bert(
    n: int = 2,
    t: int = 12,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    s: int = 2,
    u: int = 64,
    v: int = 256,
    a: int = 0,
    *,
    encoder: Encoder = PLAIN_ENCODER,
) -> Term:
    """Returns an encoder of words that each belong to one of s sentences.

    Args:
        n: The layers.
        t: The positions.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features.
        s: The sentences that a word can belong to.
        u: The positions that the model has vectors for.
        v: The words.
        a: The features of an embedding, where they are others.
        encoder: The choices of the model.

    Returns:
        A term from words and sentences to a vector for each word and one for the whole,
        ``t#v, t#s -> t m, p``.

    Source: Devlin et al. 2019, "BERT", section 3.

    >>> import ncd
    >>> ncd.cost(bert(n=12, t=1, h=12, k=64, d=3072, s=2, u=512, v=30522)).parameters
    109482240
    """
    sizes = {"h": h, "k": k, "d": d, "s": s, "u": u, "v": v, "p": h * k}
    narrow = {"a": a} if encoder.narrow else {}
    return Axes(t=seq(t), m="h*k", **sizes, **narrow)(_bert(n, encoder))


@lru_cache(32)
def _bert(n: int, encoder: Encoder) -> Term:
    eps = encoder.eps
    layer = _residual_norm(
        self_attention("attention", role="folded"), "attention_norm", eps
    ) >> _residual_norm(feed_forward(encoder.activation or Elementwise("gelu")), "output_norm", eps)
    layers = Repeat((layer,) * n, "layer", encoder.shares_weights)
    model = Block(_embeddings(encoder), "Embeddings", "neutral", "embeddings") >> layers
    if not encoder.pooler:
        return model
    pooler = Index("t m", t=0) >> Linear("m -> p", "pooler", True) >> Elementwise("tanh")
    return model >> Wire("t m -> t m, t m") >> Id("t m") @ pooler


def _embeddings(encoder: Encoder) -> Term:
    """Returns the vectors of words, from their own, their places' and their sentences'."""
    m = "a" if encoder.narrow else "m"
    places = learned_positions("position_embeddings", encoder.skipped_positions, m)
    steps: list[Term] = [_looked_up("v", "word_embeddings", m) >> places]
    if encoder.sentences:
        steps = [steps[0] @ _looked_up("s", "token_type_embeddings", m), Add()]
    steps.append(LayerNorm(m, "LayerNorm", encoder.eps))
    if encoder.narrow:
        steps.append(Linear("a -> m", "project", True))
    return Then(*steps)


def _looked_up(axis: str, name: str, m: str) -> Term:
    """Returns the rows of a table for an array ``t#axis``, with the features m."""
    table = f"{axis} {m}"
    return Id(f"t#{axis}") @ Param(table, name) >> Index(f"t#{axis}, {table} -> t {m}")


def _residual_norm(part: Term, norm: str, eps: float) -> Term:
    """Returns norm(x + part x)."""
    return Wire("t m -> t m, t m") >> part @ Id("t m") >> Add() >> LayerNorm("m", norm, eps)


def _sizes(n: int, h: int) -> dict[str, int]:
    """Returns the sizes of a model with n layers and h heads of 64 features."""
    return {"n": n, "h": h, "k": 64, "d": 256 * h, "s": 2, "u": 512, "v": 30522}


_PRESET_SOURCE = 'Devlin et al. 2019, "BERT", section 3; the number of words stands in its code'
_SENTENCES = Knob("s", 1, 4, 2, help="sentences", reason="2 in BERT: A and B", least=1)

BERT = Entry(
    name="bert",
    title="BERT",
    source="Devlin et al. 2019, BERT",
    knobs=(LAYERS, POSITIONS, HEADS, HEAD, HIDDEN, _SENTENCES, TABLE, WORDS),
    system=bert,
    section=SECTION,
    type="t#v, t#s -> t m, p",
    width=WIDTH,
    presets=(
        Preset("bert-base", _sizes(12, 12), _PRESET_SOURCE, "BERT, base"),
        Preset("bert-large", _sizes(24, 16), _PRESET_SOURCE, "BERT, large"),
    ),
)


# --- DeBERTa: an encoder whose scores are of words, and of words with distances


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
