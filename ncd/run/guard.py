"""The guard: nothing is allocated before it has been counted."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from ncd.axes import Axis
from ncd.circuit import Cell, Circuit, elaborate
from ncd.cost import BYTES, Cost, OpCost, cost_of
from ncd.errors import LimitError, NCDError, shown
from ncd.terms import Term, rewrite

GIGA = 10**9


@dataclass(frozen=True)
class Limits:
    """How much one run may take: bytes of memory and floating-point operations.

    ``NCD_MAX_BYTES`` and ``NCD_MAX_FLOPS`` set them; the defaults suit a small shared machine.
    """

    bytes: int = 2 * GIGA
    flops: int = 200 * GIGA

    @staticmethod
    def from_environment() -> Limits:
        """The limits that the environment sets; raises LimitError for one that is no number."""
        return Limits(
            _number("NCD_MAX_BYTES", Limits.bytes), _number("NCD_MAX_FLOPS", Limits.flops)
        )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    try:
        number = int(float(text)) if text else default
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise LimitError(
            f"{name} is {shown(text)}, but it is a number, 1 or more", cure=f"{name}={default}"
        )
    return number


def check(circuit: Circuit, limits: Limits | None = None, *, suggest: bool = False) -> Cost:
    """The cost of a circuit; raises LimitError, naming the limit and the need, if it is too much.

    With ``suggest`` the error also names the nearest size that fits; that is searched for.
    """
    limits = limits or Limits.from_environment()
    cost = cost_of(circuit)
    for need, limit, unit, name in (
        (cost.peak, limits.bytes, "bytes of memory", "NCD_MAX_BYTES"),
        (cost.flops, limits.flops, "floating-point operations", "NCD_MAX_FLOPS"),
    ):
        if need > limit:
            cell = _heaviest(circuit, cost, unit)
            axes = cell.site.axes if cell else circuit.term.dom.axes
            raise LimitError(
                f"the run needs {need:,} {unit}, and the limit {name} is {limit:,}",
                where=cell.op.label if cell else "Input",
                bound=axes,
                cure=(suggest and _fitting(circuit.term, axes, limits)) or "smaller sizes",
            ).at(op=cell.op if cell else None)
    return cost


def _heaviest(circuit: Circuit, cost: Cost, unit: str) -> Cell | None:
    def weight(op: OpCost) -> int:
        return op.bytes + BYTES * op.parameters if "bytes" in unit else op.flops

    return circuit.cell(max(cost.ops, key=weight).node) if cost.ops else None


def _fitting(term: Term, axes: tuple[Axis, ...], limits: Limits) -> str:
    """The largest size of one axis, the longest that does, with which the run is in the limits."""
    for axis in sorted(axes, key=lambda axis: -axis.numel):
        low, high = 0, axis.numel
        while isinstance(axis.size, int) and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _fits(term, axis.name, middle, limits) else (low, middle)
        if low:
            return f"{axis.name} = {low}"
    return ""


def _fits(term: Term, name: str, size: int, limits: Limits) -> bool:
    def change(axis: Axis) -> Axis:
        return replace(axis, size=size) if axis.name == name and axis.size else axis

    try:
        check(elaborate(rewrite(term, change)), limits)
    except NCDError:
        return False
    return True
