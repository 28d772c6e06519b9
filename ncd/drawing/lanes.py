"""Lanes: the levels at which wires bend least, found once for all of them.

This is the last step of layered drawing as a linear program: the least weighted sum of all bends
while no gap is smaller than it must be (Gansner, Koutsofios, North and Vo, A technique for drawing
directed graphs, 1993, section 4.2). What is solved is its dual, a flow of least cost: an equation
for each thing that has a level, an unknown for each bend and each gap.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np
from highspy import Highs, MatrixFormat, ObjSense

DIGITS = 6  # to which levels are exact
COLUMNS, LEAST = int(MatrixFormat.kColwise), int(ObjSense.kMinimize)
PRIMAL = 4  # simplex_strategy, as HiGHS numbers them
_IDLE: deque[Highs] = deque(maxlen=4)  # solvers take longer to make than to run


class Bend(NamedTuple):
    """``b`` wants to be ``apart`` under ``a``: what each unit costs that it is lower, or higher."""

    a: int
    b: int
    apart: float
    lower: float
    higher: float


class Gap(NamedTuple):
    """``b`` is at least ``least`` under ``a``: a bend that may be lower, and never higher."""

    a: int
    b: int
    least: float
    lower: float = 0.0
    higher: float = inf


@lru_cache(maxsize=2048)
def levels(count: int, bends: tuple[Bend, ...], gaps: tuple[Gap, ...]) -> tuple[float, ...]:
    """The level of each of ``count`` things, that of the first being 0; levels grow downwards.

    Raises ValueError if the gaps contradict each other.

    >>> levels(3, (Bend(0, 1, 0, 1, 1), Bend(1, 2, 0, 1, 1)), (Gap(0, 1, 20),))
    (0.0, 20.0, 20.0)
    """
    found = _solved(count, bends, gaps)
    return tuple([round(found[0] - level, DIGITS) for level in found])


def _solved(count: int, bends: tuple[Bend, ...], gaps: tuple[Gap, ...]) -> list[float]:
    """The levels, growing upwards: what a unit more at each would be worth to the flow."""
    each = chain.from_iterable((*bends, *gaps))
    arcs, none = np.fromiter(each, float).reshape(-1, len(Bend._fields)), np.zeros(count)
    apart, lower, higher = arcs.T[2:]
    try:
        solver = _IDLE.pop()
    except IndexError:
        solver = _solver()
    solver.passModel(  # of the one before nothing is left
        len(arcs), count, 2 * len(arcs), COLUMNS, LEAST, 0.0,
        -apart, -lower, higher, none, none,
        np.arange(0, 2 * len(arcs) + 1, 2, dtype=np.int32),
        arcs[:, :2].astype(np.int32).ravel(),
        np.tile([-1.0, 1.0], len(arcs)),
        np.zeros(len(arcs), np.int32),
    )  # fmt: skip
    solver.run()
    duals: list[float] = list(solver.getSolution().row_dual)
    _IDLE.append(solver)
    return duals


def _solver() -> Highs:
    solver = Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("simplex_strategy", PRIMAL)  # in fewer steps than the dual one
    solver.setOptionValue("threads", 1)
    return solver
