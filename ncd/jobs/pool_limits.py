"""The limits of a job that runs a system forward, which are above those of a page."""

from __future__ import annotations

from ncd.costs import cost_of
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.run import Limits
from ncd.run.base.limits import number
from ncd.run.limits.guard import STEPS
from ncd.run.limits.run_memory import stated_forward

BYTES, FLOPS = "NCD_POOL_BYTES", "NCD_POOL_FLOPS"
MORE = 4  # by default a job may take so much more memory than a page,
LONGER = 10  # and so many more operations


def limits() -> Limits:
    """Returns the limits of the pool: ``NCD_POOL_BYTES`` and ``NCD_POOL_FLOPS``.

    Raises LimitError if one is not a number.
    """
    own = Limits.from_environment()
    return Limits(number(BYTES, MORE * own.bytes), number(FLOPS, LONGER * own.flops))


def fits(term: Term) -> bool:
    """Returns whether the pool accepts a forward run of this term."""
    circuit, most = elaborate(term), limits()
    if cost_of(circuit).flops > most.flops or sum(cell.times for cell in circuit.cells) > STEPS:
        return False
    try:
        return stated_forward(term) <= most.bytes
    except (RuntimeError, TypeError, OverflowError):  # more elements than torch can count
        return False
