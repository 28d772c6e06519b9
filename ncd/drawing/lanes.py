"""Lanes: the levels at which wires bend least, found once for all of them.

This is the last step of layered drawing as a linear program: the least weighted sum of all bends
while no gap is smaller than it must be (Gansner, Koutsofios, North and Vo, A technique for drawing
directed graphs, 1993, section 4.2). What is solved is its dual, a flow of least cost: an equation
for each thing that has a level, an unknown for each bend and each gap.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from highspy import Highs, HighsLp, MatrixFormat

DIGITS = 6  # to which levels are exact
_IDLE: deque[Highs] = deque(maxlen=4)  # solvers take longer to make than to run


class Bend(NamedTuple):
    """``b`` wants to be ``apart`` under ``a``: what each unit costs that it is lower, or higher."""

    a: int
    b: int
    apart: float
    lower: float
    higher: float


class Gap(NamedTuple):
    """``b`` is at least ``least`` under ``a``."""

    a: int
    b: int
    least: float


@lru_cache(maxsize=2048)
def levels(count: int, bends: tuple[Bend, ...], gaps: tuple[Gap, ...]) -> tuple[float, ...]:
    """The level of each of ``count`` things, that of the first being 0; levels grow downwards.

    Raises ValueError if the gaps contradict each other.

    >>> levels(3, (Bend(0, 1, 0, 1, 1), Bend(1, 2, 0, 1, 1)), (Gap(0, 1, 20),))
    (0.0, 20.0, 20.0)
    """
    arcs = len(bends) + len(gaps)
    ends = np.array([(arc[0], arc[1]) for arc in (*bends, *gaps)], np.int32).reshape(-1)
    program = HighsLp()
    program.num_col_, program.num_row_ = arcs, count
    program.col_cost_ = np.array([-arc[2] for arc in (*bends, *gaps)], float)
    program.col_lower_ = np.array([-b.lower for b in bends] + [0.0] * len(gaps), float)
    program.col_upper_ = np.array([b.higher for b in bends] + [np.inf] * len(gaps), float)
    program.row_lower_ = program.row_upper_ = np.zeros(count)
    program.a_matrix_.format_ = MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(0, 2 * arcs + 1, 2, dtype=np.int32)
    program.a_matrix_.index_ = ends
    program.a_matrix_.value_ = np.tile([-1.0, 1.0], arcs)
    found = -np.array(_solved(program))
    return tuple(np.round(found - found[0], DIGITS).tolist())


def _solved(program: HighsLp) -> list[float]:
    """The duals of its rows."""
    try:
        solver = _IDLE.pop()
    except IndexError:
        solver = _solver()
    solver.passModel(program)  # of the one before nothing is left
    solver.run()
    duals: list[float] = list(solver.getSolution().row_dual)
    _IDLE.append(solver)
    return duals


def _solver() -> Highs:
    solver = Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("threads", 1)
    return solver
