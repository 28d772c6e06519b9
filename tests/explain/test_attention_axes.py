"""Which axis of attention weights holds the queries, which the keys, which the heads."""

from __future__ import annotations

import pytest

from ncd.circuit.circuit import attention_axes
from ncd.language.axes import Type


@pytest.mark.parametrize(
    ("array", "keys", "queries", "heads"),
    [
        ("y x", "x", "y", ""),
        ("x", "x", None, ""),
        ("h y x", "x", "y", "h"),
        ("y h x", "x", "h", "y"),  # the nearest before it, where nothing tells them apart
        ("x y h", "x", "y", "h"),
        ("~y h ~x", "x", "y", "h"),
        ("h ~x ~y", "x", "y", "h"),
        ("h y:2x2 x:2x2 k", "x", "y", "h k"),
        ("y:2x2 h x", "x", "h", "y"),
    ],
)
def test_queries_are_the_nearest_axis_of_the_kind_of_the_keys(
    array: str, keys: str, queries: str | None, heads: str
) -> None:
    (given,) = Type.parse(array)
    before, at, rest = attention_axes(given, given[given.names.index(keys)])
    assert (given.names[at], [given.names[i] for i in rest]) == (keys, heads.split())
    assert (None if before is None else given.names[before]) == queries
