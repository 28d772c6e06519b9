"""Formulas: what is read, what is refused, and how they are written again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncd.errors import ParseError
from ncd.formulas.formula import (
    COMPARISONS,
    DEEPEST,
    FUNCTIONS,
    LONGEST,
    TALLEST,
    Application,
    Formula,
    Name,
    Number,
    Operand,
    formula_number,
    parse,
)
from ncd.formulas.formula_latex import LONGEST as MARK
from ncd.formulas.formula_latex import ellipsize, latex

LEAVES = st.one_of(
    st.integers(0, 99).map(lambda n: Number(str(n))),
    st.sampled_from(["x", "n_x", "pi", "x_s"]).map(Name),
    st.integers(1, 3).map(Operand),
)


def joined(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    signs = ("+", "-", "*", "/", "//", "%", "**", "and", "or")
    pair = st.tuples(inner, inner)
    calls = [
        st.tuples(*[inner] * count).map(lambda parts, f=name: Application(f, parts))
        for name, count in FUNCTIONS.items()
    ]
    return st.one_of(
        st.builds(Application, st.sampled_from(signs), pair),
        st.builds(Application, st.sampled_from(COMPARISONS), pair),
        st.builds(Application, st.sampled_from(("-", "not")), st.tuples(inner)),
        *calls,
    )


FORMULAS = st.recursive(LEAVES, joined, max_leaves=12)


@given(FORMULAS)
def test_a_formula_is_read_back_as_it_is_written(formula: Formula) -> None:
    assert parse(str(formula)) == formula
    assert latex(formula)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("2 - 3 - 4", -5),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("7 // 2 % 2", 1),
    ],
)
def test_operators_bind_as_in_python(text: str, value: int) -> None:
    assert eval(str(parse(text))) == value == eval(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "a number or a name is missing before 'the end' in the formula '1 +'"),
        ("(1, 2)", ") is missing before ',' in the formula '(1, 2)'"),
        ("max(1, (2)", ") is missing before 'the end' in the formula 'max(1, (2)'"),
        ("max(1,)", "a number or a name is missing before ')' in the formula 'max(1,)'"),
        ("max(*x)", "a number or a name is missing before '*' in the formula 'max(*x)'"),
        ("(x)(2)", "'(' stands where nothing can follow in the formula '(x)(2)'"),
        ("x y", "'y' stands where nothing can follow in the formula 'x y'"),
        ("", "a number or a name is missing before 'the end' in the formula ''"),
        ("1 + not x", "'not' stands without brackets after an operator in the formula '1 + not x'"),
        ("where($1)", "where takes 3 arguments, not 1 in the formula 'where($1)'"),
        ("expp($1)", "there is no function 'expp'"),
        ("$1 < $2 < $3", "two comparisons stand in a row in the formula '$1 < $2 < $3'"),
        ("2x", "'2x' is not understood in the formula '2x'"),
        ("__import__(os)", "there is no function '__import__'"),
        ("f('os')", """"'os')" is not understood in the formula "f('os')\""""),
        ("$1.real", "'.real' is not understood in the formula '$1.real'"),
        ("x[0]", "'[0]' is not understood in the formula 'x[0]'"),
    ],
)
def test_what_is_no_formula_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.fact == message


def test_a_formula_has_a_longest_and_a_deepest() -> None:
    with pytest.raises(ParseError, match="more than 1000 letters"):
        parse("1 + " * 300 + "1")
    with pytest.raises(ParseError, match="more than 40 deep"):
        parse("(" * 41 + "1" + ")" * 41)
    for text in ("-" * 900 + "1", "1" + " + 1" * 100, "1" + " and 1" * 100):
        with pytest.raises(ParseError, match="more than 64 operations in a row"):
            parse(text)


