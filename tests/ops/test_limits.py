"""Limits of ops at their edges."""

from __future__ import annotations

import pytest

from ncd import Given, Id, MaxPool
from ncd.ops import constant_array, einsum, opaque_call, sliding_window
from ncd.ops.einsum import Einsum
from tests.support.limits import Limit

LIMITS = (
    Limit(
        constant_array,
        "MAX_NUMBERS",
        5,
        lambda: Given("x:5", "g", "1 0*3 2"),
        "numbers has more than 4 numbers. Try fewer.",
    ),
    Limit(
        einsum,
        "LETTERS",
        4,
        lambda: Id("a:2 b:2x2, c") >> Einsum("a b, c -> a b c"),
        "an einsum has at most 3 dimensions, but these arrays have 4.",
    ),
    Limit(
        opaque_call,
        "LONGEST",
        11,
        lambda: opaque_call.read_arguments("a, 1, dim=2", 1),
        "the arguments have more than 10 letters. Try ",
    ),
    Limit(
        opaque_call,
        "LONGEST",
        11,
        lambda: opaque_call.ARGUMENTS_FORMAT.read("a, 1, dim=2", "arguments"),
        "arguments is 'a, 1, dim=2', but it is text. Try ",
    ),
    Limit(
        sliding_window,
        "MOST_SIDES",
        2,
        lambda: MaxPool("x -> u", (2, 3), 1),
        "the kernel has 2 numbers, but a window has 1 to 1 sides. Try kernel = 1.",
    ),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_larger_than_a_limit_is_refused(limit: Limit) -> None:
    limit.check()
