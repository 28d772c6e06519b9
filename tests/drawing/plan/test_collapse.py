"""Fences around a step that is put between two others."""

from __future__ import annotations

import pytest

from ncd.circuit.circuit import Fence, Value
from ncd.drawing.plan.collapse import _stretch_fence
from ncd.language.axes import Array

A, B, C = (Value(id, Array.parse("m")) for id in "abc")
FENCE = Fence("f0", "", "", 2, ((A,), (B,), (C,)))  # the states 2, 3 and 4


@pytest.mark.parametrize(
    ("s", "id", "first", "inside"),
    [
        (0, "a", 3, "abc"),  # all of it comes later
        (1, "a", 3, "abc"),
        (2, "a", 2, "aabc"),  # the array is in it there
        (2, "x", 3, "abc"),  # an array beside it waits before it begins
        (3, "x", 2, "abbc"),  # in its middle every step is within
        (4, "c", 2, "abcc"),
        (4, "x", 2, "abc"),
        (5, "c", 2, "abc"),
    ],
)
def test_a_step_between_stretches_the_fences_that_it_is_in(
    s: int, id: str, first: int, inside: str
) -> None:
    found = _stretch_fence(FENCE, s, id)
    held = "".join(value.id for (value,) in found.states)
    assert (found.first_state, held) == (first, inside)