@pytest.mark.parametrize("inner", COMPARISONS)
@pytest.mark.parametrize("outer", COMPARISONS)
def test_a_comparison_of_comparisons_keeps_its_brackets(outer: str, inner: str) -> None:
    """Python would read ``a < b < c`` as two comparisons of b."""
    for text in (f"(a {inner} b) {outer} c", f"a {outer} (b {inner} c)"):
        assert str(parse(text)) == text
    with pytest.raises(ParseError):
        parse(f"a {inner} b {outer} c")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-$1", "-a"),
        ("-($1 + $2)", r"-\left(a + b\right)"),
        ("$1 - $2", "a - b"),
        ("$1 - ($2 - $3)", r"a - \left(b - c\right)"),
        ("($1 + $2) * $3", r"\left(a + b\right) \cdot c"),
        ("($1 + $2) / ($3 - 1)", r"\frac{a + b}{c - 1}"),
        ("($1 + 1) ** ($2 + 1)", r"\left(a + 1\right)^{b + 1}"),
        ("$1 // 2 % 3", r"\left\lfloor a / 2 \right\rfloor \bmod 3"),
        ("min($1, $2) + tanh($3)", r"\operatorname{min}(a, b) + \operatorname{tanh}(c)"),
        ("$8 + $9", "l + a"),
        ("n_x_y * inf + pi - e", r"n_{x,y} \cdot \infty + \pi - e"),
        ("not $1 and $2 or $1 <= $2", r"\neg a \wedge b \vee a \le b"),
        ("clamp($1, 0, 1)", r"\min(\max(a, 0), 1)"),
    ],
)
def test_a_formula_in_latex(text: str, wanted: str) -> None:
    assert latex(parse(text)) == wanted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "(-0.5)"),
        (math.inf, "inf"),
        (-math.inf, "(-inf)"),
        (math.nan, "(inf - inf)"),
        (2.0**53 - 1, "9007199254740991"),
        (2.0**53, "9007199254740992.0"),  # from here on not every whole number is a float
        (-(2.0**60), "(-1.152921504606847e+18)"),
        (2.0**50 + 0.5, "1125899906842624.5"),
        (-(2.0**50) - 0.5, "(-1125899906842624.5)"),
    ],
)
def test_a_number_is_written_as_a_formula_of_its_value(value: float, text: str) -> None:
    assert formula_number(value) == text
    assert eval(str(parse(text)), {"inf": math.inf}) == pytest.approx(value, abs=0, nan_ok=True)


@pytest.mark.parametrize(("name", "cure"), [("expp", "exp"), ("swish", "silu")])
def test_an_unknown_function_has_a_cure(name: str, cure: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"{name}($1)")
    assert caught.value.cure == cure


def test_a_formula_ends_at_its_limits() -> None:
    assert ellipsize("x" * MARK) == "x" * MARK
    assert ellipsize("x" * (MARK - 1) + "+y") == "x" * (MARK - 1) + "…"
    tall = TALLEST
    for last, first in (
        ("1" + "+1" * tall, "1" + "+1" * (tall + 1)),
        (" and ".join(["x"] * (tall + 1)), " and ".join(["x"] * (tall + 2))),
        ("-" * tall + "x", "-" * (tall + 1) + "x"),
    ):
        assert parse(str(parse(last))) == parse(last)
        with pytest.raises(ParseError) as caught:
            parse(first)
        assert str(caught.value) == (
            f"the formula has more than {tall} operations in a row. "
            "Try a shorter one, or brackets that share them out."
        )
    assert parse("x" * LONGEST) == Name("x" * LONGEST)
    with pytest.raises(ParseError, match=f"^the formula has more than {LONGEST} letters. Try a s"):
        parse("x" * (LONGEST + 1))
    assert parse("(" * DEEPEST + "x" + ")" * DEEPEST) == Name("x")
    with pytest.raises(ParseError, match=f"^brackets stand more than {DEEPEST} deep in the form"):
        parse("(" * (DEEPEST + 1) + "x" + ")" * (DEEPEST + 1))
