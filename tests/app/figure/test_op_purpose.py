"""The sentence on what an op is for."""

from __future__ import annotations

import pytest

from ncd import Einsum, Elementwise, Id, Index, Linear, Map, Term
from ncd.app.figure.op_card import BY_NAME, BY_OP, ELEMENTWISE, op_purpose
from ncd.circuit.elaborate import elaborate

LOOK_UP = "Each position looks up its own row of the table."


@pytest.mark.parametrize(
    ("term", "purpose"),
    [
        (Linear("m:3 -> k:2", "gate"), BY_OP["Linear"]),
        (Id("m:3") >> Elementwise("relu"), BY_OP["Elementwise"]),
        (Id("m:3") >> Elementwise("tanh"), ELEMENTWISE["tanh"]),
        (Map("m:3 -> m", "$1 + 1"), BY_OP["Map"]),
        (Map("m:3, m -> m", "$1 * $2", "gate"), BY_NAME["gate"]),
        (Index("m:3 k:2", k=0), BY_OP["Index"]),
        (Index("y:2#v:3, v:3 m:4 -> y m"), LOOK_UP),
        (
            Einsum("y:2 k:3 h:2, x:4 k h -> y x"),
            "The products are summed over k and h: that is how much two vectors agree, or a mean "
            "of some by the weights of others.",
        ),
        (Einsum("y:2, x:4 -> y x"), "Every pair is multiplied, and nothing is summed."),
        (
            Einsum("y:2 x:4 -> x y"),
            "The same numbers with their axes in another order, as the next part wants them.",
        ),
    ],
)
def test_an_op_is_for_something(term: Term, purpose: str) -> None:
    (cell,) = elaborate(term).cells
    assert op_purpose(cell) == purpose
