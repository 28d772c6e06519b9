"""Edits of an axis: what is offered for it, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest

import ncd
from ncd import Block, Einsum, Id, Linear, Map, NCDError, Softmax, Term, elaborate
from ncd.rewrite.edits.axis_edits import RenameAxis, ResizeAxis, SplitAxis
from ncd.rewrite.rules.rule import Rule, Target
from ncd.rewrite.rules.term_paths import TermPaths

TERM = Id("~y:6 m:4") >> Linear("m -> k:2", "L") >> Softmax("k")


def target(term: Term, place: str) -> Target:
    return Target(TermPaths(elaborate(term)), place)


@pytest.mark.parametrize(
    ("rule", "place", "offered"),
    [
        (RenameAxis(), "axis:m", [{"to": "a"}]),
        (RenameAxis(), "n0", []),
        (ResizeAxis(), "axis:m", [{"size": 8}, {"size": 2}]),
        (ResizeAxis(), "axis:z", []),
        (SplitAxis(), "axis:y", [{"first": 2}, {"first": 3}]),
        (SplitAxis(), "axis:m", [{"first": 2}]),
        (SplitAxis(), "axis:k", []),
    ],
)
def test_what_is_offered_for_an_axis(rule: Rule, place: str, offered: list[Any]) -> None:
    assert list(rule.candidates(target(TERM, place))) == [(place, each) for each in offered]


@pytest.mark.parametrize(("size", "offered"), [(3, [6]), (1, [2]), (2, [4, 1])])
def test_a_size_is_doubled_and_halved_where_it_can_be(size: int, offered: list[int]) -> None:
    found = ResizeAxis().candidates(target(Softmax(f"m:{size}"), "axis:m"))
    assert [options["size"] for _, options in found] == offered


@pytest.mark.parametrize(("last", "to"), [("d", "c"), ("c", "d")])
def test_a_new_name_is_the_first_letter_that_none_has(last: str, to: str) -> None:
    term = Id(f"a:2 b:3, b:3 {last}:2") >> Einsum(f"a b, b {last} -> a {last}")
    ((_, options),) = RenameAxis().candidates(target(term, "axis:b"))
    assert options == {"to": to}


def test_no_axis_is_called_like_a_number_in_formulas() -> None:
    term = Id("a:2 b:3 c:4 d:6") >> Softmax("d")
    place = target(term, "axis:d")
    ((_, options),) = RenameAxis().candidates(place)
    assert options == {"to": "f"}  # e is a number
    assert RenameAxis().change(place, options).term.dom.spec == "a:2 b:3 c:4 f:6"
    split = SplitAxis().change(target(term, "axis:a"), {"first": 1})
    assert split.term.dom.spec == "f:1 g:2 b:3 c:4 d:6"


@pytest.mark.parametrize(
    ("rule", "place", "options", "said"),
    [
        (RenameAxis(), "axis:m", {"to": 3}, "Rename m: the name is 3. Try a letter."),
        (
            RenameAxis(),
            "axis:m",
            {"to": "y"},
            "Rename m: there is an axis y, or a number of this name. Try y2.",
        ),
        (
            RenameAxis(),
            "axis:m",
            {"to": "pi"},
            "Rename m: there is an axis pi, or a number of this name. Try pi2.",
        ),
        (
            SplitAxis(),
            "axis:m",
            {"first": 3},
            "Split m: axis m has size 4, which 3 does not divide. Try a number that divides it.",
        ),
        (
            ResizeAxis(),
            "n0",
            {"size": 3},
            "resize-axis: n0 is no axis. Try a place such as axis:m.",
        ),
        (
            ResizeAxis(),
            "",
            {"size": 3},
            "resize-axis: the whole term is no axis. Try a place such as axis:m.",
        ),
    ],
)
def test_what_does_not_fit_says_why(
    rule: Rule, place: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(NCDError) as caught:
        rule.change(target(TERM, place), options)
    assert str(caught.value) == said


def test_a_group_has_sides_and_no_other_size() -> None:
    with pytest.raises(NCDError) as caught:
        ResizeAxis().change(target(Id("x:2x3") >> Softmax("x"), "axis:x"), {"size": 3})
    assert str(caught.value) == (
        "Size of x: x has a size that its name or its sides give. Try another axis."
    )


def test_an_axis_becomes_two_in_order_and_of_its_kind() -> None:
    new = SplitAxis().change(target(Id("~y:6 m:4") >> Softmax("m"), "axis:y"), {"first": 2}).term
    assert new.dom.spec == "~a:2 ~b:3 m:4"
    bound = ncd.Map("-> y:6#m:4", "0") >> Map("y#m -> y", "$1")
    with pytest.raises(NCDError, match="m bounds whole numbers"):
        SplitAxis().change(target(bound, "axis:m"), {"first": 2})


def test_an_axis_that_a_block_calls_otherwise_is_not_split() -> None:
    block = Block(Softmax("x"), "Inner", local=True)
    term = Id("q:2 s:4") >> block
    with pytest.raises(NCDError) as caught:
        SplitAxis().change(target(term, "axis:s"), {"first": 2})
    assert str(caught.value) == (
        "Split s: block 'Inner' calls s by the name x. Try an axis of one name throughout."
    )
