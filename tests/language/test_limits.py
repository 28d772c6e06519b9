"""Limits at their edges: the last value that is permitted, and the first that is not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd import Array, Axes, Axis, Id, Linear, MismatchError, Param, ParseError, Repeat, SizeError
from ncd.circuit.circuit import array_formats, cast_formats
from ncd.circuit.size_solver import evaluate
from ncd.formulas.formula import parse
from ncd.formulas.prefixed_amounts import amount, digits
from ncd.language import terms
from ncd.language.arguments import check_text
from ncd.language.axes import MAX_DIMENSIONS, MAX_SIZE, SIDES, Signature, Type
from ncd.language.op import TilingRule
from ncd.language.patterns import Binding, check_form
from ncd.language.terms import Then
from ncd.words import LONGEST, MAX_LISTED_NAMES, near_name, nearest_name
from tests.support.limits import Limit


@pytest.mark.parametrize("size", (1, MAX_SIZE, (1,) * SIDES, (MAX_SIZE, 1)))
def test_the_last_sizes_are_permitted(size: Any) -> None:
    assert Axis.parse(Axis("m", size).spec) == Axis("m", size)


@pytest.mark.parametrize(
    ("size", "why"),
    (
        (0, "axis m has size 0, but a size is a whole number, 1 or more. Try m = 1."),
        (-7, "axis m has size -7, but a size is a whole number, 1 or more. Try m = 1."),
        (2.6, "axis m has size 2.6, but a size is a whole number, 1 or more. Try m = 3."),
        (True, "axis m has size True, but a size is a whole number, 1 or more. Try m = 1."),
        (
            MAX_SIZE + 1,
            f"axis m has size {MAX_SIZE + 1}, but a size is a whole number, at most {MAX_SIZE:,}. "
            f"Try m = {MAX_SIZE}.",
        ),
        ((), "axis m is a group of no sizes. Try m = space(16, 16)."),
        (
            (1,) * (SIDES + 1),
            f"axis m is a group of {SIDES + 1} dimensions, at most {SIDES} can be. "
            "Try m = space(16, 16).",
        ),
    ),
)
def test_the_first_sizes_beyond_are_refused(size: Any, why: str) -> None:
    with pytest.raises(SizeError) as caught:
        Axis("m", size)
    assert str(caught.value) == why


def test_an_array_and_a_label_have_a_length() -> None:
    names = [f"a{i}" for i in range(MAX_DIMENSIONS + 1)]
    assert len(Array.parse(" ".join(names[:-1]))) == MAX_DIMENSIONS
    with pytest.raises(ParseError, match=f"^an array has at most {MAX_DIMENSIONS} axes"):
        Array.parse(" ".join(names))
    assert Axis("c", label="x" * 40).label == "x" * 40
    for label in ("x" * 41, "a,b", "a\tb", 3):
        with pytest.raises(ParseError, match=r"is no label. Try a short text such as \"3 3\"\.$"):
            Axis("c", label=label)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("axis", "drawn", "words"),
    (
        (Axis("c"), "c", "c"),
        (Axis("c", 4), "c", "c 4"),
        (Axis("4", 4), "4", "4"),
        (Axis("c", 4, label="4"), "c", "c 4"),
        (Axis("c", 4, label="04"), "c", "c 4"),
        (Axis("c", 4, label="5"), "5", "c 4"),
        (Axis("c", label="4"), "4", "c"),
        (Axis("x", (2, 3), label="2×3"), "x", "x 2×3"),
        (Axis("x", (2, 3), label="3×2"), "3×2", "x 2×3"),
        (Axis("c", 64, label="c_λ"), "c_λ", "c 64"),
    ),
    ids=str,
)
def test_a_label_is_drawn_where_it_says_more_than_the_size(
    axis: Axis, drawn: str, words: str
) -> None:
    assert (axis.display_name, axis.sized_words) == (drawn, words)


@given(
    *(2 * [st.integers(-6, 6)]),
    st.sampled_from(
        ("+", "-", "*", "/", "//", "%", "**", "min($1, $2)", "max($1, $2)", "-$1 * $2", "$1 + 1/2")
    ),
)
def test_a_size_formula_has_the_value_that_fractions_give_it(a: int, b: int, sign: str) -> None:
    text = (sign if "$" in sign else f"$1 {sign} $2").replace("$1", "a").replace("$2", "b")
    binding = Binding()
    values = {"a": a, "b": b}
    binding.size = values.get  # type: ignore[method-assign, assignment]
    if (sign in ("/", "//", "%") and b == 0) or (sign == "**" and b < 0):
        with pytest.raises(ParseError) as caught:
            evaluate(parse(text), binding)
        assert str(caught.value) == f"{text} is no size. Try + - * / // of names and numbers."
        return
    meant = eval(text, {"a": Fraction(a), "b": b if sign == "**" else Fraction(b)})
    assert evaluate(parse(text), binding) == meant


@pytest.mark.parametrize(
    ("form", "fits", "fails"),
    (
        ("m", ("m", "k"), ("", "m k", "()")),
        ("m*", ("()", "m", "m k"), ("m, k",)),
        ("m+", ("m", "m k"), ("()",)),
        ("c x+", ("c x", "c x y"), ("c", "()")),
        ("m* k", ("k", "m k", "m n k"), ("()",)),
        ("m, k", ("m, k",), ("m", "m, k, j", "m k, j")),
        ("d…", ("d", "d, e", "d, e, f"), ("d e", "d, e f", "()")),
        ("m, d…", ("m, d", "m, d, e"), ("m, d e", "m k, d")),
    ),
)
def test_a_pattern_has_the_axes_that_its_form_permits(
    form: str, fits: tuple[str, ...], fails: tuple[str, ...]
) -> None:
    for pattern in fits:
        check_form("Op", Signature.parse(f"{pattern} -> z"), f"{form} -> z")
        check_form("Op", Signature.parse(f"z -> {pattern}"), f"z -> {form}")
    plain = "".join(letter for letter in form if letter not in "*+…")
    for pattern in fails:
        with pytest.raises(ParseError) as caught:
            check_form("Op", given := Signature.parse(f"{pattern} -> z"), f"{form} -> z")
        assert str(caught.value) == (
            f'Op: "{given}" is not of the form "{plain} -> z". '
            f'Try something like Op("{plain} -> z").'
        )


def test_a_body_gives_as_many_arrays_as_it_takes_beside_the_memory() -> None:
    body = Id("a, b") >> ncd.Wire("a, b -> a")
    assert str(Repeat((body,) * 2, memory=1).cod) == "a"
    assert str(Repeat((body,), memory=0).cod) == "a"
    for wrong, memory, own in ((Id("a, b"), 1, 1), (body, 2, 0)):
        with pytest.raises(MismatchError) as caught:
            Repeat((wrong,), memory=memory)
        assert f"a body takes {own} arrays beside the memory, but gives {len(wrong.cod)}" in str(
            caught.value
        )


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    (
        *((999, "B", "999 B"), (999.4, "B", "999 B"), (999.5, "B", "1 kB"), (1000, "B", "1 kB")),
        *((999_499, "B", "999 kB"), (999_500, "B", "1 MB"), (0, "", "0"), (0.5, "", "0.5")),
        *((1, "s", "1 s"), (0.999, "s", "999 ms"), (1e-3, "s", "1 ms"), (0.99e-3, "s", "990 µs")),
        *((0.25, "B", "0.25 B"), (2.5e18, "FLOP", "2.5 EFLOP"), (12, "", "12")),
    ),
)
def test_an_amount_has_three_digits_and_the_largest_prefix_that_fits(
    number: float, unit: str, text: str
) -> None:
    assert amount(number, unit) == text


@pytest.mark.parametrize(
    ("number", "text"),
    (
        *((999.4, "999"), (999.5, "1000"), (999_999, "999999"), (1e6, "1 × 10⁶")),
        *((-999.5, "−1000"), (-2e6, "−2 × 10⁶"), (0.0001, "0.0001"), (0.00001, "1 × 10⁻⁵")),
    ),
)
def test_digits_are_all_shown_below_a_million(number: float, text: str) -> None:
    assert digits(number) == text


def test_the_format_of_a_weight_depends_on_its_axes_and_that_of_others_on_what_made_them() -> None:
    formats = ncd.Formats("int8", "bfloat16", "float8", ("K",))
    for term, name in (
        (Param("m:3 k:4", "W"), "int8"),
        (Param("k:4", "b"), "bfloat16"),
        (Linear("m:3 -> k:4", "K"), "float8"),
        (Linear("m:3 -> k:4", "Q"), "bfloat16"),
    ):
        circuit = ncd.elaborate(term)
        assert array_formats(circuit, formats)[circuit.outputs[0].id] == name
        assert all(array_formats(circuit, formats)[v.id] == "bfloat16" for v in circuit.inputs)
    passed = ncd.elaborate(Linear("m:3 -> k:4", "K") >> ncd.Wire("k -> k, k"))
    assert {array_formats(passed, formats)[v.id] for v in passed.outputs} == {"float8"}


def far(one: str, other: str) -> int:
    """How many letters differ, are missing or change places with the next, tried in all ways."""
    if not one or not other:
        return len(one) + len(other)
    ways = [far(one[1:], other[1:]) + (one[0] != other[0])]
    ways += [far(one[1:], other) + 1, far(one, other[1:]) + 1]
    if one[:2] == other[1::-1] and len(one) > 1 and len(other) > 1:
        ways.append(far(one[2:], other[2:]) + 1)
    return min(ways)


@given(st.text("ab", min_size=3, max_size=5), st.lists(st.text("abc", min_size=1, max_size=5)))
def test_the_near_name_is_the_nearest_that_differs_in_a_third_of_its_letters(
    name: str, known: list[str]
) -> None:
    begun = [one for one in known if one.startswith(name)]
    if begun and name not in known:  # all of these letters are its first word: none goes on
        known = [one for one in known if one not in begun]
    near = [one for one in known if far(name, one) <= len(name) // 3]
    found = near_name(name, known)
    assert found == min(near, key=lambda one: far(name, one), default="")


def test_names_have_a_length_and_lists_an_end() -> None:
    assert near_name("a" * LONGEST, ("a" * LONGEST + "b",)) == "a" * LONGEST + "b"
    assert near_name("a" * (LONGEST + 1), ("a" * LONGEST,)) == ""
    assert near_name("", ("b",)) == ""
    assert near_name("Co", ("Co2d",)) == "" and near_name("Con", ("Con2d", "Con1")) == "Con1"
    for count in (1, MAX_LISTED_NAMES, MAX_LISTED_NAMES + 1):
        known = [f"x{n}" for n in range(count)]
        meant = (
            f"one of {', '.join(known)}" if count <= MAX_LISTED_NAMES else "one such as x0, x1, x2"
        )
        assert nearest_name("unlike", known) == meant
    assert nearest_name("unlike", ()) == "one such as "


def test_steps_that_want_more_axes_again_and_again_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last of n steps adds an axis in front, so that the n - 1 before it are typed again."""
    steps = (Id("b"), ncd.Softmax("b"), Id("a b"))
    again = 2 * (1 + 1)  # two steps, one array of one axis
    monkeypatch.setattr("ncd.language.terms.MAX_RETYPED_AXES", again)
    assert str(Then(*steps).cod) == "a b"
    monkeypatch.setattr("ncd.language.terms.MAX_RETYPED_AXES", again - 1)
    with pytest.raises(ncd.NCDError, match=r"^Then: its steps want more axes again and again, so"):
        Then(*steps)


