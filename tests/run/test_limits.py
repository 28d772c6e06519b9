"""The number of steps of a run, at its limit."""

from __future__ import annotations

from unittest.mock import patch

from ncd import Axes, CausalMask, Copy, Scan, elaborate
from ncd.run import guard
from tests.support.limits import Limit

BODY = CausalMask("y x") >> Copy("y x")
TERM = Axes(t=5, y=2, x=2)(Scan(BODY, "t", states=0))


def test_a_run_has_so_many_steps_at_most() -> None:
    circuit = elaborate(TERM)
    steps = 2 * 5  # two ops at every place
    Limit(
        guard,
        "STEPS",
        steps,
        lambda: guard.check_run(circuit),
        "Scan t: the run has 10 steps, at most 9 can be. Bound so far: t 5, y 2, x 2. Try ",
    ).check()
    for most, fits in ((steps, True), (steps - 1, False)):
        with patch.object(guard, "STEPS", most):
            assert guard.fits(circuit) == fits
