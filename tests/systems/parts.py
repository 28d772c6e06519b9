"""Parts that several systems share; each is a term on axes of its own."""

from __future__ import annotations

from ncd import (
    Add,
    Block,
    CausalMask,
    Copy,
    Dropout,
    Einsum,
    Elementwise,
    Id,
    LayerNorm,
    Linear,
    Scale,
    Softmax,
    Term,
    Then,
    Wire,
)


def scaled_dot_product(*masks: Term) -> Term:
    """Softmax(q kᵀ / √k) v for every head; ``masks`` are steps on the scores."""
    return Block(
        Then(
            Einsum("y h k, x h k -> h y x", "scores"),
            Scale("k"),
            *masks,
            Softmax("x"),
            Einsum("h y x, x h k -> y h k"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


def attention(name: str, *masks: Term) -> Term:
    """Multi-head attention with biases: queries of y, keys and values of x."""
    return Block(
        Wire("y m, x m -> y m, x m, x m")
        >> Linear("m -> h k", "q", True)
        @ Linear("m -> h k", "k", True)
        @ Linear("m -> h k", "v", True)
        >> scaled_dot_product(*masks)
        >> Linear("h k -> m", "out", True),
        "Multi-Head Attention",
        "module",
        name,
        local=True,
    )


def self_attention(name: str, causal: bool = False) -> Term:
    """Attention of a sequence to itself."""
    masks = (CausalMask("y x"),) if causal else ()
    return Copy("t m") >> attention(name, *masks)


def feed_forward(activation: str = "relu", first: str = "linear1", second: str = "linear2") -> Term:
    """Two affine maps over d features, with an activation between."""
    return Block(
        Linear("m -> d", first, True) >> Elementwise(activation) >> Linear("d -> m", second, True),
        "Feed-Forward",
    )


def residual(part: Term, norm: str, pre: bool = True, memory: str = "", dropout: float = 0) -> Term:
    """x + part(norm x), or with the norm behind, norm(x + part(x)); ``memory`` is for the part."""
    inner = part >> Dropout(dropout) if dropout else part
    split = Wire(f"t m{memory} -> t m{memory}, t m")
    if pre:
        return split >> LayerNorm("m", norm) >> inner @ Id("t m") >> Add()
    return split >> inner @ Id("t m") >> Add() >> LayerNorm("m", norm)
