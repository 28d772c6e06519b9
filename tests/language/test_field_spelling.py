"""Spellings: the values that a field of a term takes, and what is said of others."""

from __future__ import annotations

import ast
import json
import math

import pytest

from ncd import Array, Id, LayerNorm, Linear, NCDError, ParseError, Repeat, Signature, Type
from ncd.formulas.formula import parse
from ncd.language.fields import (
    ARRAY,
    AXIS,
    FLAG,
    INITIAL,
    LONG_TEXT,
    MAX_CACHE_ENTRIES,
    NAME,
    NUMBER,
    OPTIONAL_SIGNATURE,
    PROBABILITY,
    SCOPE,
    SIGNATURE,
    SMALL_NUMBER,
    TERM,
    TERMS,
    TEXT,
    TYPE,
    FieldFormat,
    choice,
    integer,
    number,
    optional,
    remember_result,
)

OVER = number("a number over 1", lambda value: value > 1, "1.5")


@pytest.mark.parametrize(
    ("by", "value"), [(NUMBER, -3), (NUMBER, 2.5), (OVER, 2), (SMALL_NUMBER, 0.1)]
)
def test_a_number_is_read_as_a_real_one(by: FieldFormat, value: float) -> None:
    found = by.read(value, "limit")
    assert found == value and type(found) is float


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "1", None, True, 1j])
def test_only_a_finite_number_is_one(value: object) -> None:
    with pytest.raises(ParseError) as caught:
        NUMBER.read(value, "limit")
    assert str(caught.value).endswith("but it is a number. Try limit=0.5.")


