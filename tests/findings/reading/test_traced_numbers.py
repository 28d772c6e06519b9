"""Numbers of a source keep their value and their expression through Python's arithmetic."""

from __future__ import annotations

import ast
import copy
import math
import operator
import pickle
from collections.abc import Callable
from itertools import product

import pytest
import sympy

from ncd.findings.reading import traced_numbers
from ncd.findings.reading.size_table import SizeTable
from ncd.findings.reading.traced_numbers import (
    Real,
    SourceNumber,
    TracedInteger,
    as_whole,
    assumed_places,
    floor_or_ceil,
    input_places,
    number_names,
    shape_places,
)

OPERATIONS: tuple[Callable[..., object], ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
)
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.fixture
def table() -> SizeTable:
    return SizeTable(math.inf)


def number(table: SizeTable, value: int, line: int = 1) -> int:
    return table.number(SourceNumber(line, 0, 1, value))


def value_of(table: SizeTable, made: Real | TracedInteger) -> float:
    return float(made.expr.xreplace(table.values).doit())


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("a", "b"), [(7, 3), (6, 3), (2, 5)])
def test_both_sides_of_an_operator_are_remembered(table: SizeTable, operation, a, b) -> None:
    one, two = number(table, a, 1), number(table, b, 2)
    (x, y) = table.values
    cases = [(one, two, {x, y}), (one, b, {x}), (a, two, {y}), (one, b + 0.5, {x})]
    for left, right, symbols in cases:
        plain = [n if type(n) is float else int(n) for n in (left, right)]
        found = operation(left, right)
        assert found == operation(*plain) and type(found) in (TracedInteger, Real)
        assert isinstance(found, type(operation(*plain)))
        assert value_of(table, found) == pytest.approx(float(found))
        assert found.expr.free_symbols == symbols


