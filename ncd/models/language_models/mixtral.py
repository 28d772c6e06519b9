"""Mixtral: each position is worked on by the best few of many feed-forwards."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.language_models.shared_layers import (
    Rotary,
    after_norm,
    grouped_attention,
    sliding_window,
    untied_model,
)
from ncd.ops import Einsum, Index, Linear, Map, Param, RMSNorm, Softmax, Top


def mixtral(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    g: int = 2,
    q: int = 2,
    k: int = 16,
    d: int = 128,
    e: int = 8,
    c: int = 2,
    v: int = 256,
    *,
    rotary: Rotary | None = None,
    eps: float = 1e-5,
    window: int = 0,
) -> Term:
    """Returns a language model whose feed-forward is a mixture of experts.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        g: The heads of keys and values.
        q: The queries for each of them.
        k: The features of a head.
        d: The hidden features of an expert.
        e: The experts.
        c: The experts that are chosen for a position.
        v: The words.
        rotary: The angles of the positions.
        eps: The number that the norms add.
        window: The positions that each one sees; 0 for all before it.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Jiang et al. 2024, "Mixtral of Experts", section 2.

    >>> import ncd
    >>> sizes = dict(n=32, t=1, m=4096, g=8, q=4, k=128, d=14336, e=8, c=2, v=32000)
    >>> ncd.cost(mixtral(**sizes)).parameters  # Mixtral 8x7B
    46702792704
    """
    sizes = Axes(t=seq(t), m=m, g=g, q=q, k=k, d=d, e=e, c=c, v=v)
    return sizes(_mixtral(n, rotary or Rotary(1e6), eps, window))


@lru_cache(32)
def _mixtral(n: int, rotary: Rotary, eps: float, window: int) -> Term:
    masks = (sliding_window(window),) if window else ()
    layer = after_norm(
        grouped_attention(rotary, *masks), RMSNorm("m", "input_layernorm", eps)
    ) >> after_norm(experts(), RMSNorm("m", "post_attention_layernorm", eps))
    return untied_model(Repeat((layer,) * n) >> RMSNorm("m", "norm", eps), "embed_tokens")


def experts() -> Term:
    """Returns the c best of e gated feed-forwards, weighted by a softmax of their scores.

    Source: Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2.1.
    """
    router = Linear("m -> e", "gate") >> Top("e -> c") >> Softmax("c")
    body = (
        Wire("t m -> t m, t m")
        >> Block(router, "Router", "index") @ Id("t m")
        >> Wire("t c, t c#e, t m -> t c#e, t m, t c#e, t m, t c#e, t c")
        >> chosen("m -> d", "w1") @ chosen("m -> d", "w3") @ Id("t c#e, t c")
        >> Map("t c d, t c d -> t c d", "silu($1) * $2", "SwiGLU") @ Id("t c#e, t c")
        >> Wire("t c d, t c#e, t c -> t c#e, t c d, t c")
        >> chosen("c d -> c m", "w2") @ Id("t c")
        >> Einsum("t c m, t c -> t m", "mix")
    )
    return Block(body, "Mixture of Experts", "linear", "block_sparse_moe")


def chosen(pattern: str, name: str) -> Term:
    """Returns a linear map whose weights are those of the chosen experts.

    It takes the choice ``t c#e`` and an array; ``"m -> d"`` maps ``t m`` to ``t c d``.
    """
    given, made = (side.split() for side in pattern.split("->"))
    old, new = given[-1], made[-1]
    x = f"t {' '.join(given)}"
    return (
        Id(f"t c#e, {x}") @ Param(f"e {old} {new}", name)
        >> Wire(f"t c#e, {x}, e {old} {new} -> t c#e, e {old} {new}, {x}")
        >> Index(f"t c#e, e {old} {new} -> t c {old} {new}") @ Id(x)
        >> Einsum(f"t c {old} {new}, {x} -> t c {new}")
    )
