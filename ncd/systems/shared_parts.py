"""Terms that several systems share, each on axes of its own."""

from __future__ import annotations

from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, CausalMask, Dropout, Einsum, Elementwise, LayerNorm, Linear, Scale, Softmax

Roles = tuple[str, str]  # of attentions and of feed-forwards
Pair = tuple[str, str]  # the axes of queries and of keys in an attention
YX: Pair = ("y", "x")
OPEN_ROLES: Roles = ("module", "linear")
FOLDED_ROLES: Roles = ("folded", "folded")


def scaled_dot_product(*masks: Term, axes: Pair = YX) -> Term:
    """Returns softmax(q kᵀ / √k) v for every head; ``masks`` are steps on the scores ``y x h``."""
    y, x = axes
    return Block(
        Then(
            Einsum(f"{y} h k, {x} h k -> {y} {x} h", "scores"),
            Scale("k"),
            *masks,
            Softmax(x),
            Einsum(f"{y} {x} h, {x} h k -> {y} h k"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


def attention(
    name: str,
    *masks: Term,
    title: str = "Multi-Head Attention",
    role: str = "module",
    axes: Pair = YX,
) -> Term:
    """Returns multi-head attention with biases: queries of y, keys and values of x."""
    y, x = axes
    copied = Wire(f"{y} m, {x} m -> {y} m, {x} m, {x} m")
    return Block(copied >> _heads(*masks, axes=axes), title, role, name, local=True)


def self_attention(
    name: str, causal: bool = False, role: str = "module", at: str = "t", axes: Pair = YX
) -> Term:
    """Returns attention of a sequence to itself; with ``causal``, to earlier positions only.

    ``at`` is the axis of positions.
    """
    y, x = axes
    masks = (CausalMask(f"{y} {x}"),) if causal else ()
    title = "Masked Self-Attention" if causal else "Self-Attention"
    heads = Id(f"{y} m, {x} m, {x} m") >> _heads(*masks, axes=axes)
    return Wire(f"{at} m -> {at} m, {at} m, {at} m") >> Block(heads, title, role, name, local=True)


def _heads(*masks: Term, axes: Pair) -> Term:
    return (
        Linear("m -> h k", "q", True)
        @ Linear("m -> h k", "k", True)
        @ Linear("m -> h k", "v", True)
        >> scaled_dot_product(*masks, axes=axes)
        >> Linear("h k -> m", "out", True)
    )


def feed_forward(
    activation: str = "relu",
    first: str = "linear1",
    second: str = "linear2",
    role: str = "linear",
) -> Term:
    """Returns two affine maps over d features with an activation between."""
    return Block(
        Linear("m -> d", first, True) >> Elementwise(activation) >> Linear("d -> m", second, True),
        "Feed-Forward",
        role,
    )


def residual(
    part: Term, norm: str, pre: bool = True, memory: str = "", dropout: float = 0, at: str = "t"
) -> Term:
    """Returns x + part(norm x) or, without ``pre``, norm(x + part(x)).

    ``memory`` are further arrays for the part alone; ``at`` is the axis of positions.
    """
    inner, x = part >> Dropout(dropout) if dropout else part, f"{at} m"
    split = Wire(f"{x}{memory} -> {x}{memory}, {x}")
    if pre:
        return split >> LayerNorm("m", norm) >> inner @ Id(x) >> Add()
    return split >> inner @ Id(x) >> Add() >> LayerNorm("m", norm)