def test_a_real_number_goes_on_remembering(table: SizeTable) -> None:
    half = number(table, 7) / 2
    (x,) = table.values
    assert isinstance(half, Real) and half == 3.5 and half.expr == x / 2
    for found, value in ((half * 2, 7.0), (1 - half, -2.5), (half // 1, 3.0), (half + half, 7.0)):
        assert isinstance(found, Real) and found == value == value_of(table, found)


@pytest.mark.parametrize("power", [0, 1, 2, 3, 4])
def test_a_small_power_is_remembered(table: SizeTable, power: int) -> None:
    found = number(table, 3) ** power
    (x,) = table.values
    assert found == 3**power
    assert getattr(found, "expr", 1) == x**power


@pytest.mark.parametrize("power", [5, -1, 0.5])
def test_a_power_that_no_size_has_is_a_plain_number(table: SizeTable, power: float) -> None:
    found = number(table, 3) ** power
    assert found == 3**power and type(found) in (int, float)


def test_an_exponent_counts_by_its_value(table: SizeTable) -> None:
    base, power = number(table, 3, 1), number(table, 2, 2)
    found = base**power
    (x, _) = table.values
    assert (found, found.expr) == (9, x**2)
    assert type(2**power) is int


def test_a_sign_is_remembered_and_copies_are_the_number_itself(table: SizeTable) -> None:
    five = number(table, 5)
    (x,) = table.values
    assert (-five, (-five).expr) == (-5, -x)
    assert +five is five and copy.copy(five) is five and copy.deepcopy([five])[0] is five
    stored = pickle.loads(pickle.dumps(five))
    assert stored == 5 and type(stored) is int
    assert hash(five) == hash(5) and five in {5} and range(9)[five] == 5


def test_what_is_no_number_has_no_expression(table: SizeTable) -> None:
    five = number(table, 5)
    assert five * [1] == [1] * 5 and type(five + True) is int
    with pytest.raises(TypeError):
        five + "a"
    with pytest.raises(ZeroDivisionError):
        five // 0


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("other", [4, 5, 6])
def test_a_comparison_is_a_test_of_the_sizes(table: SizeTable, compare, other: int) -> None:
    five = number(table, 5)
    assert compare(five, other) is compare(5, other)
    (test,) = table.tests
    assert test.holds is compare(5, other)
    assert bool(test.expr.xreplace(table.values).doit()) is test.holds
    (x,) = table.values
    assert bool(test.expr.xreplace({x: sympy.Integer(9)}).doit()) is compare(9, other)


def test_a_comparison_with_anything_else_tests_nothing(table: SizeTable) -> None:
    five = number(table, 5)
    assert five == 5.0 and five != "a" and five != True  # noqa: E712
    assert table.tests == []


def test_a_number_of_another_reading_is_a_plain_one(table: SizeTable) -> None:
    other = SizeTable(math.inf)
    found = number(table, 5) + number(other, 7)
    (x,) = table.values
    assert (found, found.expr) == (12, x + 7)


def test_a_number_whose_expression_is_too_long_becomes_plain(table: SizeTable) -> None:
    found = sum(number(table, 2, line) for line in range(12))
    assert isinstance(found, TracedInteger) and found == 24
    assert type(found + number(table, 2, 12)) is int
    one = number(table, 2)
    assert type(one - one) is int
    (x, y, *_) = table.values
    long = sympy.Add(*[(x + n) * (y + n) ** 2 for n in range(traced_numbers.OPS // 4)])
    assert type(traced_numbers.traced_integer(3, long, table)) is int


def test_whole_numbers_of_real_ones(table: SizeTable) -> None:
    seven = number(table, 7)
    (x,) = table.values
    assert as_whole(seven) is seven and as_whole(3.9) == 3 and type(as_whole(3.9)) is int
    assert (as_whole(seven / 2), as_whole(seven / 2).expr) == (3, sympy.floor(x / 2))
    assert (as_whole(seven * 2.0), as_whole(seven * 2.0).expr) == (14, 2 * x)
    for to, name in ((math.ceil, sympy.ceiling), (math.floor, sympy.floor)):
        found = floor_or_ceil(seven / 2, to)
        assert (found, found.expr) == (to(3.5), name(x / 2))
        assert floor_or_ceil(seven, to) is seven and floor_or_ceil(2.5, to) == to(2.5)


# --- names of the numbers of a text


def written(names: dict[tuple[int, int], str], text: str) -> dict[str, str]:
    """Each name by what stands at its place."""
    lines = text.split("\n")
    return {
        lines[row - 1][at:].split(",")[0].split(")")[0]: name for (row, at), name in names.items()
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(a, b=20, /, c=30, *, d=40, e): pass", {"20": "b", "30": "c", "40": "d"}),
        ("f = lambda a, b=20: a", {"20: a": "b"}),
        ("a = 20", {"20": "a"}),
        ("net.size = 20", {"20": "size"}),
        ("a, net.b = 20, 30", {"20": "a", "30": "b"}),
        ("a = b = 20", {}),
        ("a[0] = 20", {}),
        ("a: int = 20", {"20": "a"}),
        ("a: int", {}),
        ("nn.Linear(20, out_features=30)", {"20": "in_features", "30": "out_features"}),
        ("Conv2d(3, 16, 5)", {"3": "in_channels", "16": "out_channels", "5": "kernel_size"}),
        ("nn.LSTM(20, 30, 2)", {"20": "input_size", "30": "hidden_size", "2": "num_layers"}),
        ("nn.Linear(*sizes, 20)", {}),
        ("nn.init(20)", {}),
        ("torch.randn(20)", {}),
        ("f(**{}, a=True)", {}),
        (
            "class Net:\n  def forward(self, x): pass\n  def __init__(self, wide, deep): pass\n"
            "Net(20, 30)",
            {"20": "wide", "30": "deep"},
        ),
        ("class Net:\n  width = 20\nNet(30)", {"20": "width"}),
        ("def f(a=20): pass\nf(a=30)", {"20": "a", "30": "a"}),
    ],
)
def test_a_number_is_called_as_what_it_is_given_to(text: str, names: dict[str, str]) -> None:
    assert written(number_names(ast.parse(text)), text) == names


@pytest.mark.parametrize("maker", traced_numbers.MAKERS[:-1])
def test_the_sizes_of_an_array_are_named_by_their_place(maker: str) -> None:
    for count, axes in traced_numbers.AXES.items():
        sizes = ", ".join(str(10 + n) for n in range(count))
        for text in (f"x = torch.{maker}({sizes})", f"x = torch.{maker}(({sizes},))"):
            found = input_places(ast.parse(text))
            assert tuple(found.values()) == axes
            assert [int(text[at:][:2]) for _, at in found] == [10 + n for n in range(count)]


def test_tokens_have_a_batch_and_a_length() -> None:
    text = "torch.randint(0, 50, (4, 9))\ntorch.randint(50, [4])\nrandint(0, 5, (4, 3, 9))"
    assert input_places(ast.parse(text)) == {
        (1, 22): "batch",
        (1, 25): "length",
        (2, 19): "features",
        (3, 15): "batch",
        (3, 18): "length",
        (3, 21): "features",
    }


def test_arrays_within_classes_and_of_six_axes_have_no_named_sizes() -> None:
    inside = "class A:\n  x = torch.ones(2)\ndef f():\n  torch.ones(3)"
    assert input_places(ast.parse(inside)) == {}
    six = input_places(ast.parse("torch.ones(1, 2, 3, 4, 5, 6)"))
    assert [*six.values()] == [""] * 6
    assert input_places(ast.parse("torch.ones(n, 3)")) == {(1, 14): "features"}
    assert input_places(ast.parse("f(20)")) == {}


@pytest.mark.parametrize(
    ("row", "shapes"),
    [
        ("2x10", [[(0, 1, 2, "batch"), (2, 4, 10, "features")]]),
        ("7", []),
        ("2 × 3 x 5", [[(0, 1, 2, "batch"), (4, 5, 3, "length"), (8, 9, 5, "features")]]),
        ("2, 10", [[(0, 1, 2, "batch"), (3, 5, 10, "features")]]),
        ("4x9#50", [[(0, 1, 4, "batch"), (2, 3, 9, "length")]]),
        ("9#50", [[(0, 1, 9, "batch")]]),
        ("2x3, 4x5", [
            [(0, 1, 2, "batch"), (2, 3, 3, "features")],
            [(5, 6, 4, "batch"), (7, 8, 5, "features")],
        ]),
        ("1x2x3x4x5x6", [[(2 * n, 2 * n + 1, n + 1, "") for n in range(6)]]),
    ],
)  # fmt: skip
def test_the_sizes_of_a_line_of_shapes_have_their_places(row: str, shapes) -> None:
    found = shape_places(f"net\n{row}\n", ast.parse("net"), True)
    rows = [[(n.start, n.end, n.value, n.name) for n in shape] for shape in found]
    if row == "7":
        rows = [shape for shape in rows if len(shape) > 1]
    assert rows == shapes
    assert all((n.line, n.is_input) == (2, True) for shape in found for n in shape)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("nn.Linear(8, 3)(5, 8)", [(5, "batch"), (8, "features")]),
        ("y = net(1, 3, 8, 8)", [(1, "batch"), (3, "channels"), (8, "height"), (8, "width")]),
        ("net((5, 8))", [(5, "batch"), (8, "features")]),
        ("net(1, 2, 3, 4, 5, 6)", []),
        ("net(1.5, 8)", [(8, "features")]),
        ("net", []),
        ("", []),
    ],
)
def test_the_sizes_of_a_last_call_have_their_places(text: str, sizes) -> None:
    (found,) = shape_places(text, ast.parse(text), False)
    assert [(n.value, n.name) for n in found] == sizes
    assert all(text[n.start : n.end] == str(n.value) and n.is_input for n in found)


def test_assumed_sizes_stand_on_line_0_one_after_the_other() -> None:
    found = assumed_places("2x10#50, 1x3x8, 1x2x3x4x5x6")
    assert [[(n.line, n.end, n.is_input) for n in shape] for shape in found] == [
        [(0, 0, True)] * count for count in (2, 3, 6)
    ]
    assert [n.start for shape in found for n in shape] == [*range(11)]
    assert [n.value for n in found[2]] == [1, 2, 3, 4, 5, 6]
    names = [[n.name for n in shape] for shape in found]
    assert names == [["batch", "length"], ["batch", "length", "features"], [""] * 6]


def test_the_odd_product_of_all_operators_is_python_s(table: SizeTable) -> None:
    """Every pair of operators in a row, as sources write ``(a + b) // c``."""
    names, plain = [number(table, n, n) for n in (11, 4, 3)], (11, 4, 3)
    for first, second in product(OPERATIONS, repeat=2):
        found = second(first(names[0], names[1]), names[2])
        expected = second(first(plain[0], plain[1]), plain[2])
        assert found == expected
        assert value_of(table, found) == pytest.approx(expected)
