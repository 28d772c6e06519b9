"""Code has the brackets that Python needs and no others, and breaks where a line is too long."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from ncd.write.torch_source.line_breaking import (
    COMPARED,
    LEVELS,
    WIDTH,
    Code,
    bracketed_code,
    break_lines,
    infix,
    method,
    prefix,
    tuple_of,
)

A, B, C = Code("a"), Code("b"), Code("c")
PREFIXES = ("-", "~")
HEAD = "y = function("


def tree(text: str) -> str:
    return ast.unparse(ast.parse(text))


def check(code: Code, brackets: str) -> None:
    """Checks that code is parsed like one with all its brackets, and has no more than it needs."""
    needed = tree(brackets)
    assert tree(code.text) == needed
    assert code.text.count("(") <= needed.count("("), code.text


@pytest.mark.parametrize("sign", LEVELS)
def test_operands_have_the_brackets_that_they_need(sign: str) -> None:
    for other in LEVELS:
        check(infix(sign, infix(other, A, B), C), f"(a {other} b) {sign} c")
        check(infix(sign, A, infix(other, B, C)), f"a {sign} (b {other} c)")
    for one in PREFIXES:
        check(infix(sign, prefix(one, A), B), f"({one}a) {sign} b")
        check(infix(sign, A, prefix(one, B)), f"a {sign} ({one}b)")
        check(prefix(one, infix(sign, A, B)), f"{one}(a {sign} b)")
    check(method(infix(sign, A, B), "sum", ()), f"(a {sign} b).sum()")


def test_a_power_of_names_and_numbers_has_no_spaces() -> None:
    powers = [infix("**", *both).text for both in product((A, Code("x.n_1"), Code("2")), repeat=2)]
    assert powers == [
        *("a**a", "a**x.n_1", "a**2", "x.n_1**a", "x.n_1**x.n_1", "x.n_1**2"),
        *("2**a", "2**x.n_1", "2**2"),
    ]
    assert infix("**", A, prefix("-", B)).text == "a**-b"
    assert infix("**", Code("x[0]"), B).text == "x[0] ** b"
    assert infix("**", A, Code("x[0]")).text == "a ** x[0]"
    assert infix("*", infix("**", A, B), C).text == "a**b * c"


def test_a_number_that_is_called_has_brackets() -> None:
    assert method(Code("2"), "sqrt", ()).text == "(2).sqrt()"
    assert method(Code("2.5"), "sqrt", ()).text == "(2.5).sqrt()"
    assert method(Code("x2"), "view", (Code("2"),)).text == "x2.view(2)"


def test_a_tuple_of_one_has_a_comma() -> None:
    assert [tuple_of(each).text for each in ((), (A,), (A, B))] == ["()", "(a,)", "(a, b)"]


def name(length: int) -> Code:
    return Code("n" * length)


@pytest.mark.parametrize(("indent", "after"), [(0, ""), (4, ""), (8, ",")])
def test_a_line_breaks_when_it_is_longer_than_the_width(indent: int, after: str) -> None:
    space, room = " " * indent, WIDTH - indent - len(after)
    for over in (0, 1):
        call = bracketed_code(HEAD, (name(room - len(HEAD) - 4 + over), A))
        inside = f"{name(room - len(HEAD) - 4 + over).text}, a"
        whole = [f"{space}{HEAD}{inside}){after}"]
        broken = [f"{space}{HEAD}", f"{space}    {inside}", f"{space}){after}"]
        assert break_lines(call, indent, after) == (broken if over else whole)
        assert break_lines(name(room + over), indent, after) == [
            space + name(room + over).text + after  # it has no bracket to break at
        ]


def test_arguments_that_are_too_long_have_a_line_each() -> None:
    for over in (0, 1):
        first = name(WIDTH - 7 + over)
        lines = break_lines(bracketed_code(HEAD, (first, A)), 0)
        body = [f"    {first.text},", "    a,"] if over else [f"    {first.text}, a"]
        assert lines == [HEAD, *body, ")"]
    alone = name(WIDTH)
    assert break_lines(bracketed_code("f(", (alone,)), 0) == ["f(", f"    {alone.text}", ")"]


@pytest.mark.parametrize(("head", "tail"), [("x = [", "]"), ("return (", ")"), ("(", ")[0].sum()")])
def test_a_list_or_a_tuple_has_one_item_a_line(head: str, tail: str) -> None:
    long, short = name(52), name(42)  # which would fit into one line
    lines = break_lines(bracketed_code(head, (long, short), tail), 0)
    assert lines == [head, f"    {long.text},", f"    {short.text},", tail]


def test_what_stands_around_a_bracket_stays_at_it() -> None:
    call = bracketed_code("f(", (name(WIDTH),)).with_prefix("x = ").with_suffix(".sum()")
    assert break_lines(call, 0) == ["x = f(", f"    {name(WIDTH).text}", ").sum()"]


def chain(methods: int, length: int) -> Code:
    """Returns methods called one on the other, with arguments so long, as the value of a name."""
    code = Code("x")
    for _ in range(methods):
        code = method(code, "f", (name(length),))
    return code.with_prefix("y = ")


def test_four_methods_and_more_have_a_line_each() -> None:
    lines = break_lines(chain(4, 30), 0)
    argument = name(30).text
    assert lines == ["y = (", f"    x.f({argument})", *[f"    .f({argument})"] * 3, ")"]
    assert len(break_lines(chain(2, 60), 0)) == 3  # at the last bracket
    assert len(break_lines(chain(3, 40), 0)) == 5  # with "y = " as the first link
    assert len(break_lines(chain(3, 91), 0)) == 5
    assert len(break_lines(chain(3, 92), 0)) == 3  # a link by itself would be too long
    assert not chain(3, 40).with_prefix("f(").chain


def test_a_call_that_is_called_begins_a_chain_with_a_line_of_its_own() -> None:
    first = bracketed_code("f(", (A,))
    assert method(first, "g", (B,)).chain == ("f(a)", ".g(b)")
    assert method(A, "g", (B,)).chain == ("a.g(b)",)
    assert method(method(A, "g", ()), "h", ()).chain == ("a.g()", ".h()")


def test_operands_that_are_too_long_stand_on_lines_of_their_own() -> None:
    whole = infix("+", name(60), infix("*", name(20), name(20)))
    assert break_lines(whole, 4) == [
        f"    {name(60).text}",
        f"    + {name(20).text} * {name(20).text}",
    ]
    short = infix("+", name(60), bracketed_code("f(", (name(40),)))
    assert break_lines(short, 4) == [
        f"    {name(60).text} + f(",
        f"        {name(40).text}",
        "    )",
    ]
    for over in (0, 1):  # the line up to the bracket
        both = infix("+", name(WIDTH - 5 + over), bracketed_code("f(", (A,)))
        lines = break_lines(both, 0, ",")
        first = name(WIDTH - 5 + over).text
        assert lines == ([first, "+ f(a),"] if over else [f"{first} + f(", "    a", "),"])


def test_the_levels_are_those_of_python() -> None:
    assert {sign for sign, level in LEVELS.items() if level == COMPARED} == {
        *("<", "<=", ">", ">=", "==", "!=")
    }
