"""Tests equations: all sides run on the same inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from ncd.errors import ParseError
from ncd.language.arguments import check_flag
from ncd.language.blocks import Equation
from ncd.run.guard import compile
from ncd.run.limits import Limits
from ncd.run.seeding import example_inputs


@dataclass(frozen=True)
class SideComparison:
    """The outputs of the sides of an equation on one input, and how much they differ.

    ``difference`` is the largest difference between two sides, in any number of any output;
    ``relative`` is that divided by the largest number. ``sides`` holds the outputs of each side.
    """

    difference: float
    relative: float
    sides: tuple[tuple[Tensor, ...], ...]

    def __bool__(self) -> bool:
        """Returns whether the sides are equal up to rounding: 1e-4 of the largest number."""
        return self.relative < 1e-4


def prove(
    equation: Equation,
    seed: int = 0,
    *,
    double: bool = True,
    limits: Limits | None = None,
) -> SideComparison:
    """Runs all sides of an equation on the same inputs, with the same weights.

    Args:
        equation: Terms of one type.
        seed: The seed of inputs and weights.
        double: Whether to compute in 64 bits, so that rounding hardly matters.
        limits: The memory and FLOPs allowed; by default those of the environment.

    Returns:
        A :class:`SideComparison`, which is true if the sides are equal up to rounding.

    Raises:
        LimitError: If a run would exceed the limits.
        SizeError: If an axis has no size.

    Source: Notebook, section 2.4, where such equations are checked with ``allclose``.

    >>> from ncd.ops import Einsum
    >>> swap = Equation(Einsum("i:2 j:3 -> j i") >> Einsum("j i -> i j"), Einsum("i:2 j:3 -> i j"))
    >>> prove(swap).difference
    0.0
    """
    if not isinstance(equation, Equation):
        raise ParseError("it is no equation", where="prove", cure="Equation(left, right)")
    check_flag(double, "double", "prove")
    module = compile(equation, seed, limits=limits).eval()
    inputs = example_inputs(equation, seed, limits=limits)
    if double:
        module.double()
        inputs = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    with torch.no_grad():
        outputs = module.execute(inputs)
    n = len(outputs) // len(equation.sides)
    sides = tuple(outputs[i : i + n] for i in range(0, len(outputs), n)) if n else ()
    pairs = (zip(one, two, strict=True) for one, two in combinations(sides, 2))
    difference = max((max_difference(a, b) for pair in pairs for a, b in pair), default=0.0)
    largest = max((x.abs().max().item() for x in outputs if x.isfinite().all()), default=1.0)
    return SideComparison(difference, difference / max(largest, 1e-30), sides)


def max_difference(a: Tensor, b: Tensor) -> float:
    """Returns the largest difference; equal infinities, or two NaN, count as equal.

    >>> max_difference(torch.tensor([1.0, math.inf]), torch.tensor([3.0, math.inf]))
    2.0
    """
    a, b = a.detach(), b.detach()
    same = (a == b) | (a.isnan() & b.isnan())
    off = torch.where(same, 0.0, (a.double() - b.double()).abs())
    return float(off.max().nan_to_num(math.inf, math.inf))
