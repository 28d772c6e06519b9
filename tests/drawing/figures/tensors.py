"""Section 2.3: arrays, indexes, broadcasting and elementwise functions (figures 8 to 12)."""

from __future__ import annotations

import ncd
from ncd import Block
from ncd.systems.tensors.array_indexing import (
    arrays,
    pair,
    pairs,
    row,
    rows,
    tensors,
    value,
    values,
)
from tests.drawing.figures.figure import Figure


def _entry(name: str, signs: str, names: str) -> Figure:
    """A figure that is a system of the catalogue, as it is drawn there."""
    entry = ncd.catalogue[name]
    return Figure(
        (entry.build(),), options=entry.look(entry.settings({})), signs=signs, names=names
    )


def rediagram() -> Figure:
    """An array as one wire, and as its axes."""
    return Figure(
        (arrays(), tensors()),
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
    return _entry("indexes", "2", "4 3")


def subtensors() -> Figure:
    """Figure 9: the axes may be indexed in any order. Our indexes are numbers, 2 of 5, 3 of 7."""
    return _entry("subtensors", "2 3 = 2 3 = 3 2", "a b")


def broadcasting0() -> Figure:
    """Figure 10: an operation on a row, on each of four rows."""
    note = (
        "An operation over a single $3$-length row is applied in parallel over $4$ separate rows "
        "by broadcasting. This lifts an operation $G : ℝ^3 → ℝ^2$ to $ℝ^{4×3} → ℝ^{4×2}$."
    )
    return Figure(
        (row(), rows()),
        ("×4 Broadcasting ↦",),
        {"bands": True, "cells": True, "notes": {"": note}},
        signs="G ×4 Broadcasting G",
        paint="lift",
        names="3 2 4",
    )


def broadcasting0a() -> Figure:
    """Figure 10, below: indexes pass over expressions."""
    return _entry("broadcasting", "G 2 def = 2 G", "4 3 2")


def inner_broadcasting0() -> Figure:
    """Figure 11: an operation on two arrays, one of which has four rows."""
    note = (
        "A $ℝ^{4×3} × ℝ^4$ collection of data can be reduced to $ℝ^3 × ℝ^4$ in $4$ different ways. "
        "Therefore, an operation $H : ℝ^3 × ℝ^4 → ℝ^2$ can be lifted to an operation "
        "$ℝ^{4×3} × ℝ^4 → ℝ^{4×2}$ by inner broadcasting."
    )
    return Figure(
        (pair(), pairs()),
        ("×4 Inner Broadcasting ↦",),
        {"bands": True, "cells": True, "notes": {"": note}},
        signs="H ×4 Inner Broadcasting H",
        paint="inner",
        names="3 4 2",
    )


def inner_broadcasting0a() -> Figure:
    """Figure 11, below: indexes pass over expressions, an identity beside them."""
    return _entry("inner-broadcasting", "H 2 def = 2 H", "4 3 2")


def elementwise0() -> Figure:
    """Figure 12: a function of one number on every number."""
    note = (
        "Broadcasting with a $1$-length axis leaves data types unchanged, so $1$-length axes can "
        "be freely introduced and removed with arrows."
    )
    return Figure(
        (
            Block(value(), "Operation on a Value $f : ℝ → ℝ$", "transpose"),
            Block(values(), "Element-wise $f$", "transpose"),
        ),
        ("×4 × 3 Broadcasting ↦",),
        {"bands": True, "notes": {"f": note}},
        signs="f ×4 × 3 Broadcasting f",
        paint="lift",
        titles=("Operation on a Value f : ℝ → ℝ", "Element-wise f"),
        names="1 4 3",
    )
