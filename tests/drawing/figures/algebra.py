"""Section 2.4: linear algebra as einsum and as diagrams (figures 17 and 18)."""

from __future__ import annotations

import ncd
from ncd import Equation, Term
from ncd.systems.tensors import graphical_algebra
from tests.drawing.figures.figure import Figure

LINES = ncd.catalogue["linear-algebra"]


def line(step: int) -> Term:
    """The line of figure 18 with this step of the page's walk."""
    return LINES.build(step=step)


def implementation() -> Figure:
    """Figure 17: the scores of attention, step by step and at once."""
    return Figure(
        (ncd.catalogue["einsum-attention"].build(),),
        signs="Q K ∗k−1/2 = Q K ∗k−1/2",
        names="y k h x",
    )


def transpose() -> Figure:
    """Figure 18, first line: an output axis becomes an input axis."""
    whole = line(1)
    assert isinstance(whole, Equation)
    return Figure(
        (graphical_algebra.linear_map(), *whole.sides),
        ("Associated Transpose ↦", "="),
        signs="F Associated Transpose ↦ F = FT",
        names="a b c",
    )


def shift() -> Figure:
    """Figure 18, second and third line: unit and inner product make a wire."""
    return Figure(
        (line(2),),
        options=LINES.look({"step": 2}),
        signs="G H = G H = G H = G HT = G HT",
        names="a b c",
        titles=("Identity",),
    )


def outer() -> Figure:
    """Figure 18, last line: outer products can be shifted."""
    return Figure(
        (line(7),),
        options=LINES.look({"step": 7}),
        signs="G H K = G H K",
        names="a b c d",
    )
