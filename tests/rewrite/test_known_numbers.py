"""Numbers that are known without the inputs: tables by their distance, and products with zeros."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from ncd.formulas.formula import Name, Operand
from ncd.ops import Given, Map
from ncd.rewrite.known_numbers import KnownNumbers, formula_leaves
from ncd.rewrite.position_masks import PositionSum

NAN = np.nan
DISTANCES = range(-4, 5)


def by_distance(table: list[list[float]]) -> list[float]:
    """What is known of a table, for the distances from -4 to 4."""
    rows, columns = len(table), len(table[0])
    known = object.__new__(KnownNumbers)
    known.distances = tuple(DISTANCES)
    op = Given(f"y:{rows} x:{columns}", numbers=tuple(n for row in table for n in row))
    axes = [SimpleNamespace(numel=rows), SimpleNamespace(numel=columns)]
    return known._by_distance(op, SimpleNamespace(axes=axes)).tolist()


def test_a_table_is_known_at_the_distances_at_which_it_is_the_same_everywhere() -> None:
    near = [[float(j - i) for j in range(3)] for i in range(3)]
    np.testing.assert_equal(by_distance(near), [NAN, NAN, -2, -1, 0, 1, 2, NAN, NAN])
    wide = [[float(j - i) for j in range(4)] for i in range(2)]
    np.testing.assert_equal(by_distance(wide), [NAN, NAN, NAN, -1, 0, 1, 2, 3, NAN])
    near[0][1] = 5.0
    np.testing.assert_equal(by_distance(near), [NAN, NAN, -2, -1, 0, NAN, 2, NAN, NAN])


@pytest.mark.parametrize(
    ("factors", "product"),
    [
        ([[0.0, 1.0, NAN], [NAN, 2.0, 3.0]], [0.0, 2.0, NAN]),
        ([[NAN, 2.0], [0.0, NAN], [3.0, 0.0]], [0.0, 0.0]),
        ([[2.0, 3.0], [4.0]], [8.0, 12.0]),
        ([], 1.0),
    ],
)
def test_a_product_is_0_where_a_factor_is_whatever_the_others_are(factors, product) -> None:
    found = KnownNumbers.product([np.array(factor) for factor in factors])
    np.testing.assert_equal(found, np.array(product))


def test_a_formula_knows_places_and_the_sizes_of_other_axes() -> None:
    """The number of positions is not known: the cached pass has fewer of them."""
    op = Map("y:6 x:6 k:3 -> y x k", "where(x > y + n_k, n_x * pi, $1 + k)")
    leaf = formula_leaves(op, [2.0], ("y", "x"), {a.name: a for a in op.signature.dom[0]})
    assert leaf(Name("x")) == PositionSum({"x": Fraction(1)})
    assert leaf(Name("n_k")) == PositionSum({}, Fraction(3))
    assert leaf(Operand(1)) == 2.0 and leaf(Name("pi")) == math.pi
    assert np.isnan(leaf(Name("n_x"))) and np.isnan(leaf(Name("k")))
