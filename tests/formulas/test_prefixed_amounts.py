"""Amounts at the numbers where a prefix or a way of writing begins."""

from __future__ import annotations

import pytest

from ncd.formulas.prefixed_amounts import amount, digits


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (0, "", "0"),
        (1.0, "s", "1 s"),
        (0.9, "s", "900 ms"),
        (0.9, "B", "0.9 B"),
        (1e-3, "s", "1 ms"),
        (0.9e-3, "s", "900 µs"),
        (999.0, "B", "999 B"),
        (999.5, "B", "1 kB"),  # where three digits would round to 1000
        (1500, "s", "1.5 ks"),
        (999_500, "B", "1 MB"),
        (2e21, "FLOP", "2000 EFLOP"),
    ],
)
def test_a_prefix_begins_where_it_saves_digits(number: float, unit: str, text: str) -> None:
    assert amount(number, unit) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(999.4, "999"), (999.5, "1000"), (999_999, "999999"), (1e6, "1 × 10⁶"), (-2e-7, "−2 × 10⁻⁷")],
)
def test_numbers_from_a_thousand_to_a_million_have_all_their_digits(
    number: float, text: str
) -> None:
    assert digits(number) == text
