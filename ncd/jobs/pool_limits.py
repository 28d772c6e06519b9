"""How much a job that runs a system forward may take: more than a page's run."""

from __future__ import annotations

from ncd.costs import cost_of
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.run import Limits
from ncd.run.base.limits import number
from ncd.run.limits.guard import STEPS
from ncd.run.limits.run_memory import stated_forward

BYTES, FLOPS = "NCD_POOL_BYTES", "NCD_POOL_FLOPS"
MORE = 4  # times as much memory as a page may take, and
LONGER = 10  # times as many operations, where the environment sets nothing


def limits() -> Limits:
    """The limits of the pool: ``NCD_POOL_BYTES`` and ``NCD_POOL_FLOPS``.

    Raises LimitError for one that is no number.
    """
    own = Limits.from_environment()
    return Limits(number(BYTES, MORE * own.bytes), number(FLOPS, LONGER * own.flops))


def fits(term: Term) -> bool:
    """Whether the pool takes a run of this term forward."""
    circuit, most = elaborate(term), limits()
    if cost_of(circuit).flops > most.flops or sum(cell.times for cell in circuit.cells) > STEPS:
        return False
    try:
        return stated_forward(term) <= most.bytes
    except (RuntimeError, TypeError, OverflowError):  # more numbers than torch can count
        return False
