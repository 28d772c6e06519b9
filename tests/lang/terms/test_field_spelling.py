"""Spellings: the values that a field of a term takes, and what is said of others."""

from __future__ import annotations

import math

import pytest

from ncd.lang.errors import ParseError
from ncd.lang.terms.field_spelling import NUMBER, PROBABILITY, SMALL, Spelling, number

OVER = number("a number over 1", lambda value: value > 1, "1.5")


@pytest.mark.parametrize(("by", "value"), [(NUMBER, -3), (NUMBER, 2.5), (OVER, 2), (SMALL, 0.1)])
def test_a_number_is_read_as_a_real_one(by: Spelling, value: float) -> None:
    found = by.read(value, "limit")
    assert found == value and type(found) is float


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "1", None, True, 1j])
def test_only_a_finite_number_is_one(value: object) -> None:
    with pytest.raises(ParseError) as caught:
        NUMBER.read(value, "limit")
    assert str(caught.value).endswith("but it is a number. Try limit=0.5.")


@pytest.mark.parametrize(
    ("by", "value", "said"),
    [
        (OVER, 1, "limit is 1, but it is a number over 1. Try limit=1.5."),
        (
            PROBABILITY,
            1,
            "limit is 1, but it is a number from 0 up to, not including, 1. Try limit=0.1.",
        ),
        (SMALL, 0, "limit is 0, but it is a small number over 0. Try limit=1e-5."),
    ],
)
def test_a_number_beyond_the_limits_is_refused(by: Spelling, value: float, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        by.read(value, "limit")
    assert str(caught.value) == said
