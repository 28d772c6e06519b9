"""Layers that several language models share."""

from __future__ import annotations

from ncd.lang.formulas.formula import Apply, Number
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.ops import (
    Add,
    Einsum,
    Elementwise,
    Index,
    Linear,
    Map,
    Param,
)

WINDOW = "window"  # the title of its op


def sliding_window(size: int, causal: bool = True) -> Term:
    """Returns a mask of scores ``y x g q``: each position sees itself and ``size - 1`` before.

    Without ``causal`` it sees as many after it.
    """
    away = "y - x" if causal else "abs(y - x)"
    return Map("y x g q -> y x g q", f"where({away} < {size}, $1, -inf)", WINDOW)


def window_size(op: Term) -> int:
    """Returns the positions that a :func:`sliding_window` leaves; 0 for another op.

    >>> window_size(sliding_window(5)), window_size(cap(5))
    (5, 0)
    """
    if not isinstance(op, Map) or op.title != WINDOW or not isinstance(op.function, Apply):
        return 0
    nearer = op.function.parts[0]
    size = nearer.parts[1] if isinstance(nearer, Apply) else None
    return int(size.value) if isinstance(size, Number) else 0


def cap(most: float) -> Term:
    """Returns the soft cap of numbers at ± ``most``: Gemma 2, section 2.2 of its report."""
    return Map("() -> ()", f"{most:.17g} * tanh($1 / {most:.17g})", "cap")


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


def times(number: float) -> Term:
    """Returns numbers multiplied by one."""
    return Map("() -> ()", f"$1 * {number:.17g}", "scale")


def learned_positions(name: str, skipped: int = 0, m: str = "m", at: str = "t") -> Term:
    """Returns a step on ``t m`` that adds t rows of a table ``u m``, after those it skips.

    ``at`` is the axis of positions.
    """
    place = f"{at} + {skipped}" if skipped else at
    rows = Map(f"-> {at}#u", place, "positions") @ Param(f"u {m}", name)
    return Id(f"{at} {m}") @ (rows >> Index(f"{at}#u, u {m} -> {at} {m}")) >> Add()


def feed_forward(
    activation: Term,
    first: str = "intermediate",
    second: str = "output",
    name: str = "",
    bias: bool = True,
) -> Term:
    """Returns two maps with a function between them."""
    body = Linear("m -> d", first, bias) >> activation >> Linear("d -> m", second, bias)
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


def two_texts(encoder: Term, decoder: Term) -> Term:
    """Returns a model of a text that is read and one that is written, with one table of words.

    Args:
        encoder: From ``s m`` to ``s m``.
        decoder: From ``t m, s m`` to ``t m``.

    Returns:
        A term from the words of both to the last features and the table,
        ``s#v, t#v -> t m, v m``.
    """
    return (
        Id("s#v, t#v") @ Param("v m", "shared", "normal")
        >> Wire("s#v, t#v, v m -> s#v, v m, t#v, v m, v m")
        >> Index("s#v, v m -> s m") @ Index("t#v, v m -> t m") @ Id("v m")
        >> encoder @ Id("t m, v m")
        >> Wire("s m, t m, v m -> t m, s m, v m")
        >> decoder @ Id("v m")
    )


def embedded(layers: Term, name: str, *after: Term) -> Term:
    """Returns layers behind the embeddings of words, ``t#v -> t m``."""
    return (
        Id("t#v") @ Param("v m", name, "normal")
        >> Index("t#v, v m -> t m")
        >> Then(Id("t m"), *after, layers)
    )


def untied_model(
    layers: Term, name: str, head: str = "lm_head", *after: Term, bias: bool = False
) -> Term:
    """Returns a model whose scores come from a map of their own."""
    return embedded(layers, name, *after) >> Linear("m -> v", head, bias)
