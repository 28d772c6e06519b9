"""Equations, tried."""

from __future__ import annotations

import re

import pytest
import torch

from ncd.errors import LimitError, ParseError
from ncd.explain.equation_proof import SideComparison, prove
from ncd.language.blocks import Equation
from ncd.language.terms import Id
from ncd.ops import Einsum, Linear, Map
from ncd.run.limits import Limits


def test_two_orders_of_a_product_are_equal() -> None:
    left = Einsum("i:5 j:4, j k:3 -> i k") >> Einsum("i k, k l:2 -> i l")
    right = Id("i:5 j:4") @ Einsum("j k:3, k l:2 -> j l") >> Einsum("i j, j l -> i l")
    proof = prove(Equation(left, right))
    assert proof and 0 < proof.difference < 1e-12
    assert len(proof.sides) == 2 and [len(side) for side in proof.sides] == [1, 1]
    assert proof.sides[0][0].dtype == torch.float64
    assert 1e-9 < prove(Equation(left, right), double=False).difference < 1e-4


def test_layers_of_one_name_are_one_layer_on_all_sides() -> None:
    step = Linear("m:3 -> k:2", "Q")
    twice = Map("k -> k", "2 * $1")
    assert prove(Equation(step >> twice, Map("m -> m", "2 * $1") >> step))


def test_the_largest_difference_of_any_two_sides_is_what_counts() -> None:
    def plus(n: int) -> Map:
        return Map("m:3 -> m", f"$1 + {n}")

    proof = prove(Equation(plus(0), plus(2), plus(-1)))
    assert not proof
    assert proof.difference == pytest.approx(3)
    largest = max(float(x.abs().max()) for side in proof.sides for x in side)
    assert largest != pytest.approx(1) and proof.relative == pytest.approx(3 / largest)
    assert SideComparison(9.0, 0.99e-4, ()) and not SideComparison(9.0, 1e-4, ())


def test_infinities_and_no_numbers_are_equal_to_themselves() -> None:
    hidden = Map("m:3 -> m", "where(m > 0, -inf, $1)")
    assert prove(Equation(hidden, hidden)).difference == 0
    assert prove(Equation(hidden, Map("m:3 -> m", "$1"))).difference == float("inf")


def test_whole_numbers_can_be_equal_too() -> None:
    assert prove(Equation(Map("y:9#v:5 -> y#v", "$1"), Id("y:9#v:5"))).difference == 0


def test_what_is_no_equation_and_what_is_too_large() -> None:
    message = "prove: it is no equation. Try Equation(left, right)."
    with pytest.raises(ParseError, match=f"^{re.escape(message)}$"):
        prove(Id("m:3"))  # type: ignore[arg-type]
    with pytest.raises(LimitError):
        prove(Equation(Id("m:3"), Id("m:3")), limits=Limits(bytes=10))
