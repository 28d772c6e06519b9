"""Solves for the levels at which wires bend least, as a linear program.

This is the coordinate assignment of layered drawing: the least weighted sum of all bends while all
gaps are kept (Gansner, Koutsofios, North and Vo, A technique for drawing directed graphs, 1993,
section 4.2). The dual is solved, a minimum-cost flow: one equation for each item, one unknown for
each bend and each gap. A very large program is not solved: everything is as high as its gaps allow.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np
from highspy._core import MatrixFormat, ObjSense, _Highs

DIGITS = 6  # decimals of the results
MOST = 5_000  # bends and gaps that are solved; the largest system of the catalogue has 850
COLUMNS, LEAST = int(MatrixFormat.kColwise), int(ObjSense.kMinimize)
PRIMAL = 4  # HiGHS' number for the primal simplex, which needs fewer steps here than the dual
_IDLE: deque[_Highs] = deque(maxlen=4)  # solvers take longer to make than to run


# Variables ``a`` and ``b``, the ideal distance of ``b`` below ``a``, and the cost of each unit that
# ``b`` is lower or higher. A gap is a bend that costs nothing lower, and is forbidden higher.
Bend = tuple[int, int, float, float, float]
GAP = 0.0, inf


@lru_cache(maxsize=2048)
def levels(count: int, bends: tuple[Bend, ...]) -> tuple[float, ...]:
    """Returns the level of each of ``count`` items, the first being 0; levels grow downwards.

    Raises ValueError if the gaps contradict each other.

    >>> levels(3, ((0, 1, 0, 1, 1), (1, 2, 0, 1, 1), (0, 1, 20, *GAP)))
    (0.0, 20.0, 20.0)
    """
    if len(bends) > MOST:
        return _highest(count, bends)
    found = _solved(count, bends)
    return tuple([round(found[0] - level, DIGITS) for level in found])


def _highest(count: int, bends: tuple[Bend, ...]) -> tuple[float, ...]:
    """Returns the least levels that keep all gaps: the longest paths from above."""
    gaps = np.array([bend[:3] for bend in bends if bend[3:] == GAP])
    above, below = gaps[:, :2].T.astype(np.int32)
    found = np.zeros(count)
    for _ in range(count + 1):
        before = found.copy()
        np.maximum.at(found, below, found[above] + gaps[:, 2])
        if np.array_equal(found, before):
            return tuple((found - found[0]).round(DIGITS).tolist())
    raise ValueError("the gaps contradict each other")


def _solved(count: int, bends: tuple[Bend, ...]) -> list[float]:
    """Returns the levels, growing upwards: the dual values of the flow's equations."""
    arcs = np.fromiter(chain.from_iterable(bends), float).reshape(-1, 5)
    apart, lower, higher = arcs.T[2:]
    starts, signs, real, none = _frame(count, len(bends))
    try:
        solver = _IDLE.pop()
    except IndexError:
        solver = _solver()
    solver.passModel(  # replaces the model before
        len(bends), count, 2 * len(bends), COLUMNS, LEAST, 0.0,
        -apart, -lower, higher, none, none, starts,
        arcs[:, :2].astype(np.int32).ravel(), signs, real,
    )  # fmt: skip
    solver.run()
    duals: list[float] = list(solver.getSolution().row_dual)
    _IDLE.append(solver)
    return duals


@lru_cache(maxsize=256)
def _frame(count: int, arcs: int) -> tuple[np.ndarray, ...]:
    """Returns the parts of a flow's matrix that depend only on its number of arcs."""
    starts = np.arange(0, 2 * arcs + 1, 2, dtype=np.int32)
    return starts, np.tile([-1.0, 1.0], arcs), np.zeros(arcs, np.int32), np.zeros(count)


def _solver() -> _Highs:
    solver = _Highs()  # Highs itself sets callbacks first, and greets on stdout when they are set
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("simplex_strategy", PRIMAL)
    solver.setOptionValue("threads", 1)
    return solver
