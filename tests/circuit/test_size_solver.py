"""Sizes follow from others, both ways through the whole term, to a fixed point."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ncd import (
    Axes,
    Block,
    Concat,
    Conv,
    Copy,
    Einsum,
    Group,
    Id,
    Linear,
    MismatchError,
    Param,
    ParseError,
    Repeat,
    Scale,
    Scan,
    SizeError,
    Softmax,
    Split,
    UnknownNameError,
    Wire,
    elaborate,
    seq,
    space,
)
from ncd.circuit.size_solver import SizeFormula, evaluate, solve_for
from ncd.formulas.formula import parse
from ncd.language.axes import Axis
from ncd.language.patterns import Binding

BOUND = Binding({"a": Axis("a", 6), "b": Axis("b", 4)})


def test_a_map_learns_the_size_that_a_later_split_needs() -> None:
    term = Axes(m=8, h=2, k=4)(Linear("m -> d") >> Split("d -> h k"))
    assert repr(term) == "Linear('m:8 -> d:8') >> Split('d:8 -> h:2 k:4')"


def test_sizes_are_followed_without_axes_around_the_term_as_well() -> None:
    sketch = Linear("m:3 -> d") >> Split("d -> h:2 k:3")
    assert elaborate(sketch).term.cod.spec == "h:2 k:3"
    assert elaborate(sketch).cells[0].site.own_outputs.spec == "d:6"


def test_the_inputs_learn_from_the_far_end() -> None:
    term = Axes()(Softmax("d") >> Softmax("d") >> Split("d -> h:2 k:3"))
    assert term.dom.spec == "d:6"


def test_a_size_may_be_a_formula_of_others() -> None:
    term = Axes(k=16, h=4, m=8, d="k*h", e="2*d + 1")(Linear("m -> d") >> Linear("d -> e"))
    assert term.cod.spec == "e:129"


def test_a_formula_is_turned_round_to_the_one_size_it_lacks() -> None:
    term = Axes(m=8, h=2, d="h*k")(Id("m k") >> Linear("m -> d:6"))
    assert term.dom.spec == "m:8 k:3"


@pytest.mark.parametrize(
    ("formula", "value", "size"),
    [
        ("k + 3", 8, 5),
        ("3 + k", 8, 5),
        ("k - 3", 8, 11),
        ("12 - k", 8, 4),
        ("2 * k", 8, 4),
        ("k * 2", 8, 4),
        ("k / 3", 8, 24),
        ("24 / k", 8, 3),
        ("2 * (9 - k) + 2", 8, 6),
    ],
)
def test_a_formula_is_turned_round_whatever_its_sign(formula: str, value: int, size: int) -> None:
    term = Axes(m=8, d=formula)(Id("m k") >> Linear(f"m -> d:{value}"))
    assert term.dom.spec == f"m:8 k:{size}"


def test_a_formula_that_gives_no_whole_number_is_refused() -> None:
    with pytest.raises(SizeError) as caught:
        Axes(n_1=10, n_b="n_1 / 4")(Linear("n_1 -> n_b"))
    assert str(caught.value) == (
        "Axes(n_b='n_1 / 4'): axis n_b is n_1 / 4 = 5/2, but a size is a whole number, 1 or more. "
        "Bound so far: n_1 10. Try sizes for which n_1 / 4 is whole."
    )


def test_a_name_takes_the_size_that_it_has_everywhere_else() -> None:
    """``Scale("x/4")`` sees the x/4 that a convolution solved."""
    term = Axes(c=3, x=16)(Conv("c x -> c x/4", stride=4) >> Scale("x/4"))
    scale = elaborate(term).cells[1]
    assert scale.site.size("x/4") == 4


def test_a_name_with_two_strokes_parses() -> None:
    term = Axes(c=3, x=16, s=2)(
        Conv("c x -> c x/s", stride=2) >> Conv("c x/s -> c x/s/2", stride=2)
    )
    assert term.cod.spec == "c:3 x/s/2:4"


def test_concatenation_tells_the_part_that_is_missing() -> None:
    term = Axes(c=3, e=8, x=space(2, 2))(Id("c x, d x") >> Concat("c, d -> e"))
    assert term.dom.spec == "c:3 x:2x2, d:5 x:2x2"


def test_sizes_are_followed_through_blocks_repetitions_and_scans() -> None:
    body = Block(Linear("d -> d", "W"), name="inner")
    scan = Scan(Id("n, n") >> Einsum("n, n -> n") >> Copy("n"), "t")
    term = Axes(m=5, h=2, k=3)(Linear("m -> d") >> Repeat((body,) * 2) >> Split("d -> h k"))
    assert elaborate(term).cells[1].site.own_inputs.spec == "d:6"
    assert Axes(n=4, t=7)(scan).dom.spec == "n:4, t:7 n:4"


def test_arrays_that_pass_beside_each_other_keep_axes_of_one_name_apart() -> None:
    """The second array took the q of the first."""
    two = Param("q:2", "a") @ Param("z:3 q:2x3", "b")
    assert (two >> Wire("q, z -> z, q")).cod.spec == "z:3 q:2x3, q:2"
    assert (two >> Id("q, z")).cod.spec == "q:2, z:3 q:2x3"
    later = Linear("m:2 -> q") @ Id("z:3 q:5") >> Wire("q, z -> q, z") >> Split("q -> h:2 k:3")
    assert elaborate(later).cells[0].site.own_outputs.spec == "q:6"
    assert elaborate(later).term.cod.spec == "h:2 k:3, z:3 q:5"


def test_names_inside_a_local_block_are_its_own() -> None:
    half = Block(Linear("a -> b", "W"), "Half", local=True)
    term = Axes(y=seq(3), m=8, b=4)(Id("y m") >> half)
    assert term.cod.spec == "~y:3 b:4"


def test_two_sizes_that_do_not_meet_name_the_op() -> None:
    with pytest.raises((SizeError, MismatchError)) as caught:
        Axes(m=8, h=2, k=4)(Linear("m -> d:9") >> Split("d -> h k"))
    assert str(caught.value).startswith("Split (d -> h k): ")


def test_a_size_that_nothing_tells_is_asked_for() -> None:
    with pytest.raises(SizeError) as caught:
        Axes(m=8)(Linear("m -> d", "Q"))
    assert str(caught.value) == (
        "Linear Q: axis d has no size. Bound so far: m 8. Try Axes(d=…), or a name among m."
    )


def test_group_and_split_undo_each_other_with_one_size_open() -> None:
    term = Axes(h=2, d=12)(Group("h k -> d") >> Split("d -> h j"))
    assert (term.dom.spec, term.cod.spec) == ("h:2 k:6", "h:2 j:6")


@pytest.mark.parametrize(
    "formula", ["((9**63)**63)**63", "((1/9**63)**63)**63", "((9**63)**63)**2 % 7"]
)
def test_a_power_of_millions_of_digits_is_refused_before_it_is_computed(formula: str) -> None:
    with pytest.raises(SizeError) as caught:
        Axes(m=formula)(Id("m"))
    inner = "(1 / 9 ** 63) ** 63" if "1/" in formula else "(9 ** 63) ** 63"
    assert str(caught.value).endswith(f": {inner} has more than 4,000 bits. Try a smaller power.")


def test_a_formula_that_no_whole_number_solves_binds_none() -> None:
    for formula, value in (("2 * k", 7), ("k + 8", 8), ("k / 3 + 9", 8)):
        with pytest.raises(SizeError) as caught:
            Axes(m=8, d=formula)(Id("m k") >> Linear(f"m -> d:{value}"))
        assert "axis k has no size" in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "value", "size"),
    [
        ("n", 7, 7),
        ("n + 2", 7, 5),
        ("m + n", 7, 4),
        ("n - 2", 7, 9),
        ("10 - n", 7, 3),
        ("2 * n", 8, 4),
        ("n * m", 8, Fraction(8, 3)),
        ("0 * n", 8, None),
        ("n / 4", 2, 8),
        ("12 / n", 3, 4),
        ("(n + 1) * 2 - m", 7, 4),
        ("n // 2", 3, None),  # of several sizes
        ("n + n", 4, None),
        ("m + 2", 5, None),
        ("k", 5, None),
        ("-n", 5, None),
    ],
)
def test_a_formula_is_solved_for_a_size_that_stands_in_it_once(
    formula: str, value: int, size: int | Fraction | None
) -> None:
    """Here m is 3."""
    found = solve_for(parse(formula), "n", value, Binding({"m": Axis("m", 3)}))
    assert found == size


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-a", -6),
        ("a / b", Fraction(3, 2)),
        ("a / 3", 2),
        ("a // b", 1),
        ("a % b", 2),
        ("a % 1", 0),
        ("a ** 0", 1),
        ("2 ** 63", 2**63),
        ("min(a, b)", 4),
        ("max(a, b)", 6),
        ("0.5 * a - b", Fraction(-1)),
    ],
)
def test_the_value_of_a_size_formula(text: str, value: int | Fraction) -> None:
    found = evaluate(parse(text), BOUND)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a / 0", "a / 0 is no size. Try + - * / // of names and numbers."),
        ("a // 0", "a // 0 is no size. Try + - * / // of names and numbers."),
        ("a % 0", "a % 0 is no size. Try + - * / // of names and numbers."),
        ("a ** 64", "a ** 64 is no size. Try + - * / // of names and numbers."),
        ("a ** -1", "a ** -1 is no size. Try + - * / // of names and numbers."),
        ("a ** (1 / 2)", "a ** (1 / 2) is no size. Try + - * / // of names and numbers."),
        ("a + x", 'x stands in a size. Try "k*h", of names and numbers.'),
    ],
)
def test_a_formula_without_a_value_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        evaluate(parse(text), BOUND)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value", "size"),
    [
        ("x + 2", 6, 4),
        ("2 - x", 1, 1),
        ("x - 2", 1, 3),
        ("x * b", 8, 2),
        ("x * 0", 0, None),
        ("x / b", 2, 8),
        ("a / x", 2, 3),
        ("0 / x", 2, None),
        ("x * x", 9, None),
        ("a + b", 10, None),
        ("x // 2", 3, None),
        ("2 * (x + 1) - b", 0, 1),
    ],
)
def test_the_only_size_that_gives_a_formula_its_value(
    text: str, value: int, size: int | None
) -> None:
    assert solve_for(parse(text), "x", value, BOUND) == size


@pytest.mark.parametrize(("whole", "size"), [(4, 1), (5, 2), (3, None), (6, 3)])
def test_a_size_that_is_solved_for_is_one_or_more(whole: int, size: int | None) -> None:
    binding = Binding({"d": Axis("d", whole)})
    SizeFormula("d", parse("x + 3")).solve(binding)
    assert binding.size("x") == size


@pytest.mark.parametrize(("a", "size"), [(1, 1), (2, 2)])
def test_the_least_size_that_a_formula_may_give_is_one(a: int, size: int) -> None:
    binding = Binding({"a": Axis("a", a)})
    SizeFormula("d", parse("a")).solve(binding)
    assert binding.size("d") == size


@pytest.mark.parametrize(("text", "value"), [("a - 1", "0"), ("a / 2", "1/2")])
def test_a_formula_that_gives_no_whole_size_is_refused(text: str, value: str) -> None:
    with pytest.raises(SizeError) as caught:
        SizeFormula("d", parse(text)).solve(Binding({"a": Axis("a", 1)}))
    assert str(caught.value) == (
        f"axis d is {text} = {value}, but a size is a whole number, 1 or more. "
        f"Try sizes for which {text} is whole."
    )


NAMED = {
    "Axes: there is no axis 'head'. Try heads.": (Axes(head=3, y=4), Id("y heads:2")),
    "Axes: there is no axis 'typo'. Try one of k, x, y.": (
        Axes(typo=3),
        Id("y:2 x:2") >> Scale("k:4"),
    ),
    "Axes: there is no axis 'd'. Try one of y.": (Axes(d="2*h", h=4, kk=2), Id("y:3")),
}


@pytest.mark.parametrize("said", NAMED)
def test_a_size_that_is_a_slip_is_an_error_with_the_nearest_name(said: str) -> None:
    axes, term = NAMED[said]
    for _ in range(2):  # the second time the names are known
        with pytest.raises(UnknownNameError) as error:
            axes(term)
        assert (str(error.value), error.value.sketch) == (said, term)


def test_a_table_of_sizes_may_have_names_that_a_term_lacks() -> None:
    term = Linear("heads -> k", "Q")
    table = Axes(
        heads=3, head=4, k=2, v_1=5, h=2, d="h*size", size=7
    )  # all have sizes, or are none
    assert table(term) == Axes(heads=3, k=2)(term)
