"""The settings of a system: which values a knob takes."""

from __future__ import annotations

from typing import Any

import pytest

from ncd.lang.errors import SizeError
from ncd.models.catalogue_entry import Knob

SWITCH = Knob("causal", 0, 1, 0, switch=True)


def test_a_switch_is_on_or_off() -> None:
    assert [SWITCH.check(value) for value in (True, False, 1, 0)] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "causal is 2, but it goes from 0 to 1. Try causal = 1."),
        ("on", "causal is 'on', but it is a whole number. Try causal = 0."),
    ],
)
def test_a_switch_takes_nothing_else(value: Any, message: str) -> None:
    with pytest.raises(SizeError) as error:
        SWITCH.check(value)
    assert str(error.value) == message


def test_a_size_is_not_true_or_false() -> None:
    with pytest.raises(SizeError) as error:
        Knob("h", 1, 8, 4).check(True)
    assert str(error.value) == "h is True, but it is a whole number. Try h = 4."
