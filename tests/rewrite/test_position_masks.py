"""Masks by distance: what is known of a formula, and what unknown numbers leave open."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ncd.formulas.formula import Name, Operand, parse
from ncd.language.op import TilingRule
from ncd.ops import Softmax
from ncd.rewrite.position_masks import (
    MaskReader,
    PositionSum,
    changes_nothing,
    distances_around,
)

DISTANCES = range(-4, 5)
NAN, INF = math.nan, math.inf


def leaf(part: Name | Operand) -> PositionSum | float:
    """x and y are positions; $1 is a number that is not known."""
    if isinstance(part, Operand):
        return NAN
    return INF if part.text == "inf" else PositionSum({part.text: Fraction(1)})


def read(text: str) -> tuple[list[float], set[int]]:
    reader = MaskReader(("y", "x"), DISTANCES)
    found = reader._as_numbers(reader.read(parse(text), leaf))
    return np.broadcast_to(found, len(DISTANCES)).tolist(), reader.turns


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("x <= y", lambda d: d <= 0),
        ("x < y", lambda d: d < 0),
        ("y >= x", lambda d: d <= 0),
        ("y > x", lambda d: d < 0),
        ("x == y", lambda d: d == 0),
        ("x != y + 1", lambda d: d != 1),
        ("y - x < 2", lambda d: -d < 2),
        ("2 * x - 2 * y <= 3", lambda d: 2 * d <= 3),
        ("(y - x) / 2 > 1", lambda d: -d / 2 > 1),
        ("x <= y and y - x < 3", lambda d: d <= 0 and -d < 3),
        ("x > y or x == y - 2", lambda d: d > 0 or d == -2),
        ("not (x <= y)", lambda d: d > 0),
        ("-x >= -y", lambda d: d <= 0),
        ("3 > 2", lambda d: True),
    ],
)
def test_a_comparison_of_positions_is_decided_at_each_distance(text: str, true) -> None:
    found, turns = read(text)
    assert found == [float(true(d)) for d in DISTANCES]
    changes = {d for d in range(-3, 5) if true(d) != true(d - 1)}
    assert all({d, d - 1} & turns for d in changes)


def test_what_depends_on_more_than_a_distance_is_not_known() -> None:
    for text in ("x + y < 3", "x < 3", "x < 2 * y", "x * y < 3", "x <= $1", "x", "where(x, 1, y)"):
        assert all(math.isnan(number) for number in read(text)[0]), text


def test_a_turn_between_two_distances_is_at_both() -> None:
    assert read("2 * x - 2 * y <= 3")[1] == {1, 2} and read("y - x < 2")[1] == {-2}
    assert distances_around((2,), 9) == (-9, -3, -2, -1, 0, 1, 2, 3, 9)
    assert distances_around((2,), 3) == (-3, -2, -1, 0, 1, 2, 3)
    assert distances_around((7,), 3) == (-3, -1, 0, 1, 3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("where(1 < 2, $1, 3)", NAN),
        ("where(1 > 2, $1, 3)", 3),
        ("where($1, 3, 3)", 3),
        ("where($1, 3, 4)", NAN),
        ("$1 and 0", 0),
        ("$1 and 1", NAN),
        ("0 and $1", 0),
        ("$1 or 1", 1),
        ("2 or $1", 1),
        ("$1 or 0", NAN),
        ("1 and 2", 1),
        ("0 or 0", 0),
        ("not $1", NAN),
        ("not 0", 1),
        ("0 * $1", 0),
        ("$1 * 0", 0),
        ("2 * $1", NAN),
        ("0 / $1", 0),
        ("1 / $1", NAN),
        ("$1 - inf", -INF),  # a hidden score stays hidden
        ("$1 + 1", NAN),
        ("-2 * 10 ** 9 + $1", -2e9),
        ("inf * 0", NAN),
        ("max($1, 2)", NAN),
        ("max(3, 2)", 3),
        ("min(3, 2)", 2),
        ("relu(-3)", 0),
        ("exp(-inf)", 0),
        ("abs(-3)", 3),
        ("-$1", NAN),
        ("5 % 3", 2),
        ("5 // 3", 1),
        ("sin($1)", NAN),
    ],
)
def test_what_unknown_numbers_leave_open(text: str, value: float) -> None:
    found, _ = read(text)
    np.testing.assert_equal(found, [value] * len(DISTANCES))


@pytest.mark.parametrize(
    ("text", "hides"),
    [
        ("where($1, 0, -10 ** 9)", True),
        ("where($1, 0, -10 ** 8)", False),
        ("where($1, 10 ** 9, 0)", True),
        ("where($1, 0, -inf)", False),  # known to hide
        ("where(1 < 2, 0, -10 ** 9)", False),
        ("$1 * 10 ** 9", True),
        ("10 ** 9 * $1", True),
        ("$1 * 3", False),
        ("$1 + 10 ** 9", False),
    ],
)
def test_unknown_numbers_may_decide_what_a_large_one_hides(text: str, hides: bool) -> None:
    reader = MaskReader(("y", "x"), DISTANCES)
    reader.read(parse(text), leaf)
    assert reader.hides_unknown == hides


def test_sums_of_positions_keep_no_factor_of_zero() -> None:
    x, y = (PositionSum({name: Fraction(1)}, Fraction(1)) for name in "xy")
    assert x.plus(y) == PositionSum({"x": Fraction(1), "y": Fraction(1)}, Fraction(2))
    assert x.plus(x, Fraction(-1)) == PositionSum({})
    assert x.times(Fraction(3)) == PositionSum({"x": Fraction(3)}, Fraction(3))
    assert x.times(Fraction(0)) == PositionSum({})


def test_what_hides_a_score_changes_nothing_in_a_softmax() -> None:
    rule = Softmax("x").tiling_rule(Softmax("x").apply_to(Softmax("x:3").dom), "x")
    numbers = np.array([-INF, -1e9, 0.0, INF, NAN])
    assert changes_nothing(rule, numbers).tolist() == [True, False, False, False, False]
    assert changes_nothing(rule, numbers, -1e9).tolist() == [True, True, False, False, False]


def test_an_op_that_joins_nothing_sees_every_number() -> None:
    assert changes_nothing(TilingRule(), np.array([0.0, -INF])).tolist() == [False, False]
    assert changes_nothing(TilingRule(tile_reduction="sum"), np.array([0.0, 1.0])).tolist() == [
        True, False,
    ]  # fmt: skip