def test_a_formula_of_sizes_is_right_where_it_gives_one() -> None:
    assert Axes(a=3, b="a - 2")(Id("a b")).dom.spec == "a:3 b:1"
    with pytest.raises(SizeError, match=r"^Axes.*: axis b is a - 3 = 0, but a size is a whole"):
        Axes(a=3, b="a - 3")(Id("a b"))


def test_a_place_is_a_number_of_an_input() -> None:
    assert ncd.Wire("m, m, k -> $3, $1").sources == (2, 0)
    for word, count in (("$0", 2), ("$3", 2), ("$x", 2), ("$", 2), ("$1.5", 2)):
        with pytest.raises(ParseError) as caught:
            ncd.Wire(f"m, m -> {word}")
        assert str(caught.value) == (
            f"Wire: '{word[1:]}' is no number of an input, of which there are {count}. Try $1."
        )


def test_a_cast_is_where_an_array_has_another_format_than_all_that_it_was_made_from() -> None:
    for term, weights, found in (
        (Param("m:3 k:4", "W"), "int8", {"i8"}),
        (Param("m:3 k:4", "W"), "float32", set()),
        (Id("m:3"), "int8", {"bf16"}),
        (Id("m:3#v:5"), "int8", set()),
    ):
        formats = ncd.Formats(weights, "bfloat16" if weights == "int8" else "float32")
        assert {*cast_formats(ncd.elaborate(term), formats).values()} == found
    doubled = ncd.elaborate(Id("m:3") >> ncd.Elementwise("sin"))
    assert [*cast_formats(doubled, ncd.Formats(activations="int4")).values()] == ["i4"]


