"""The attention of decoders: grouped queries, and the choices in which they differ."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.models.language_models.model_parts import cap, sliding_window
from ncd.models.language_models.norm_kinds import Norm
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import (
    CausalMask,
    Concat,
    Cut,
    Einsum,
    LayerNorm,
    Linear,
    Map,
    Param,
    Scale,
    Softmax,
)

PLAIN = Rotary.plain(10000)
SCORES = "y x g q"


@dataclass(frozen=True)
class Heads:
    """The choices in which the attention of decoders differs.

    Args:
        rotary: The angles of the positions; None if queries and keys do not turn.
        local: The angles of layers that see a window, where they are others.
        part: Whether only the first b of the k features of a head turn.
        adjacent: Whether a pair's features stand side by side.
        distances: Whether scores fall with the distance: ``after`` their scaling, or ``before``.
        window: The positions that a layer with a window sees.
        bias: Whether queries, keys and values have a bias.
        out_bias: Whether the last map has one.
        norm: The norm of queries and keys: ``head`` for the model's, over each head; ``all`` over
            all heads together; ``each`` for one with its own weights for each head.
        most: The number at which queries, keys and values are cut off; 0 for none.
        scale: The number by whose root scores are divided; 0 for the features of a head.
        cap: The number at which scores are capped; 0 for none.
        sinks: Whether each head has a learned score of a place that is no position.
        causal: Whether no position sees later ones.

    Source: Ainslie et al. 2023, "GQA", section 2.2; Press et al. 2022, "Train Short, Test Long",
    section 3, for scores that fall with the distance; OpenAI 2025, "gpt-oss", section 2.2, for
    sinks.
    """

    rotary: Rotary | None = PLAIN
    local: Rotary | None = None
    part: bool = False
    adjacent: bool = False
    distances: str = ""
    window: int = 0
    bias: bool = False
    out_bias: bool = False
    norm: str = ""
    most: float = 0
    scale: float = 0
    cap: float = 0
    sinks: bool = False
    causal: bool = True


USUAL = Heads()


def grouped_attention(heads: Heads, norm: Norm, near: bool, turned: bool) -> Term:
    """Returns attention with g keys and values for g · q queries, ``t m -> t m``.

    Args:
        heads: The choices of the model.
        norm: The model's norm.
        near: Whether a position sees a window only.
        turned: Whether queries and keys turn with their positions.
    """
    rotary = (heads.local if near and heads.local else heads.rotary) if turned else None
    body = (
        Id("t m, t m, t m")
        >> _projected(heads, "q", "g q", norm, rotary)
        @ _projected(heads, "k", "g", norm, rotary)
        @ _joined(Linear("m -> g k", "v_proj", heads.bias), *_cut_off(heads))
        >> _scores(heads, near)
        >> Linear("g q k -> m", "o_proj", heads.out_bias)
    )
    return Wire("t m -> t m, t m, t m") >> Block(
        body, "Grouped-Query Attention", "folded", "self_attn"
    )


def _projected(heads: Heads, name: str, axes: str, norm: Norm, rotary: Rotary | None) -> Term:
    """Returns the queries or the keys, normalised and turned as the model does."""
    steps: list[Term] = [Linear(f"m -> {axes} k", f"{name}_proj", heads.bias)]
    if heads.norm == "head":
        steps.append(norm.term("k", f"{name}_norm"))
    if heads.norm == "all":
        steps.append(norm.term(f"{axes} k", f"{name}_norm"))
    if heads.norm == "each":
        weights = Param(f"{axes} k", f"{name}_norm", "1")
        steps += [
            LayerNorm("k", f"{name}_plain", norm.eps, affine=False),
            Id(f"t {axes} k") @ weights,
            Map(f"{axes} k, {axes} k -> {axes} k", "$1 * $2", "weight"),
        ]
    steps += _cut_off(heads)
    if rotary is not None and heads.part:
        turned = rotary.term(axes, "b", heads.adjacent) @ Id(f"t {axes} j")
        steps += [Cut("k -> b, j"), turned, Concat("b, j -> k")]
    elif rotary is not None:
        steps.append(rotary.term(axes, adjacent=heads.adjacent))
    return _joined(*steps)


def _joined(first: Term, *others: Term) -> Term:
    """Returns steps one behind the other, of which there may be one alone."""
    return Then(first, *others) if others else first


def _cut_off(heads: Heads) -> list[Term]:
    most = f"{heads.most:.17g}"
    return [Map("() -> ()", f"min(max($1, -{most}), {most})", "clip")] if heads.most else []


def _scores(heads: Heads, near: bool) -> Term:
    """Returns the weights of all keys for each query, and the mean of the values by them."""
    scaled = [_scale(heads)]
    if heads.distances:
        scaled.insert(1 if heads.distances == "after" else 0, _falling())
    return Block(
        Then(
            Einsum(f"y g q k, x g k -> {SCORES}", "scores"),
            *scaled,
            *((cap(heads.cap),) if heads.cap else ()),
            *((sliding_window(heads.window, heads.causal),) if near and heads.window else ()),
            *((CausalMask("y x"),) if heads.causal else ()),
            *(_sinks() if heads.sinks else (Softmax("x"),)),
            Einsum(f"{SCORES}, x g k -> y g q k"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


def _sinks() -> tuple[Term, ...]:
    """Returns a softmax over the keys and a sink, of which only the keys' shares are used."""
    return (
        Id(SCORES) @ Param("g q", "sinks", "0"),
        Id(SCORES) @ Map("g q -> y o:1 g q", "$1", "sink"),
        Concat("x, o:1 -> z"),
        Softmax("z"),
        Cut("z -> x, o:1"),
        Wire(f"{SCORES}, y o:1 g q -> {SCORES}"),
    )


def _scale(heads: Heads) -> Term:
    if not heads.scale:
        return Scale("k")
    return Map("() -> ()", f"$1 / sqrt({heads.scale:.17g})", "scale")


def _falling() -> Term:
    """Returns scores that fall with the distance, for each head by another slope.

    Source: Press et al. 2022, "Train Short, Test Long", section 3, and its published code for
    numbers of heads that are no power of two.
    """
    whole = "2 ** floor(log(n_g * n_q) / log(2) + 0.000001)"
    head = "(g * n_q + q)"
    slope = (
        f"where({head} < {whole}, 2 ** (-8 * ({head} + 1) / {whole}), "
        f"2 ** (-4 * (2 * ({head} - {whole}) + 1) / {whole}))"
    )
    return Map(f"{SCORES} -> {SCORES}", f"$1 - {slope} * (y - x)", "distance")
