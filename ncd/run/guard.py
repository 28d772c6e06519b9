"""The guard: nothing is allocated before it has been counted."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ncd.circuit import Circuit
from ncd.cost import Cost, cost_of
from ncd.errors import LimitError

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
        return int(float(text)) if text else default
    except (ValueError, OverflowError):
        raise LimitError(f"{name} is {text!r}, which is no number", cure=f"{name}={default}") from None


def check(circuit: Circuit, limits: Limits | None = None) -> Cost:
    """The cost of a circuit; raises LimitError, naming the limit and the need, if it is too much."""
    limits = limits or Limits.from_environment()
    cost = cost_of(circuit)
    for need, limit, unit, name in (
        (cost.peak, limits.bytes, "bytes of memory", "NCD_MAX_BYTES"),
        (cost.flops, limits.flops, "floating-point operations", "NCD_MAX_FLOPS"),
    ):
        if need > limit:
            largest = max(cost.ops, key=lambda op: op.bytes if "bytes" in unit else op.flops)
            cell = circuit.cell(largest.node)
            raise LimitError(
                f"the run needs {need:,} {unit}, and the limit {name} is {limit:,}",
                where=cell.op.label,
                bound=cell.site.axes,
                cure="smaller sizes",
            ).at(op=cell.op)
    return cost
