"""Knobs at the edges of what they take: legal values, those of a slider, and the errors."""

from __future__ import annotations

import pytest

from ncd.circuit.knob import Knob, switch
from ncd.errors import SizeError

SIZE = Knob("n", 4, 256, 64, multiple=4, step=8)
FREE, BOUND = Knob("m", 2, 9, 5, least=1), Knob("k", 2, 9, 5, most=12)
CHOICE = Knob("how", 0, 2, 0, names=("sum", "mean", "max"))
SWITCH = switch("causal", 1, "masked", "on or off")


@pytest.mark.parametrize(
    ("knob", "value", "legal"),
    [
        *((SIZE, n, at) for n, at in ((-5, 4), (1, 4), (5, 4), (6, 8), (9, 8), (10, 12), (71, 72),
                                      (4000, 4000))),
        *((FREE, n, at) for n, at in ((-1, 1), (0, 1), (1, 1), (2, 2), (900, 900))),
        *((BOUND, n, at) for n, at in ((1, 2), (2, 2), (12, 12), (13, 12))),
        *((CHOICE, n, at) for n, at in ((-1, 0), (0, 0), (2, 2), (3, 2))),
        *((SWITCH, n, at) for n, at in ((-1, 0), (1, 1), (2, 1))),
        *((Knob("q", 3, 30, 6, multiple=3, most=13), n, at) for n, at in ((1, 3), (12, 12),
                                                                         (13, 12), (14, 12))),
    ],
)  # fmt: skip
def test_the_nearest_legal_value(knob: Knob, value: int, legal: int) -> None:
    assert knob.legal(value) == legal
    if value == legal:
        assert knob.check(value) == value
        return
    with pytest.raises(SizeError) as error:
        knob.check(value)
    assert (error.value.nearest, error.value.axis) == (legal, knob.name)
    verb = "goes" if knob.limits.startswith("from") else "is"
    assert str(error.value) == (
        f"{knob.name} is {value}, but it {verb} {knob.limits}. Try {knob.name} = {legal}."
    )


def test_what_a_knob_is() -> None:
    knobs = SIZE, FREE, BOUND, CHOICE, SWITCH
    assert [knob.bounds for knob in knobs] == [(4, None), (1, None), (2, 12), (0, 2), (0, 1)]
    assert [knob.limits for knob in knobs] == [
        "a multiple of 4, 4 or more", "1 or more", "from 2 to 12", "from 0 to 2", "from 0 to 1",
    ]  # fmt: skip
    assert [knob.is_size for knob in knobs] == [True, True, True, False, False]
    assert [knob.is_fixed for knob in knobs] == [False] * 5
    assert Knob("one", 3, 3, 3, most=3).is_fixed and Knob("how", 0, 0, 0, names=("sum",)).is_fixed
    assert not Knob("one", 3, 3, 3).is_fixed
    with pytest.raises(SizeError, match="how is True, but it is a whole number"):
        CHOICE.check(True)


@pytest.mark.parametrize(
    ("value", "slider"),
    [(-9, 4), (4, 4), (8, 4), (9, 12), (12, 12), (250, 252), (256, 252), (999, 252)],
)
def test_the_nearest_value_of_a_slider(value: int, slider: int) -> None:
    """It begins at 4 and goes by 8, so that its last value is 252."""
    assert SIZE.nearest(value) == slider
