"""Section 2.4: linear algebra as einsum and as diagrams (figures 17 and 18)."""

from __future__ import annotations

from ncd import (
    Axes,
    Block,
    Einsum,
    Equation,
    Function,
    Id,
    Named,
    Scale,
    Term,
    Unit,
    abreast,
    seq,
)
from tests.figures.figure import Figure


def implementation() -> Figure:
    """Figure 17: the scores of attention, step by step and at once."""
    sizes = Axes(y=seq(3), x=seq(5), k=4, h=2)
    arrays = Named("y k h", "Q") @ Named("x k h", "K")
    steps = (
        Id("y k h") @ Block(Einsum("x k h -> k x h"), "", "reshape")
        >> Block(Einsum("y k h, k x h -> y x h"), "", "einsum")
        >> Block(Scale("k"), "", "scale")
    )
    at_once = Block(Einsum("y k h, x k h -> y x h"), "", "weighted") >> Block(
        Scale("k"), "", "scale"
    )
    return Figure(
        (sizes(Equation(arrays >> steps, arrays >> at_once)),),
        signs="Q K ∗k−1/2 = Q K ∗k−1/2",
        names="y k h x",
    )


def transpose() -> Figure:
    """Figure 18, first line: an output axis becomes an input axis."""
    sizes = Axes(a=3, b=4, c=5)
    f = sizes(Function("F", "a -> b c"))
    bent = sizes(Id("b") @ Function("F", "a -> b c") >> Einsum("b, b c -> c"))
    turned = sizes(Einsum("b, a -> b a") >> Function("F^T", "b a -> c"))
    return Figure(
        (f, bent, turned),
        ("Associated Transpose ↦", "="),
        signs="F Associated Transpose ↦ F = FT",
        names="a b c",
    )


def shift() -> Figure:
    """Figure 18, second and third line: unit and inner product make a wire."""
    sizes = Axes(a=3, b=4, c=5)
    g, h = Function("G", "a -> b"), Function("H", 'q"b" -> c')
    cup = Unit('b q"b"')
    straight = g >> Function("H", "b -> c")
    turned = Block(cup >> h, "$H^T$", "folded")
    sides: tuple[Term, ...] = (
        straight,
        g >> Block(Id("b") @ cup >> Einsum('b, b q"b" -> q"b"'), "Identity") >> h,
        g >> Id("b") @ cup >> Id("b") @ h >> Einsum("b, b c -> c"),
        g >> Id("b") @ turned >> Einsum("b, b c -> c"),
        g @ turned >> Einsum("b, b c -> c"),
    )
    notes = {
        "Identity": "The unit and the inner product arranged in this manner give the identity.",
        "": "Naturality among linear functions with respect to broadcasting allows them to be "
        "horizontally shifted.",
    }
    return Figure(
        (sizes(Equation(*sides)),),
        options={"notes": notes, "folded": ("$H^T$",)},
        signs="G H = G = H G = H G HT = G HT",
        names="a b c",
        titles=("Identity",),
    )


def outer() -> Figure:
    """Figure 18, last line: outer products can be shifted."""
    sizes = Axes(a=3, b=4, c=5, d=6)
    g, h = Function("G", "a -> b"), Function("H", "c -> d")
    k = Function("K", "b d -> e:2")
    sides = (
        Einsum("a, c -> a c") >> abreast(g, h) >> k,
        g @ h >> Einsum("b, d -> b d") >> k,
    )
    note = (
        "Simultaneously broadcasting linear operations is an outer product, meaning outer products "
        "can be shifted."
    )
    return Figure(
        (sizes(Equation(*sides)),),
        options={"notes": {"": note}},
        signs="G H K = G H K",
        names="a b c d",
    )
