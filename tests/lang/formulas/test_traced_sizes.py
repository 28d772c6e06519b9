"""Numbers that remember how they follow from sizes are as plain ones, and so are their texts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncd.lang.formulas.traced_sizes import Trace, traced

OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
)
SMALL = st.integers(1, 6)


@pytest.mark.parametrize("sign", OPERATORS, ids=lambda sign: sign.__name__)
@given(x=SMALL, y=SMALL, n=st.integers(-3, 6))
def test_every_operator_gives_what_it_gives_for_plain_numbers(
    sign: Callable[[Any, Any], Any], x: int, y: int, n: int
) -> None:
    trace = Trace()
    a, b = trace.size("a", x), trace.size("b", y)
    pairs = [((a, b), (x, y)), ((a + b, a), (x + y, x)), ((2 * a, b + n), (2 * x, y + n))]
    pairs += [((a, n), (x, n)), ((n, b), (n, y))]
    for ours, plain in pairs:
        if sign in (operator.floordiv, operator.mod) and plain[1] == 0:
            continue
        found = sign(*ours)
        assert (found.value if traced(found) else found) == sign(*plain)


@given(x=SMALL, y=SMALL)
def test_the_facts_that_a_run_depended_on_are_true_of_its_sizes(x: int, y: int) -> None:
    trace = Trace()
    a, b = trace.size("a", x), trace.size("b", y)
    seen = (a <= b, a < b, a == b, a * b <= 9, a >= 3.5, a <= 2.5)
    assert seen == (x <= y, x < y, x == y, x * y <= 9, x >= 3.5, x <= 2.5)
    tests = {"<": operator.lt, "<=": operator.le, "=": operator.eq}
    assert trace.holds
    assert all(tests[sign](trace.now(total), 0) == true for total, sign, true in trace.holds)
