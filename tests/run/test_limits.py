"""The limits of a run: its steps, its memory, and what sets them, at their edges."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from ncd import Array, Axes, CausalMask, Copy, Id, LimitError, Limits, Scan, elaborate
from ncd.run import guard, limits
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


@pytest.mark.parametrize(
    ("array", "size"), [("y:5 m:3", 60), ("y:5#v:9", 40), ("", 4), ("x:2x3", 24)]
)
def test_a_real_number_takes_four_bytes_and_a_whole_one_eight(array: str, size: int) -> None:
    assert limits.weight(Array.parse(array)) == size


@pytest.mark.parametrize("value", [-1, True, 2.0, "9"])
def test_a_limit_is_a_whole_number(value: object) -> None:
    with pytest.raises(LimitError) as caught:
        Limits(bytes=value)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"Limits: bytes is {value!r}, but it is a whole number. Try bytes=2000000000."
    )
    with pytest.raises(LimitError, match="Try flops=200000000000"):
        Limits(flops=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "found"), [("", 7), ("1", 1), ("1e9", 10**9), ("2.9", 2), ("0", 0), ("0.9", 0)]
)
def test_the_environment_sets_limits_of_one_or_more(
    text: str, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", text)
    if found:
        assert limits.number("NCD_MAX_BYTES", 7) == found
        return
    with pytest.raises(LimitError) as caught:
        limits.number("NCD_MAX_BYTES", 7)
    said = f"NCD_MAX_BYTES is {text!r}, but it is a number, 1 or more. Try NCD_MAX_BYTES=7."
    assert str(caught.value) == said


def test_the_inputs_may_take_what_the_limit_is() -> None:
    term = Id("y:5 m:3") @ Id("y:5#v:9")
    limits.check_input_memory(term, Limits(bytes=100))
    with pytest.raises(LimitError) as caught:
        limits.check_input_memory(term, Limits(bytes=99))
    assert str(caught.value) == (
        "Input: the inputs take 100 bytes of memory, and the limit NCD_MAX_BYTES is 99. "
        "Bound so far: y 5, m 3, v 9. Try smaller sizes."
    )


@pytest.mark.parametrize(("device", "where"), [("cpu", "the machine"), ("cuda", "cuda")])
def test_a_run_may_take_all_that_is_free(
    device: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "free_bytes", lambda device: 1000)
    limits.check_free(1000, device)
    with pytest.raises(LimitError) as caught:
        limits.check_free(1001, device)
    assert str(caught.value) == (
        f"the run takes 1,001 bytes of memory, and {where} has 1,000 left. "
        "Try again later, or smaller sizes."
    )
    monkeypatch.setattr(limits, "free_bytes", lambda device: None)
    limits.check_free(1001, device)