@pytest.mark.parametrize(
    ("by", "value", "said"),
    [
        (OVER, 1, "limit is 1, but it is a number over 1. Try limit=1.5."),
        (
            PROBABILITY,
            1,
            "limit is 1, but it is a number from 0 up to, not including, 1. Try limit=0.1.",
        ),
        (SMALL_NUMBER, 0, "limit is 0, but it is a small number over 0. Try limit=1e-5."),
    ],
)
def test_a_number_beyond_the_limits_is_refused(by: FieldFormat, value: float, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        by.read(value, "limit")
    assert str(caught.value) == said


X, XY = Array.parse("x"), Array.parse("x y")
COUNT, SHIFT, HOW = integer(1, 9), integer(-5, 5), choice("sum", "max")
READ: list[tuple[FieldFormat, object, object]] = [
    *((COUNT, 1, 1), (COUNT, 9, 9), (SHIFT, -5, -5), (SHIFT, 5, 5)),
    *((TEXT, "x" * 200, "x" * 200), (LONG_TEXT, "x" * 4000, "x" * 4000), (SCOPE, "", "")),
    *((NAME, "Q", "Q"), (SCOPE, "Q1", "Q1"), (HOW, "max", "max"), (FLAG, False, False)),
    *(
        (AXIS, "x", X),
        (AXIS, X, X),
        (ARRAY, "x y", XY),
        (INITIAL, "", None),
        (OPTIONAL_SIGNATURE, None, None),
    ),
    *((TERMS, [Id("m")], (Id("m"),)), (TERMS, (), ())),
]
# A formula, a type or a number that may be left out is written as itself, or as null and None.
WRITTEN = [
    *(row for row in READ if row[0] not in (TERM, TERMS)),
    *(
        (INITIAL, "m - 1", parse("m - 1")),
        (OPTIONAL_SIGNATURE, "x -> y", Signature.parse("x -> y")),
    ),
    *((optional(COUNT), 3, 3), (optional(COUNT), None, None), (NUMBER, 2, 2.0)),
    *((SIGNATURE, "a b -> b", Signature.parse("a b -> b")), (TYPE, "a, b", Type.parse("a, b"))),
]
REFUSED: list[tuple[FieldFormat, object, str]] = [
    (COUNT, 0, "the f is 0, but it is a whole number, 1 or more. Try f = 1."),
    (COUNT, 10, "the f is 10, but it is a whole number, at most 9. Try f = 9."),
    (COUNT, True, "the f is True, but it is a whole number, 1 or more. Try f = 1."),
    (COUNT, "3", "the f is '3', but it is a whole number, 1 or more. Try f = 1."),
    (SHIFT, -6, "the f is -6, but it is a whole number, from -5 to 5. Try f = -5."),
    (SHIFT, 6, "the f is 6, but it is a whole number, from -5 to 5. Try f = 5."),
    (SHIFT, 0.5, "the f is 0.5, but it is a whole number, from -5 to 5. Try f = 0."),
    (TEXT, "x" * 201, "f has 201 letters, at most 200 can be. Try fewer."),
    (LONG_TEXT, "x" * 4001, "f has 4001 letters, at most 4000 can be. Try fewer."),
    (TEXT, 3, 'f is 3, but it is text. Try f = "…".'),
    (NAME, "", "'' is no name for a layer. Try L."),
    (NAME, "_a", "'_a' is no name for a layer. Try a."),
    (NAME, "class", "'class' is no name for a layer. Try class_."),
    (NAME, "1 b", "'1 b' is no name for a layer. Try b."),
    (SCOPE, "a-b", "'a-b' is no name for a layer. Try a_b."),
    (HOW, "min", "f is 'min', but it is one of sum, max. Try f=\"sum\"."),
    (HOW, 3, 'f is 3, but it is one of sum, max. Try f="sum".'),
    (FLAG, 1, "f is 1, but it is True or False. Try f=True."),
    (AXIS, "x y", 'f is (x y), but it is one axis. Try "x".'),
    (AXIS, "x#3", 'f is (x#3), but it is one axis. Try "x".'),
    (ARRAY, 3, 'f is 3, but it is text. Try "y m".'),
    (ARRAY, Array((*X, *X)), "axis x stands twice in (x x). Try x_2 for one of them."),
    (TERM, "Id", 'f is no term. Try a term such as Id("m").'),
    (TERMS, "Id", 'f is no list of terms. Try terms such as (Id("m"),).'),
    (TERMS, Id("m"), 'f is no list of terms. Try terms such as (Id("m"),).'),
    (TERMS, [Id("m"), 3], 'f is no term. Try a term such as Id("m").'),
]


@pytest.mark.parametrize(("by", "value", "meant"), READ)
def test_values_up_to_the_limits_are_read(by: FieldFormat, value: object, meant: object) -> None:
    assert by.read(value, "f") == meant


@pytest.mark.parametrize(("by", "value", "why"), REFUSED, ids=[why[:50] for _, _, why in REFUSED])
def test_values_beyond_them_are_refused(by: FieldFormat, value: object, why: str) -> None:
    with pytest.raises(NCDError) as caught:
        by.read(value, "f")
    assert str(caught.value) == why


@pytest.mark.parametrize(("by", "value", "meant"), WRITTEN)
def test_what_is_written_in_either_language_is_read_as_what_it_was(
    by: FieldFormat, value: object, meant: object
) -> None:
    """In JSON by ``plain``, in Python by ``literal``."""
    assert by.read(json.loads(json.dumps(by.json_value(meant))), "f") == meant
    assert by.read(ast.literal_eval(by.literal(meant)), "f") == meant


def test_a_text_of_a_term_names_a_field_only_where_it_differs_from_the_usual() -> None:
    assert repr(LayerNorm("m")) == "LayerNorm('m')"
    assert repr(LayerNorm("m", eps=0.5)) == "LayerNorm('m', 'norm', 0.5)"
    assert repr(Linear("m -> k", bias=True)) == "Linear('m -> k', 'L', True)"
    assert repr(Repeat((Id("m"),), shared=True)) == "Repeat((Id('m'),), 'layers', True)"


def test_an_object_remembers_so_many_values_and_no_more() -> None:
    class Owner:
        pass

    owner, computed = Owner(), list[int]()

    def compute(key: int) -> int:
        computed.append(key)
        return key

    for key in range(MAX_CACHE_ENTRIES + 1):
        assert (
            remember_result(owner, "_known", key, compute)
            == remember_result(owner, "_known", key, compute)
            == key
        )
        assert len(owner.__dict__["_known"]) == (key + 1 if key < MAX_CACHE_ENTRIES else 1)
    assert computed == [*range(MAX_CACHE_ENTRIES + 1)]
