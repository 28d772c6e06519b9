"""Section 2.3: arrays, indexes, broadcasting and elementwise functions (figures 8 to 12)."""

from __future__ import annotations

from ncd import Block, Equation, Function, Id, Index
from tests.figures.figure import Figure

G = Function("G", "3 -> 2", "tanh")
H = Function("H", "3, 4 -> 2", "tanh")


def rediagram() -> Figure:
    """An array as one wire, and as its axes."""
    whole = Id('a"ℝ^3":3') @ Function("f", 'b"ℝ^{4×2}":8, c"ℝ^6":6 -> d"ℝ^{3×3}":9') >> Function(
        "g", 'a"ℝ^3":3, d"ℝ^{3×3}":9 -> e"ℝ^{1×2}":2'
    )
    axes = Id("3") @ Function("f", '4 2, 6 -> 3 b"3":3') >> Function("g", '3, 3 b"3":3 -> 1 2')
    return Figure(
        (whole, axes),
        ("=",),
        {
            "bands": True,
            "notes": {"": "This lets us reexpress diagrams by drawing the details of axes."},
        },
        signs="f g = f g",
        names="ℝ3 ℝ4×2 ℝ6 ℝ3×3 ℝ1×2 3 4 2 6 1",
    )


def indexes() -> Figure:
    """Figure 8: one row of a table."""
    note = "We express subtensor extractions, grabbing $A[2, :]$, by an index on the relevant axis."
    return Figure(
        (Index("4 3", at={"4": 2}),),
        options={"bands": True, "cells": True, "notes": {"": note}},
        signs="2",
        names="4 3",
    )


def subtensors() -> Figure:
    """Figure 9: the axes may be indexed in any order. Our indexes are numbers, 2 of 5, 3 of 7."""
    array = "a:5 b:7"
    sides = (
        Index(array, a=2, b=3),
        Index(array, a=2) >> Index("b", b=3),
        Index(array, b=3) >> Index("a", a=2),
    )
    note = "Here, $2$ may be any of $\\{0 … a-1\\}$, and $3$ any of $\\{0 … b-1\\}$."
    return Figure(
        (Equation(*sides),),
        options={"bands": True, "notes": {"": note.replace("\\", "")}},
        signs="2 3 = 2 3 = 3 2",
        names="a b",
    )


def broadcasting0() -> Figure:
    """Figure 10: an operation on a row, on each of four rows."""
    note = (
        "An operation over a single $3$-length row is applied in parallel over $4$ separate rows "
        "by broadcasting. This lifts an operation $G : ℝ^3 → ℝ^2$ to $ℝ^{4×3} → ℝ^{4×2}$."
    )
    return Figure(
        (Id("3") >> G, Id("4 3") >> G),
        ("×4 Broadcasting ↦",),
        {"bands": True, "cells": True, "notes": {"": note}},
        signs="G ↦ G",
        names="3 2 4",
    )


def broadcasting0a() -> Figure:
    """Figure 10, below: indexes pass over expressions."""
    note = (
        "Broadcasting can be formally defined in terms of indexes. The left and right hand side "
        "are equal. Graphically, we see that broadcasting allows indexes to pass over expressions. "
        "Note how the expressions hold for $2$ replaced by any valid index $i_4 ∈ {0, 1, 2, 3}$."
    )
    sides = (
        Id("4 3") >> G >> Index("4 2", at={"4": 2}),
        Index("4 3", at={"4": 2}) >> G,
    )
    return Figure(
        (Equation(*sides, sign="≝"),),
        options={"bands": True, "notes": {"": note}},
        signs="G 2 def = 2 G",
        names="4 3 2",
    )


def inner_broadcasting0() -> Figure:
    """Figure 11: an operation on two arrays, one of which has four rows."""
    note = (
        "A $ℝ^{4×3} × ℝ^4$ collection of data can be reduced to $ℝ^3 × ℝ^4$ in $4$ different ways. "
        "Therefore, an operation $H : ℝ^3 × ℝ^4 → ℝ^2$ can be lifted to an operation "
        "$ℝ^{4×3} × ℝ^4 → ℝ^{4×2}$ by inner broadcasting."
    )
    return Figure(
        (Id("3, 4") >> H, Id('c"4":4 3, 4') >> H),
        ("×4 Inner Broadcasting ↦",),
        {"bands": True, "cells": True, "notes": {"": note}},
        signs="H ↦ H",
        names="3 4 2",
    )


def inner_broadcasting0a() -> Figure:
    """Figure 11, below: indexes pass over expressions, an identity beside them."""
    rows = 'c"4":4'
    sides = (
        Id(f"{rows} 3, 4") >> H >> Index(f"{rows} 2", c=2),
        Index(f"{rows} 3", c=2) @ Id("4") >> H,
    )
    note = (
        "Inner broadcasting can be formally defined in terms of indexes. Graphically, we see that "
        "inner broadcasting allows indexes to pass over expressions. Here, the index is "
        "accompanied by an identity on the $4$-shaped variable."
    )
    return Figure(
        (Equation(*sides, sign="≝"),),
        options={"bands": True, "notes": {"": note}},
        signs="H 2 def = 2 H",
        names="4 3 2",
    )


def elementwise0() -> Figure:
    """Figure 12: a function of one number on every number."""
    f = Function("f", "() -> ()", "tanh")
    note = "Broadcasting with a $1$-length axis leaves data types unchanged, so arrows add it."
    return Figure(
        (
            Block(Function("f", "1 -> 1", "tanh"), "Operation on a Value $f : ℝ → ℝ$", "reshape"),
            Block(Id("4 3") >> f, "Element-wise $f$", "reshape"),
        ),
        ("×4 × 3 Broadcasting ↦",),
        {"bands": True, "notes": {"": note}},
        signs="f ↦ f",
        titles=("Operation on a Value $f : ℝ → ℝ$", "Element-wise $f$"),
        names="1 4 3",
    )
