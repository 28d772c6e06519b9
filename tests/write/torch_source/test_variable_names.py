"""Names of variables: a result takes over the name of an array that it is like."""

from __future__ import annotations

import pytest

import ncd
from ncd import Einsum, Wire

SCALED, TURNED = Einsum("b m, m -> b m"), Einsum("m, b m -> b m")


@pytest.mark.parametrize(
    ("term", "named"),
    [
        (Wire("b:2 m:3, m:3 -> b m, m, b m, m") >> SCALED @ SCALED, ["x", "b"]),
        (Wire("m:3, b:2 m:3 -> b m, m, b m, m") >> SCALED @ SCALED, ["x", "b"]),
        (Wire("b:2 m:3, m:3 -> b m, m, m, b m") >> SCALED @ TURNED, ["x", "b"]),
    ],
)
def test_a_result_beside_x_is_named_like_the_input_with_its_axes(term, named) -> None:
    rows = [row.strip() for row in ncd.source(term).split("\n")]
    assert [row.partition(" = ")[0] for row in rows if " = einsum(" in row] == named
    assert f"return {', '.join(named)}" in rows
