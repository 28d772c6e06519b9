"""Layers that several language models share."""

from __future__ import annotations

from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import (
    Add,
    CausalMask,
    Einsum,
    Elementwise,
    Index,
    Linear,
    Map,
    Param,
    RMSNorm,
    Scale,
    Softmax,
)


def sliding_window(size: int) -> Term:
    """Returns a mask of scores ``y x g q``: each position sees itself and ``size - 1`` before."""
    return Map("y x g q -> y x g q", f"where(y - x < {size}, $1, -inf)", "window")


def cap(most: float) -> Term:
    """Returns the soft cap of numbers at ± ``most``: Gemma 2, section 2.2 of its report."""
    return Map("() -> ()", f"{most:.17g} * tanh($1 / {most:.17g})", "cap")


def grouped_attention(
    rotary: Rotary,
    *masks: Term,
    bias: bool = False,
    out_bias: bool = False,
    head_norm: Term | None = None,
    scale: Term | None = None,
) -> Term:
    """Returns attention with g keys and values for g · q queries: Ainslie et al. 2023, "GQA".

    Args:
        rotary: The positions that are turned into queries and keys.
        *masks: Steps on the scores ``y x g q``, before the causal mask.
        bias: Whether queries, keys and values have a bias.
        out_bias: Whether the last map has a bias.
        head_norm: A norm of each head's queries and keys, named ``q_norm`` and ``k_norm``.
        scale: The scaling of the scores; by default by the features of a head.
    """

    def turned(name: str, axes: str, norm: str) -> Term:
        made: Term = Linear(f"m -> {axes} k", name, bias)
        if isinstance(head_norm, RMSNorm):
            made = made >> RMSNorm("k", norm, head_norm.eps)
        return made >> rotary.term(axes)

    scores = Block(
        Then(
            Einsum("y g q k, x g k -> y x g q", "scores"),
            scale or Scale("k"),
            *masks,
            CausalMask("y x"),
            Softmax("x"),
            Einsum("y x g q, x g k -> y g q k"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )
    heads = (
        Id("t m, t m, t m")
        >> turned("q_proj", "g q", "q_norm")
        @ turned("k_proj", "g", "k_norm")
        @ Linear("m -> g k", "v_proj", bias)
        >> scores
        >> Linear("g q k -> m", "o_proj", out_bias)
    )
    return Wire("t m -> t m, t m, t m") >> Block(
        heads, "Grouped-Query Attention", "folded", "self_attn"
    )


def gated_mlp(
    activation: Term | None = None,
    bias: bool = False,
    hidden: str = "d",
    name: str = "mlp",
    at: str = "t",
) -> Term:
    """Returns a feed-forward with a gate: Shazeer 2020, "GLU Variants Improve Transformer".

    Args:
        activation: The function of the gate; by default SiLU.
        bias: Whether its maps have a bias.
        hidden: The axis of its hidden features.
        name: Its name.
        at: The axis of positions.
    """
    gate = Linear(f"m -> {hidden}", "gate_proj", bias) >> (activation or Elementwise("silu"))
    body = (
        Wire(f"{at} m -> {at} m, {at} m")
        >> gate @ Linear(f"m -> {hidden}", "up_proj", bias)
        >> Map(f"{hidden}, {hidden} -> {hidden}", "$1 * $2", "gate")
        >> Linear(f"{hidden} -> m", "down_proj", bias)
    )
    return Block(body, "Gated Feed-Forward", "folded", name)


def feed_forward(
    activation: Term, first: str = "intermediate", second: str = "output", name: str = ""
) -> Term:
    """Returns two affine maps with a function between them."""
    body = Linear("m -> d", first, True) >> activation >> Linear("d -> m", second, True)
    return Block(body, "Feed-Forward", "folded", name)


def tanh_gelu() -> Term:
    """Returns the GELU with a tanh: Hendrycks and Gimpel 2016, section 2."""
    return Map("() -> ()", "$1 / 2 * (1 + tanh(sqrt(2 / pi) * ($1 + 0.044715 * $1 ** 3)))", "GELU")


def after_norm(part: Term, norm: Term) -> Term:
    """Returns x + part(norm x)."""
    return Wire("t m -> t m, t m") >> norm >> part @ Id("t m") >> Add()


def tied_model(layers: Term, name: str, *after: Term) -> Term:
    """Returns a model whose table of embeddings also gives the scores.

    Args:
        layers: From ``t m`` to ``t m``.
        name: The name of the table.
        *after: Steps on the embeddings, before the layers.
    """
    return (
        Id("t#v") @ Param("v m", name)
        >> Wire("t#v, v m -> t#v, v m, v m")
        >> Index("t#v, v m -> t m") @ Id("v m")
        >> Then(Id("t m"), *after, layers) @ Id("v m")
        >> Einsum("t m, v m -> t v", "words")
    )


def untied_model(layers: Term, name: str, head: str = "lm_head", *after: Term) -> Term:
    """Returns a model whose scores come from a map of their own."""
    return (
        Id("t#v") @ Param("v m", name, "normal")
        >> Index("t#v, v m -> t m")
        >> Then(Id("t m"), *after, layers)
        >> Linear("m -> v", head)
    )