def test_an_op_cannot_be_cut_along_axes_of_its_own() -> None:
    op = ncd.Cumulative("x")
    site = op.apply_to(Type.parse("y:2 x:3"))
    assert op.tiling_rule(site, "y") == TilingRule()
    with pytest.raises(MismatchError) as caught:
        op.tiling_rule(site, "x")
    assert str(caught.value) == (
        "Cumulative sum works on all of x at once, so tiles of x are not enough. "
        "Try an axis other than x."
    )


def test_texts_are_whole_letters() -> None:
    for text in ("plain", "größe", "𝄞"):
        check_text(text, "title", "draw")
    for value, why in ((3, "title is 3, but it is text"), ("a\ud800", "holds half a letter (a s")):
        with pytest.raises(ParseError) as caught:
            check_text(value, "title", "draw")
        assert why in str(caught.value)


def test_a_term_has_so_many_parts_and_levels_at_most() -> None:
    term = ncd.Block(Id("m") >> Id("m"), "a")
    for name, size, refusal in (
        ("DEPTH", term.depth, f"the term is nested more than {term.depth - 1} deep."),
        ("NODES", term.nodes, f"the term has more than {term.nodes - 1} parts. Try fewer."),
    ):
        Limit(terms, name, size, lambda: ncd.Block(Id("m") >> Id("m"), "a"), refusal).check()
