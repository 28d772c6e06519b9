"""Numbers that remember how they follow from sizes are as plain ones, and so are their texts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncd.formulas import traced_sizes
from ncd.formulas.traced_sizes import SizeTrace, is_symbolic

OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.truediv, operator.pow, divmod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
)
DIVISIONS = (operator.floordiv, operator.mod, operator.truediv, divmod)
SMALL = st.integers(1, 6)


@pytest.mark.parametrize("sign", OPERATORS, ids=lambda sign: sign.__name__)
@given(x=SMALL, y=SMALL, n=st.integers(-3, 6))
def test_every_operator_gives_what_it_gives_for_plain_numbers(
    sign: Callable[[Any, Any], Any], x: int, y: int, n: int
) -> None:
    trace = SizeTrace()
    a, b = trace.size("a", x), trace.size("b", y)
    pairs = [((a, b), (x, y)), ((a + b, a), (x + y, x)), ((2 * a, b + n), (2 * x, y + n))]
    pairs += [((a, n), (x, n)), ((n, b), (n, y))]
    for ours, plain in pairs:
        if (sign in DIVISIONS and plain[1] == 0) or (sign is operator.pow and plain[0] == 0):
            continue
        assert plain_of(sign(*ours)) == sign(*plain)


def plain_of(number: Any) -> Any:
    if isinstance(number, tuple):
        return tuple(map(plain_of, number))
    return number.value if is_symbolic(number) else number


@pytest.mark.parametrize("n", (-3, -1, 0, 1, 4))
def test_what_is_asked_of_one_number_is_what_a_plain_one_answers(n: int) -> None:
    trace = SizeTrace()
    number = trace.size("a", n + 4) - 4
    for question in (abs, operator.neg, bool, int, float, hash_free, str.format):
        found = question("{:03}", number) if question is str.format else question(number)
        expected = question("{:03}", n) if question is str.format else question(n)
        assert plain_of(found) == expected, question
    for real in (-3.0, -1.5, 0.0, 0.5, 3.5, math.inf, -math.inf):
        for sign in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            assert sign(number, real) == sign(n, real), (sign, real)


def hash_free(number: Any) -> tuple[Any, Any]:
    """Returns the number as a fraction, as the standard library asks for it."""
    return number.numerator, number.denominator


def test_a_conversion_to_a_plain_number_is_a_fact_and_one_to_a_real_number_only_if_asked() -> None:
    trace = SizeTrace()
    a = trace.size("a", 5)
    assert float(a) == 5.0 and not trace.holds
    assert bool(a) and [sign for _, sign, _ in trace.holds] == ["="]
    assert "abcdefg"[a] == "f"
    facts = [(trace.current_value(total), sign, true) for total, sign, true in trace.holds]
    assert facts == [(5, "=", False), (0, "=", True)]
    trace.holds.clear()
    trace.exact = True
    assert float(a) == 5.0
    assert [*trace.holds] == [((a - 5).total, "=", True)]
    with trace.without_facts():
        assert a < 9
    assert len(trace.holds) == 1 and a > 4 and len(trace.holds) == 2


def test_what_divides_exactly_stays_a_polynomial_and_depends_on_no_fact() -> None:
    trace = SizeTrace()
    a, b = trace.size("a", 6), trace.size("b", 4)
    assert trace.symbolic_sizes == {"a": a, "b": b}
    assert ((6 * a * b + 2 * b) // (2 * b)).total == (3 * a + 1).total
    assert (6 * a * b) % (3 * a) == 0 and (a - a, a * 0, a**0) == (0, 0, 1)
    assert (a**3).total == (a * a * a).total
    trace.holds.clear()
    assert a**0 == 1 and not trace.holds
    rest = (a + b * b) % (2 * b)
    assert sorted(trace.read(rest.total)) == ["a", "b", "b", "b"]  # b * b is not 0 modulo 2 b
    assert sorted(trace.read(((a + 1) // b).total)) == ["a", "b"]
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        a // (b - b)


def test_a_text_holds_letters_of_the_length_that_each_number_has_there() -> None:
    trace = SizeTrace()
    a = trace.size("a", 1234)
    assert (len(f"{a}"), len(f"{a:,}"), len(str(a + 1)), f"{a:x}") == (4, 5, 4, "4d2")
    assert str(a) == f"{a}" != f"{a:,}"
    assert [(number.value, how) for number, how in trace.written] == [
        *((1234, ""), (1234, ","), (1235, ""))
    ]


def test_there_are_as_many_numbers_as_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_sizes, "LAST", traced_sizes.FIRST + 1)
    a = SizeTrace().size("a", 5)
    assert [f"{a}", f"{a + 1}", f"{a}"] == [chr(traced_sizes.FIRST + n) for n in (0, 1, 0)]
    with pytest.raises(OverflowError, match="more numbers than there are letters for"):
        str(a + 2)


@given(x=SMALL, y=SMALL)
def test_the_facts_that_a_run_depended_on_are_true_of_its_sizes(x: int, y: int) -> None:
    trace = SizeTrace()
    a, b = trace.size("a", x), trace.size("b", y)
    seen = (a <= b, a < b, a == b, a * b <= 9, a >= 3.5, a <= 2.5)
    assert seen == (x <= y, x < y, x == y, x * y <= 9, x >= 3.5, x <= 2.5)
    tests = {"<": operator.lt, "<=": operator.le, "=": operator.eq}
    assert trace.holds
    assert all(
        tests[sign](trace.current_value(total), 0) == true for total, sign, true in trace.holds
    )
